import StrataModel
import StrataDocuments
import StrataExpressions

/// A view of a table as text that a person edits, a clause on each line:
///
///     where   population > 1M and countrycode = "CH"
///     range   1M ..< 5M of population
///     order   population desc, name
///     select  name, population
///     group   countrycode population
///     limit   100
///     column  density = population / area
///     join    countrycode name
///     name    large
struct ViewQuery: Sendable, Hashable {
  enum Clause: String, CaseIterable, Sendable {
    case filter = "where", range, order, select, group, limit, column, join, name

    /// Whether several lines may have it.
    var isRepeated: Bool { self == .column || self == .join }
  }

  /// A mistake, with its place from 1.
  struct Mistake: Error, Hashable {
    var line: Int
    var column = 1
    var reason: String
  }

  private struct Part: Sendable, Hashable {
    var clause: Clause
    var text: String
    var line = 1
    var column = 1
  }

  private var parts: [Part] = []
  private(set) var sort: [SortOrder] = []
  /// The selected fields, and those of the groups and of their figures.
  private(set) var select: [DocumentPath] = []
  private(set) var group: [DocumentPath] = []
  private(set) var limit: Int?
  /// The columns that the view is made of, beside the joined ones.
  private(set) var computed: [Assignment] = []

  /// The text of a clause; nil if it is left out.
  subscript(_ clause: Clause) -> String? { texts(clause).first }

  /// The texts of a clause that several lines may have.
  func texts(_ clause: Clause) -> [String] { parts.filter { $0.clause == clause }.map(\.text) }

  /// A range of an index as it is typed, and the name of the index.
  var range: (text: String, index: String)? {
    self[.range]?.splitOutsideQuotes(at: " of ").map { ($0.0.trimmed, $0.1.trimmed) }
  }

  /// The fields that its clauses name.
  var paths: [DocumentPath] {
    let filter = self[.filter].flatMap { try? RowTest($0) }?.filter.paths ?? []
    return filter + sort.compactMap { try? DocumentPath(parsing: $0.path) } + select + group
  }

  init(_ texts: [Clause: String], of source: RowSource) {
    parts = Clause.allCases.compactMap { clause in
      texts[clause].flatMap { $0.isEmpty ? nil : Part(clause: clause, text: $0) }
    }
    try? read()
    setColumns(of: source)
  }

  /// Takes over the derived columns of the rows that its clauses name, and no other ones.
  mutating func setColumns(of source: RowSource) {
    let (joined, computed) = source.derivedColumns(for: paths)
    parts.removeAll { $0.clause.isRepeated }
    parts += computed.map { Part(clause: .column, text: $0.text) } + joined.map { Part(clause: .join, text: $0.text) }
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
      guard clause.isRepeated || self[clause] == nil else {
        throw Mistake(line: number + 1, reason: "there are two lines with \(clause.rawValue)")
      }
      let rest = line.dropFirst(word.count)
      let column = word.count + rest.prefix { $0.isWhitespace }.count + 1
      guard column <= line.count else { continue }
      parts.append(Part(clause: clause, text: String(rest).trimmed, line: number + 1, column: column))
    }
    do throws(ModelError) { try read() } catch { throw mistake(error) }
  }

  private mutating func read() throws(ModelError) {
    if let filter = self[.filter] { _ = try RowTest(filter) }
    if let text = self[.range], range == nil {
      throw .invalid(text: text, column: 1, reason: "a range is written A ..< B of INDEX")
    }
    if let order = self[.order] { sort = try [SortOrder](parsing: order, isDescending: false) }
    func paths(_ names: [String]) throws(ModelError) -> [DocumentPath] {
      try names.filter { !$0.isEmpty }.map { name throws(ModelError) in
        guard let path = try? DocumentPath(named: name) else {
          throw .invalid(text: name, column: 1, reason: "“\(name)” is not a field")
        }
        return path
      }
    }
    select = try paths(RecordQuery.names(in: self[.select] ?? ""))
    group = try paths((self[.group] ?? "").words)
    computed = try texts(.column).map { text throws(ModelError) in try WorkContext.computed(text) }
    if group.count > 2 {
      throw .invalid(
        text: self[.group] ?? "", column: 1, reason: "groups are by one field, with figures of one other")
    }
    guard let text = self[.limit] else { return }
    limit = Int(text)
    if (limit ?? 0) < 1 { throw .invalid(text: text, column: 1, reason: "“\(text)” is not a number of rows") }
  }

  /// The error as a mistake at the first occurrence of its text.
  func mistake(_ error: ModelError) -> Mistake {
    guard case .invalid(let text, let column, let reason) = error else { return mistake(error.description, of: "") }
    var mistake = mistake(reason, of: text)
    mistake.column += max(0, (column ?? 1) - 1)
    return mistake
  }

  private func mistake(_ reason: String, of text: String) -> Mistake {
    let part = part(with: text) ?? Part(clause: .filter, text: "")
    let place = part.text.firstRange(of: text).map { part.text.distance(from: part.text.startIndex, to: $0.lowerBound) }
    return Mistake(line: part.line, column: part.column + (place ?? 0), reason: reason)
  }

  /// The mistake of a name that no record has, at the clause that has it.
  func mistake(_ unknown: UnknownName) -> Mistake { mistake(unknown.sentence, of: unknown.path.shortText) }

  func clause(of unknown: UnknownName) -> Clause { part(with: unknown.path.shortText)?.clause ?? .filter }

  private func part(with text: String) -> Part? {
    Clause.allCases.lazy.compactMap { clause in parts.first { $0.clause == clause && $0.text.contains(text) } }.first
  }

  /// The lines of all clauses but some; an empty one for a clause that is left out.
  func text(without left: [Clause] = []) -> String {
    Clause.allCases.filter { !left.contains($0) }.flatMap { clause in
      let name = clause.rawValue + String(repeating: " ", count: 8 - clause.rawValue.count)
      let texts = texts(clause)
      return (texts.isEmpty ? [""] : texts).map { "\(name)\($0)\n" }
    }.joined()
  }
}
