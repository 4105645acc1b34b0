package import StrataDocuments
import StrataEngine

/// Writes documents as JSON Lines, a JSON array or values separated by commas or tabs, one at a time.
///
/// ```
/// var columns = TableColumns()
/// for document in sample { columns.see(document) }
/// var writer = TableWriter(.csv, columns: columns.columns)
/// output(writer.beginning)
/// for document in documents { output(writer.row(document)) }
/// output(writer.end)
/// ```
package struct TableWriter: Sendable {
  package enum Format: String, CaseIterable, Sendable {
    case jsonl, json, csv, tsv

    /// The separator between cells; nil for JSON.
    package var separator: UInt8? {
      switch self {
      case .csv: UInt8(ascii: ",")
      case .tsv: UInt8(ascii: "\t")
      case .json, .jsonl: nil
      }
    }
  }

  package let format: Format
  /// The columns of a table of cells.
  package let columns: [DocumentPath]
  private let headings: [String]
  private let cells: ColumnTree
  private var isFirst = true

  /// - Parameter headings: the titles of the columns in a table that is not read back; nil names the paths.
  package init(_ format: Format, columns: [DocumentPath] = [], headings: [String]? = nil) {
    self.format = format
    self.columns = columns
    self.headings = headings ?? columns.map(Self.heading)
    cells = ColumnTree(columns)
  }

  /// The text before the first row.
  package var beginning: [UInt8] {
    switch format {
    case .jsonl: []
    case .json: Array("[".utf8)
    case .csv, .tsv: columns.isEmpty ? [] : line(headings)
    }
  }

  /// Returns a document as a row, with the separator from the previous row.
  package mutating func row(_ document: Document) -> [UInt8] {
    defer { isFirst = false }
    return switch format {
    case .jsonl: document.json(.compact) + [UInt8(ascii: "\n")]
    case .json: Array((isFirst ? "\n" : ",\n").utf8) + document.json(.compact)
    case .csv, .tsv: line(cells.values(of: document).map(Self.cell))
    }
  }

  /// Appends a record as a row, like `row` of its document. If its bytes are as they would be written, they are copied.
  package mutating func append(_ record: RawRecord, to bytes: inout [UInt8]) throws(ModelError) {
    let isCopied =
      format.separator == nil
      && record.bytes.withUnsafeBytes { content in
        guard record.coding.isCompactJSON(content) else { return false }
        if format == .json { bytes.append(contentsOf: (isFirst ? "\n" : ",\n").utf8) }
        bytes.append(contentsOf: content)
        if format == .jsonl { bytes.append(UInt8(ascii: "\n")) }
        return true
      }
    if isCopied { isFirst = false } else { bytes += row(try record.document()) }
  }

  /// The writer of a part without the first row.
  package var continued: TableWriter {
    var writer = self
    writer.isFirst = false
    return writer
  }

  /// Returns the rows of a part that `continued` wrote, with the separator that they need here.
  package mutating func joined(_ rows: [UInt8]) -> ArraySlice<UInt8> {
    guard !rows.isEmpty else { return [] }
    defer { isFirst = false }
    return format == .json && isFirst ? rows.dropFirst() : rows[...]
  }

  /// The text after the last row.
  package var end: [UInt8] { format == .json ? Array((isFirst ? "]\n" : "\n]\n").utf8) : [] }

  /// Returns the heading of a column: its plain name, as other tools expect it, unless that reads back as another path.
  package static func heading(of path: DocumentPath) -> String {
    guard path.components.count == 1, case .member(let name)? = path.components.first, !name.isEmpty,
      name == name.trimmingSpaces
    else { return path.shortText }
    let readBack = try? DocumentPath(parsing: name)
    return readBack == nil || readBack == path ? name : path.description
  }

  /// Returns a text as it is, null as nil, anything else as JSON.
  package static func cell(_ value: Document?) -> String? {
    switch value {
    case nil, .null?: nil
    case .string(let text)?: text
    case .number(let number)?: number.text
    case .bool(let value)?: value ? "true" : "false"
    case .date(let date)?: DateText.text(of: date)
    case .data(let bytes)?: Base64.text(of: bytes)
    case .some(let value): value.compactJSON
    }
  }

  private func line(_ cells: [String?]) -> [UInt8] {
    let separator = format.separator ?? UInt8(ascii: ",")
    var line: [UInt8] = []
    for (index, cell) in cells.enumerated() {
      if index > 0 { line.append(separator) }
      Self.append(cell, separator: separator, isOnly: cells.count == 1, to: &line)
    }
    line.append(UInt8(ascii: "\n"))
    return line
  }

  /// Appends a cell to a line.
  ///
  /// - Parameters:
  ///   - isQuoted: whether it has quotes even if it needs none.
  ///   - isOnly: whether its row has no other cell. Null is then written as two quotes, because a blank line is not a row.
  static func append(
    _ cell: String?, separator: UInt8, isQuoted: Bool = false, isOnly: Bool, to line: inout [UInt8]
  ) {
    guard let cell else {
      if isOnly { line += [UInt8](repeating: UInt8(ascii: "\""), count: 2) }
      return
    }
    // An empty text has quotes, which distinguish it from null. A zero outside quotes, and a byte order mark, have other meanings.
    let needsQuotes =
      isQuoted || cell.isEmpty
      || cell.utf8.contains { $0 == 0x22 || $0 == separator || $0 == 0x0A || $0 == 0x0D || $0 == 0 }
      || cell.utf8.first == 0x20 || cell.utf8.last == 0x20 || cell.unicodeScalars.first == "\u{FEFF}"
    guard needsQuotes else {
      line += cell.utf8
      return
    }
    line.append(UInt8(ascii: "\""))
    for byte in cell.utf8 {
      if byte == UInt8(ascii: "\"") { line.append(byte) }
      line.append(byte)
    }
    line.append(UInt8(ascii: "\""))
  }
}

