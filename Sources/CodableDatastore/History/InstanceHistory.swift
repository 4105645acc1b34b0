import StrataModel
import StrataEngine

/// The states of one instance, newest first. If a merge made one from those of both sides, the states of both sides follow.
struct InstanceHistory<Format: DatastoreFormat>: AsyncInstances, AsyncIteratorProtocol {
  typealias Element = InstanceVersion<Format.Instance>

  let core: DatastoreCore<Format>
  let identifier: Format.Identifier
  private(set) var lines: VersionLines<StoredLine>?
  private(set) var isOpened = false

  mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> Element? {
    guard let (version, _) = try await nextStored(isolation: actor) else { return nil }
    let instance = try await instance(of: version, isolation: actor)
    return InstanceVersion(commit: Commit(version.commit), instance: instance)
  }

  /// The next state as it is stored, with those that it was made from.
  mutating func nextStored(
    isolation actor: isolated (any Actor)?
  ) async throws -> (version: StoredVersion, older: [StoredVersion])? {
    try Task.checkCancellation()
    await core.store.yieldTask()
    if !isOpened {
      isOpened = true
      let key = try core.key(of: identifier)
      guard let view = try core.currentView(), let model = try core.store.model() else { return nil }
      lines = try throwingStoreErrors {
        try VersionLines([
          StoredLine(model: model, tree: core.recordsTree, order: core.identifiers.order, key: key, view: view)
        ])
      }
    }
    return try throwingStoreErrors { try lines?.next() }
  }

  func instance(of version: StoredVersion, isolation actor: isolated (any Actor)?) async throws -> Format.Instance? {
    guard let record = version.record else { return nil }
    let key = try core.key(of: identifier)
    return try await core.named(key, commit: version.commit.number.rawValue) {
      try await core.instance(of: record, key: key)
    }
  }
}

/// A state of an instance, as it is stored.
struct StoredVersion: CommittedVersion {
  let commit: CommitDetails
  /// Nil if the commit deleted it; no bytes if it is damaged.
  let record: Bytes?
}

/// The states of one instance along a line of commits, newest first.
struct StoredLine: VersionLine {
  private let model: EngineStore
  private let tree: TreeName
  private let order: KeyOrder
  private let key: [UInt8]
  private let view: View
  private var versions: VersionCursor

  init(model: EngineStore, tree: TreeName, order: KeyOrder, key: [UInt8], view: View) throws(ModelError) {
    (self.model, self.tree, self.order, self.key, self.view) = (model, tree, order, key, view)
    versions = try onStorage { try view.versions(of: order.place(of: key).keptProbe, in: tree) }
  }

  mutating func next() throws(ModelError) -> StoredVersion? {
    guard let version = try onStorage({ try versions.next() }) else { return nil }
    let record = version.change.flatMap { $0.kind == .put ? $0.reference : nil }
    return StoredVersion(
      commit: try model.commit(CommitNumber(version.commit), in: view),
      record: try onStorage { try evenDamaged { () throws(StorageError) in try record.map(view.value) } })
  }

  func line(from commit: CommitNumber) throws(ModelError) -> StoredLine? {
    do {
      let view = try onStorage { try model.engine.view(at: commit.rawValue) }
      return try StoredLine(model: model, tree: tree, order: order, key: key, view: view)
    } catch .noSuchCommit {
      return nil
    }
  }
}
