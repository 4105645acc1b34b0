package import DatastoreModel
package import StorageEngine

/// How a remote's head and ours lie to each other.
package struct RemoteStanding: Hashable, Sendable {
  /// The remote's head, as it was fetched last.
  package var head: CommitNumber
  /// Commits that only we have, and only they.
  package var ahead: Int
  package var behind: Int
}

extension StoreExchange {
  /// The heads that were fetched of a remote: one, or several of a folder that several stores write to.
  package func heads(of remote: String) throws -> [CommitNumber] {
    let name = Self.name(of: remote)
    return try store.pins.filter { $0.name == name || Self.isFurtherHead($0.name, of: name) }.map(\.commit)
  }

  /// `remotes/NAME/2` and on; what else lies under the name are pins of the remote.
  private static func isFurtherHead(_ pin: String, of name: String) -> Bool {
    pin.hasPrefix(name + "/") && UInt(pin.dropFirst(name.utf8.count + 1)) != nil
  }

  /// How the fetched heads of a remote lie to ours; costs what `graph` does, and the commits that one side alone has.
  package func standings(of remote: String, in graph: CommitGraph) throws -> [RemoteStanding] {
    let ours = graph.identity(of: store.engine.head.commit.number).map { graph.ancestry(of: [$0]) } ?? []
    return try heads(of: remote).compactMap { number in
      guard let theirs = graph.identity(of: number.rawValue) else { return nil }
      let ancestry = graph.ancestry(of: [theirs])
      return RemoteStanding(
        head: number, ahead: ours.count { !ancestry.contains($0) }, behind: ancestry.count { !ours.contains($0) })
    }
  }

  /// What a merge of a commit that lies here would do, every conflict left to a person unless a policy is given.
  package func plan(merging commit: CommitNumber, policy: MergePolicy = .ask) throws -> MergePlan {
    let graph = try graph()
    guard let theirs = graph.identity(of: commit.rawValue) else {
      throw ModelError.noSuchCommit("\(commit)", reason: "there is nothing in it to merge")
    }
    return try MergePlanner(store, graph).plan(theirs, policy: policy)
  }

  /// Values of unique indexes that several records would have after a plan as it is settled so far: committing it would be refused.
  package func collisions(after plan: MergePlan) throws -> [UniquenessConflict] {
    try MergePlanner(store, graph()).collisions(after: plan)
  }

  /// A commit by its lasting identity; nil where it does not lie here.
  package func commit(_ identity: CommitIdentity) throws -> Commit? {
    try graph().number(of: identity).map { try store.commit(CommitNumber($0)) }
  }

  /// Moves head back to what it was before a merge that only this store has; the merge stays in the file, and nobody's history has it.
  package func stepBack(from merge: CommitNumber) throws {
    let record = try store.engine.commit(merge.rawValue)
    guard store.engine.head.commit.number == merge.rawValue, record.parents.count == 2 else {
      throw ModelError.refused(reason: "\(merge) is not the newest commit any more")
    }
    guard try !isSent(merge) else { throw ModelError.refused(reason: "\(merge) was sent: others have it already") }
    defer { if !store.keepsLock { store.engine.releaseLock() } }
    guard try setHead(to: record.parents[0], from: merge.rawValue) else {
      throw ModelError.refused(reason: "\(merge) is not the newest commit any more")
    }
  }

  /// Whether a remote is known to have a commit.
  package func isSent(_ commit: CommitNumber) throws -> Bool {
    let graph = try graph()
    guard let identity = graph.identity(of: commit.rawValue) else { return true }
    let heads = try store.pins.filter { $0.name.hasPrefix("remotes/") }
      .compactMap { graph.identity(of: $0.commit.rawValue) }
    return graph.ancestry(of: heads).contains(identity)
  }
}

/// Runs what exchanges, with its errors told as the model's.
package func onExchange<Value>(_ body: () throws -> Value) throws(ModelError) -> Value {
  do {
    return try body()
  } catch let error as ModelError {
    throw error
  } catch let error as StorageError {
    throw ModelError(error)
  } catch {
    throw .refused(reason: "\(error)")
  }
}
