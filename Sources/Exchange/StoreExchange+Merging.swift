package import DatastoreModel
import Documents
package import StorageEngine

extension StoreExchange {
  /// What a merge did.
  package struct Merged: Sendable {
    package var plan: MergePlan
    /// Head after it; nil where nothing was written.
    package var head: CommitNumber?
  }

  /// Finds what merging a commit that lies here into head would do. Writes nothing, and needs no lock.
  ///
  /// - Parameters:
  ///   - policy: Settles what it can; what it leaves is in the plan's `open`.
  ///   - unrelated: Also where the two have no commit in common; else that throws `ExchangeError.unrelated`.
  package func planMerge(
    _ theirs: CommitIdentity, policy: MergePolicy = .ask, unrelated: Bool = false
  ) throws -> MergePlan {
    try MergePlanner(store, graph()).plan(theirs, policy: policy, unrelated: unrelated)
  }

  /// Settles what is open in a plan by a policy.
  package func settle(_ plan: inout MergePlan, by policy: MergePolicy) throws {
    try MergePlanner(store, graph()).settle(&plan, by: policy)
  }

  /// Merges a commit that lies here into head. Where conflicts are open, nothing is written, and the plan tells them.
  ///
  /// - Parameter settle: Called for each conflict that the policy leaves open, and may settle it.
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
      }
      if isDryRun || !plan.open.isEmpty { return Merged(plan: plan, head: nil) }
      if let head = try commit(plan, named: action, options: options) { return Merged(plan: plan, head: head) }
    }
    throw ModelError.refused(reason: "head moves too fast to be merged with; try again")
  }

  /// Does what a plan says; nil where head is another commit by now, and nothing was written: the plan is to be made again, and
  /// `MergePlan.takeChoices` takes over what was chosen.
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
      if let ours = plan.ours, plan.theirs < ours, try !moveHead(to: plan.theirs) { return nil }
      return store.head.commit
    case .merge: return try commitMerge(plan, named: action, options: options)
    }
  }

  private func commitMerge(_ plan: MergePlan, named action: String, options: EditOptions) throws -> CommitNumber? {
    guard let ours = plan.ours else { return nil }
    try onStorage { () throws(StorageError) in try store.engine.admitCommitsOfOthers() }
    var info = CommitInfo(action: action)
    if plan.isMechanical {
      let parents = [ours, plan.theirs].sorted()
      let dates = try onStorage { () throws(StorageError) in
        (try store.engine.commit(plan.first.rawValue).date, try store.engine.commit(plan.second.rawValue).date)
      }
      info = CommitInfo(
        date: max(dates.0, dates.1), action: "Merge", program: "strata", author: "",
        identity: Self.identity(of: parents))
    }
    return try store.commit(plan.changes, info, options: options)
  }

  /// Who a merge is that nobody had to settle: whoever makes it of the same parents makes the same commit.
  private static func identity(of parents: [CommitIdentity]) -> CommitIdentity {
    let digest = SHA256.digest(of: Array("merge \(parents.map(\.text).joined(separator: " "))".utf8))
    return CommitIdentity(origin: digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } | 1, number: 1)
  }

  // MARK: Taking a merge back

  /// What taking back a merge would mean: an undo of it is an edit, which takes the other side's work back everywhere at the next exchange.
  package struct MergeUndo: Sendable, Hashable {
    /// Records of the other side's work that would go back.
    package var records: Int
    /// Whether no other copy has the merge, as far as it is known here: then head may go back a step, and nobody loses anything.
    package var canStepBack: Bool

    package var sentence: String {
      let counted = "\(records) \(records == 1 ? "record" : "records")"
      return canStepBack
        ? "this takes back what the other side changed, \(counted), everywhere at the next exchange; the merge was not sent yet, so head can "
          + "step back instead"
        : "this takes back what the other side changed, \(counted), everywhere at the next exchange"
    }
  }

  /// What taking back a commit would mean where it is a merge; nil where it is none.
  package func undo(of commit: CommitNumber) throws -> MergeUndo? {
    let record = try onStorage { () throws(StorageError) in try store.engine.commit(commit.rawValue) }
    guard record.parents.count == 2, let first = record.parents.first else { return nil }
    let reader = try store.changes(from: CommitNumber(first), to: commit)
    var records = 0
    while case let changes = try reader.next(512), !changes.isEmpty { records += changes.count }
    let graph = try graph()
    let isHead = store.engine.head.commit.number == commit.rawValue
    let remotes = try store.pins.filter { $0.name.hasPrefix("remotes/") }.compactMap {
      graph.identity(of: $0.commit.rawValue)
    }
    return MergeUndo(
      records: records, canStepBack: isHead && !remotes.contains { graph.contains(record.identity, in: $0) })
  }

  /// Puts head back to the first parent of a merge that no other copy has, as far as it is known here. The merge stays in the file beside
  /// head's history until a compaction that leaves history out.
  ///
  /// - Returns: Head afterwards.
  package func stepBack(over commit: CommitNumber) throws -> CommitNumber {
    try requireWritable()
    guard let undo = try undo(of: commit), undo.canStepBack else {
      throw ModelError.refused(reason: "\(commit) is no merge at head that was kept to this store")
    }
    try stepBack(from: commit)
    return store.head.commit
  }
}
