import StrataEngine
import StrataFoundation
import StrataModel

/// A record that holds a blob: a head, and pieces of data whose number is unknown. They are kept in memory while they are few, then in a file
/// without a name, which the system removes with its last reference.
struct BlobSpool: Sendable {
  /// The number of bytes from which memory is written to the file.
  static let limit = 1 << 20
  private static let head = RecordBytes.head(version: "1")

  private(set) var memory: [UInt8] = []
  private(set) var file: (any DiskFile)?
  /// The path of a file of the app; empty of one without a name.
  private var path = ""
  private var written: UInt64 = 0

  /// The number of bytes of the record.
  var count: UInt64 { UInt64(Self.head.count) + written + UInt64(memory.count) }

  init(memory: [UInt8] = []) { self.memory = memory }
  /// A file at a path, of a length that it was found to have.
  init(file: any DiskFile, path: String, count: UInt64) { (self.file, self.path, written) = (file, path, count) }

  /// The bytes of a file up to its end, wherever that is. `check` throws if there are too many.
  init(of source: any DiskFile, check: (_ count: UInt64) throws -> Void) throws {
    var offset: UInt64 = 0
    while case let piece = try Self.read(source, at: offset, count: Self.limit / 16), !piece.isEmpty {
      offset += UInt64(piece.count)
      try append(Data(piece))
      try check(count)
    }
    try finish()
  }

  private static func read(
    _ file: any DiskFile, at offset: UInt64, count: Int
  ) throws(DiskError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let result = bytes.withUnsafeMutableBytes { memory in
      Result { () throws(DiskError) in try file.read(into: memory, at: offset) }
    }
    return Array(bytes.prefix(try result.get()))
  }

  /// Bytes of the record from a position on, which must be there.
  func bytes(at position: UInt64, count: Int) throws(StorageError) -> [UInt8] {
    let head = Array(Self.head.dropFirst(Int(position)).prefix(count))
    let (start, count) = (max(position, UInt64(Self.head.count)) - UInt64(Self.head.count), count - head.count)
    guard let file else { return head + memory[Int(start)...].prefix(count) }
    let found: [UInt8]
    do { found = try Self.read(file, at: start, count: count) } catch { throw .io(error) }
    guard found.count == count else { throw .io(.shortened(path)) }
    return head.isEmpty ? found : head + found
  }

  /// Whether a stored record has the same bytes; one that is damaged has not.
  func isSame(as record: RecordReference, in tree: Tree) throws(StorageError) -> Bool {
    do { return try isSame(as: tree.reader(of: record)) } catch {
      guard case .damaged = error else { throw error }
      return false
    }
  }

  private func isSame(as stored: ValueReader) throws(StorageError) -> Bool {
    var stored = stored
    guard UInt64(stored.remaining) == count else { return false }
    while case let position = count - UInt64(stored.remaining), position < count {
      let piece = try stored.next(atMost: Self.limit)
      guard try piece == Bytes(bytes(at: position, count: piece.count)) else { return false }
    }
    return true
  }

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
