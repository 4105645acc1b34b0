import StrataModel
import StrataEngine

/// The states of one instance, newest first.
struct InstanceHistory<Format: DatastoreFormat>: AsyncInstances {
  typealias Element = InstanceVersion<Format.Instance>

  let core: DatastoreCore<Format>
  let identifier: Format.Identifier

  func makeAsyncIterator() -> Iterator { Iterator(history: self) }

  struct Iterator: AsyncIteratorProtocol {
    private let history: InstanceHistory
    private var versions: VersionCursor?
    private var view: View?
    private var model: EngineStore?
    private var isOpened = false

    fileprivate init(history: InstanceHistory) { self.history = history }

    mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> Element? {
      try Task.checkCancellation()
      await history.core.store.yieldTask()
      if !isOpened { try open() }
      guard let (commit, record) = try nextVersion() else { return nil }
      var instance: Format.Instance?
      if let record {
        let core = history.core
        instance = try await core.instance(of: record, key: core.key(of: history.identifier))
      }
      return InstanceVersion(commit: commit, instance: instance)
    }

    private mutating func open() throws {
      isOpened = true
      let core = history.core
      let key = try core.key(of: history.identifier)
      guard let view = try core.currentView(), let model = try core.store.model() else { return }
      self.model = model
      self.view = view
      let place = try core.identifiers.order.place(of: key)
      versions = try throwingStoreErrors { try view.versions(of: place.keptProbe, in: core.recordsTree) }
    }

    private mutating func nextVersion() throws -> (commit: Commit, record: Bytes?)? {
      guard let model, let version = try throwingStoreErrors({ try versions?.next() }) else {
        return nil
      }
      let record: Bytes? = try throwingStoreErrors {
        guard let change = version.change, change.kind == .put else { return nil }
        return try view?.value(of: change.reference)
      }
      let commit = try throwingStoreErrors { try model.commit(CommitNumber(version.commit)) }
      return (Commit(commit), record)
    }
  }
}
