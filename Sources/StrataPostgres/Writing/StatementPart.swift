/// A part of a statement: SQL whose parameters are numbered from a place on.
///
/// The writes of a flush go out in one statement if possible: to bind and run each part by itself took longer than its work. All parts see
/// the state before the statement, whichever comes first, and may refer to `n`: the row of the store.
struct StatementPart {
  /// Identifies the part's text. Short: the names of all parts make a statement's name, of which a server keeps 63 bytes.
  let name: String
  let parameters: [SQLValue]
  let text: (_ parameter: (Int) -> String) -> String

  /// - Parameter text: Returns the SQL; its argument returns the placeholder of a parameter, of which the first is 1.
  init(_ name: String, _ parameters: [SQLValue], _ text: @escaping (_ parameter: (Int) -> String) -> String) {
    self.name = name
    self.parameters = parameters
    self.text = text
  }
}

extension Statement {
  /// One statement of parts that write, which may refer to `n`: the row of the store, with the number of the last commit of the flush; `$1`
  /// is the number of commits.
  ///
  /// - Parameters:
  ///   - conditions: Each is true if something forbids the write. If one is true, the statement divides by zero, and nothing is written.
  ///   - end: The part whose rows are returned, without its conditions, and what comes behind these.
  static func writing(
    _ parts: [StatementPart], conditions: [StatementPart] = [], end: StatementPart, _ tail: String = "",
    count: SQLValue, _ tables: Tables
  ) -> Statement {
    let all = parts + conditions + [end]
    func text() -> String {
      var taken = 1
      func next(_ part: StatementPart) -> String {
        let before = taken
        taken += part.parameters.count
        return part.text { "$\(before + $0)" }
      }
      var text = "with n as (select s.newest, s.parent, s.origin, s.trees, s.oldest from {store} s where s.one)"
      for part in parts { text += ",\n\(part.name) as (\(next(part)))" }
      let proofs = conditions.map { "1 / case when \(next($0)) then 0 else 1 end = 1" }
      text += "\n" + next(end)
      if !proofs.isEmpty { text += " where " + proofs.joined(separator: " and ") }
      return text + " " + tail
    }
    return tables.statement(all.map(\.name).joined(separator: " "), text(), [count] + all.flatMap(\.parameters))
  }
}
