package import StrataLocks

/// Keeps the values that were asked for lately, up to twice a given number.
///
/// Values are in a young and an old half. When the young half is full it becomes the old one, and the previous old half is released. A
/// value that is found in the old half becomes young again.
package struct BoundedCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private var young: [Key: Value] = [:]
  private var old: [Key: Value] = [:]
  private let half: Int

  /// - Parameter half: how many values each half has room for.
  package init(half: Int) { self.half = half }

  package var isEmpty: Bool { young.isEmpty && old.isEmpty }

  package mutating func removeAll() { (young, old) = ([:], [:]) }

  package subscript(key: Key) -> Value? {
    mutating get {
      if let value = young[key] { return value }
      guard let value = old[key] else { return nil }
      self[key] = value
      return value
    }
    set {
      if young.count >= half {
        old = young
        young = [:]
      }
      young[key] = newValue
    }
  }
}

extension Mutex {
  /// The value of a key, which is made and kept if the cache has none. The lock is not held meanwhile.
  package func value<Key, Kept, Failure: Error>(
    of key: Key, _ make: () throws(Failure) -> Kept
  ) throws(Failure) -> Kept where Value == BoundedCache<Key, Kept> {
    if let known = withLock({ $0[key] }) { return known }
    let new = try make()
    withLock { $0[key] = new }
    return new
  }
}
