import StrataDocuments
import StrataEngine
public import StrataFoundation
import StrataModel

/// Plain data by name: images, documents and such, beside the datastores of the same store.
///
/// ```swift
/// let images = BlobDatastore(persistence: persistence, key: "Images")
/// try await images.persist(contentsOf: file, to: "cover.jpg")
/// for try await piece in images.pieces(of: "cover.jpg") { … }
/// ```
///
/// It takes part in transactions and history like any datastore. A blob has at most 1 GiB.
public struct BlobDatastore<AccessMode: _AccessMode>: Sendable {
  private let store: _StoreHandle
  private let key: String
  private var tree: TreeName { .records(of: key) }

  /// Opens blobs for reading and writing. Costs no I/O.
  ///
  /// - Parameters:
  ///   - persistence: The store that keeps them.
  ///   - key: The name of the datastore in the store.
  public init(persistence: some Persistence<AccessMode>, key: DatastoreKey = "Blobs") where AccessMode == ReadWrite {
    store = persistence._store
    self.key = key.rawValue
  }

  /// Opens blobs for reading. Costs no I/O.
  public init(reading persistence: some Persistence, key: DatastoreKey = "Blobs") where AccessMode == ReadOnly {
    store = persistence._store
    self.key = key.rawValue
  }

  /// The number of blobs.
  ///
  /// - Throws: ``StoreError`` if the store cannot be read; of kind `refused` if the key is one of instances.
  public var count: Int {
    get async throws { try await store.asking { Int(clamping: try blobs?.entryCount ?? 0) } }
  }

  /// The names of all blobs, in order.
  ///
  /// - Throws: ``StoreError`` if the store cannot be read.
  public var names: [String] {
    get async throws {
      try await store.asking {
        guard let blobs = try blobs else { return [] }
        var names: [String] = []
        var walk = TreeWalk(blobs)
        while let entry = try walk.nextEntry() {
          await store.yieldTask()
          if let name = Self.coder.value(of: entry.key.array) { names.append(name) }
        }
        return names
      }
    }
  }

  /// The blob of a name, or nil.
  ///
  /// - Throws: ``StoreError`` if it cannot be read.
  public func load(_ name: String) async throws -> Data? {
    try await store.asking {
      guard var blob = try reader(of: name) else { return nil }
      return try blob.next(upTo: .max) ?? Data()
    }
  }

  /// The length of a blob in bytes, or nil if there is none.
  ///
  /// - Throws: ``StoreError`` if it cannot be read.
  public func size(of name: String) async throws -> Int? {
    try await store.asking { try reader(of: name)?.remaining }
  }

  /// A blob piece by piece; nothing if there is none. Each piece is read when it is asked for, and shows the blob as it was when the first
  /// piece was read. At most a MiB of the blob is in memory beside the piece, unless the store is on a server, which sends it whole.
  ///
  /// - Parameters:
  ///   - name: Its name.
  ///   - size: The length of a piece in bytes: 1 or more, otherwise the first piece throws ``StoreError``.
  public func pieces(of name: String, size: Int = 64 * 1024) -> some AsyncInstances<Data> {
    BlobPieces(size: size, store: store) { try reader(of: name) }
  }

  /// A reader behind the head of the record.
  private func reader(of name: String) throws -> ValueReader? {
    let key = try Self.coder.key(of: name)
    guard let blobs = try blobs else { return nil }
    return try throwingStoreErrors {
      guard var reader = try blobs.payload(.bytes(key))?.record.map(blobs.reader) else { return nil }
      _ = try reader.next(atMost: reader.atHand.count - RecordBytes.split(reader.atHand).content.count)
      return reader
    }
  }

  private var blobs: Tree? {
    get throws { try requireBlobs(Transactions.readState(for: store).tree(tree)) }
  }

  /// Returns a tree that holds blobs; throws for one of instances.
  private func requireBlobs(_ tree: Tree?) throws -> Tree? {
    guard let tree else { return nil }
    let stored = try DatastoreDescriptor(bytes: tree.attributes.array)
    guard stored.keepsBlobs else {
      throw StoreError(.refused, "\(key) holds instances of \(stored.instanceType): blobs need a key of their own.")
    }
    return tree
  }

  fileprivate static var coder: KeyCoder<String> { KeyCoder<String>.make() }
}

extension BlobDatastore where AccessMode == ReadWrite {
  /// Stores data under a name and replaces the previous blob of that name. The same data once more adds nothing.
  ///
  /// - Throws: ``StoreError`` if it cannot be written, or is longer than 1 GiB; of kind `refused` if the key is one of instances.
  public func persist(_ data: Data, to name: String) async throws {
    try await persist(BlobSpool(memory: [UInt8](data)), to: name)
  }

