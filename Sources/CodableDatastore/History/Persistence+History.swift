import StrataEngine
public import StrataFoundation
import StrataModel

extension Persistence {
  /// All commits, newest first. Each is read when it is asked for.
  public var commits: some AsyncInstances<Commit> { Commits(store: _store, newest: nil) }

  /// A commit and those before it, newest first.
  public func commits(from newest: Commit.Number) -> some AsyncInstances<Commit> {
    Commits(store: _store, newest: newest)
  }

  /// The newest commit; nil if the store does not exist or is empty.
  ///
  /// - Throws: ``StoreError`` if the store cannot be read.
  public var head: Commit? {
    get async throws { try await Commits(store: _store, newest: nil).firstInstance }
  }

  /// One commit. Costs the same however old it is.
  ///
  /// - Throws: ``StoreError`` of kind `noSuchCommit` if it does not exist, or no longer does.
  public func commit(_ number: Commit.Number) async throws -> Commit {
    let model = try requiredModel()
    return Commit(
      try throwingStoreErrors { try model.commit(CommitNumber(number.rawValue)) })
  }

  /// The newest commit that is not later than a date.
  ///
  /// - Throws: ``StoreError`` of kind `noSuchCommit` if all are later, and `refused` for a date of NaN.
  public func commit(notLaterThan date: Date) async throws -> Commit {
    let model = try requiredModel()
    let number = try throwingStoreErrors {
      try model.engine.ancestor(of: model.engine.head.number, notLaterThan: date.lastNanosecond).number
    }
    return try await commit(Commit.Number(number))
  }

  /// The commits that were given names, by name.
  ///
  /// - Throws: ``StoreError`` if the store cannot be read.
  public var namedCommits: [String: Commit.Number] {
    get async throws {
      guard let model = try newestModel() else { return [:] }
      let pins = try throwingStoreErrors { try model.pins }
      return Dictionary(pins.map { ($0.name, Commit.Number($0.commit.rawValue)) }) { first, _ in first }
    }
  }

  private func requiredModel() throws -> EngineStore {
    guard let model = try newestModel() else { throw StoreError(.notFound, "There is no store yet.") }
    return model
  }

  /// The model, after a look for the commits that other processes have made since the last read; nil if there is no store.
  private func newestModel() throws -> EngineStore? { try _store.currentView().flatMap { _ in try _store.model() } }
}

extension Persistence where AccessMode == ReadWrite {
  /// Brings back the state of a commit, as a new commit: of one datastore, or of the whole store.
  ///
  /// It costs a few hundred bytes, whatever the size of the store; the commits made since stay in the history.
  ///
  /// - Parameters:
  ///   - commit: The commit whose state is restored.
  ///   - datastore: The datastore to restore; nil for all.
  ///   - actionName: The name of the action, for the history.
  /// - Returns: The new commit; the newest one if nothing differs.
  /// - Throws: ``StoreError``, of kind `noSuchCommit` if the commit does not exist or no longer does, and `refused` within a transaction.
  @discardableResult
  public func restore(
    _ commit: Commit.Number, datastore: DatastoreKey? = nil, actionName: String? = nil
  ) async throws -> Commit.Number {
    let number = try await _store.changeByModel { model throws(ModelError) in
      try model.restore(
        CommitNumber(commit.rawValue), datastore: datastore?.rawValue, named: actionName ?? "restore \(commit)")
    }
    return number.map { Commit.Number($0.rawValue) } ?? commit
  }

  /// Undoes the changes of one commit, as a new commit. If later commits changed other properties of the same instances, those changes are
  /// kept.
  ///
  /// - Parameters:
  ///   - commit: The commit to undo; by default the newest that is not undone yet.
  ///   - actionName: The name of the action, for the history.
  /// - Returns: The new commit; nil if there is nothing to undo.
  /// - Throws: ``StoreError``, of kind `noSuchCommit` if the commit does not exist or no longer does, and `refused` within a transaction,
  ///   or if later commits changed all that it changed, or if it changed no record.
  @discardableResult
  public func undo(_ commit: Commit.Number? = nil, actionName: String? = nil) async throws -> Commit.Number? {
    let number = try await _store.changeByModel { model throws(ModelError) -> CommitNumber? in
      let target: CommitNumber? =
        if let commit { CommitNumber(commit.rawValue) } else { try model.undoCandidate() }
      guard let target else { return nil }
      let action = try model.commit(target).action
      return try model.undo(target, named: actionName ?? "undo \(action.isEmpty ? target.description : action)")
    }
    return number.map { Commit.Number($0.rawValue) }
  }

  /// Undoes the newest undo, as a new commit.
  ///
  /// There is nothing to redo once this program has committed something else since.
  ///
  /// - Parameter actionName: The name of the action, for the history.
  /// - Returns: The new commit; nil if there is nothing to redo.
  /// - Throws: ``StoreError`` of kind `refused` within a transaction, or if later commits changed all of it.
  @discardableResult
  public func redo(actionName: String? = nil) async throws -> Commit.Number? {
    let number = try await _store.changeByModel { model throws(ModelError) -> CommitNumber? in
      guard let target = try model.redoCandidate() else { return nil }
      let undone = try model.commit(target).action
      let action = undone.hasPrefix("undo ") ? String(undone.dropFirst(5)) : target.description
      return try model.undo(target, named: actionName ?? "redo \(action)")
    }
    return number.map { Commit.Number($0.rawValue) }
  }

  /// Gives a commit a name, or moves the name to it. A named commit is always kept, however the history is shortened.
  ///
  /// - Parameters:
  ///   - name: The name, without spaces, “~” and “#”.
  ///   - commit: The commit; nil for the newest.
  /// - Throws: ``StoreError``, of kind `noSuchCommit` if the commit does not exist or no longer does, and `refused` within a transaction,
  ///   or for a name that already means a commit or a time.
  public func name(_ name: String, commit: Commit.Number? = nil) async throws {
    _ = try await _store.changeByModel { model throws(ModelError) -> CommitNumber? in
      let number = commit.map { CommitNumber($0.rawValue) } ?? CommitNumber(model.engine.head.number)
      try model.pin(name, to: number)
      return nil
    }
  }

  /// Removes a name. The commit stays.
  ///
  /// - Throws: ``StoreError`` of kind `noSuchCommit` if there is no such name, and `refused` within a transaction.
  public func removeName(_ name: String) async throws {
    _ = try await _store.changeByModel { model throws(ModelError) -> CommitNumber? in
      try model.pin(name, to: nil)
      return nil
    }
  }
}
