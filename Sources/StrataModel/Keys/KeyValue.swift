package import StrataDocuments

/// The value of an identifier or of an index entry, independent of the app's types.
///
/// Its `description` is the literal that a user types for it: `"Ca"`, `12`, `null`, `2026-11-17T09:00:00Z`, `("Ca", 12)` for a compound.
/// `KeyEncoding.parse` reads it back.
package enum KeyValue: Hashable, Sendable {
  case null
  case bool(Bool)
  case integer(Int64)
  /// Only above `Int64.max`; smaller ones are `.integer`.
  case unsigned(UInt64)
  case double(Double)
  case string(String)
  case data([UInt8])
  case uuid(UUIDBytes)
  /// Seconds since 2001-01-01 00:00 UTC, exact.
  case date(Double)
  /// A decimal number in its shortest form: `-12.5`, `1e40`, `nan`; also integers wider than 64 bits.
  case decimal(String)
  /// A span of time; both parts have the same sign.
  case duration(seconds: Int64, attoseconds: Int64)
  /// The tiers of a compound key, each in order.
  case compound([KeyValue])
  /// A value whose order only the app knows.
  case document(Document)
}

/// The 16 bytes of a UUID, ordered as unsigned bytes.
package struct UUIDBytes: Hashable, Comparable, Sendable, CustomStringConvertible {
  package var high: UInt64
  package var low: UInt64

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Reads the hexadecimal form, in either case, with hyphens at the usual places or without any. Returns nil if it is not one.
  package init?(_ text: some StringProtocol) {
    var halves: (UInt64, UInt64) = (0, 0)
    var digits = 0
    let hasHyphens = text.utf8.count == 36
    guard hasHyphens || text.utf8.count == 32 else { return nil }
    for (position, byte) in text.utf8.enumerated() {
      if hasHyphens, position == 8 || position == 13 || position == 18 || position == 23 {
        guard byte == UInt8(ascii: "-") else { return nil }
        continue
      }
      guard let digit = byte.hexDigitValue else { return nil }
      if digits < 16 { halves.0 = halves.0 << 4 | UInt64(digit) } else { halves.1 = halves.1 << 4 | UInt64(digit) }
      digits += 1
    }
    self.init(high: halves.0, low: halves.1)
  }

  package static func < (left: Self, right: Self) -> Bool {
    (left.high, left.low) < (right.high, right.low)
  }

  /// Upper case with hyphens, as Foundation writes it.
  package var description: String {
    let high = Hexadecimal.text(of: high, uppercase: true)
    let low = Hexadecimal.text(of: low, uppercase: true)
    return "\(high.prefix(8))-\(high.dropFirst(8).prefix(4))-\(high.suffix(4))-\(low.prefix(4))-\(low.suffix(12))"
  }
}
