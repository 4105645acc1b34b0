package import StrataEngine
import StrataSystem

/// The measured resources of work: memory of this process, temporary files, the file of the store; in bytes.
package struct WorkFigures: Sendable, Hashable, Codable {
  /// Nil if the system does not report it.
  package var memory: UInt64?
  package var temporary: UInt64
  package var store: UInt64
  /// Whether this process holds the writer's lock; nil if the store has none.
  package var holdsLock: Bool?

  package init(memory: UInt64?, temporary: UInt64, store: UInt64, holdsLock: Bool? = nil) {
    self.memory = memory
    self.temporary = temporary
    self.store = store
    self.holdsLock = holdsLock
  }

  /// As things stand now.
  package init(of store: any ReadableStore) {
    self.init(of: (store as? EngineStore)?.engine, bytes: try? store.byteCount)
  }

  /// As things stand now, for a writer: a server is not asked, and the size of its store is 0.
  package init(of engine: any Engine) { self.init(of: engine, bytes: (engine as? FileStore)?.fileBytes) }

  private init(of engine: (any Engine)?, bytes: UInt64?) {
    self.init(
      memory: Self.residentBytes, temporary: ScratchFile.bytesInUse, store: bytes ?? 0,
      holdsLock: (engine as? FileStore)?.holdsLock)
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
