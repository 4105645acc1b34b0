import StrataDocuments

struct JSONStream {
  let stream: ByteStream
  private(set) var format: TableSource.Format
  let names: RepeatedNames
  private(set) var isFirst = true
  /// Set if nothing more can be read.
  private(set) var isOver = false
  /// The end of the documents in the line that follow one another and can each be read.
  private(set) var checkedEnd = 0

  /// Consumes the text before the first document.
  mutating func begin() throws(ModelError) {
    try stream.skipByteOrderMark()
    guard format == .jsonArray || format == .jsonObject else { return }
    try stream.skipSpace()
    _ = try stream.consume(byte: format == .jsonArray ? UInt8(ascii: "[") : UInt8(ascii: "{"))
  }

  mutating func next(_ wanted: WantedParts) throws(ModelError) -> ImportRow? {
    guard !isOver else { return nil }
    return switch format {
    case .jsonLines: try nextLine(wanted)
    case .jsonArray, .jsonObject: try nextElement(wanted)
    case .jsonDocuments, .separated: try nextDocument(wanted)
    }
  }

  // MARK: Lines

  private mutating func nextLine(_ wanted: WantedParts) throws(ModelError) -> ImportRow? {
    try stream.skipSpace()
    guard try stream.peek() != nil else { return nil }
    if stream.offset < checkedEnd, let length = try JSONExtent.find(in: stream, limit: .max) {
      return consumeRow(length, wanted)
    }
    let line = try stream.length(from: 0, stream.lineLength) ?? stream.availableCount
    let length = stream.withBytes(line) { line in line.count - line.reversed().prefix(while: Self.isSpace).count }
    let row = read(length, wanted)
    if case .unreadable = row.content, let first = try firstOfSeveral(length) {
      checkedEnd = stream.offset + length
      return consumeRow(first, wanted)
    }
    stream.consume(length)
    return row
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }

  /// Returns the length of the first document of a line with several readable ones, or nil for any other line.
  private func firstOfSeveral(_ length: Int) throws(ModelError) -> Int? {
    var (first, at): (Int?, Int) = (nil, 0)
    while at < length {
      guard let part = try JSONExtent.find(in: stream, from: at, limit: length - at), part > 0 else { return nil }
      let space: Int? = stream.withBytes(length) { line in
        let document = UnsafeRawBufferPointer(rebasing: line[at..<at + part])
        return (try? JSONParser.parse(document)) == nil ? nil : line[(at + part)...].prefix(while: Self.isSpace).count
      }
      guard let space else { return nil }
      first = first ?? part
      at += part + space
    }
    return first
  }

  private func consumeRow(_ length: Int, key: (name: String, start: Int)? = nil, _ wanted: WantedParts) -> ImportRow {
    defer { stream.consume(length) }
    return read(length, key: key, wanted)
  }

  /// Reads the next bytes as one document, without consuming them.
  private func read(_ length: Int, key: (name: String, start: Int)? = nil, _ wanted: WantedParts) -> ImportRow {
    let result = stream.withBytes(length) { bytes -> Result<(Document, text: [UInt8]?), JSONError> in
      do throws(JSONError) {
        switch wanted {
        case .parts(let parts): return .success((try parts.document(ofJSON: bytes), nil))
        // The key may have to be set into the document.
        case .text(let parts) where key == nil:
          if let document = parts.document(ofCompactJSON: bytes) { return .success((document, Array(bytes))) }
          return .success((try JSONParser.parse(bytes), nil))
        case .all, .text: return .success((try JSONParser.parse(bytes), nil))
        }
      } catch {
        return .failure(error)
      }
    }
    let span = (key?.start ?? stream.offset)..<stream.offset + length
    var row: ImportRow
    switch result {
    case .success(var (document, text)):
      stream.withBytes(length) { bytes in
        guard names.see(bytes, at: stream.offset, place: stream.place), let whole = try? JSONParser.parse(bytes) else {
          return
        }
        (document, text) = (whole.keepingLastMembers, nil)
      }
      row = ImportRow(
        content: .document(document), text: text, key: key?.name, place: stream.place, size: length, span: span)
    case .failure(let error):
      row = ImportRow(content: .unreadable(error.reason), key: key?.name, place: stream.place(of: error), span: span)
    }
    row.bodyStart = stream.offset
    return row
  }

  // MARK: Documents one after the other

