package import StrataModel
package import StrataEngine

extension StoreExchange {
  /// The result of a merge.
  package struct Merged: Sendable {
    package var plan: MergePlan
    /// Head after the merge; nil if nothing was written.
    package var head: CommitNumber?
  }

  /// Finds what merging a commit of this store into head would do. Writes nothing, and needs no lock.
  ///
  /// - Parameters:
  ///   - policy: Settles conflicts; those that it leaves are in the plan's `open`.
  ///   - unrelated: Plans even if the two have no commit in common; otherwise that throws `ExchangeError.unrelated`.
  package func planMerge(
    _ theirs: CommitIdentity, policy: MergePolicy = .ask, unrelated: Bool = false
  ) throws -> MergePlan {
    try MergePlanner(store, graph()).plan(theirs, policy: policy, unrelated: unrelated)
  }

  /// The same for a commit by its number here.
  package func planMerge(of commit: CommitNumber, policy: MergePolicy = .ask) throws -> MergePlan {
    guard let theirs = try graph().identity(of: commit.rawValue) else {
      throw ModelError.noSuchCommit("\(commit)", reason: "there is nothing in it to merge")
    }
    return try planMerge(theirs, policy: policy)
  }

  /// Values of unique indexes that several records would have after a plan as it is settled so far: committing it would be refused.
  package func collisions(after plan: MergePlan) throws -> [UniquenessConflict] {
    try MergePlanner(store, graph()).collisions(after: plan)
  }

  /// The change of a record in a merge that is not a conflict.
  package enum CleanChange: String, Sendable {
    /// It becomes as the other side has it.
    case put, delete
    /// Both sides changed it, and both changes stay.
    case merge
  }

  /// Calls a closure for each change of a plan without a conflict, record by record; for a fast-forward for all changes.
  package func forEachChange(of plan: MergePlan, _ body: (RecordPlace, CleanChange) throws -> Void) throws {
    let isForward = plan.kind == .fastForward
    guard isForward || plan.kind == .merge else { return }
    if isForward || !plan.clean.whole.isEmpty {
      try store.forEachChange(from: plan.first, to: plan.second) { change in
        guard isForward || plan.clean.whole.contains(change.datastore) else { return }
        try body(change.place, change.new == nil ? .delete : .put)
      }
    }
    for (key, identifiers) in plan.clean.adopted.sorted(by: { $0.key < $1.key }) {
      let theirs = try store.view(at: plan.second).datastore(key)
      for identifier in identifiers.sorted(by: { $0.bytes.lexicographicallyPrecedes($1.bytes) }) {
        let isThere = try theirs?.record(identifier) != nil
        try body(RecordPlace(datastore: key, identifier: identifier), isThere ? .put : .delete)
      }
    }
    for edit in plan.clean.edits.changes { try body(edit.place, .merge) }
  }

  /// Merges a commit of this store into head. If conflicts are open, nothing is written, and the plan has them.
  ///
  /// - Parameter settle: Called for each conflict that the policy leaves open, and may settle it. If the result has a value of a unique
  ///   index that another record has, the conflict opens again.
  package func merge(
    _ theirs: CommitIdentity, policy: MergePolicy, unrelated: Bool = false, isDryRun: Bool = false,
    named action: String = "Merge", options: EditOptions = EditOptions(),
    settle: ((inout MergeConflict) throws -> Void)? = nil
  ) throws -> Merged {
    for _ in 0..<8 {
      var plan = try planMerge(theirs, policy: policy, unrelated: unrelated)
      if let settle {
        for position in plan.conflicts.indices where !plan.conflicts[position].isSettled {
          try settle(&plan.conflicts[position])
        }
        try MergePlanner(store, graph()).openCollisions(&plan)
      }
      if isDryRun || !plan.open.isEmpty { return Merged(plan: plan, head: nil) }
      if let head = try commit(plan, named: action, options: options) { return Merged(plan: plan, head: head) }
    }
    throw ModelError.refused(reason: "head moves too fast to be merged with; try again")
  }

  /// Commits a plan. Returns nil if head is another commit by now, and nothing was written: then the caller must make the plan again, and
  /// `MergePlan.settle` takes over its decisions.
  ///
  /// - Returns: Head afterwards.
  package func commit(
    _ plan: MergePlan, named action: String = "Merge", options: EditOptions = EditOptions()
  ) throws -> CommitNumber? {
    guard plan.open.isEmpty else { throw ExchangeError.unsettled(plan.open.count) }
    try requireWritable()
    defer { releaseLock() }
    switch plan.kind {
    case .nothing: return store.head.commit
    case .fastForward: return try moveHead(to: plan.theirs) ? store.head.commit : nil
    case .twin:
      let isReplaced = try plan.ours.map { try MergePlanner(store, graph()).replaces(plan.theirs, $0) } ?? false
      return try isReplaced && !moveHead(to: plan.theirs) ? nil : store.head.commit
    case .merge: return try commitMerge(plan, named: action, options: options)
    }
  }

