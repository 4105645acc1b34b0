import DatastoreModel

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What work takes, measured: memory of this process, temporary files, the file of the store; in bytes.
package struct WorkFigures: Sendable, Hashable {
  /// Nil where the system does not tell it.
  package var memory: UInt64?
  package var temporary: UInt64
  package var store: UInt64

  package init(memory: UInt64?, temporary: UInt64, store: UInt64) {
    self.memory = memory
    self.temporary = temporary
    self.store = store
  }

  /// As things stand now.
  init(of store: any ReadableStore) {
    self.init(
      memory: Self.residentBytes, temporary: TemporaryFile.bytesInUse, store: (try? store.byteCount) ?? 0)
  }

  /// `/proc/self/statm`: pages of the program, then those that are resident.
  private static var residentBytes: UInt64? {
    guard let file = fopen("/proc/self/statm", "r") else { return nil }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 128)
    guard fgets(&line, 128, file) != nil else { return nil }
    let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return text.split(separator: " ").dropFirst().first.flatMap { UInt64($0) }.map {
      $0 * UInt64(sysconf(Int32(_SC_PAGESIZE)))
    }
  }
}
