/// A number by which threads choose between copies of an object that they would otherwise all write to.
///
/// To count a reference or a unit of work, a processor takes the cache line of the number away from the others. Two threads that
/// did so for each record that they read took as long together as one alone. A copy needs a cache line of its own.
///
/// Public only because the compiler makes a call of what is `@inlinable package`, and each node that is read asks for its lane.
public enum ThreadLane {
  /// How many lanes there are.
  @inlinable public static var count: Int { 16 }

  /// The lane of the calling thread, less than `count`. It follows from the place of its stack, so two threads may share a lane.
  @inlinable @inline(__always) public static var current: Int {
    var local = 0
    let address = withUnsafeMutablePointer(to: &local) { UInt64(UInt(bitPattern: $0)) }
    // Stacks lie half a megabyte apart or more. The factor is that of Fibonacci hashing: 2^64 divided by the golden ratio.
    return Int(truncatingIfNeeded: ((address >> 19) &* 0x9E37_79B9_7F4A_7C15) >> 60)
  }
}

/// Keeps what lies behind it in memory out of the cache lines of what lies before it.
package struct CacheLineDistance: Sendable {
  private let words = (0, 0, 0, 0, 0, 0, 0, 0)

  package init() {}
}
