import Documents

/// Takes JSON documents off a stream one by one.
struct JSONStream {
  private let stream: ByteStream
  private let format: TableSource.Format
  private var isFirst = true
  /// Set where nothing more can be read.
  private var isOver = false

  init(_ stream: ByteStream, _ format: TableSource.Format) {
    self.stream = stream
    self.format = format
  }

  /// Takes what stands before the first document.
  mutating func begin() throws(ModelError) {
    try stream.skipByteOrderMark()
    guard format == .jsonArray || format == .jsonObject else { return }
    try stream.skipSpace()
    _ = try stream.take(format == .jsonArray ? UInt8(ascii: "[") : UInt8(ascii: "{"))
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

  private func nextLine(_ wanted: WantedParts) throws(ModelError) -> ImportRow? {
    while true {
      while try stream.peek() == UInt8(ascii: "\n") { stream.consume(1) }
      let found = try stream.length(from: 0, ByteStream.lineEnd)
      let length = found ?? stream.availableCount
      guard length > 0 else { return nil }
      let isBlank = stream.withBytes(length) { $0.allSatisfy { $0 <= 0x20 } }
      guard !isBlank else {
        stream.consume(length)
        continue
      }
      return read(length, wanted)
    }
  }

  /// Reads the next bytes as one document.
  private func read(_ length: Int, key: String? = nil, _ wanted: WantedParts) -> ImportRow {
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
    defer { stream.consume(length) }
    switch result {
    case .success(let (document, text)):
      return ImportRow(.document(document), text: text, key: key, place: stream.place, size: length)
    case .failure(let error): return ImportRow(.unreadable(error.reason), key: key, place: stream.place(of: error))
    }
  }

  // MARK: Documents one after the other

  private func nextDocument(_ wanted: WantedParts) throws(ModelError) -> ImportRow? {
    try stream.skipSpace()
    guard try stream.peek() != nil else { return nil }
    guard let length = try JSONExtent.find(in: stream, limit: .max) else {
      let row = ImportRow(.unreadable("the document does not end"), place: stream.place)
      stream.consume(stream.availableCount)
      return row
    }
    // What is no value goes with its line.
    let line = length == 0 ? try stream.length(from: 0, ByteStream.lineEnd) : length
    return read(line ?? stream.availableCount, wanted)
  }

  // MARK: Lists and objects

  private mutating func nextElement(_ wanted: WantedParts) throws(ModelError) -> ImportRow? {
    let close = format == .jsonArray ? UInt8(ascii: "]") : UInt8(ascii: "}")
    try stream.skipSpace()
    if try stream.take(close) { return try finish() }
    if !isFirst {
      guard try stream.take(UInt8(ascii: ",")) else {
        return try broken("expected “,” or “\(Character(Unicode.Scalar(close)))”")
      }
      try stream.skipSpace()
    }
    isFirst = false
    var key: String?
    if format == .jsonObject {
      guard let name = try memberName() else { return try broken("expected an identifier in quotes") }
      key = name
      try stream.skipSpace()
      guard try stream.take(UInt8(ascii: ":")) else { return try broken("expected “:” after the identifier") }
      try stream.skipSpace()
    }
    guard let length = try JSONExtent.find(in: stream, limit: .max) else {
      return try broken("the document does not end")
    }
    guard length > 0 else { return try broken("a document is missing") }
    return read(length, key: key, wanted)
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
    return ImportRow(.unreadable("there is text after the end"), place: stream.place)
  }

  private mutating func broken(_ reason: String) throws(ModelError) -> ImportRow {
    isOver = true
    let atEnd = try stream.peek() == nil
    let reason = atEnd ? "the file ends too early" : "\(reason); nothing after it can be read"
    return ImportRow(.unreadable(reason), place: stream.place)
  }
}

/// Finds where a JSON value ends by its brackets and quotes alone.
enum JSONExtent {
  private static let quote = UInt8(ascii: "\"")
  private static let escape = UInt8(ascii: "\\")

  /// The length of the value that comes next; nil where the end, or the limit, comes first. 0 where no value begins.
  static func find(in stream: ByteStream, limit: Int) throws(ModelError) -> Int? {
    switch try stream.peek() {
    case UInt8(ascii: "{"), UInt8(ascii: "["): return try bracketed(stream, limit)
    case quote: return try quoted(stream)
    default: return try scalar(stream)
    }
  }

  private static func bracketed(_ stream: ByteStream, _ limit: Int) throws(ModelError) -> Int? {
    var depth = 0
    var isQuoted = false
    var isEscaped = false
    var seen = 0
    var isOverLimit = false
    let length = try stream.length(from: 0) { bytes in
      for (offset, byte) in bytes.enumerated() {
        if isQuoted {
          if isEscaped {
            isEscaped = false
          } else if byte == escape {
            isEscaped = true
          } else if byte == quote {
            isQuoted = false
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

  private static func quoted(_ stream: ByteStream) throws(ModelError) -> Int? {
    var isEscaped = false
    return try stream.length(from: 1) { bytes in
      for (offset, byte) in bytes.enumerated() {
        if isEscaped {
          isEscaped = false
        } else if byte == escape {
          isEscaped = true
        } else if byte == quote {
          return offset + 1
        }
      }
      return nil
    }
  }

  private static func scalar(_ stream: ByteStream) throws(ModelError) -> Int? {
    let end = try stream.length(from: 0) { bytes in
      bytes.firstIndex { $0 <= 0x20 || $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "]") || $0 == UInt8(ascii: "}") }
    }
    return end ?? stream.availableCount
  }
}
