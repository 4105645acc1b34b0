import StrataModel
import StrataEngine
import StrataLocks

/// One run of making a store fit its declaration, within a transaction.
///
/// It reads every record once, works out the entries of all indexes that need it, and writes those sorted, whatever their number in
/// the same memory. A failure or a cancellation leaves the store, and the transaction, as they were before.
struct WarmUp<Format: DatastoreFormat>: Sendable {
  typealias Core = DatastoreCore<Format>

  let core: Core
  let scope: TransactionScope
  /// The work that the caller asked for, in addition to the work that the store needs.
  let forced: WarmUpPlan

  /// Runs on no actor: decoding everything would hold up the caller's.
  ///
  /// - Returns: The report, to be completed when the changes are durable; nil if nothing was to be done.
  @concurrent func run() async throws -> WarmUpReport<Format>? {
    scope.work?.libraryWork.add(1, ordering: .relaxed)
    defer { scope.work?.libraryWork.subtract(1, ordering: .relaxed) }
    let savepoint = try scope.step { try $0.savepoint() }
    do {
      let report = try await makeFit()
      scope.work?.updateKnown(core.number) { known in
        if !known.behind.isEmpty { (known.behind, known.writer) = ([], nil) }
      }
      return report
    } catch {
      if let error = error as? UnreadableInstanceError { core.remember(error, in: try? recordsTree()) }
      // A transaction that goes on has nothing of it.
      try? scope.step { try $0.rollback(to: savepoint) }
      scope.work?.forgetDatastores()
      throw error
    }
  }

  /// Throws if the task was cancelled, and if the process is about to be suspended: a transaction of the warm-up's own can be begun again.
  func requireGoingOn() throws {
    try Task.checkCancellation()
    if !scope.isChild, core.store.connection.suspension.endsWork { throw WarmUpSuspended() }
  }

  private func makeFit() async throws -> WarmUpReport<Format>? {
    if !forced.mending.isEmpty { try mend(forced.mending) }
    guard let tree = try recordsTree() else { return nil }
    let stored = try core.descriptor(of: tree)
    var plan = try core.plan(for: stored, isEmpty: tree.isWithoutEntries)
    plan.rebuilt.formUnion(forced.rebuilt)
    // A mended record did not decode before, so its old index entries are unknown: all indexes are rebuilt.
    if !forced.mending.isEmpty { plan.rebuilt.formUnion(core.indexes.indices) }
    plan.evaluated.subtract(plan.rebuilt)
    plan.rewritesOlderThan = forced.rewritesOlderThan
    if plan.rewritesOlderThan != nil || !forced.mending.isEmpty { plan.rebuildMoved() }
    plan.leavingOut = forced.leavingOut
    if plan.isEmpty { return nil }
    if forced.isEmpty, forced.mending.isEmpty, forced.leavingOut.isEmpty, plan.needsInstances,
      !core.listeners.collectFailures,
      let failure = try core.knownFailure(in: tree)
    {
      throw failure
    }
    if !plan.rebuilt.isEmpty || plan.redescribes { try scope.step { try core.requireFittingTargets(in: $0) } }

    await core.listeners.tell(.evaluating)
    let total = Int(clamping: try tree.entryCount)
    var report = WarmUpReport(core: core, total: total, tellsInstances: plan.changesInstances)
    do {
      var gathered = try await scope.converting(datastore: core.key) { try await gather(plan, from: tree, &report) }
      if gathered.isDecoded { await report.begin(WorkStep.sort, total: gathered.entries.reduce(0) { $0 + $1.count }) }
      await sort(&gathered)
      try await write(plan, &gathered, stored: stored, &report)
    } catch {
      report.end(error)
      throw error
    }
    report.end(nil)
    return report
  }

  private func recordsTree() throws -> Tree? {
    try scope.step { try $0.tree(core.recordsTree) }
  }

  /// Sorts the entries of all indexes, each on a processor of its own if there are as many.
  private func sort(_ gathered: inout Gathered) async {
    let entries = gathered.entries
    gathered.entries = await withTaskGroup(of: (Int, EntrySorter).self) { group in
      for (place, entries) in entries.enumerated() {
        group.addTask {
          var entries = entries
          entries.sort()
          return (place, entries)
        }
      }
      var sorted = entries
      for await (place, entries) in group { sorted[place] = entries }
      return sorted
    }
  }
}
