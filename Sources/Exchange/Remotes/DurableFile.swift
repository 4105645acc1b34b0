import DatastoreModel
import StorageEngine

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A file that is there whole or not at all: written under another name, synced and renamed. One that is not finished goes.
final class DurableFile {
  private let folder: String
  private let temporary: String
  private let descriptor: Int32
  private var waiting: [UInt8] = []
  private var isFinished = false

  /// Begins one in a folder.
  init(in folder: String) throws {
    self.folder = folder.isEmpty ? "." : folder
    temporary = "\(self.folder)/.strata-\(String(SystemDisk().randomNumber(), radix: 16)).new"
    descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw Self.failure("making a file in", self.folder) }
  }

  deinit {
    close(descriptor)
    if !isFinished { unlink(temporary) }
  }

  func add(_ bytes: [UInt8]) throws {
    waiting += bytes
    if waiting.count >= 1 << 18 { try flush() }
  }

  private func flush() throws {
    defer { waiting.removeAll(keepingCapacity: true) }
    var written = 0
    while written < waiting.count {
      let count = waiting.withUnsafeBytes { bytes in
        write(descriptor, bytes.baseAddress.map { $0 + written }, bytes.count - written)
      }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw Self.failure("writing in", folder) }
      written += count
    }
  }

  /// Makes it durable under its name.
  func finish(as name: String) throws {
    try flush()
    guard fsync(descriptor) == 0, rename(temporary, "\(folder)/\(name)") == 0 else {
      throw Self.failure("writing \(name) in", folder)
    }
    isFinished = true
    try? SystemDisk().syncDirectory(folder)
  }

  static func replace(_ path: String, with bytes: [UInt8]) throws {
    let slash = path.lastIndex(of: "/")
    let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    let file = try DurableFile(in: folder)
    try file.add(bytes)
    try file.finish(as: slash.map { String(path[path.index(after: $0)...]) } ?? path)
  }

  private static func failure(_ what: String, _ path: String) -> ModelError {
    .storage("\(what) \(path) failed: \(String(cString: strerror(errno)))", kind: .failed)
  }
}
