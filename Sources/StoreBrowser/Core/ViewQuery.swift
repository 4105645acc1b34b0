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
  /// The clause that is read: an error is a mistake in it.
  var clause = Clause.filter
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

  /// The fields that its clauses name, by clause.
  private var named: [(clause: Clause, paths: [DocumentPath])] {
    [
      (.filter, self[.filter].flatMap { try? Filter(typed: $0) }?.paths ?? []),
      (.order, sort.compactMap { try? DocumentPath(parsing: $0.path) }), (.select, select), (.group, group),
    ]
  }

  init(_ texts: [Clause: String], of source: RowSource) {
    parts = Clause.allCases.compactMap { clause in
      texts[clause].flatMap { $0.isEmpty ? nil : Part(clause: clause, text: $0) }
    }
    try? read()
    setColumns(of: source)
  }

  /// Takes over the derived columns of the rows that its clauses name or make, and no other ones.
  mutating func setColumns(of source: RowSource) {
    let made = computed.map(\.path) + source.joined.filter { texts(.join).contains($0.text) }.map(\.path)
    let (joined, computed) = source.derivedColumns(for: named.flatMap(\.paths) + made)
    parts.removeAll { $0.clause.isRepeated }
    parts += computed.map { Part(clause: .column, text: $0.text) } + joined.map { Part(clause: .join, text: $0.text) }
  }

  init(parsing text: String) throws(Mistake) {
    for (number, whole) in TextLines.split(text).enumerated() {
      let line = whole.drop { $0.isWhitespace }
      guard !line.isEmpty, !line.hasPrefix("//") else { continue }
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
      let text = line.dropFirst(word.count).drop { $0.isWhitespace }
      guard !text.isEmpty else { continue }
      let column = whole.count - text.count + 1
      parts.append(Part(clause: clause, text: String(text).trimmed, line: number + 1, column: column))
    }
    do throws(ModelError) { try read() } catch { throw mistake(error) }
  }

  private mutating func read() throws(ModelError) {
    if let filter = self[.filter] { _ = try Filter(typed: filter) }
    clause = .range
    if let text = self[.range], range == nil {
      throw .invalid(text: text, column: 1, reason: "a range is written A ..< B of INDEX")
    }
    clause = .order
    if let order = self[.order] { sort = try [SortOrder](parsing: order, isDescending: false) }
    func paths(_ names: [String]) throws(ModelError) -> [DocumentPath] {
      try names.filter { !$0.isEmpty }.map { name throws(ModelError) in
        guard let path = try? DocumentPath(named: name) else {
          throw .invalid(text: name, column: 1, reason: "“\(name)” is not a field")
        }
        return path
      }
    }
    clause = .select
    select = try paths(RecordQuery.names(in: self[.select] ?? ""))
    clause = .group
    group = try paths((self[.group] ?? "").words)
    if group.count > 2 {
      throw .invalid(
        text: self[.group] ?? "", column: 1, reason: "groups are by one field, with figures of one other")
    }
    clause = .column
    computed = try texts(.column).map { text throws(ModelError) in try WorkContext.computed(text) }
    clause = .limit
    guard let text = self[.limit] else { return }
    limit = Int(text)
    if (limit ?? 0) < 1 { throw .invalid(text: text, column: 1, reason: "“\(text)” is not a number of rows") }
  }

  /// The error as a mistake at the first occurrence of its text in the clause that is read.
  func mistake(_ error: ModelError) -> Mistake {
    guard case .invalid(let text, let column, let reason) = error else {
      return mistake(error.description, of: "", in: clause)
    }
    var mistake = mistake(reason, of: text, in: clause)
    mistake.column += max(0, (column ?? 1) - 1)
    return mistake
  }

  /// A mistake at the first occurrence of a text in a clause, or else at the beginning of the clause.
  private func mistake(_ reason: String, of text: String, in clause: Clause) -> Mistake {
    let parts = parts.filter { $0.clause == clause }
    let part = parts.first { $0.text.contains(text) } ?? parts.first ?? Part(clause: clause, text: "")
    let place = part.text.firstRange(of: text).map { part.text.distance(from: part.text.startIndex, to: $0.lowerBound) }
    return Mistake(line: part.line, column: part.column + (place ?? 0), reason: reason)
  }

  /// The mistake of a name that no record has, at the clause that has it.
  func mistake(_ unknown: UnknownName) -> Mistake {
    let (name, clause) = (unknown.path.shortText, clause(of: unknown.path))
    let isWritten = texts(clause).contains { $0.contains(name) }
    let text = isWritten ? name : unknown.path.components.lastMember ?? ""
    return mistake(unknown.sentence, of: text, in: clause)
  }

  /// The clause that names a field. A field that none of the others names is of a column.
  func clause(of path: DocumentPath) -> Clause {
    if let clause = named.first(where: { $0.paths.contains(path) })?.clause { return clause }
    return computed.contains { $0.paths.contains(path) } ? .column : .join
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
