import StrataLocks

/// Objects that one call uses at a time, kept for later calls of the same thread's lane: a lock that two threads take twice for each
/// record costs them a twentieth of their time.
final class ObjectPool<Object: AnyObject & Sendable>: Sendable {
  private final class Lane: Sendable {
    let objects = Mutex<[Object]>([])
    private let distance = CacheLineDistance()
  }

  private let lanes = (0..<ThreadLane.count).map { _ in Lane() }
  private let make: @Sendable () -> Object

  init(_ make: @escaping @Sendable () -> Object) { self.make = make }

  /// Calls `body` with an object that no other call uses. The object is used again unless something refers to it after the call.
  @inline(__always)
  func withObject<Result>(_ body: (Object) throws -> Result) rethrows -> Result {
    let lane = lanes[ThreadLane.current]
    var object = lane.objects.withLock { $0.popLast() } ?? make()
    let result = try body(object)
    if isKnownUniquelyReferenced(&object) {
      lane.objects.withLock { [object] in if $0.count < 8 { $0.append(object) } }
    }
    return result
  }
}
