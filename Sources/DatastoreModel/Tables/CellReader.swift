import Documents

/// The type of a column of cells, the narrowest that all its cells have.
package enum CellType: String, Hashable, Sendable, CustomStringConvertible {
  /// All cells are empty.
  case empty
  case bool
  case integer
  case number
  /// JSON lists or objects.
  case json
  case text

  package var description: String {
    switch self {
    case .empty: "nothing"
    case .bool: "Bool"
    case .integer: "Int"
    case .number: "Double"
    case .json: "JSON"
    case .text: "String"
    }
  }

  /// The type of one cell: numbers are as JSON writes them, so that `007` and `+49` stay texts.
  init(cell: String) {
    guard let first = cell.utf8.first else {
      self = .empty
      return
    }
    switch first {
    case UInt8(ascii: "{"), UInt8(ascii: "["): self = (try? JSONParser.parse(cell)) == nil ? .text : .json
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
      guard let number = NumberText(cell), number.isFinite else {
        self = .text
        return
      }
      // A long row of digits is a code, not a quantity.
      self = !number.isInteger ? .number : number.integer != nil ? .integer : .text
    default: self = ["true", "false", "TRUE", "FALSE", "True", "False"].contains(cell) ? .bool : .text
    }
  }

  /// The narrowest type that holds both.
  func joined(with other: CellType) -> CellType {
    switch (self, other) {
    case (.empty, _): other
    case (_, .empty): self
    case (.integer, .number), (.number, .integer): .number
    default: self == other ? self : .text
    }
  }

  /// The value of a cell in a column of this type; an empty cell is null unless it was in quotes.
  func value(of cell: String, isQuoted: Bool) -> Document {
    if cell.isEmpty { return isQuoted && self == .text ? .string("") : .null }
    switch self {
    case .empty, .text: return .string(cell)
    case .bool: return .bool(cell.first == "t" || cell.first == "T")
    case .integer, .number: return NumberText(cell).map { .number($0) } ?? .string(cell)
    case .json: return (try? JSONParser.parse(cell)) ?? .string(cell)
    }
  }
}

/// Takes rows of cells off a stream (RFC 4180, with any separator; lines may end in CR LF or LF).
struct CellReader {
  private let stream: ByteStream
  private let separator: UInt8
  private(set) var columns: [TableSource.Column] = []

  /// Reads the whole stream for the types of its columns.
  static func survey(_ stream: ByteStream, separator: Character) throws(ModelError) -> CellReader {
    var reader = CellReader(stream: stream, separator: separator.asciiValue ?? UInt8(ascii: ","))
    try stream.skipByteOrderMark()
    guard case .cells(let names)? = try reader.row()?.row else { return reader }
    var surveys = Array(repeating: ColumnSurvey(), count: names.count)
    while let (line, row) = try reader.row() {
      // A row that has not as many cells as there are names is left out.
      guard case .cells(let cells) = row, cells.count == names.count else { continue }
      for (index, cell) in cells.enumerated() { surveys[index].see(cell.text, at: "\(stream.name):\(line)") }
    }
    reader.columns = zip(paths(names.map(\.text)), surveys).map {
      TableSource.Column(path: $0, type: $1.type, exceptions: $1.exceptions)
    }
    return reader
  }

  private init(stream: ByteStream, separator: UInt8) {
    self.stream = stream
    self.separator = separator
  }

  /// Takes the names off.
  func begin() throws(ModelError) {
    try stream.skipByteOrderMark()
    _ = try row()
  }

  /// The next row as a document; nil at the end.
  func next() throws(ModelError) -> ImportRow? {
    guard let (line, row) = try row() else { return nil }
    let place = SourcePlace(stream.name, line: line)
    switch row {
    case .unreadable(let reason): return ImportRow(.unreadable(reason), place: place)
    case .cells(let cells):
      guard cells.count == columns.count else {
        return ImportRow(
          .unreadable("\(cells.count) cell\(cells.count == 1 ? "" : "s") under \(columns.count) names"), place: place)
      }
      return ImportRow(
        .document(document(of: cells)), place: place, size: cells.reduce(0) { $0 + $1.text.utf8.count })
    }
  }