/// Finds the values of many columns of a document in one walk over it, whatever their number.
package struct ColumnTree: Sendable {
  private let columns: [DocumentPath]
  private var root = Node()
  /// Columns of list elements and the like, which are looked up.
  private var others: [Int] = []

  private struct Node: Sendable {
    var column: Int?
    var members: [String: Node] = [:]

    /// Returns false if the path is not one of members alone, or if another column has it.
    mutating func insert(_ column: Int, at path: ArraySlice<DocumentPath.Component>) -> Bool {
      guard let first = path.first else {
        guard self.column == nil else { return false }
        self.column = column
        return true
      }
      guard case .member(let name) = first else { return false }
      return members[name, default: Node()].insert(column, at: path.dropFirst())
    }

    func see(_ value: Document, _ values: inout [Document?]) {
      if let column { values[column] = value }
      guard case .object(let found) = value, !members.isEmpty else { return }
      for member in found { members[member.name]?.see(member.value, &values) }
    }
  }

  package init(_ columns: [DocumentPath]) {
    self.columns = columns
    others = columns.indices.filter { !root.insert($0, at: columns[$0].components[...]) }
  }

  package func values(of document: Document) -> [Document?] {
    var values = [Document?](repeating: nil, count: columns.count)
    root.see(document, &values)
    for column in others { values[column] = document[columns[column]] }
    return values
  }
}

/// Finds the columns of a table from the documents that it is to hold, one at a time.
///
/// They are the leaves in the order in which they first occur; members of objects have columns of their own (`dims.w`),
/// lists are one cell of JSON. Memory grows with the number of columns only.
package struct TableColumns: Sendable {
  private var leaves: [DocumentPath] = []
  private var seen: Set<DocumentPath> = []

  package init() {}

  package mutating func see(_ document: Document) { see(document, at: .root) }

  /// If one document has an object where another has a plain value, the whole is one cell.
  package var columns: [DocumentPath] {
    leaves.filter { leaf in
      !(0..<leaf.components.count).contains { seen.contains(DocumentPath(Array(leaf.components.prefix($0)))) }
    }
  }

  private mutating func see(_ document: Document, at path: DocumentPath) {
    if case .object(let members) = document, !members.isEmpty {
      for member in members { see(member.value, at: path.appending(member.name)) }
    } else if document != .null || !path.isRoot, seen.insert(path).inserted {
      leaves.append(path)
    }
  }
}
