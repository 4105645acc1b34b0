package import StrataDocuments

/// A file of documents to be imported, read as a stream: memory holds one document at a time, whatever the file's size.
///
/// A part that cannot be read becomes a row with the reason and the place, `FILE:LINE` or `FILE:LINE:COLUMN`. Reading then continues after
/// it as far as the format allows.
package struct TableSource: ImportSource {
  package enum Format: Hashable, Sendable {
    /// One JSON document per line.
    case jsonLines
    /// JSON documents one after the other, each of any number of lines.
    case jsonDocuments
    case jsonArray
    /// A JSON object of documents keyed by identifier.
    case jsonObject
    /// Rows of cells; the first row has the names of the columns.
    case separated(by: Character)

    package var isOfCells: Bool { if case .separated = self { true } else { false } }
  }

  /// A column of a table of cells with the type guessed from all its cells.
  package struct Column: Hashable, Sendable {
    /// The name in the first row.
    package var name: String
    package var path: DocumentPath
    package var type: CellType
    /// The few cells that make it a text column; nil if its cells are of one kind.
    package var exceptions: ColumnExceptions?
    /// Whether one of its numbers is not in its shortest form, such as `1.10`.
    package var hasOddDecimal = false
  }

  package let format: Format
  /// The columns of a table of cells; otherwise empty.
  package var columns: [Column] { cells?.columns ?? [] }
  package var guessedColumns: [Column]? { cells?.columns }
  /// Sentences about columns, or members read so far, whose names were changed.
  package var notes: [String] { cells?.notes ?? names.notes }
  /// The encoding of the file's text.
  package var encoding: TextEncoding { stream.encoding }
  /// Whether the file has no byte.
  package var isEmpty: Bool { stream.isEmpty }
  /// A sentence for a file that has no documents.
  package var emptiness: String {
    isEmpty ? "\(stream.name) is empty" : "\(stream.name) holds no documents: \(format) without a row"
  }
  private let stream: ByteStream
  /// Says whether all members with the same name are kept; otherwise only the last is.
  let names = RepeatedNames()
  private var json: JSONStream
  private(set) var cells: CellReader?

  /// Opens a file and finds its format from its beginning (the extension `.tsv`, `.csv` or `.jsonl` decides if that is ambiguous). A table
  /// of cells is read once for its types. `-` is standard input.
  ///
  /// - Parameters:
  ///   - isKeyed: whether a JSON object of objects may be one keyed by identifier; otherwise it is a document.
  ///   - encoding: nil detects it from the first bytes.
  /// - Throws: `ModelError.refused` if it is not text.
  package init(path: String, isKeyed: Bool = true, encoding: TextEncoding? = nil) throws(ModelError) {
    try self.init(ByteStream(path: path, encoding: encoding), isKeyed: isKeyed)
  }

  /// Reads documents in memory; `name` stands for the file in places.
  package init(
    bytes: [UInt8], name: String, isKeyed: Bool = true, encoding: TextEncoding? = nil
  ) throws(ModelError) {
    try self.init(ByteStream(bytes: bytes, name: name, encoding: encoding), isKeyed: isKeyed)
  }

  private init(_ stream: ByteStream, isKeyed: Bool) throws(ModelError) {
    self.stream = stream
    format = try TableFormat.find(in: stream, isKeyed: isKeyed)
    if case .separated(let separator) = format {
      try stream.rewind()
      cells = try CellReader.survey(stream, separator: separator)
    }
    json = JSONStream(stream: stream, format: format, names: names)
    try rewind()
  }

  /// Reads the cells of a column according to a rule; a row with a cell that does not fit is unreadable. Does nothing for JSON files, whose
  /// values have types of their own.
  package mutating func follow(_ rule: ColumnRule, at path: DocumentPath) { cells?.follow(rule, at: path) }

  /// Returns the path for a name: the column or member of exactly this name, otherwise the name parsed as a path.
  package mutating func path(named name: String) throws(ModelError) -> DocumentPath {
    if let column = columns.first(where: { $0.name == name }) { return column.path }
    if columns.isEmpty {
      try rewind()
      defer { try? rewind() }
      for _ in 0..<100 {
        guard let row = try next(.all) else { break }
        if case .document(let document) = row.content, document[member: name] != nil {
          return DocumentPath([.member(name)])
        }
      }
    }
    return try onDocument(DocumentPath(parsing: name))
  }

  package mutating func rewind() throws(ModelError) {
    try stream.rewind()
    if cells != nil {
      try cells?.begin()
    } else {
      json = JSONStream(stream: stream, format: format, names: names)
      try json.begin()
    }
  }

  package mutating func next(_ wanted: WantedParts) throws(ModelError) -> ImportRow? {
    if cells != nil { return try cells?.next() }
    return try json.next(wanted)
  }
}

extension TableSource.Format: CustomStringConvertible {
  package var description: String {
    switch self {
    case .jsonLines: "JSON Lines"
    case .jsonDocuments: "JSON documents"
    case .jsonArray: "JSON array"
    case .jsonObject: "JSON object keyed by identifier"
    case .separated("\t"): "tab-separated values"
    case .separated(let separator): "values separated by “\(separator)”"
    }
  }
}

