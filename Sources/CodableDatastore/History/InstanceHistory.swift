import StrataModel
import StrataEngine

/// The states of one instance, newest first.
struct InstanceHistory<Format: DatastoreFormat>: AsyncInstances, AsyncIteratorProtocol {
  typealias Element = InstanceVersion<Format.Instance>

  let core: DatastoreCore<Format>
  let identifier: Format.Identifier
  private(set) var versions: VersionCursor?
  private(set) var view: View?
  private(set) var model: EngineStore?
  private(set) var isOpened = false

  mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> Element? {
    try Task.checkCancellation()
    await core.store.yieldTask()
    if !isOpened { try open() }
    guard let (commit, record) = try nextVersion() else { return nil }
    var instance: Format.Instance?
    if let record { instance = try await core.instance(of: record, key: core.key(of: identifier)) }
    return InstanceVersion(commit: commit, instance: instance)
  }

  private mutating func open() throws {
    isOpened = true
    let key = try core.key(of: identifier)
    guard let view = try core.currentView(), let model = try core.store.model() else { return }
    self.model = model
    self.view = view
    let place = try core.identifiers.order.place(of: key)
    versions = try throwingStoreErrors { try view.versions(of: place.keptProbe, in: core.recordsTree) }
  }

  private mutating func nextVersion() throws -> (commit: Commit, record: Bytes?)? {
    guard let model, let view, let version = try throwingStoreErrors({ try versions?.next() }) else { return nil }
    return try throwingStoreErrors {
      let commit = Commit(try model.commit(CommitNumber(version.commit), in: view))
      guard let change = version.change, change.kind == .put else { return (commit, nil) }
      return (commit, try view.value(of: change.reference))
    }
  }
}
