import StrataModel
import StrataEngine

/// A file that is there whole or not at all: written under another name, synced and renamed. If it is not finished, it is removed; if the
/// process was killed, it is removed when the next one is made in its folder.
final class DurableFile {
  private let folder: String
  private let temporary: String
  /// Locked while it is written.
  private let file: any DiskFile
  private var waiting: [UInt8] = []
  private var written: UInt64 = 0
  private var isFinished = false

  private static let (prefix, suffix) = (".strata-", ".new")
  /// In nanoseconds, an hour: another computer's lock may not be seen in a folder that several share.
  private static let longestWork: Int64 = 3_600_000_000_000

  init(in folder: String, now: Int64 = SystemDisk().now()) throws {
    let folder = folder.isEmpty ? "." : folder
    Self.removeLeftovers(in: folder, now: now)
    self.folder = folder
    temporary = "\(folder)/\(Self.prefix)\(String(SystemDisk().randomNumber(), radix: 16))\(Self.suffix)"
    do {
      file = try SystemDisk().open(temporary, .create)
    } catch {
      throw Self.failure("making a file in", folder, error)
    }
    // Not every file system has locks.
    _ = try? file.tryLock()
  }

  deinit { if !isFinished { try? SystemDisk().unlink(temporary) } }

  /// Removes unfinished files that no process has locked.
  private static func removeLeftovers(in folder: String, now: Int64) {
    let disk = SystemDisk()
    for name in (try? disk.list(folder)) ?? [] where name.hasPrefix(prefix) && name.hasSuffix(suffix) {
      let path = "\(folder)/\(name)"
      guard let left = try? disk.open(path, .readWriteNoLink), let changed = try? left.status.changed,
        now - changed > longestWork, (try? left.tryLock()) == true
      else { continue }
      try? disk.unlink(path)
    }
  }

  func add(_ bytes: [UInt8]) throws {
    waiting += bytes
    if waiting.count >= 1 << 18 { try flush() }
  }

  private func flush() throws {
    defer { waiting.removeAll(keepingCapacity: true) }
    do {
      try waiting.withUnsafeBytes { try file.write($0, at: written) }
    } catch let error as DiskError {
      throw Self.failure("writing in", folder, error)
    }
    written += UInt64(waiting.count)
  }

  /// Makes it durable under its name.
  func finish(as name: String) throws {
    try flush()
    do {
      try file.sync()
      try SystemDisk().rename(temporary, to: "\(folder)/\(name)")
    } catch {
      throw Self.failure("writing \(name) in", folder, error)
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

  private static func failure(_ what: String, _ path: String, _ error: DiskError) -> ModelError {
    .storage("\(DiskError(operation: "\(what) \(path)", path: "", code: error.code))", kind: .failed)
  }
}
