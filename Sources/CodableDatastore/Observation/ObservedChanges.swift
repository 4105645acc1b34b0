import StrataModel

struct ObservedChanges<Format: DatastoreFormat>: AsyncInstances, AsyncIteratorProtocol {
  typealias Element = ObservedEvent<Format.Identifier, Format.Instance>

  fileprivate let core: DatastoreCore<Format>
  fileprivate let buffer: ChangeBuffer

  /// The next change; nil once the task is cancelled or the persistence was closed. If a change cannot be read or decoded, the error is
  /// thrown instead, and the next call continues behind it.
  mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> Element? {
    await core.store.yieldTask()
    while let change = try await buffer.next() {
      if let event = try await core.observed(change) { return event }
    }
    try Task.checkCancellation()
    return nil
  }
}

extension DatastoreCore {
  func observe(
    only identifier: Identifier?, includingOtherProcesses: Bool = false
  ) async throws -> ObservedChanges<Format> {
    _ = try await ready(takesAsItIs: true)
    if includingOtherProcesses { try store.connection.followOtherProcesses(forWriter: !store.isReadOnly) }
    var isWanted: (@Sendable (StoredChange) -> Bool)?
    if let identifier {
      let wanted = try key(of: identifier)
      isWanted = { $0.key == wanted }
    }
    let buffer = ChangeBuffer(
      hearsOtherProcesses: includingOtherProcesses, limit: store.connection.configurationInForce.waitingChangesLimit,
      isWanted: isWanted)
    try store.add(buffer, for: key)
    return ObservedChanges(core: self, buffer: buffer)
  }

  /// A change as observers receive it.
  ///
  /// - Throws: ``UnreadableChangeError`` if an instance does not decode.
  func observed(_ change: StoredChange) async throws -> ObservedEvent<Identifier, Instance>? {
    try await named(change.key, commit: change.commit) { try await event(of: change) }
  }

  /// Reads something of a commit.
  ///
  /// - Throws: ``UnreadableChangeError`` with the error of an instance that cannot be read.
  func named<Value>(_ key: [UInt8], commit: UInt64, _ read: () async throws -> Value) async throws -> Value {
    do { return try await read() } catch let error where !(error is CancellationError) {
      throw UnreadableChangeError(
        datastore: DatastoreKey(self.key), commit: Commit.Number(commit),
        identifier: (try? identifiers.encoding.decode(key).description) ?? "\(key.count) bytes", underlying: error)
    }
  }

  /// A change with its instances decoded; nil if the identifier cannot be found, or if there is neither an old nor a new record.
  func event(of change: StoredChange) async throws -> ObservedEvent<Identifier, Instance>? {
    let known = change.identifier as? Identifier
    guard let identifier = known ?? identifiers.value(of: change.key) else { return nil }
    let old = if let old = change.old { try await coder.decode(old).instance } else { nil as Instance? }
    let new = if let new = change.new { try await coder.decode(new).instance } else { nil as Instance? }
    switch (old, new) {
    case (let old?, let new?): return .updated(id: identifier, oldEntry: old, newEntry: new)
    case (nil, let new?): return .created(id: identifier, newEntry: new)
    case (let old?, nil): return .deleted(id: identifier, oldEntry: old)
    case (nil, nil): return nil
    }
  }
}
