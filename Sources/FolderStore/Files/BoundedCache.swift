/// Keeps the values that were asked for lately, up to twice a given number.
///
/// Values are in a young and an old half. When the young half is full it becomes the old one, and the previous old half is released. A
/// value that is found in the old half becomes young again.
struct BoundedCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private var young: [Key: Value] = [:]
  private var old: [Key: Value] = [:]
  private let half: Int

  init(half: Int) { self.half = half }

  subscript(key: Key) -> Value? {
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
