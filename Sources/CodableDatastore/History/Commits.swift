import StrataModel
import StrataEngine

/// The commits of a store, newest first.
struct Commits: AsyncInstances, AsyncIteratorProtocol {
  let store: _StoreHandle
  let newest: Commit.Number?
  private(set) var page: ArraySlice<StrataModel.CommitDetails> = []
  /// The beginnings of the next page: one commit for each way that leads back.
  private(set) var open: [CommitNumber] = []
  private(set) var model: EngineStore?
  private(set) var isOpened = false

  mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> Commit? {
    try Task.checkCancellation()
    await store.yieldTask()
    try await store.prepare()
    if !isOpened {
      isOpened = true
      guard let view = try store.currentView() else { return nil }
      model = try store.model()
      open = [CommitNumber(newest?.rawValue ?? view.number)]
    }
    if page.isEmpty, let model, !open.isEmpty {
      let next = try throwingStoreErrors { [open] in try model.commitPage(from: open, limit: 32, folded: false) }
      (page, open) = (next.commits[...], next.next)
    }
    return page.popFirst().map { Commit($0) }
  }
}
