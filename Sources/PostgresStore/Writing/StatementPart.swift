/// A part of a statement: SQL whose parameters are numbered from a place on.
///
/// What a flush writes goes out in one statement where it can: to bind and run each part by itself took longer than what it did. All parts
/// see the state before the statement, whichever comes first, and may refer to `n`: the row of the store.
struct StatementPart {
  /// Tells its text from those of other parts. Short: the names of all parts of a statement are its name, of which a server knows 63 bytes.
  let name: String
  let parameters: [SQLValue]
  fileprivate let text: (_ parameter: (Int) -> String) -> String

  /// - Parameter text: answers the SQL; it is given what names a parameter, of which the first is 1.
  init(_ name: String, _ parameters: [SQLValue], _ text: @escaping (_ parameter: (Int) -> String) -> String) {
    self.name = name
    self.parameters = parameters
    self.text = text
  }

}

extension Statement {
  /// One statement of parts that write, which may refer to `n`: the row of the store, with the number of the last commit of the flush;
  /// `$1` is how many commits there are.
  ///
  /// - Parameters:
  ///   - conditions: each tells whether something speaks against it. Where one is true, the statement divides by zero, and nothing is written.
  ///   - end: the part that is answered, without its conditions, and what comes behind these.
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
