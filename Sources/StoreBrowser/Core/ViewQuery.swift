import StrataModel
import StrataDocuments

/// A view of a table as text that a person edits, a clause on each line:
///
///     where   population > 1M and countrycode = "CH"
///     order   population desc, name
///     select  name, population
///     group   countrycode population
///     limit   100
///     name    large
struct ViewQuery: Sendable, Hashable {
  enum Clause: String, CaseIterable, Sendable { case filter = "where", order, select, group, limit, name }

  /// A mistake, with its place from 1.
  struct Mistake: Error, Hashable {
    var line: Int
    var column = 1
    var reason: String
  }

  private struct Part: Sendable, Hashable {
    var text: String
    var line = 1
    var column = 1
  }

  private var parts: [Clause: Part] = [:]
  private(set) var sort: [SortOrder] = []
  /// The selected fields, and those of the groups and of their figures.
  private(set) var select: [DocumentPath] = []
  private(set) var group: [DocumentPath] = []
  private(set) var limit: Int?

  /// The text of a clause; nil if it is left out.
  subscript(_ clause: Clause) -> String? { parts[clause]?.text }

  init(_ texts: [Clause: String]) {
    for (clause, text) in texts where !text.isEmpty { parts[clause] = Part(text: text) }
  }

  init(parsing text: String) throws(Mistake) {
    for (number, line) in TextLines.split(text).enumerated() where !line.trimmed.isEmpty && !line.hasPrefix("//") {
      let word = line.prefix { !$0.isWhitespace }
      guard let clause = Clause(rawValue: word.lowercased()) else {
        let names = Clause.allCases.map(\.rawValue)
        throw Mistake(
          line: number + 1,
          reason: "a line begins with \(names.joined(separator: ", "))"
            + UnknownName.question(UnknownName.nearest(to: String(word), among: names)))
      }
      guard parts[clause] == nil else {
        throw Mistake(line: number + 1, reason: "there are two lines with \(clause.rawValue)")
      }
      let rest = line.dropFirst(word.count)
      let column = word.count + rest.prefix { $0.isWhitespace }.count + 1
      guard column <= line.count else { continue }
      parts[clause] = Part(text: String(rest).trimmed, line: number + 1, column: column)
    }
    do throws(ModelError) { try read() } catch {
      guard case .invalid(let text, let column, let reason) = error else {
        throw mistake(error.description, of: "", in: .filter)
      }
      let clause = Clause.allCases.first { self[$0]?.contains(text) == true } ?? .filter
      var mistake = mistake(reason, of: text, in: clause)
      mistake.column += max(0, (column ?? 1) - 1)
      throw mistake
    }
  }

  private mutating func read() throws(ModelError) {
    if let filter = self[.filter] { _ = try RowTest(filter) }
    if let order = self[.order] { sort = try [SortOrder](parsing: order, isDescending: false) }
    func paths(_ names: [String]) throws(ModelError) -> [DocumentPath] {
      try names.filter { !$0.isEmpty }.map { name throws(ModelError) in
        guard let path = try? DocumentPath(named: name) else {
          throw .invalid(text: name, column: 1, reason: "“\(name)” is no field")
        }
        return path
      }
    }
    select = try paths(RecordQuery.names(in: self[.select] ?? ""))
    group = try paths((self[.group] ?? "").words)
    if group.count > 2 {
      throw .invalid(
        text: self[.group] ?? "", column: 1, reason: "groups are by one field, with figures of one other")
    }
    guard let text = self[.limit] else { return }
    limit = Int(text)
    if (limit ?? 0) < 1 { throw .invalid(text: text, column: 1, reason: "“\(text)” is no number of rows") }
  }

  /// The mistake at the first occurrence of a text in a clause.
  private func mistake(_ reason: String, of text: String, in clause: Clause) -> Mistake {
    let part = parts[clause] ?? Part(text: "")
    let place = part.text.firstRange(of: text).map { part.text.distance(from: part.text.startIndex, to: $0.lowerBound) }
    return Mistake(line: part.line, column: part.column + (place ?? 0), reason: reason)
  }

  /// The mistake of a name that no record has, at the clause that has it.
  func mistake(_ unknown: UnknownName) -> Mistake {
    mistake(unknown.sentence, of: unknown.path.shortText, in: clause(of: unknown))
  }

  func clause(of unknown: UnknownName) -> Clause {
    Clause.allCases.first { self[$0]?.contains(unknown.path.shortText) == true } ?? .filter
  }

  /// The lines of all clauses but some.
  func text(without left: [Clause] = []) -> String {
    Clause.allCases.filter { !left.contains($0) }.map { clause in
      let name = clause.rawValue + String(repeating: " ", count: 8 - clause.rawValue.count)
      return "\(name)\(self[clause] ?? "")\n"
    }.joined()
  }
}