  /// Stores the contents of a file under a name. The file is read piece by piece. The same contents once more add nothing.
  ///
  /// - Throws: ``StoreError`` if it cannot be written, or is longer than 1 GiB; any error from reading the file.
  public func persist(contentsOf file: URL, to name: String) async throws {
    var contents: BlobSpool
    do {
      let path = file.path(percentEncoded: false)
      let source = try SystemDisk().open(path, .read)
      let status = try source.status
      if status.isDirectory { throw StoreError(.inputOutput, "\(file.path) is a folder.") }
      contents = BlobSpool(file: source, path: path, count: status.size)
      // The size of a file that the system makes up when it is read is none, or only a guess.
      if status.size <= BlobSpool.limit { contents = try BlobSpool(of: source, check: Self.requireFit) }
    } catch let error as DiskError {
      throw StoreError(.inputOutput, "\(file.path) cannot be read as a file: \(error)")
    }
    try await persist(contents, to: name)
  }

  /// Stores data that comes piece by piece under a name: a download, another store's ``pieces(of:size:)``. Nothing is written before the
  /// last piece has come; until then more than a MiB waits in a temporary file.
  ///
  /// ```swift
  /// try await images.persist(pieces: download, to: "cover.jpg")
  /// ```
  ///
  /// - Throws: ``StoreError`` if it cannot be written or exceeds 1 GiB; errors of the pieces; `CancellationError`. Nothing is written then.
  public func persist<Pieces: AsyncSequence>(pieces: Pieces, to name: String) async throws
  where Pieces.Element == Data {
    var spool = BlobSpool()
    for try await piece in pieces {
      try spool.append(piece)
      try Self.requireFit(spool.count)
    }
    // A stream ends like one that is complete if its task is cancelled.
    try Task.checkCancellation()
    try spool.finish()
    try await persist(spool, to: name)
  }

  private func persist(_ contents: BlobSpool, to name: String) async throws {
    try Self.requireFit(contents.count)
    try await write("persist \(key)", name) { transaction, key in
      // The same bytes are not written again.
      if let found = try transaction.currentReference(of: key, in: tree), let blobs = try transaction.tree(tree),
        try contents.isSame(as: found, in: blobs)
      {
        return
      }
      _ = try transaction.put(key, count: contents.count, in: tree, piece: contents.bytes)
    }
  }

  /// Deletes the blob of a name.
  ///
  /// - Returns: Whether there was one.
  /// - Throws: ``StoreError`` if the store cannot be written; within a transaction that is cancelled, `CancellationError`.
  @discardableResult
  public func deleteIfPresent(_ name: String) async throws -> Bool {
    // Not read: a damaged one is deleted, too.
    let stored = try Self.coder.key(of: name)
    let isThere = try await store.asking { try throwingStoreErrors { try blobs?.payload(.bytes(stored)) } != nil }
    guard isThere else { return false }
    return try await write("delete \(key)", name) { transaction, key in
      try transaction.delete(key, in: tree) != nil
    }
  }

  private static func requireFit(_ count: UInt64) throws {
    if count > Limits.value { throw StoreError(.valueTooLong(count: count, limit: Limits.value)) }
  }

  private func write<R: Sendable>(
    _ action: String, _ name: String, _ body: @Sendable (any WriteTransaction, [UInt8]) throws -> R
  ) async throws -> R {
    let key = try Self.coder.key(of: name)
    guard key.count <= Limits.key else {
      throw InvalidKeyError(datastore: self.key, index: nil, reason: "the name is too long")
    }
    return try await Transactions.write(to: store, actionName: action) { scope in
      // A refusal leaves the transaction as it is; an error of the change itself makes it fail.
      let exists = try scope.step { try requireBlobs($0.tree(tree)) != nil }
      return try scope.change { transaction in
        if !exists {
          let descriptor = DatastoreDescriptor(
            key: self.key, instanceType: "Data", identifierType: "String", identifierEncoding: .string, coding: .opaque)
          try DatastoreWriter.create(descriptor, in: transaction)
        }
        return try body(transaction, key)
      }
    }
  }
}

extension ValueReader {
  /// Returns the next bytes, at most `size`; nil at the end. Throws `StoreError`.
  fileprivate mutating func next(upTo size: Int) throws -> Data? {
    guard remaining > 0 else { return nil }
    var data = Data(capacity: min(size, remaining))
    while data.count < size, remaining > 0 {
      try throwingStoreErrors { try next(atMost: size - data.count) }.withUnsafeBytes { data.append(contentsOf: $0) }
    }
    return data
  }
}

private struct BlobPieces: AsyncInstances, AsyncIteratorProtocol {
  let size: Int
  let store: _StoreHandle
  let open: @Sendable () throws -> ValueReader?
  private(set) var blob: ValueReader?
  private(set) var isOpened = false

  mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> Data? {
    try Task.checkCancellation()
    await store.yieldTask()
    if !isOpened {
      isOpened = true
      guard size > 0 else { throw StoreError(.refused, "A piece of a blob has at least one byte, not \(size).") }
      blob = try await store.asking { [open] in try open() }
    }
    return try blob?.next(upTo: size)
  }
}
