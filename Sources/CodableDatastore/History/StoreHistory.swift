import StrataModel
import Dispatch
import StrataEngine
import StrataLocks

/// The history of a store: the model's view of it, and the calls that must not run on a thread of the cooperative pool.
extension _StoreHandle {
  /// The store as the model sees it; nil if there is none.
  func model(forWriting: Bool = false) throws -> EngineStore? {
    try requireOpen()
    if forWriting, isReadOnly { throw DiskPersistenceError.cannotWrite }
    let store = forWriting ? try connection.storeForWriting() : try connection.storeForReading(forWriter: !isReadOnly)
    guard let store else { return nil }
    return EngineStore(
      store, path: connection.path ?? (connection.isServed ? store.path : ""), program: StoreConnection.programName,
      keepsLock: true, isInMemory: connection.path == nil && !connection.isServed, formats: registry.compiledFormats)
  }

  /// The model of a store that is ready to be written outside of a transaction.
  ///
  /// - Parameter refusal: The beginning of the error within a transaction.
  func modelForWriting(_ refusal: String) async throws -> EngineStore {
    if Transactions.current != nil { throw StoreError.withinTransaction(refusal) }
    try await prepare()
    guard let model = try model(forWriting: true) else { throw StoreError.closed }
    return model
  }

  /// Runs a change that the model makes, in the writer's turn and on a thread that may block.
  ///
  /// - Parameter body: Returns the commit that it made, or that of the head if it made none.
  func changeByModel(
    _ body: @escaping @Sendable (EngineStore) throws(ModelError) -> CommitNumber?
  ) async throws -> CommitNumber? {
    try await changeByModel(commits: { [$0].compactMap(\.self) }, body)
  }

  /// As above, for changes that make several commits.
  ///
  /// - Parameter commits: Returns the commits that a result of `body` names, in ascending order.
  func changeByModel<Answer: Sendable>(
    commits: @escaping @Sendable (Answer) -> [CommitNumber],
    _ body: @escaping @Sendable (EngineStore) throws(ModelError) -> Answer
  ) async throws -> Answer {
    let model = try await modelForWriting("The history cannot be changed")
    let connection = connection
    return try await connection.alone {
      let before = try throwingStoreErrors { try model.engine.refresh() }
      let answer: Answer
      do throws(ModelError) { answer = try body(model) } catch {
        // Some of several commits may have been made.
        let after = model.engine.head
        if after.number != before.number { connection.publication.publish(after, madeOn: before) }
        throw StoreError(error)
      }
      let new = commits(answer).filter { $0.rawValue > max(before.commit.number, connection.publication.newestOwn) }
      // If commits are not followed, only the newest must be reported.
      for number in connection.publication.isFollowed ? new[...] : new.suffix(1) {
        try throwingStoreErrors {
          let new = try model.engine.view(at: number.rawValue)
          // Not the newest state from before: another process may have committed meanwhile.
          guard let parent = new.commit.parents.first else { return }
          connection.publication.publish(new, madeOn: try model.engine.view(at: parent))
        }
      }
      return answer
    }
  }
}

/// Runs a blocking closure on a thread of its own. When the result is there, the thread no longer holds anything that the closure needed:
/// otherwise a datastore that its last owner releases would still declare its key for a moment.
func onThread<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
  try await withCheckedThrowingContinuation { continuation in
    let work = OneTimeWork(body)
    DispatchQueue.global().async {
      let result = Result { try work.run() }
      continuation.resume(with: result)
    }
  }
}

/// Work that is done once, and is released then.
private final class OneTimeWork<R: Sendable>: Sendable {
  private let body: Mutex<(@Sendable () throws -> R)?>

  init(_ body: @escaping @Sendable () throws -> R) { self.body = Mutex(body) }

  func run() throws -> R {
    guard let body = body.withLock({ $0.take() }) else { throw CancellationError() }
    return try body()
  }
}