  private mutating func nextDocument(_ wanted: WantedParts) throws(ModelError) -> ImportRow? {
    try stream.skipSpace()
    guard try stream.peek() != nil else { return nil }
    guard let length = try JSONExtent.find(in: stream, limit: .max) else {
      let row = ImportRow(content: .unreadable("the document does not end"), place: stream.place)
      // If the next line begins another one, each line is meant to be one.
      let line = try stream.length(from: 0, stream.lineLength) ?? stream.availableCount
      if try stream.byte(line + 1) == UInt8(ascii: "{") { format = .jsonLines }
      stream.consume(format == .jsonLines ? line : stream.availableCount)
      return row
    }
    // Text that is not a value is rejected with its whole line.
    let line = length == 0 ? try stream.length(from: 0, stream.lineLength) : length
    return consumeRow(line ?? stream.availableCount, wanted)
  }

  // MARK: Lists and objects

  private mutating func nextElement(_ wanted: WantedParts) throws(ModelError) -> ImportRow? {
    let close = format == .jsonArray ? UInt8(ascii: "]") : UInt8(ascii: "}")
    try stream.skipSpace()
    if try stream.consume(byte: close) { return try finish() }
    if !isFirst {
      guard try stream.consume(byte: UInt8(ascii: ",")) else {
        return try broken("expected “,” or “\(Character(Unicode.Scalar(close)))”")
      }
      try stream.skipSpace()
    }
    isFirst = false
    var key: (name: String, start: Int)?
    if format == .jsonObject {
      let start = stream.offset
      guard let name = try memberName() else { return try broken("expected an identifier in quotes") }
      key = (name, start)
      try stream.skipSpace()
      guard try stream.consume(byte: UInt8(ascii: ":")) else { return try broken("expected “:” after the identifier") }
      try stream.skipSpace()
    }
    guard let length = try JSONExtent.find(in: stream, limit: .max) else {
      return try broken("the document does not end")
    }
    guard length > 0 else { return try broken("a document is missing") }
    return consumeRow(length, key: key, wanted)
  }

  private func memberName() throws(ModelError) -> String? {
    guard try stream.peek() == UInt8(ascii: "\""), let length = try JSONExtent.find(in: stream, limit: 1 << 20) else {
      return nil
    }
    let document = stream.withBytes(length) { try? JSONParser.parse($0) }
    guard case .string(let name)? = document else { return nil }
    stream.consume(length)
    return name
  }

  private mutating func finish() throws(ModelError) -> ImportRow? {
    isOver = true
    try stream.skipSpace()
    guard try stream.peek() != nil else { return nil }
    return ImportRow(content: .unreadable("there is text after the end"), place: stream.place)
  }

  private mutating func broken(_ reason: String) throws(ModelError) -> ImportRow {
    isOver = true
    let atEnd = try stream.peek() == nil
    let reason = atEnd ? "the file ends too early" : "\(reason); nothing after it can be read"
    return ImportRow(content: .unreadable(reason), place: stream.place)
  }
}

/// Finds the end of a JSON value by its brackets and quotes alone.
enum JSONExtent {
  private static let quote = UInt8(ascii: "\"")
  private static let escape = UInt8(ascii: "\\")

  /// Returns the length of the next value: nil if the end, or the limit, comes first; 0 if no value begins.
  ///
  /// - Parameter start: the distance of the value in bytes.
  static func find(in stream: ByteStream, from start: Int = 0, limit: Int) throws(ModelError) -> Int? {
    let end =
      switch try stream.byte(start) {
      case UInt8(ascii: "{"), UInt8(ascii: "["), quote: try delimited(stream, start, limit)
      default: try scalar(stream, start)
      }
    return end.map { $0 - start }
  }

  private static func delimited(_ stream: ByteStream, _ start: Int, _ limit: Int) throws(ModelError) -> Int? {
    var depth = 0
    var isQuoted = false
    var isEscaped = false
    var seen = 0
    var isOverLimit = false
    let length = try stream.length(from: start) { bytes in
      for (offset, byte) in bytes.prefix(limit - seen).enumerated() {
        if isQuoted {
          if isEscaped {
            isEscaped = false
          } else if byte == escape {
            isEscaped = true
          } else if byte == quote {
            isQuoted = false
            if depth == 0 { return offset + 1 }
          }
          continue
        }
        switch byte {
        case quote: isQuoted = true
        case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
          depth -= 1
          if depth == 0 { return offset + 1 }
        default: break
        }
      }
      seen += bytes.count
      isOverLimit = seen >= limit
      return isOverLimit ? bytes.count : nil
    }
    return isOverLimit ? nil : length
  }

  private static func scalar(_ stream: ByteStream, _ start: Int) throws(ModelError) -> Int? {
    let end = try stream.length(from: start) { bytes in
      bytes.firstIndex { $0 <= 0x20 || $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "]") || $0 == UInt8(ascii: "}") }
    }
    return end ?? stream.availableCount
  }
}
