package import StrataEngine

/// Builds a new store commit by commit from another kind of store: records and index entries unchanged, with the dates and names of their
/// commits.
///
/// The store has another name until `finish()`, so a build that fails or is interrupted leaves nothing that looks like a store. One owner
/// writes everything in turn.
///
///     let builder = try StoreBuilder(at: path, program: "strata convert")
///     try builder.begin()
///     try DatastoreWriter.create(descriptor, in: builder.current())
///     try builder.writer(of: descriptor, identifiers: .bytes).putRecord(key, bytes)
///     try builder.commit("import", date: date)
///     try builder.finish()
package final class StoreBuilder {
  /// The longest keys that a store accepts, in bytes.
  package static let keyLimit = Limits.key

  /// Nil if the store is built in memory.
  private let draft: StoreDraft?
  /// The store as built so far.
  package let store: FileStore
  private var transaction: (any WriteTransaction)?
  private var last: PendingCommit?

  /// Makes an empty store for `path`; throws if something exists there already.
  package init(
    at path: String, program: String, author: String = ""
  ) throws(ModelError) {
    let draft = try onStorage { try StoreDraft(at: path, on: SystemDisk()) }
    self.draft = draft
    do {
      store = try FileStore.create(
        at: draft.workPath, options: StoreOptions(program: program, author: author))
    } catch {
      draft.cancel()
      throw ModelError(error)
    }
  }

  /// Builds a store in memory; `store` returns it once it is finished.
  package init(inMemoryFor program: String) {
    draft = nil
    store = FileStore.memory(options: StoreOptions(program: program))
  }

  // MARK: Commits

  /// Begins the next commit.
  package func begin() throws(ModelError) {
    transaction = try onStorage { try store.beginBlocking() }
  }

  /// Ends the commit. Returns its number.
  ///
  /// - Parameters:
  ///   - action: its name; one that is too long is shortened.
  ///   - date: nanoseconds since 1970.
  ///   - isMaintenance: whether the commit changes no record's content for a user; the history shows it nevertheless.
  @discardableResult
  package func commit(_ action: String, date: Int64, isMaintenance: Bool = false) throws(ModelError) -> CommitNumber {
    let transaction = try current()
    self.transaction = nil
    let info = CommitInfo(
      date: date, action: action, flags: isMaintenance ? .maintenance : [],
      parents: transaction.base.number == 0 ? nil : [transaction.base.number], durability: .collated)
    let pending = try onStorage { try transaction.commit(info) }
    guard let pending else { return CommitNumber(transaction.base.number) }
    last = pending
    return CommitNumber(pending.number)
  }

  /// Makes everything durable and gives the store its name.
  package func finish() throws(ModelError) {
    try onStorage { try last?.wait() }
    guard let draft else { return }
    try onStorage {
      try store.close()
      try draft.finish()
    }
  }

  /// Removes the unfinished store. Does nothing after `finish()`.
  package func cancel() {
    transaction?.cancel()
    transaction = nil
    try? store.close()
    draft?.cancel()
  }

  /// The commit that was begun.
  package func current() throws(ModelError) -> any WriteTransaction {
    guard let transaction else { throw .refused(reason: "no commit was begun") }
    return transaction
  }

  package func dropIndex(_ name: String, of datastore: String) throws(ModelError) {
    let transaction = try current()
    try onStorage { try transaction.dropTree(.index(name, of: datastore)) }
  }

  /// Returns the writer for a datastore's records and entries in this commit; it stores them unchanged.
  ///
  /// - Parameter identifiers: the order of the records. Values of indexes are ordered by their bytes.
  package func writer(of descriptor: DatastoreDescriptor, identifiers: KeyOrder) throws(ModelError) -> DatastoreWriter {
    DatastoreWriter(descriptor, in: try current(), identifiers: identifiers) { _ in
      EntryOrder(value: .bytes, identifier: identifiers)
    }
  }
}
