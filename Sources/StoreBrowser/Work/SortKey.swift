import Documents
import DatastoreModel

/// What rows are sorted by: missing, null, false, true, numbers, dates, texts, the rest.
struct SortKey: Sendable, Comparable {
  private enum Value: Sendable { case none, null, bool(Bool), number(Double), date(Double), text(String) }
  private let value: Value

  init(_ document: Document?) {
    switch document {
    case nil: value = .none
    case .null: value = .null
    case .bool(let flag): value = .bool(flag)
    case .number(let number): value = .number(number.double)
    case .date(let seconds): value = .date(seconds)
    case .string(let text): value = .text(String(text.prefix(ValueText.limit)))
    case .some(let other): value = .text(ValueText(literal: other).text)
    }
  }

  private var place: UInt8 {
    switch value {
    case .none: 0
    case .null: 1
    case .bool: 2
    case .number: 3
    case .date: 4
    case .text: 5
    }
  }

  static func < (left: Self, right: Self) -> Bool {
    switch (left.value, right.value) {
    case (.bool(let left), .bool(let right)): !left && right
    case (.number(let left), .number(let right)), (.date(let left), .date(let right)): left < right
    case (.text(let left), .text(let right)): left < right
    default: left.place < right.place
    }
  }

  static func == (left: Self, right: Self) -> Bool { !(left < right) && !(right < left) }

  /// About the bytes that it takes in memory.
  var byteCount: Int {
    if case .text(let text) = value { return 32 + text.utf8.count }
    return 32
  }

  // MARK: In a file: a byte of kind, then 8 bytes of bits, or of length before UTF-8

  func append(to bytes: inout [UInt8]) {
    bytes.append(place)
    switch value {
    case .none, .null: break
    case .bool(let flag): bytes.append(flag ? 1 : 0)
    case .number(let number), .date(let number): number.bitPattern.append(to: &bytes)
    case .text(let text):
      UInt64(text.utf8.count).append(to: &bytes)
      bytes += text.utf8
    }
  }

  init?(from reader: inout RunReader) throws(ModelError) {
    guard let place = try reader.byte() else { return nil }
    switch place {
    case 0: value = .none
    case 1: value = .null
    case 2: value = .bool(try reader.byte() == 1)
    case 3: value = .number(Double(bitPattern: try reader.integer()))
    case 4: value = .date(Double(bitPattern: try reader.integer()))
    default: value = .text(try reader.text(count: Int(clamping: reader.integer())))
    }
  }
}

extension UInt64 {
  /// Eight bytes, lowest first.
  func append(to bytes: inout [UInt8]) {
    for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: self >> UInt64(shift))) }
  }
}

/// Reads a stretch of a temporary file from its start to its end.
struct RunReader {
  private let file: TemporaryFile
  private var offset: Int
  private let end: Int
  private var buffer: [UInt8] = []
  private var at = 0

  init(_ file: TemporaryFile, _ stretch: Range<Int>) {
    self.file = file
    offset = stretch.lowerBound
    end = stretch.upperBound
  }

  mutating func byte() throws(ModelError) -> UInt8? {
    if at == buffer.count {
      guard offset < end else { return nil }
      buffer = try file.read(at: offset, count: min(64 << 10, end - offset))
      guard !buffer.isEmpty else { return nil }
      offset += buffer.count
      at = 0
    }
    defer { at += 1 }
    return buffer[at]
  }

  mutating func integer() throws(ModelError) -> UInt64 {
    var value: UInt64 = 0
    for shift in stride(from: 0, to: 64, by: 8) { value |= UInt64(try byte() ?? 0) << UInt64(shift) }
    return value
  }

  mutating func text(count: Int) throws(ModelError) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(min(count, 4096))
    for _ in 0..<count {
      guard let byte = try byte() else { break }
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
