import StrataDocuments

/// The type of a column of cells: the narrowest that all its cells fit.
package enum CellType: String, Hashable, Sendable, CustomStringConvertible {
  /// All cells are empty.
  case empty = "nothing"
  case bool = "Bool"
  case integer = "Int"
  case number = "Double"
  /// JSON lists or objects.
  case json = "JSON"
  case text = "String"

  package var description: String { rawValue }

  /// Reads the name of a type, as it is printed or in short: `text`, `String`, `int`, `Double`, `number`, `bool`, `json`.
  package init?(named name: String) {
    switch name.lowercased() {
    case "text", "string": self = .text
    case "int", "integer": self = .integer
    case "double", "number", "decimal", "float": self = .number
    case "bool", "boolean": self = .bool
    case "json", "list", "object": self = .json
    default: return nil
    }
  }

  /// The type of one cell: numbers are written as in JSON, so that `007` and `+49` stay texts.
  init(cell: String) {
    guard let first = cell.utf8.first else {
      self = .empty
      return
    }
    switch first {
    case UInt8(ascii: "{"), UInt8(ascii: "["): self = (try? JSONParser.parse(cell)) == nil ? .text : .json
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
      // JSON decoders refuse a number beyond the range of Double.
      guard let number = NumberText(cell), number.double.isFinite else {
        self = .text
        return
      }
      // A long row of digits is a code, not a quantity.
      self = !number.isInteger ? .number : number.integer != nil ? .integer : .text
    default: self = ["true", "false", "TRUE", "FALSE", "True", "False"].contains(cell) ? .bool : .text
    }
  }

  /// A cell without blanks around it, and a number with JSON's sign and first digit: `+.5` is 0.5. A number that may mean several, such as
  /// `1,234`, stays as it is.
  func plain(_ cell: String) -> String {
    guard self == .bool || self == .integer || self == .number else { return cell }
    let text = cell.trimmingSpaces
    let sign = text.prefix { $0 == "-" || $0 == "+" }
    let digits = text.dropFirst(sign.count)
    // A sign alone stays, and is refused: without it the cell would be empty.
    guard self != .bool, sign.count < 2, digits != ".", !digits.isEmpty else { return text }
    return (sign == "-" ? "-" : "") + (digits.first == "." ? "0" : "") + digits
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

  /// Returns the value of a cell in a column of this type, null for an empty cell unless it was in quotes; nil if the cell does not fit.
  func value(of cell: String, isQuoted: Bool) -> Document? {
    if cell.isEmpty { return isQuoted && (self == .text || self == .empty) ? .string("") : .null }
    switch self {
    case .empty, .text: return .string(cell)
    case .bool:
      guard CellType(cell: cell) == .bool else { return nil }
      return .bool(cell.first == "t" || cell.first == "T")
    case .integer, .number:
      guard let number = NumberText(cell), number.double.isFinite, self == .number || number.isInteger else {
        return nil
      }
      return .number(number)
    case .json: return try? JSONParser.parse(cell)
    }
  }
}

/// The type of a column according to the datastore or the user, whatever the cells of a file look like.
package struct ColumnRule: Sendable, Hashable {
  package var type: CellType
  /// The source of the rule, as the end of a sentence: `in the records of City`.
  package var origin: String
  /// Whether the user may choose another type for the column.
  package var isChangeable = false
}

/// Takes rows of cells off a stream (RFC 4180, with any separator; lines may end in CR LF, LF or CR).
struct CellReader {
  private let stream: ByteStream
  let separator: UInt8
  private(set) var columns: [TableSource.Column] = []
  /// A sentence for each column whose name differs from its heading.
  private(set) var notes: [String] = []
  private var rules: [ColumnRule?] = []
  /// The end of the row of names in the text.
  private(set) var namesEnd = 0

  /// Reads the whole stream for the types of its columns.
  static func survey(_ stream: ByteStream, separator: Character) throws(ModelError) -> CellReader {
    var reader = CellReader(stream: stream, separator: separator.asciiValue ?? UInt8(ascii: ","))
    try reader.skipBeginning()
    guard let row = try reader.row() else { return reader }
    guard case .cells(let names) = row.content else {
      guard case .unreadable(let reason, _) = row.content else { return reader }
      throw .refused(reason: "\(stream.name):\(stream.line): the names of the columns cannot be read: \(reason)")
    }
    reader.namesEnd = stream.offset + row.textLength
    stream.consume(row.length)
    var surveys = Array(repeating: ColumnSurvey(), count: names.count)
    while let row = try reader.row() {
      // A row whose number of cells differs from that of the names is left out.
      if case .cells(let cells) = row.content, cells.count == names.count {
        for (index, cell) in cells.enumerated() {
          surveys[index].see(cell.text, at: "\(stream.name):\(stream.line)")
        }
      }
      stream.consume(row.length)
    }
    let paths: [DocumentPath]
    (paths, reader.notes) = ColumnNames.paths(names.map(\.text))
    reader.columns = zip(zip(names, paths), surveys).map {
      TableSource.Column(
        name: $0.0.text, path: $0.1, type: $1.type, exceptions: $1.exceptions, hasOddDecimal: $1.hasOddDecimal)
    }
    reader.rules = Array(repeating: nil, count: names.count)
    return reader
  }

  private init(stream: ByteStream, separator: UInt8) {
    self.stream = stream
    self.separator = separator
  }

  /// Reads the cells of a column according to a rule. A row with a cell that does not fit is unreadable.
  mutating func follow(_ rule: ColumnRule, at path: DocumentPath) {
    guard let index = columns.firstIndex(where: { $0.path == path }) else { return }
    rules[index] = rule
    columns[index].type = rule.type
    columns[index].exceptions = nil
  }

  /// Consumes the row of names.
  func begin() throws(ModelError) {
    try skipBeginning()
    if let row = try row() { stream.consume(row.length) }
  }

  private func skipBeginning() throws(ModelError) {
    try stream.skipByteOrderMark()
    if try TableFormat.declaredSeparator(in: stream) != nil, let row = try row() { stream.consume(row.length) }
  }

  /// The next row as a document; nil at the end.
  func next() throws(ModelError) -> ImportRow? {
    guard let row = try row() else { return nil }
    defer { stream.consume(row.length) }
    let start = stream.offset
    let place = SourcePlace(file: stream.name, line: stream.line)
    // If a quote is open to the end of the file, no row can follow this one.
    let span = row.isOpen ? nil : start..<start + row.textLength
    switch row.content {
    case .unreadable(let reason, let offset):
      return ImportRow(
        content: .unreadable(reason + lines(of: row)), place: offset.map { stream.place(of: $0) } ?? place, span: span)
    case .cells(let cells):
      guard cells.count == columns.count else {
        let reason = "\(counted(cells.count, "cell")) under \(counted(columns.count, "name"))"
        return ImportRow(content: .unreadable(reason + lines(of: row)), place: place, span: span)
      }
      var values: [Document] = []
      values.reserveCapacity(cells.count)
      for (index, cell) in cells.enumerated() {
        let type = columns[index].type
        if let value = type.value(of: cell.text, isQuoted: cell.isQuoted) {
          values.append(value)
        } else if rules[index] == nil {
          values.append(.string(cell.text))
        } else if let value = type.value(of: type.plain(cell.text), isQuoted: cell.isQuoted) {
          values.append(value)
        } else {
          return ImportRow(
            content: .unreadable(refusal(of: cell, index)), place: stream.place(of: cell.range.lowerBound), span: span)
        }
      }
      return ImportRow(
        content: .document(document(of: values)), place: place, size: cells.reduce(0) { $0 + $1.text.utf8.count },
        span: span)
    }
  }

  /// Returns the lines of a row that has several: an open quote takes the rows after it into its cell.
  private func lines(of row: Row) -> String {
    let ends = stream.withBytes(row.textLength) { bytes in bytes.count { $0 == stream.lineEnd } }
    let isEnded = row.isOpen && stream.withBytes(row.textLength) { $0.last == stream.lineEnd }
    let last = stream.line + ends - (isEnded ? 1 : 0)
    return last > stream.line ? ", so lines \(stream.line) to \(last) are one row" : ""
  }

  private func refusal(of cell: Cell, _ index: Int) -> String {
    let text = cell.text.count > 40 ? "\(cell.text.prefix(40))…" : cell.text
    let (name, type, rule) = (columns[index].path.shortText, columns[index].type, rules[index])
    if type == .number || type == .integer, let number = NumberText(type.plain(cell.text)), number.isFinite,
      number.double.isInfinite
    {
      return "\(name) is \(text), which is beyond the range of Double"
    }
    let isOfNumbers = type == .number || type == .integer && rule?.isChangeable == true
    let isFraction = isOfNumbers && CellType(cell: type.plain(cell.text)) == .number
    return "\(name) is “\(text)”, and it is "
      + (isFraction ? "a whole number" : isOfNumbers ? "a number" : "\(type)") + " \(rule?.origin ?? "")"
      + (isFraction ? "; --type \(name)=number takes fractions" : "")
  }

  private func document(of values: [Document]) -> Document {
    var members: [Document.Member] = []
    members.reserveCapacity(values.count)
    var nested: [(DocumentPath, Document)] = []
    for (column, value) in zip(columns, values) {
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

  struct Cell {
    var text: String
    var isQuoted: Bool
    /// The cell's range in its row, with its quotes.
    var range: Range<Int>
  }

  private struct Row {
    enum Content {
      case cells([Cell])
      /// With the offset in the row if it is known.
      case unreadable(String, at: Int?)
    }

    var content: Content
    var length: Int
    /// Without the line's end.
    var textLength: Int
    /// Whether it has a quote that does not end.
    var isOpen = false
  }

  /// Returns the next row that is not blank. The row begins at the stream's position afterwards and is not consumed.
  private func row() throws(ModelError) -> Row? {
    while true {
      guard try stream.peek() != nil else { return nil }
      // A line's end within quotes belongs to the cell. Quotes count at the beginning of a cell, and doubled within quotes.
      var isQuoted = false
      var mayOpen = true
      let lineEnd = stream.lineEnd
      let found = try stream.length(from: 0) { bytes in
        for (offset, byte) in bytes.enumerated() {
          if byte == UInt8(ascii: "\""), isQuoted || mayOpen {
            isQuoted.toggle()
            mayOpen = true
          } else if byte == lineEnd, !isQuoted {
            return offset + 1
          } else {
            mayOpen = byte == separator
          }
        }
        return nil
      }
      let length = found ?? stream.availableCount
      var row =
        isQuoted && found == nil
        ? Row(content: .unreadable("a quote does not end", at: nil), length: length, textLength: length, isOpen: true)
        : split(length)
      if hasPlainQuotes, case .unreadable = row.content {
        let line = try stream.length(from: 0, stream.lineLength)
        row = split(line.map { $0 + 1 } ?? stream.availableCount, isLenient: true)
      }
      if row.textLength > 0 { return row }
      stream.consume(row.length)
    }
  }

  /// Whether a quote that does not end properly is a character of its cell: many programs write tab-separated values without quoting.
  private var hasPlainQuotes: Bool { separator == UInt8(ascii: "\t") }

  private func split(_ length: Int, isLenient: Bool = false) -> Row {
    let (content, textLength) = stream.withBytes(length) { line in
      let end = line.count - Self.endLength(of: line)
      return (split(UnsafeRawBufferPointer(rebasing: line[..<end]), isLenient: isLenient), end)
    }
    return Row(content: content, length: length, textLength: textLength)
  }

  private static func endLength(of line: UnsafeRawBufferPointer) -> Int {
    switch (line.count > 1 ? line[line.count - 2] : 0, line.last) {
    case (UInt8(ascii: "\r"), UInt8(ascii: "\n")?): 2
    case (_, UInt8(ascii: "\n")?), (_, UInt8(ascii: "\r")?): 1
    default: 0
    }
  }

  /// Returns the cells of a row without its line's end, or nil if their number differs from that of the columns.
  func cells(of row: [UInt8]) -> [Cell]? {
    let content = row.withUnsafeBytes { split($0, isLenient: hasPlainQuotes) }
    guard case .cells(let cells) = content, cells.count == columns.count else { return nil }
    return cells
  }

  private func split(_ line: UnsafeRawBufferPointer, isLenient: Bool) -> Row.Content {
    let end = line.count
    var cells: [Cell] = []
    var at = 0
    while true {
      let start = at
      var isQuoted = at < end && line[at] == UInt8(ascii: "\"")
      let quoted = isQuoted ? Self.quoted(line, from: at + 1, to: end) : nil
      if isLenient { isQuoted = quoted.map { $0.1 == end || line[$0.1] == separator } ?? false }
      let text: String?
      if isQuoted {
        guard let (content, next) = quoted else {
          return .unreadable("cell \(cells.count + 1): a quote does not end", at: nil)
        }
        text = content
        at = next
        guard at == end || line[at] == separator else {
          return .unreadable("cell \(cells.count + 1): there is text after the closing quote", at: nil)
        }
      } else {
        while at < end, line[at] != separator { at += 1 }
        text = String(exactly: UnsafeRawBufferPointer(rebasing: line[start..<at]).bindMemory(to: UInt8.self))
      }
      guard let text else {
        let (byte, place) = Self.firstNoUTF8(UnsafeRawBufferPointer(rebasing: line[start..<at]))
        return .unreadable(
          "cell \(cells.count + 1): the text is not UTF-8: byte \(byte) (--encoding latin1 takes it as that)",
          at: start + place)
      }
      cells.append(Cell(text: text, isQuoted: isQuoted, range: start..<at))
      guard at < end else { return .cells(cells) }
      at += 1
    }
  }

  /// Finds the first byte that is not part of a valid character.
  private static func firstNoUTF8(_ bytes: UnsafeRawBufferPointer) -> (byte: Int, at: Int) {
    var (decoder, source, at) = (UTF8(), bytes.makeIterator(), 0)
    while case .scalarValue(let scalar) = decoder.decode(&source) { at += UTF8.width(scalar) }
    return (Int(bytes[min(at, bytes.count - 1)]), at)
  }

  /// Returns the content of a cell up to its closing quote, and the end of that; doubled quotes stand for one.
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
}
