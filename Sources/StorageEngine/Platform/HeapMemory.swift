#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Memory of the heap, not set to anything; given back by ``release(_:)``.
///
/// The standard library's `allocate` asks Linux for memory of an alignment, which never gives what the thread has just freed:
/// with the nodes of a commit that took several times as long.
func allocate(_ count: Int) -> UnsafeMutableRawPointer {
  guard let memory = malloc(max(count, 1)) else { fatalError("no memory for \(count) bytes") }
  return memory
}

/// Gives memory back that ``allocate(_:)`` gave.
func release(_ memory: UnsafeMutableRawPointer) { free(memory) }
