import DatastoreModel
import StorageEngine

/// The commits of a store, newest first.
struct Commits: AsyncInstances {
  typealias Element = Commit

  let store: _StoreHandle
  let newest: Commit.Number?

  func makeAsyncIterator() -> Iterator { Iterator(commits: self) }

  struct Iterator: AsyncIteratorProtocol {
    private let commits: Commits
    private var page: ArraySlice<DatastoreModel.Commit> = []
    private var next: CommitNumber?
    private var model: OwnStore?
    private var isOpened = false

    fileprivate init(commits: Commits) { self.commits = commits }

    mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> Commit? {
      try Task.checkCancellation()
      await commits.store.giveWay()
      try await commits.store.prepare()
      if !isOpened { try open() }
      if page.isEmpty { try turnPage() }
      return page.popFirst().map { Commit($0) }
    }

    private mutating func open() throws {
      isOpened = true
      guard let view = try commits.store.currentView() else { return }
      model = try commits.store.model()
      next = CommitNumber(commits.newest?.rawValue ?? view.commit.number)
    }

    private mutating func turnPage() throws {
      guard let model, let first = next else { return }
      page = try throwingModelErrors { () throws(ModelError) in
        try model.commits(from: first, limit: 32, folded: false)[...]
      }
      next = page.last?.parents.first
    }
  }
}
