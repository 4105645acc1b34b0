import StrataDocuments
import StrataEngine

/// Reads values from the bytes of a key. Returns nil, and never traps, if they are not as `KeyEncoder` makes them.
struct KeyDecoder {
  private let bytes: UnsafeRawBufferPointer
  private var at = 0
  /// The number of bytes that were read.
  var position: Int { at }
  /// FF within a descending value.
  private var mask: UInt8 = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  var isAtEnd: Bool { at == bytes.count }

  mutating func next(_ encoding: KeyEncoding) -> KeyValue? {
    switch encoding {
    case .comparator: return nil
    case .optional(let inner):
      guard peek() == KeyTag.null else { return next(inner) }
      at += 1
      return .null
    case .descending(let inner):
      mask = ~mask
      let value = next(inner)
      mask = ~mask
      guard let value, nextByte() == 0xFF else { return nil }
      return value
    case .compound(let tiers):
      var values: [KeyValue] = []
      values.reserveCapacity(tiers.count)
      for tier in tiers {
        guard let value = next(tier) else { return nil }
        values.append(value)
      }
      return .compound(values)
    default: return scalar(encoding)
    }
  }

  /// Goes past the next value. Returns false if it is not one of this encoding, as far as that is seen without making it.
  mutating func skip(_ encoding: KeyEncoding) -> Bool {
    switch encoding {
    case .string, .data:
      let tag = nextByte()
      return (tag == KeyTag.string || tag == KeyTag.data) && skipEscaped()
    case .optional(let inner):
      guard peek() == KeyTag.null else { return skip(inner) }
      at += 1
      return true
    default: return next(encoding) != nil
    }
  }

  /// Goes past a value whose bytes are known, if it comes next. Otherwise returns false.
  mutating func skip(value: [UInt8]) -> Bool {
    let end = at + value.count
    guard end <= bytes.count,
      value.withUnsafeBytes({ compareKeys(UnsafeRawBufferPointer(rebasing: bytes[at..<end]), $0) }) == 0
    else { return false }
    // FF behind the end of a text makes that end a part of a longer text.
    if end < bytes.count, bytes[end] == 0xFF { return false }
    at = end
    return true
  }

  private mutating func skipEscaped() -> Bool {
    while let byte = nextByte() {
      guard byte == 0 else { continue }
      guard peek() == 0xFF else { return true }
      at += 1
    }
    return false
  }

  private mutating func scalar(_ encoding: KeyEncoding) -> KeyValue? {
    guard let tag = nextByte() else { return nil }
    switch (encoding, tag) {
    case (.bool, KeyTag.false): return .bool(false)
    case (.bool, KeyTag.true): return .bool(true)
    case (.integer, KeyTag.wideNegative...KeyTag.widePositive): return integer(tag)
    case (.unsigned, KeyTag.zero...KeyTag.widePositive): return integer(tag)
    case (.float, KeyTag.float):
      guard let bits = bigEndian(UInt32.self) else { return nil }
      return .double(Double(Float(bitPattern: bits & 1 << 31 != 0 ? bits ^ 1 << 31 : ~bits)))
    case (.double, KeyTag.double): return orderedDouble().map { .double($0) }
    case (.date, KeyTag.date): return orderedDouble().map { .date($0) }
    case (.string, KeyTag.string):
      guard let text = escaped() else { return nil }
      return text.withUnsafeBufferPointer { String(exactly: $0) }.map { .string($0) }
    case (.data, KeyTag.data): return escaped().map { .data($0) }
    case (.uuid, KeyTag.uuid):
      guard let high = bigEndian(UInt64.self), let low = bigEndian(UInt64.self) else { return nil }
      return .uuid(UUIDBytes(high: high, low: low))
    case (.duration, KeyTag.duration): return duration()
    case (.decimal, KeyTag.decimal): return decimal()
    default: return nil
    }
  }

  private func peek() -> UInt8? { at < bytes.count ? bytes[at] ^ mask : nil }

  private mutating func nextByte() -> UInt8? {
    guard let byte = peek() else { return nil }
    at += 1
    return byte
  }

  private mutating func bigEndian<Number: FixedWidthInteger & UnsignedInteger>(_: Number.Type) -> Number? {
    guard bytes.count - at >= Number.bitWidth / 8 else { return nil }
    var value: Number = 0
    for _ in 0..<(Number.bitWidth / 8) {
      value = value << 8 | Number(bytes[at] ^ mask)
      at += 1
    }
    return value
  }

