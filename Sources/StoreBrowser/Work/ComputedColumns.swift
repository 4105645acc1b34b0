import StrataDocuments
import StrataExpressions
import StrataModel

/// The columns of a table that no record has: joined, or computed. Every reader of rows adds them by `DerivedFields`.
extension RowSource {
  var derivesColumns: Bool { !computed.isEmpty || !joined.isEmpty }

  /// The first parts of the joined columns, and the computed ones.
  private var derived: [DocumentPath] { joined.map(\.path) + computed.map(\.path) }

  /// The columns themselves.
  var derivedPaths: [DocumentPath] { joined.flatMap(\.columns) + computed.map(\.path) }

  /// Whether a path leads into a joined or computed column.
  func derives(_ paths: [DocumentPath]) -> Bool { paths.contains { path in derived.contains { $0.contains(path) } } }

  /// Returns the columns that paths lead into, and those that these are computed from.
  func derivedColumns(for paths: [DocumentPath]) -> (joined: [Join], computed: [Assignment]) {
    var (wanted, columns) = (paths, [Assignment]())
    // A later column may read an earlier one.
    for column in computed.reversed() where wanted.contains(where: column.path.contains) {
      columns.insert(column, at: 0)
      wanted += column.paths
    }
    return (joined.filter { wanted.contains(where: $0.path.contains) }, columns)
  }

  /// Adds computed columns, or changes those of their names.
  ///
  /// - Throws: `ModelError.invalid` if one is computed from itself, also through others, or if the records have such a field.
  mutating func add(_ columns: [Assignment], beside fields: TableColumns) throws(ModelError) {
    for column in columns { try require(column.path, column.text, beside: fields, "give the column another name") }
    var left = computed.filter { old in !columns.contains { $0.path == old.path } } + columns
    computed = []
    // Each column reads earlier ones.
    while let first = left.first {
      let next = left.firstIndex { column in
        !left.contains { column.paths.contains(where: $0.path.contains) }
      }
      guard let next else {
        throw .invalid(text: first.text, column: nil, reason: "a column cannot be computed from itself: \(first.text)")
      }
      computed.append(left.remove(at: next))
    }
  }

  /// Adds joined columns, or changes those of their name.
  ///
  /// - Throws: `ModelError.invalid` if the records have such a field.
  mutating func add(_ join: Join, beside fields: TableColumns) throws(ModelError) {
    try require(join.path, join.text, beside: fields, join.otherName)
    joined = joined.filter { $0.name != join.name } + [join]
  }

  private func require(
    _ path: DocumentPath, _ text: String, beside fields: TableColumns, _ remedy: String
  ) throws(ModelError) {
    guard !derived.contains(path), fields.seen.contains(where: { WorkContext.isPath($0.path, in: path) }) else {
      return
    }
    throw .invalid(text: text, column: nil, reason: "the records have a field \(path.shortText); \(remedy)")
  }

  /// Why the field at a path of a record cannot be changed; nil if it is the record's own.
  func derivation(of path: DocumentPath) -> String? {
    if let column = computed.first(where: { $0.path.contains(path) }) {
      return "it is computed: \(column.text) (g= changes it)"
    }
    return joined.first { $0.path.contains(path) }.map {
      "it is joined from \($0.target), to which \($0.field.shortText) leads"
    }
  }

  /// Returns a record, which has its joined fields already, with its computed ones; a later one may read an earlier one. A field that
  /// cannot be computed is null.
  func adding(to document: Document) -> Document { computing(in: document).whole }

  private func computing(in document: Document) -> (whole: Document, problems: [String: String]) {
    var (whole, problems) = (document, [String: String]())
    for column in computed {
      var value = Document.null
      do throws(DocumentError) { value = try column.result(in: whole) } catch {
        problems[column.path.description] = error.reason
      }
      whole = (try? whole.setting(column.path, to: value)) ?? whole
    }
    return (whole, problems)
  }

  /// The cells of a record. A cell that cannot be computed says why.
  func cells(of document: Document) -> [(path: String, value: ValueText)] {
    guard !computed.isEmpty else { return WorkContext.cells(of: document) }
    let (whole, problems) = computing(in: document)
    let paths = Set(computed.map(\.path.description))
    return WorkContext.cells(of: whole).map { path, value in
      guard paths.contains(path) else { return (path, value) }
      if let reason = problems[path] {
        return (path, ValueText(text: "error: \(reason)", kind: .problem))
      }
      return (path, value.rounded)
    }
  }
}

extension ValueText {
  /// A quotient has no end: six digits behind the point are shown, and the text counts as cut. Of a number that is written with an exponent
  /// these would say nothing.
  fileprivate var rounded: ValueText {
    guard kind == .number, let point = text.firstIndex(of: "."), text[point...].utf8.count > 7, !text.contains("e"),
      let number = Double(text), abs(number) < 1e9
    else { return self }
    var result = self
    result.text = NumberFormat.fixed(number, digits: 6)
    result.isCut = true
    return result
  }
}

extension DocumentError {
  fileprivate var reason: String {
    if case .refused(let reason) = self { reason } else { "\(self)" }
  }
}
