public import StrataFoundation

/// The requirements of an index value or an identifier: ordered, hashable, encodable and safe to send.
public typealias Indexable = Comparable & Hashable & Codable & Sendable

/// An index value whose ranges can be loaded: `1000...`, `"A"..<"C"`.
///
/// Strings, dates, decimals, durations and all integers and floating-point numbers conform, and optionals of these.
/// Make a type of your own conform by an empty extension.
public protocol RangedIndexable: Comparable & Hashable & Codable & Sendable {}

/// An index value of which single values may be asked.
///
/// Strings, Booleans, UUIDs and all integers have it, and optionals of these. Give it to a type of your own by an empty
/// extension.
public protocol DiscreteIndexable: Hashable & Codable & Sendable {}

/// An index value whose type is not known.
public struct AnyIndexable {
  /// The value.
  public var indexed: any Indexable

  /// Wraps a value.
  public init(_ indexable: some Indexable) { indexed = indexable }
}

extension Bool: DiscreteIndexable {}
extension Int: DiscreteIndexable, RangedIndexable, OrderedKey, ByteOrderedInteger {}
extension Int8: DiscreteIndexable, RangedIndexable, OrderedKey, ByteOrderedInteger {}
extension Int16: DiscreteIndexable, RangedIndexable, OrderedKey, ByteOrderedInteger {}
extension Int32: DiscreteIndexable, RangedIndexable, OrderedKey, ByteOrderedInteger {}
extension Int64: DiscreteIndexable, RangedIndexable, OrderedKey, ByteOrderedInteger {}
extension Int128: DiscreteIndexable, RangedIndexable, OrderedKey, ByteOrderedInteger {}
extension UInt: DiscreteIndexable, RangedIndexable, OrderedKey, ByteOrderedInteger {}
extension UInt8: DiscreteIndexable, RangedIndexable, OrderedKey, ByteOrderedInteger {}
extension UInt16: DiscreteIndexable, RangedIndexable, OrderedKey, ByteOrderedInteger {}
extension UInt32: DiscreteIndexable, RangedIndexable, OrderedKey, ByteOrderedInteger {}
extension UInt64: DiscreteIndexable, RangedIndexable, OrderedKey, ByteOrderedInteger {}
extension UInt128: DiscreteIndexable, RangedIndexable, OrderedKey, ByteOrderedInteger {}
extension String: DiscreteIndexable, RangedIndexable, OrderedKey {}
extension UUID: DiscreteIndexable, OrderedKey {}
extension Double: RangedIndexable, OrderedKey {}
extension Float: RangedIndexable, OrderedKey {}
#if arch(arm64)
  extension Float16: RangedIndexable {}
#endif
extension Date: RangedIndexable, OrderedKey {}
extension Decimal: RangedIndexable, OrderedKey {}
extension Duration: RangedIndexable, OrderedKey {}
extension Never: DiscreteIndexable, RangedIndexable {}
extension Optional: DiscreteIndexable where Wrapped: DiscreteIndexable {}
extension Optional: RangedIndexable where Wrapped: RangedIndexable {}

/// Orders optionals: `nil` first, then by the value.
extension Optional: @retroactive Comparable where Wrapped: Comparable {
  /// Whether the left comes before the right; `nil` comes before everything else.
  public static func < (left: Self, right: Self) -> Bool {
    switch (left, right) {
    case (_, nil): false
    case (nil, _): true
    case (let left?, let right?): left < right
    }
  }
}

/// Key paths are immutable; those between values that may be sent may be sent too. The captures of a literal (subscript
/// arguments) are `Sendable` if the compiler infers `Sendable` key paths, as it does for every Swift 6 client.
extension KeyPath: @retroactive @unchecked Sendable where Root: Sendable, Value: Sendable {}
