import StrataEngine
import StrataFoundation

/// Pieces of data whose number is unknown: kept in memory while they are few, then in a file without a name, which the system removes with
/// its last reference.
struct BlobSpool: Sendable {
  /// The number of bytes from which memory is written to the file.
  private static let limit = 1 << 20

  private(set) var memory: [UInt8] = []
  private(set) var file: (any DiskFile)?
  private var written: UInt64 = 0

  var count: UInt64 { written + UInt64(memory.count) }

  mutating func append(_ piece: Data) throws {
    piece.withUnsafeBytes { memory.append(contentsOf: $0) }
    if memory.count >= Self.limit { try flush() }
  }

  /// Appends the bytes in memory to the file, if there is one.
  mutating func finish() throws {
    if file != nil { try flush() }
  }

  private mutating func flush() throws {
    let file = try self.file ?? Self.makeFile()
    self.file = file
    try throwingStoreErrors { try memory.withUnsafeBytes { bytes in try file.write(bytes, at: written) } }
    written += UInt64(memory.count)
    memory.removeAll(keepingCapacity: true)
  }

  private static func makeFile() throws -> any DiskFile {
    let path = FileManager.default.temporaryDirectory.appending(path: "blob-\(UUID().uuidString)")
      .path(percentEncoded: false)
    do {
      let file = try SystemDisk().open(path, .create)
      // Without a name nothing is left behind, however the program ends.
      try FileManager.default.removeItem(atPath: path)
      return file
    } catch {
      throw StoreError(.inputOutput, "No temporary file can be made at \(path).")
    }
  }
}