enum TableFormat {
  static func find(in stream: ByteStream, isKeyed: Bool) throws(ModelError) -> TableSource.Format {
    try stream.skipByteOrderMark()
    try stream.skipSpace()
    let name = stream.name.lowercased()
    // A file with an extension for lines has one document per line.
    let isKeyed = isKeyed && !name.hasSuffix(".jsonl") && !name.hasSuffix(".ndjson")
    if name.hasSuffix(".tsv") || name.hasSuffix(".tab") { return .separated(by: "\t") }
    if name.hasSuffix(".csv") { return .separated(by: try separator(in: stream)) }
    switch try stream.peek() {
    case UInt8(ascii: "["): return try isLineOfLists(stream) ? .jsonLines : .jsonArray
    case UInt8(ascii: "{"): return try objects(in: stream, isKeyed: isKeyed)
    case nil: return .jsonLines
    default:
      return name.hasSuffix(".json") || name.hasSuffix(".jsonl") || name.hasSuffix(".ndjson")
        ? .jsonLines : .separated(by: try separator(in: stream))
    }
  }

  /// A list followed by another value is a document itself.
  private static func isLineOfLists(_ stream: ByteStream) throws(ModelError) -> Bool {
    guard let end = try JSONExtent.find(in: stream, limit: 1 << 16) else { return false }
    return try valueFollows(end, in: stream)
  }

  private static func objects(in stream: ByteStream, isKeyed: Bool) throws(ModelError) -> TableSource.Format {
    guard let end = try JSONExtent.find(in: stream, limit: 1 << 20) else {
      if isKeyed, try firstMemberIsObject(stream) { return .jsonObject }
      // If a value contains a line break, values span several lines.
      let isOneLine = stream.withBytes(stream.availableCount) { !$0.prefix(1 << 20).contains(stream.lineEnd) }
      return isOneLine ? .jsonLines : .jsonDocuments
    }
    let hasMore = try valueFollows(end, in: stream)
    let isOneLine = stream.withBytes(end) { !$0.contains(stream.lineEnd) }
    if !hasMore, isKeyed {
      let firstIsObject = try firstMemberIsObject(stream)
      if stream.withBytes(end, holdsOnlyObjects) ?? firstIsObject { return .jsonObject }
    }
    return isOneLine ? .jsonLines : .jsonDocuments
  }

  /// Returns nil if it cannot be read.
  private static func holdsOnlyObjects(_ bytes: UnsafeRawBufferPointer) -> Bool? {
    guard case .object(let members)? = try? JSONParser.parse(bytes) else { return nil }
    guard !members.isEmpty else { return false }
    return members.allSatisfy { if case .object = $0.value { true } else { false } }
  }

  private static func valueFollows(_ end: Int, in stream: ByteStream) throws(ModelError) -> Bool {
    var offset = end
    while let byte = try stream.byte(offset), byte <= 0x20 { offset += 1 }
    guard let next = try stream.byte(offset) else { return false }
    return next != UInt8(ascii: "]") && next != UInt8(ascii: "}") && next != UInt8(ascii: ",")
  }

  private static func firstMemberIsObject(_ stream: ByteStream) throws(ModelError) -> Bool {
    var offset = 1
    var isQuoted = false
    while let byte = try stream.byte(offset), offset < 1 << 16 {
      switch byte {
      case UInt8(ascii: "\\") where isQuoted: offset += 1
      case UInt8(ascii: "\""): isQuoted.toggle()
      case UInt8(ascii: ":") where !isQuoted:
        offset += 1
        while let next = try stream.byte(offset), next <= 0x20 { offset += 1 }
        return try stream.byte(offset) == UInt8(ascii: "{")
      default: break
      }
      offset += 1
    }
    return false
  }

  /// Returns the separator in a first line `sep=;`, which spreadsheets read and write; nil for any other line.
  static func declaredSeparator(in stream: ByteStream) throws(ModelError) -> Character? {
    var line: [UInt8] = []
    while line.count < 8, let byte = try stream.byte(line.count), byte != 0x0A, byte != 0x0D { line.append(byte) }
    let text = String(decoding: line.filter { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
    guard text.utf8.count == 5, text.lowercased().hasPrefix("sep=") else { return nil }
    return text.last
  }

  /// Returns the separator that the first line declares, or else the one that is most frequent in it.
  private static func separator(in stream: ByteStream) throws(ModelError) -> Character {
    if let declared = try declaredSeparator(in: stream) { return declared }
    var counts: [UInt8: Int] = [:]
    var isQuoted = false
    var offset = 0
    while let byte = try stream.byte(offset), offset < 1 << 20, isQuoted || byte != stream.lineEnd {
      if byte == UInt8(ascii: "\"") { isQuoted.toggle() } else if !isQuoted { counts[byte, default: 0] += 1 }
      offset += 1
    }
    let candidates: [Character] = [",", "\t", ";", "|"]
    return candidates.max { counts[$0.asciiValue ?? 0, default: 0] < counts[$1.asciiValue ?? 0, default: 0] } ?? ","
  }
}
