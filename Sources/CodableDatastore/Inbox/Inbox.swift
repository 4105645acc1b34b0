import StrataModel

/// The letters that other programs have sent to a store by an ``Outbox``.
public struct Inbox: Sendable {
  /// The outcome of a letter.
  public enum Event: Hashable, Sendable {
    /// The letter was applied as the commit.
    case applied(commit: Commit.Number, letter: String)
    /// The letter was refused: the store does not have its changes. The letter lies in the folder `inbox/refused` of the store.
    case refused(letter: String, reason: String)
  }

  let store: _StoreHandle

  /// The outcome of each letter that this process applies, from now on, until the persistence is closed.
  public var events: AsyncStream<Event> { store.inbox.events }

  /// Applies the letters that wait now: each exactly once, as one commit, those of one sender in order. A letter for a datastore that
  /// this process has not declared waits, and so do the sender's later ones that change its datastores.
  ///
  /// - Returns: The outcome of each.
  /// - Throws: ``StoreError``, for example of kind `locked` if another process writes. The rest waits.
  @discardableResult
  public func apply() async throws -> [Event] { try await store.inbox.apply(to: store) }

  /// The names of the letters that wait, in the order in which they are applied.
  ///
  /// - Throws: ``StoreError`` if the folder cannot be read.
  public func waiting() async throws -> [String] {
    guard let path = store.connection.path else { return [] }
    return try await onThread {
      try throwingStoreErrors { try InboxFolder(ofStoreAt: path).waiting().map(\.description) }
    }
  }
}

extension DiskPersistence where AccessMode == ReadWrite {
  /// The letters that other programs have sent to this store.
  public nonisolated var inbox: Inbox { Inbox(store: _store) }
}
