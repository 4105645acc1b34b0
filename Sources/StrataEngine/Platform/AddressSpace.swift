import StrataSystem

/// Address space that takes memory only where it is touched, and is zero there at first.
package final class AddressSpace: @unchecked Sendable {
  // `@unchecked`: the pointer is set once; the owner must order the writes.
  package let bytes: UnsafeMutableRawBufferPointer

  /// Returns nil if the system has no room for it.
  package init?(count: Int) {
    #if canImport(Darwin)
      let flags = MAP_PRIVATE | MAP_ANON
    #else
      let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
    #endif
    guard let start = mmap(nil, count, PROT_READ | PROT_WRITE, flags, -1, 0), start != MAP_FAILED else { return nil }
    bytes = UnsafeMutableRawBufferPointer(start: start, count: count)
  }

  deinit { munmap(bytes.baseAddress, bytes.count) }
}

#if canImport(Darwin)
  /// Whether this process is an app's extension, which may have less memory than an app.
  func isAppExtension() -> Bool {
    var size = UInt32(PATH_MAX)
    var path = [CChar](repeating: 0, count: Int(size))
    return _NSGetExecutablePath(&path, &size) == 0 && String(cString: path).contains(".appex/")
  }
#endif

/// The error numbers that a disk in memory throws.
enum MemoryDiskCode {
  static let notFound = ENOENT
  static let exists = EEXIST
  static let tooLarge = EFBIG
}