  private func commitMerge(_ plan: MergePlan, named action: String, options: EditOptions) throws -> CommitNumber? {
    guard let ours = plan.ours else { return nil }
    try store.engine.admitCommitsOfOthers()
    var info = CommitInfo(action: action)
    if plan.isMechanical {
      let parents = [ours, plan.theirs].sorted()
      let (ours, theirs) = (try store.engine.commit(plan.first.rawValue), try store.engine.commit(plan.second.rawValue))
      info = CommitInfo(
        date: max(ours.date, theirs.date), action: "Merge", program: "strata", author: "",
        identity: Self.identity(of: parents, plan.outcome))
      // Every store that makes the same merge gives it the same clock.
      info.clock = max(try store.engine.clock(of: ours), try store.engine.clock(of: theirs))
    }
    return try store.commit(plan.changes, info, options: options)
  }

  /// The identity of a merge that was settled automatically: every store that makes the same merge of the same parents makes the same
  /// commit.
  private static func identity(of parents: [CommitIdentity], _ outcome: [UInt8]) -> CommitIdentity {
    let digest = SHA256.digest(of: Array("merge \(parents.map(\.text).joined(separator: " "))".utf8) + outcome)
    return CommitIdentity(origin: digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } | 1, number: 1)
  }

  // MARK: Taking a merge back

  /// The effect of taking back a merge: an undo of it is an edit, which takes the other side's work back everywhere at the next exchange.
  package struct MergeUndo: Sendable, Hashable {
    /// Records of the other side's work that would go back.
    package var records: Int
    /// Whether no other copy is known to have the merge: then head may go back a step, and no work is lost.
    package var canStepBack: Bool

    package var sentence: String {
      "this takes back what the other side changed, \(counted(records, "record")), everywhere at the next exchange"
        + (canStepBack ? "; the merge was not sent yet, so head can step back instead" : "")
    }
  }

  /// The effect of taking back a commit if it is a merge; nil if it is not.
  package func undo(of commit: CommitNumber) throws -> MergeUndo? {
    let record = try store.engine.commit(commit.rawValue)
    guard record.parents.count == 2, let first = record.parents.first else { return nil }
    var records = 0
    try store.forEachChange(from: CommitNumber(first), to: commit) { _ in records += 1 }
    let isHead = store.engine.head.number == commit.rawValue
    return MergeUndo(records: records, canStepBack: try isHead && !isSent(commit))
  }

  /// Whether a remote is known to have a commit.
  package func isSent(_ commit: CommitNumber) throws -> Bool {
    let graph = try graph()
    guard let identity = graph.identity(of: commit.rawValue) else { return true }
    let heads = try store.pins.filter { $0.name.hasPrefix("remotes/") }
      .compactMap { graph.identity(of: $0.commit.rawValue) }
    return heads.contains { graph.contains(identity, in: $0) }
  }

  /// Puts head back to the first parent of a merge that no other copy is known to have. The merge stays in the file beside head's history
  /// until a compaction that leaves history out.
  ///
  /// - Returns: Head afterwards.
  @discardableResult
  package func stepBack(over merge: CommitNumber) throws -> CommitNumber {
    try requireWritable()
    let record = try store.engine.commit(merge.rawValue)
    guard store.engine.head.number == merge.rawValue, record.parents.count == 2 else {
      throw ModelError.refused(reason: "\(merge) is not a merge, or not the newest commit any more")
    }
    guard try !isSent(merge) else { throw ModelError.refused(reason: "\(merge) was sent: others have it already") }
    defer { releaseLock() }
    guard try commitBookkeeping(on: merge.rawValue, { $0.head = record.parents[0] }) else {
      throw ModelError.refused(reason: "\(merge) is not the newest commit any more")
    }
    return store.head.commit
  }
}

extension EngineStore {
  func forEachChange(from old: CommitNumber, to new: CommitNumber, _ body: (RecordChange) throws -> Void) throws {
    _ = try firstChange(from: old, to: new) { change in
      try body(change)
      return false
    }
  }

  /// The first change between two commits that the closure wants; reads at most a page beyond it.
  func firstChange(
    from old: CommitNumber, to new: CommitNumber, where isWanted: (RecordChange) throws -> Bool
  ) throws -> RecordChange? {
    let reader = try changes(from: old, to: new)
    while case let changes = try reader.next(512), !changes.isEmpty {
      if let found = try changes.first(where: isWanted) { return found }
    }
    return nil
  }
}

extension CommitRecord {
  /// Whether it is a merge that was settled automatically, as `commit` makes them.
  var isMechanicalMerge: Bool {
    parents.count == 2 && identity.number == 1 && action == "Merge" && program == "strata" && author.isEmpty
  }
}
