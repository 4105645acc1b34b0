import StrataLocks

/// Objects that one call uses at a time, kept for later calls.
///
/// They lie in several parts, and a thread chooses its part by the place of its stack: if two threads that decode records took a lock of
/// one part twice for each record, they would spend a twentieth of their time waiting for each other's processor caches.
final class ObjectPool<Object: AnyObject & Sendable>: Sendable {
  private final class Part: Sendable {
    let objects = Mutex<[Object]>([])
    /// Keeps the next part's lock out of the cache line of this one.
    private let distance = (0, 0, 0, 0, 0, 0, 0, 0)
  }

  private let parts = (0..<8).map { _ in Part() }
  private let make: @Sendable () -> Object

  init(_ make: @escaping @Sendable () -> Object) { self.make = make }

  /// Calls `body` with an object that no other call uses. The object is used again unless something refers to it after the call.
  @inline(__always)
  func withObject<Result>(_ body: (Object) -> Result) -> Result {
    let part = part
    var object = part.objects.withLock { $0.popLast() } ?? make()
    let result = body(object)
    if isKnownUniquelyReferenced(&object) {
      part.objects.withLock { [object] in if $0.count < 8 { $0.append(object) } }
    }
    return result
  }

  private var part: Part {
    var local = 0
    let address = withUnsafeMutablePointer(to: &local) { UInt64(UInt(bitPattern: $0)) }
    // Stacks lie half a megabyte apart or more. The factor is that of Fibonacci hashing: 2^64 divided by the golden ratio.
    return parts[Int(((address >> 19) &* 0x9E37_79B9_7F4A_7C15) >> 61)]
  }
}