  private mutating func integer(_ tag: UInt8) -> KeyValue? {
    let isNegative = tag < KeyTag.zero
    var count = Int(isNegative ? KeyTag.zero - tag : tag - KeyTag.zero)
    if count == 9 {
      guard let length = nextByte() else { return nil }
      count = Int(isNegative ? ~length : length)
      guard (9...16).contains(count) else { return nil }
    }
    if count <= 8 { return narrowInteger(count, isNegative: isNegative) }
    var magnitude: UInt128 = 0
    for _ in 0..<count {
      guard let byte = nextByte() else { return nil }
      magnitude = magnitude << 8 | UInt128(isNegative ? ~byte : byte)
    }
    // Each number has only its shortest form.
    guard count == 0 || magnitude >> UInt128(8 * (count - 1)) != 0 else { return nil }
    guard !isNegative || magnitude <= Int128.min.magnitude else { return nil }
    return KeyValue(magnitude: magnitude, isNegative: isNegative)
  }

  /// The same for up to eight bytes. Most integers are such, and 128 bits cost several times as much.
  private mutating func narrowInteger(_ count: Int, isNegative: Bool) -> KeyValue? {
    guard bytes.count - at >= count else { return nil }
    let flip = isNegative ? ~mask : mask
    var magnitude: UInt64 = 0
    for place in at..<at + count { magnitude = magnitude << 8 | UInt64(bytes[place] ^ flip) }
    at += count
    guard count == 0 || magnitude >> UInt64(8 * (count - 1)) != 0 else { return nil }
    if !isNegative, magnitude <= UInt64(Int64.max) { return .integer(Int64(bitPattern: magnitude)) }
    return KeyValue(magnitude: UInt128(magnitude), isNegative: isNegative)
  }

  private mutating func orderedDouble() -> Double? {
    guard let bits = bigEndian(UInt64.self) else { return nil }
    return Double(bitPattern: bits & 1 << 63 != 0 ? bits ^ 1 << 63 : ~bits)
  }

  private mutating func escaped() -> [UInt8]? {
    var content: [UInt8] = []
    while let byte = nextByte() {
      guard byte == 0 else {
        content.append(byte)
        continue
      }
      guard peek() == 0xFF else { return content }
      at += 1
      content.append(0)
    }
    return nil
  }

  private mutating func duration() -> KeyValue? {
    guard let high = bigEndian(UInt64.self), let low = bigEndian(UInt64.self) else { return nil }
    return KeyValue(attoseconds: Int128(bitPattern: (UInt128(high) << 64 | UInt128(low)) ^ 1 << 127))
  }

  private mutating func decimal() -> KeyValue? {
    guard let sign = nextByte() else { return nil }
    switch sign {
    case 0: return .decimal("nan")
    case 2: return .decimal("0")
    case 1, 3: break
    default: return nil
    }
    let flip: UInt8 = sign == 1 ? 0xFF : 0
    guard let high = nextByte(), let low = nextByte() else { return nil }
    let exponent = Int(UInt16(high ^ flip) << 8 | UInt16(low ^ flip)) - 0x8000
    var digits: [UInt8] = []
    while let byte = nextByte() {
      let pair = byte ^ flip
      guard pair != 0 else {
        // Each number has only one form: without leading zeros and without a pair of zeros at the end.
        guard let first = digits.first, first != 0, digits.suffix(2) != [0, 0] else { return nil }
        return .decimal(
          DecimalDigits(isNegative: sign == 1, coefficient: digits, scale: exponent - digits.count).description)
      }
      guard pair <= 100 else { return nil }
      digits.append((pair - 1) / 10)
      digits.append((pair - 1) % 10)
    }
    return nil
  }
}

extension KeyValue {
  /// Makes the narrowest case for an integer.
  package init(magnitude: UInt128, isNegative: Bool) {
    if isNegative, magnitude <= UInt128(Int64.min.magnitude) {
      self = .integer(Int64(truncatingIfNeeded: 0 &- magnitude))
    } else if !isNegative, let narrow = Int64(exactly: magnitude) {
      self = .integer(narrow)
    } else if !isNegative, let unsigned = UInt64(exactly: magnitude) {
      self = .unsigned(unsigned)
    } else {
      self = .decimal((isNegative ? "-" : "") + String(magnitude))
    }
  }

  /// Makes a span of time; one whose seconds do not fit in 64 bits becomes a decimal number of seconds.
  package init(attoseconds: Int128) {
    let (seconds, rest) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000_000_000_000)
    if let seconds = Int64(exactly: seconds) {
      self = .duration(seconds: seconds, attoseconds: Int64(truncatingIfNeeded: rest))
    } else {
      self = .decimal(DecimalDigits("\(attoseconds)e-18")?.description ?? "\(seconds)")
    }
  }
}
