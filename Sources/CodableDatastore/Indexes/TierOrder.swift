import StrataModel

/// The order of the first tiers of an index whose values are not in byte order.
struct TierOrder: Sendable {
  let tiers: [ValueTier]
  var encodings: [KeyEncoding] { tiers.map(\.encoding) }
  /// Compares stored values with some first tiers.
  let comparison: @Sendable ([KeyValue]) throws -> KeyComparison

  /// Nil for values of one tier that is not descending.
  init?<Value: Indexable>(_ coder: KeyCoder<Value>) {
    if let type = Value.self as? any TieredValue.Type {
      tiers = type.tiers
    } else if Value.self is any DescendingValue.Type {
      tiers = [tier(Value.self)]
    } else {
      return nil
    }
    comparison = { tiers in
      let place = try tierComparison(Value.self, to: tiers[...])
      return KeyComparison { stored in
        guard let value = coder.value(of: Array(stored)) else {
          throw ModelError.unreadable(what: "a value of an index", where: "it is none of \(Value.self)")
        }
        return place(value)
      }
    }
  }
}

/// A tier of a value, and how its values are kept by themselves.
typealias ValueTier = (valueType: String, isDescending: Bool, encoding: KeyEncoding)

protocol TieredValue {
  static var tiers: [ValueTier] { get }
  /// Compares values with some first tiers: the result is negative for a value before them, 0 for a value that has them.
  static func comparison(to tiers: ArraySlice<KeyValue>) throws -> (Self) -> Int
}

/// A type that turns another's order around.
protocol DescendingValue: Sendable {
  associatedtype Value: Indexable
  /// The value whose order is turned around.
  var value: Value { get }
}

extension Descending: DescendingValue {}

extension CompoundKey: TieredValue {
  static var tiers: [ValueTier] {
    [tier(First.self)] + ((Rest.self as? any TieredValue.Type)?.tiers ?? [tier(Rest.self)])
  }

  static func comparison(to tiers: ArraySlice<KeyValue>) throws -> (Self) -> Int {
    let firsts = try tierComparison(First.self, to: tiers.prefix(1))
    guard tiers.count > 1 else { return { firsts($0.first) } }
    let rests = try tierComparison(Rest.self, to: tiers.dropFirst())
    return { value in
      let place = firsts(value.first)
      return place != 0 ? place : rests(value.rest)
    }
  }
}

private func tier<Value: Indexable>(_ type: Value.Type) -> ValueTier {
  func turned<Turned: DescendingValue>(_ type: Turned.Type) -> ValueTier {
    (String(describing: Turned.Value.self), true, .descending(tier(Turned.Value.self).encoding))
  }
  if let type = type as? any DescendingValue.Type { return turned(type) }
  return (String(describing: type), false, KeyCoder<Value>.make().encoding)
}

/// Compares values with one key or, if they have several tiers, with some first tiers. `isTurned` is whether another type turns their order
/// around.
private func tierComparison<Value: Indexable>(
  _ type: Value.Type, to tiers: ArraySlice<KeyValue>, isTurned: Bool = false
) throws -> (Value) -> Int {
  func tiered<Tiered: TieredValue>(_ type: Tiered.Type) throws -> Any { try Tiered.comparison(to: tiers) }
  func turned<Turned: DescendingValue>(_ type: Turned.Type, _ key: KeyValue) throws -> Any {
    let values = try tierComparison(Turned.Value.self, to: [key], isTurned: !isTurned)
    let place: (Turned) -> Int = { values($0.value) }
    return place
  }
  // The types are the same, and so are the functions' types.
  if let type = type as? any TieredValue.Type, let known = try tiered(type) as? (Value) -> Int { return known }
  guard let key = tiers.first else { return { _ in 0 } }
  if let type = type as? any DescendingValue.Type, let known = try turned(type, key) as? (Value) -> Int { return known }
  let coder = KeyCoder<Value>.make()
  guard let sought = coder.value(of: try coder.encoding.encode(key)) else {
    throw NotOrdered(description: "\(key) in a tier of the type \(Value.self)")
  }
  let bytes = ComparatorOrder<Value>()
  let soughtBytes = try bytes.key(of: sought)
  return { value in
    if value == sought { return 0 }
    if value < sought { return isTurned ? 1 : -1 }
    if sought < value { return isTurned ? -1 : 1 }
    // The bytes of whole values decide then, in which those of the tier come first; they are not turned around.
    return (try? bytes.key(of: value).precedes(soughtBytes)) == true ? -1 : 1
  }
}
