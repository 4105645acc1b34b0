import StrataModel
import StrataEngine

/// The commits of a store, newest first.
struct Commits: AsyncInstances {
  typealias Element = Commit

  let store: _StoreHandle
  let newest: Commit.Number?

  func makeAsyncIterator() -> Iterator { Iterator(commits: self) }

  struct Iterator: AsyncIteratorProtocol {
    private let commits: Commits
    private var page: ArraySlice<StrataModel.CommitDetails> = []
    /// The beginnings of the next page: one commit for each way that leads back.
    private var open: [CommitNumber] = []
    private var model: EngineStore?
    private var isOpened = false

    fileprivate init(commits: Commits) { self.commits = commits }

    mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> Commit? {
      try Task.checkCancellation()
      await commits.store.yieldTask()
      try await commits.store.prepare()
      if !isOpened { try begin() }
      if page.isEmpty { try turnPage() }
      return page.popFirst().map { Commit($0) }
    }

    private mutating func begin() throws {
      isOpened = true
      guard let view = try commits.store.currentView() else { return }
      model = try commits.store.model()
      open = [CommitNumber(commits.newest?.rawValue ?? view.commit.number)]
    }

    private mutating func turnPage() throws {
      guard let model, !open.isEmpty else { return }
      let next = try throwingStoreErrors { [open] in try model.commitPage(from: open, limit: 32, folded: false) }
      page = next.commits[...]
      open = next.next
    }
  }
}
