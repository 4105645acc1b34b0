import StrataDocuments
import StrataFoundation
import StrataModel

/// A type that the store itself keeps as bytes in order; every ``OrderedKey`` ends in one of these.
protocol ByteOrderedKey: Sendable {
  static var keyEncoding: KeyEncoding { get }
  /// Throws `NotOrdered` for values that have no place in an order.
  func append(to encoder: inout KeyEncoder) throws
  init?(_ value: KeyValue)
}

/// A value that has no place in an order, such as NaN.
struct NotOrdered: Error {
  var description: String
}

/// Integers of all widths have one common order.
protocol ByteOrderedInteger: ByteOrderedKey, FixedWidthInteger {}

extension ByteOrderedInteger {
  static var keyEncoding: KeyEncoding { isSigned ? .integer : .unsigned }

  func append(to encoder: inout KeyEncoder) {
    if let small = Int64(exactly: self) { encoder.append(small) } else { encoder.append(self) }
  }

  init?(_ value: KeyValue) {
    switch value {
    case .integer(let value): self.init(exactly: value)
    case .unsigned(let value): self.init(exactly: value)
    case .decimal(let text): self.init(text)
    default: return nil
    }
  }
}

extension Double: ByteOrderedKey {
  static var keyEncoding: KeyEncoding { .double }

  func append(to encoder: inout KeyEncoder) throws {
    if isNaN { throw NotOrdered(description: "NaN") }
    encoder.append(self)
  }

  init?(_ value: KeyValue) {
    guard case .double(let value) = value else { return nil }
    self = value
  }
}

extension Float: ByteOrderedKey {
  static var keyEncoding: KeyEncoding { .float }

  func append(to encoder: inout KeyEncoder) throws {
    if isNaN { throw NotOrdered(description: "NaN") }
    encoder.append(self)
  }

  init?(_ value: KeyValue) {
    guard case .double(let value) = value else { return nil }
    self.init(value)
  }
}

extension String: ByteOrderedKey {
  static var keyEncoding: KeyEncoding { .string }

  func append(to encoder: inout KeyEncoder) { encoder.append(self) }

  init?(_ value: KeyValue) {
    guard case .string(let value) = value else { return nil }
    self = value
  }
}

extension UUID: ByteOrderedKey {
  static var keyEncoding: KeyEncoding { .uuid }

  func append(to encoder: inout KeyEncoder) {
    let halves = withUnsafeBytes(of: uuid) { bytes in
      (bytes.loadUnaligned(as: UInt64.self), bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }
    encoder.append(UUIDBytes(high: UInt64(bigEndian: halves.0), low: UInt64(bigEndian: halves.1)))
  }

  init?(_ value: KeyValue) {
    guard case .uuid(let value) = value else { return nil }
    let halves = (value.high.bigEndian, value.low.bigEndian)
    self.init(uuid: withUnsafeBytes(of: halves) { $0.load(as: uuid_t.self) })
  }
}

extension Date: ByteOrderedKey {
  static var keyEncoding: KeyEncoding { .date }

  func append(to encoder: inout KeyEncoder) throws {
    let interval = timeIntervalSinceReferenceDate
    if interval.isNaN { throw NotOrdered(description: "a date of NaN") }
    encoder.append(date: interval)
  }

  init?(_ value: KeyValue) {
    guard case .date(let interval) = value else { return nil }
    self.init(timeIntervalSinceReferenceDate: interval)
  }
}

extension Decimal: ByteOrderedKey {
  static var keyEncoding: KeyEncoding { .decimal }

  func append(to encoder: inout KeyEncoder) throws {
    guard !isNaN, let digits = DecimalDigits(description) else { throw NotOrdered(description: "NaN") }
    encoder.append(digits)
  }

  init?(_ value: KeyValue) {
    switch value {
    case .decimal(let text): self.init(string: text)
    case .integer(let value): self.init(value)
    case .unsigned(let value): self.init(value)
    default: return nil
    }
  }
}

extension Duration: ByteOrderedKey {
  static var keyEncoding: KeyEncoding { .duration }

  func append(to encoder: inout KeyEncoder) { encoder.append(self) }

  init?(_ value: KeyValue) {
    guard case .duration(let seconds, let attoseconds) = value else { return nil }
    self.init(secondsComponent: seconds, attosecondsComponent: attoseconds)
  }
}

extension Optional: ByteOrderedKey where Wrapped: ByteOrderedKey {
  static var keyEncoding: KeyEncoding { .optional(Wrapped.keyEncoding) }

  func append(to encoder: inout KeyEncoder) throws {
    switch self {
    case nil: encoder.appendNull()
    case let value?: try value.append(to: &encoder)
    }
  }

  init?(_ value: KeyValue) {
    if value == .null {
      self = .none
      return
    }
    guard let wrapped = Wrapped(value) else { return nil }
    self = .some(wrapped)
  }
}
