import StrataDocuments
import StrataModel
import StrataTerminal

struct TableColumn: Sendable, Hashable {
  enum Source: Sendable, Hashable {
    case identifier
    /// The key of the index that orders the table.
    case key
    case field(String)
  }

  var source: Source
  var title: String
  var width: Int
  var isTrailing: Bool
  /// Whether large numbers are shown with separators: not those of identifiers, references and dates.
  var isSeparated = false
  /// The digits of numbers from the decimal point on, which stand below each other.
  var fraction = 0

  /// Whether its texts tell records apart, also by their ends alone.
  var isName: Bool { source == .identifier }

  var path: String? {
    if case .field(let path) = source { return path }
    return nil
  }
}

extension DocumentPath {
  /// A written path as a title, in which a name has no quotes.
  static func title(of path: String) -> String {
    path == "." ? "value" : path.dropFirst().filter { !"\"\\".contains($0) }
  }
}

extension Session {
  /// Whether large numbers of a field of the open datastore are shown with separators: not if the user chose a form for them, nor those
  /// of identifiers, references and dates, by a reference, or by the name, as in `id`, `parentId`, `order_id`, `year`, `createdAt`.
  func isSeparated(_ path: DocumentPath) -> Bool {
    guard let descriptor = current?.descriptor, case .member(let name)? = path.components.last else { return true }
    let lower = name.lowercased()
    return columnChoice(descriptor.key).formats?[path.description] == nil
      && descriptor.identifierPath != path.description && naming.fields(of: descriptor).target(of: path) == nil
      && !["id", "key", "year", "zip", "postcode"].contains(lower)
      && !["Id", "ID", "_id", "-id", "At", "_at"].contains(where: name.hasSuffix)
      && !["date", "time", "timestamp"].contains(where: lower.hasSuffix)
  }
}

/// The columns of a datastore: the fields of its documents, as the user arranged them.
struct TableColumns: Sendable, Hashable {
  private(set) var seen: [ColumnSeen] = []
  /// The place of each path in `seen`: a file may have 20,000 columns.
  private var places: [String: Int] = [:]
  /// The field that is the identifier, so that it is not shown twice.
  var identifierPath: String?
  var key = ColumnExtent()
  /// The fields whose values were the identifiers in all rows so far, if the datastore names none; nil before the first row.
  private var candidates: [String]?
  private var identifier = ColumnExtent()
  private var keyIsTrailing = false
  private var identifierIsTrailing = false

  /// Takes the columns of a window of rows into account. Columns grow with the visible rows and never become narrower.
  mutating func widen(for columns: [ColumnSeen], rows: [Row]) {
    for column in columns { see(column) }
    see(rows.map(\.entry.identifier))
    let keys = rows.map { ValueText(key: $0.entry.value) }
    for text in keys { key.widen(to: ColumnExtent(text, width: SafeText.width(text.text))) }
    keyIsTrailing = keys.first { $0.kind != .null }?.isTrailing ?? keyIsTrailing
    if identifierPath == nil || candidates != nil { guessIdentifierPath(of: rows) }
  }

  /// Takes staged records into account, which no reader has seen. Their references have no labels.
  ///
  /// - Parameter keyPath: The field that is the key of the index that orders the table.
  mutating func widen(for columns: [ColumnSeen], staged: [StoredKey], keyPath: String?) {
    for var column in columns {
      column.isNamed = places[column.path].map { seen[$0].isNamed } ?? false
      if column.path == keyPath { key.widen(to: column.extent) }
      see(column)
    }
    see(staged)
  }

  private mutating func see(_ identifiers: [StoredKey]) {
    for text in identifiers.map({ ValueText(key: $0.value) }) {
      identifier.widen(to: ColumnExtent(text, width: SafeText.width(text.text)))
      identifierIsTrailing = text.isTrailing
    }
  }

  private mutating func see(_ column: ColumnSeen) {
    guard let position = places[column.path] else {
      places[column.path] = seen.count
      return seen.append(column)
    }
    // A column that gets its first values, or begins or ceases to show labels, gets a new width.
    let isEmpty = [.null, .problem].contains(seen[position].kind)
    if isEmpty || column.isNamed != seen[position].isNamed { seen[position] = column }
    seen[position].extent.widen(to: column.extent)
  }

  /// Whether the values of a field are booleans, as far as they were seen.
  func isTruth(at path: String) -> Bool { places[path].map { seen[$0].kind == .bool } ?? false }

  /// The column of plain values that a path leads into; nil if there is none.
  func column(above path: DocumentPath) -> DocumentPath? {
    guard path.components.count > 1 else { return nil }
    for column in seen where [.bool, .number, .string, .date].contains(column.kind) {
      if let above = try? DocumentPath(parsing: column.path), above != path, above.contains(path) { return above }
    }
    return nil
  }

