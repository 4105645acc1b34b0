package import StrataDocuments

/// Appends values to a key so that the order of the bytes is the order of the values.
///
/// Each value begins with a tag, which also orders values of different kinds, and its end follows from its own bytes:
///
/// ```
/// null      01
/// String    02  UTF-8 of its NFC, 00 written as 00 FF          00
/// Data      03  bytes, 00 written as 00 FF                     00
/// integer   0B  FF − n, n bytes of ~magnitude                      below −2^64
///           0C…13  8…1 bytes, big-endian, of ~magnitude            negative
///           14                                                     zero
///           15…1C  1…8 bytes, big-endian                           positive
///           1D  n, n bytes                                         2^64 and above
/// Float     20  4 bytes: the bits, all flipped where negative, else the sign flipped
/// Double    21  8 bytes, likewise; −0 is 0, NaN is one and last
/// Date      22  the Double of seconds since 2001-01-01 00:00 UTC
/// Duration  23  16 bytes: attoseconds, sign flipped
/// Decimal   24  00 NaN, 01 negative, 02 zero, 03 positive; exponent + 8000 (2 bytes), two digits a byte + 1, 00;
///               of negative ones all after the sign is complemented
/// Bool      26 false, 27 true
/// UUID      30  16 bytes
/// ```
///
/// Tiers follow one another. A descending value is the complement of its bytes and a closing FF. No value begins with 00 or FF, so the
/// bytes after a value (a tier, an identifier, FF as a bound) do not affect its order.
///
/// Example: `("Ca", 300)` is `02 43 61 00 16 01 2C`.
package struct KeyEncoder: Sendable {
  package private(set) var bytes: [UInt8] = []

  package init() {}

  /// Reserves capacity for a key of about `count` bytes.
  package init(reservingCapacity count: Int) { bytes.reserveCapacity(count) }

  package mutating func appendNull() { bytes.append(KeyTag.null) }

  package mutating func append(_ value: Bool) { bytes.append(value ? KeyTag.true : KeyTag.false) }

  package mutating func append(_ value: Int) { append(Int64(value)) }

  package mutating func append(_ value: Int64) {
    append(magnitude: value.magnitude, isNegative: value < 0)
  }

  package mutating func append(_ value: UInt64) { append(magnitude: value, isNegative: false) }

  /// Appends any integer of up to 128 bits.
  package mutating func append(_ value: some FixedWidthInteger) {
    if let narrow = UInt64(exactly: value.magnitude) {
      append(magnitude: narrow, isNegative: value < 0)
    } else {
      append(wide: UInt128(truncatingIfNeeded: value.magnitude), isNegative: value < 0)
    }
  }

  package mutating func append(_ value: Float) {
    bytes.append(KeyTag.float)
    let value: Float = value.isNaN ? .nan : value == 0 ? 0 : value
    let bits = value.bitPattern
    appendBigEndian(bits & 1 << 31 != 0 ? ~bits : bits | 1 << 31)
  }

  package mutating func append(_ value: Double) {
    bytes.append(KeyTag.double)
    appendOrdered(value)
  }

  /// Appends a date; `interval` is in seconds since 2001-01-01 00:00 UTC.
  package mutating func append(date interval: Double) {
    bytes.append(KeyTag.date)
    appendOrdered(interval)
  }

  package mutating func append(_ value: String) {
    bytes.append(KeyTag.string)
    var composed = NormalForm.composed(value)
    composed.withUTF8 { appendEscaped(UnsafeRawBufferPointer($0)) }
    bytes.append(0)
  }

  package mutating func append(data: [UInt8]) { data.withUnsafeBytes { append(data: $0) } }

  package mutating func append(data: UnsafeRawBufferPointer) {
    bytes.append(KeyTag.data)
    appendEscaped(data)
    bytes.append(0)
  }

  package mutating func append(_ value: UUIDBytes) {
    bytes.append(KeyTag.uuid)
    appendBigEndian(value.high)
    appendBigEndian(value.low)
  }

  package mutating func append(_ value: Duration) { append(attoseconds: value.attoseconds) }

  /// Appends a span of time; `value` is in attoseconds.
  package mutating func append(attoseconds value: Int128) {
    bytes.append(KeyTag.duration)
    let bits = UInt128(bitPattern: value) ^ (1 << 127)
    appendBigEndian(UInt64(truncatingIfNeeded: bits >> 64))
    appendBigEndian(UInt64(truncatingIfNeeded: bits))
  }

  /// Appends a decimal number; nil is NaN. Exponents beyond ±32,767 are limited to that.
  package mutating func append(_ value: DecimalDigits?) {
    bytes.append(KeyTag.decimal)
    guard let value else { return bytes.append(0) }
    guard !value.digits.isEmpty else { return bytes.append(2) }
    bytes.append(value.isNegative ? 1 : 3)
    let flip: UInt8 = value.isNegative ? 0xFF : 0
    let exponent = UInt16(clamping: value.exponent + 0x8000)
    bytes.append(UInt8(truncatingIfNeeded: exponent >> 8) ^ flip)
    bytes.append(UInt8(truncatingIfNeeded: exponent) ^ flip)
    for pair in stride(from: 0, to: value.digits.count, by: 2) {
      let second = pair + 1 < value.digits.count ? value.digits[pair + 1] : 0
      bytes.append((value.digits[pair] * 10 + second + 1) ^ flip)
    }
    bytes.append(flip)
  }

  /// Appends the value that `body` appends, in descending order.
  package mutating func appendDescending<E: Error>(_ body: (inout KeyEncoder) throws(E) -> Void) throws(E) {
    try appendDescending(isWhole: true, body)
  }

  /// The same; `isWhole` says whether all tiers are appended, rather than the first ones for a bound.
  mutating func appendDescending<E: Error>(isWhole: Bool, _ body: (inout KeyEncoder) throws(E) -> Void) throws(E) {
    let start = bytes.count
    try body(&self)
    for index in start..<bytes.count { bytes[index] = ~bytes[index] }
    if isWhole { bytes.append(0xFF) }
  }

  private mutating func append(magnitude: UInt64, isNegative: Bool) {
    let count = 8 - magnitude.leadingZeroBitCount / 8
    bytes.append(isNegative ? KeyTag.zero - UInt8(count) : KeyTag.zero + UInt8(count))
    let ordered = (isNegative ? ~magnitude : magnitude) << UInt64(64 - 8 * count)
    withUnsafeBytes(of: ordered.bigEndian) { bytes.append(contentsOf: $0.prefix(count)) }
  }

  private mutating func append(wide magnitude: UInt128, isNegative: Bool) {
    let count = 16 - magnitude.leadingZeroBitCount / 8
    bytes.append(isNegative ? KeyTag.wideNegative : KeyTag.widePositive)
    bytes.append(isNegative ? ~UInt8(count) : UInt8(count))
    let ordered = isNegative ? ~magnitude : magnitude
    for index in (0..<count).reversed() { bytes.append(UInt8(truncatingIfNeeded: ordered >> UInt128(8 * index))) }
  }

  private mutating func appendOrdered(_ value: Double) {
    let value: Double = value.isNaN ? .nan : value == 0 ? 0 : value
    let bits = value.bitPattern
    appendBigEndian(bits & 1 << 63 != 0 ? ~bits : bits | 1 << 63)
  }

  private mutating func appendBigEndian(_ value: some FixedWidthInteger) {
    withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
  }

  private mutating func appendEscaped(_ data: UnsafeRawBufferPointer) {
    guard data.contains(0) else { return bytes.append(contentsOf: data) }
    for byte in data {
      bytes.append(byte)
      if byte == 0 { bytes.append(0xFF) }
    }
  }
}

/// The first byte of each value in a key.
enum KeyTag {
  static let null: UInt8 = 0x01
  static let string: UInt8 = 0x02
  static let data: UInt8 = 0x03
  static let wideNegative: UInt8 = 0x0B
  static let zero: UInt8 = 0x14
  static let widePositive: UInt8 = 0x1D
  static let float: UInt8 = 0x20
  static let double: UInt8 = 0x21
  static let date: UInt8 = 0x22
  static let duration: UInt8 = 0x23
  static let decimal: UInt8 = 0x24
  static let `false`: UInt8 = 0x26
  static let `true`: UInt8 = 0x27
  static let uuid: UInt8 = 0x30
}
