/// A datastore: `Codable` instances of one type, kept by identifier and found by their indexes.
///
/// ```swift
/// let books = BookFormat.datastore(in: persistence)
/// try await books.persist(book)
/// for try await book in books.load("A"..<"B", from: \.title) { print(book.title) }
/// ```
///
/// Making one costs no I/O and cannot fail; the declaration is checked and indexes are built at the first use, or at
/// ``warm(progressHandler:)``. Everything runs on the caller's actor: no call changes the actor.
public actor Datastore<Format: DatastoreFormat, AccessMode: _AccessMode>: Sendable {
  /// The versions of the format.
  public typealias Version = Format.Version
  /// The type of the instances.
  public typealias InstanceType = Format.Instance
  /// The type of the identifiers, each of which names one instance.
  public typealias IdentifierType = Format.Identifier

  nonisolated let core: DatastoreCore<Format>

  init(core: DatastoreCore<Format>) { self.core = core }
}

extension Datastore where AccessMode == ReadWrite {
  /// The same datastore for reading only. It shows writes at once.
  public var readOnly: Datastore<Format, ReadOnly> {
    Datastore<Format, ReadOnly>(
      core: DatastoreCore(
        store: core.store, key: DatastoreKey(core.key), coder: core.coder, isReadOnly: true,
        isIdentifiable: core.isIdentifiable))
  }
}