  /// Forgets columns that no record has any more.
  mutating func forget(where isGone: (String) -> Bool) {
    seen.removeAll { isGone($0.path) }
    places = Dictionary(uniqueKeysWithValues: zip(seen.map(\.path), seen.indices))
  }

  /// Takes the field whose value was the identifier in every row so far.
  private mutating func guessIdentifierPath(of rows: [Row]) {
    guard let first = rows.first(where: { $0.problem == nil }) else { return }
    let known = (candidates ?? first.cells.keys.sorted()).filter { path in
      rows.allSatisfy { $0.problem != nil || $0.cells[path]?.text == ValueText(key: $0.entry.identifier.value).text }
    }
    (candidates, identifierPath) = (known, known.first)
  }

  /// The visible columns in their order.
  ///
  /// - Parameter isNumber: Whether large numbers of a field have separators.
  func visible(
    choice: ColumnChoice, datastore: Outline.Datastore?, index: String?, isNumber: (String) -> Bool
  ) -> [TableColumn] {
    var columns = [identifierColumn(choice)]
    let indexPath = datastore?.index(index)?.descriptor.documentPath?.description
    func isSeparated(_ path: String?) -> Bool {
      path.map { $0 != identifierPath && isNumber($0) } ?? false
    }
    if let index { columns.append(keyColumn(index, choice, isSeparated: isSeparated(indexPath))) }
    let indexed = Set(datastore?.descriptor.indexes.compactMap { $0.documentPath?.description } ?? [])
    let fields = seen.filter { $0.path != identifierPath && $0.path != indexPath && !choice.hidden.contains($0.path) }
    let isOfEntities = seen.contains { Document.entityProperty(at: $0.path) != nil }
    let ranks = fields.map { Self.rank($0, choice: choice, indexed: indexed, isOfEntities: isOfEntities) }
    let order = fields.indices.sorted { (ranks[$0], $0) < (ranks[$1], $1) }
    return columns
      + order.map { Self.column(fields[$0], choice, isSeparated: isSeparated(fields[$0].path)) }
  }

  private func identifierColumn(_ choice: ColumnChoice) -> TableColumn {
    let title = identifierPath.map(DocumentPath.title) ?? "id"
    let natural = max(4, min(40, max(identifier.width, title.count + 2)))
    return TableColumn(
      source: .identifier, title: title, width: choice.width(of: "id") ?? natural, isTrailing: identifierIsTrailing,
      fraction: identifier.fraction)
  }

  private func keyColumn(_ index: String, _ choice: ColumnChoice, isSeparated: Bool) -> TableColumn {
    let isSeparated = isSeparated && keyIsTrailing
    let natural = max(
      4, min(40, max(key.width + Self.separators(isSeparated, key.width), index.count + 2)))
    return TableColumn(
      source: .key, title: index, width: choice.width(of: "key") ?? natural, isTrailing: keyIsTrailing,
      isSeparated: isSeparated, fraction: key.fraction)
  }

  /// The cells that separators take in numbers of a width.
  private static func separators(_ isSeparated: Bool, _ width: Int) -> Int {
    isSeparated ? max(0, width - 1) / 3 : 0
  }

  private static func column(_ seen: ColumnSeen, _ choice: ColumnChoice, isSeparated: Bool)
    -> TableColumn
  {
    let isSeparated = isSeparated && seen.kind == .number
    let title = Document.entityProperty(at: seen.path) ?? DocumentPath.title(of: seen.path)
    let widest = seen.kind == .list || seen.kind == .object ? 24 : 28
    // Numbers further down may have a sign and one more digit, and a cut number says little.
    let room = seen.kind == .number ? 2 + separators(isSeparated, seen.width) : 0
    let format = choice.formats?[seen.path].flatMap(ValueFormat.init(rawValue:))
    let natural = max(
      min(12, SafeText.width(title)), min(widest, seen.width + room), 3, format?.room(for: seen.width) ?? 0)
    return TableColumn(
      source: .field(seen.path), title: title, width: choice.width(of: seen.path) ?? natural,
      isTrailing: seen.kind == .number, isSeparated: isSeparated,
      fraction: [nil, .plain, .thousands].contains(format) ? seen.extent.fraction : 0)
  }

  /// First the columns that the user put first; then names, indexed fields, single values, lists.
  private static func rank(
    _ column: ColumnSeen, choice: ColumnChoice, indexed: Set<String>, isOfEntities: Bool
  ) -> Int {
    if let index = choice.order.firstIndex(of: column.path) { return index }
    let base = choice.order.count
    // An entity's type comes before its properties, and its creation date after them.
    if isOfEntities, column.path == ".type" { return base + 1 }
    if isOfEntities, column.path == ".created" { return base + 3 }
    switch column.kind {
    case .list, .object, .data: return base + 4
    default: break
    }
    let name = Document.entityProperty(at: column.path) ?? column.path.split(separator: ".").last.map(String.init) ?? ""
    if name == "name" || name == "title" { return base }
    return base + (indexed.contains(column.path) ? 1 : 2)
  }
}