  private func document(of cells: [Cell]) -> Document {
    var members: [Document.Member] = []
    members.reserveCapacity(cells.count)
    var nested: [(DocumentPath, Document)] = []
    for (column, cell) in zip(columns, cells) {
      let value = column.type.value(of: cell.text, isQuoted: cell.isQuoted)
      if column.path.components.count == 1, case .member(let name)? = column.path.components.first {
        members.append(Document.Member(name, value))
      } else {
        nested.append((column.path, value))
      }
    }
    var document = Document.object(members)
    for (path, value) in nested { document = (try? document.setting(path, to: value)) ?? document }
    return document
  }

  // MARK: Rows

  private struct Cell {
    var text: String
    var isQuoted: Bool
  }

  private enum Row {
    case cells([Cell])
    case unreadable(String)
  }

  /// The next row that is not blank, and the line on which it begins.
  private func row() throws(ModelError) -> (line: Int, row: Row)? {
    while true {
      guard try stream.peek() != nil else { return nil }
      let line = stream.line
      // A line's end within quotes belongs to its cell; quotes count at a cell's beginning, and doubled in quotes.
      var isQuoted = false
      var mayOpen = true
      let found = try stream.length(from: 0) { bytes in
        for (offset, byte) in bytes.enumerated() {
          if byte == UInt8(ascii: "\""), isQuoted || mayOpen {
            isQuoted.toggle()
            mayOpen = true
          } else if byte == UInt8(ascii: "\n"), !isQuoted {
            return offset + 1
          } else {
            mayOpen = byte == separator
          }
        }
        return nil
      }
      let length = found ?? stream.availableCount
      let row = isQuoted && found == nil ? .unreadable("a quote does not end") : stream.withBytes(length, split)
      stream.consume(length)
      if let row { return (line, row) }
    }
  }

  /// The cells of a line; nil of a blank one.
  private func split(_ line: UnsafeRawBufferPointer) -> Row? {
    var end = line.count
    if end > 0, line[end - 1] == UInt8(ascii: "\n") { end -= 1 }
    if end > 0, line[end - 1] == UInt8(ascii: "\r") { end -= 1 }
    guard end > 0 else { return nil }
    var cells: [Cell] = []
    var at = 0
    while true {
      let start = at
      let isQuoted = at < end && line[at] == UInt8(ascii: "\"")
      let text: String?
      if isQuoted {
        guard let (content, next) = Self.quoted(line, from: at + 1, to: end) else {
          return .unreadable("cell \(cells.count + 1): a quote does not end")
        }
        text = content
        at = next
        guard at == end || line[at] == separator else {
          return .unreadable("cell \(cells.count + 1): there is text after the closing quote")
        }
      } else {
        while at < end, line[at] != separator { at += 1 }
        text = String(exactly: UnsafeRawBufferPointer(rebasing: line[start..<at]).bindMemory(to: UInt8.self))
      }
      guard let text else { return .unreadable("cell \(cells.count + 1): the text is not UTF-8") }
      cells.append(Cell(text: text, isQuoted: isQuoted))
      guard at < end else { return .cells(cells) }
      at += 1
    }
  }

  /// The content of a cell up to its closing quote, and where that ends; doubled quotes stand for one.
  private static func quoted(_ line: UnsafeRawBufferPointer, from start: Int, to end: Int) -> (String?, Int)? {
    var content: [UInt8] = []
    var at = start
    while at < end {
      if line[at] == UInt8(ascii: "\"") {
        guard at + 1 < end, line[at + 1] == UInt8(ascii: "\"") else {
          return (String(validating: content, as: UTF8.self), at + 1)
        }
        at += 1
      }
      content.append(line[at])
      at += 1
    }
    return nil
  }

  /// Where the cells of each column go: the names as paths (`dims.w` is a member of `dims`), or as they are where they
  /// are none, each once.
  private static func paths(_ names: [String]) -> [DocumentPath] {
    var seen: Set<DocumentPath> = []
    return names.enumerated().map { index, name in
      let name = name.trimmingSpaces.isEmpty ? "column\(index + 1)" : name.trimmingSpaces
      var path = (try? DocumentPath(parsing: name)) ?? DocumentPath([.member(name)])
      if path.isRoot || path.components.contains(where: { if case .index = $0 { true } else { false } }) {
        path = DocumentPath([.member(name)])
      }
      var copy = 2
      while !seen.insert(path).inserted {
        path = DocumentPath([.member("\(name)_\(copy)")])
        copy += 1
      }
      return path
    }
  }
}
