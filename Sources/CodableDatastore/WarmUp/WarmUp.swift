import DatastoreModel
import StorageEngine

/// One run of making a store fit its declaration, within a transaction.
///
/// It reads every record once, works out the entries of all indexes that need it, and writes those sorted, whatever their number in
/// the same memory. A failure or a cancellation leaves the store, and the transaction, as they were before.
struct WarmUp<Format: DatastoreFormat>: Sendable {
  typealias Core = DatastoreCore<Format>

  let core: Core
  let scope: TransactionScope
  /// What is to be done beyond what the store needs.
  let forced: WarmUpPlan

  /// Runs on no actor: decoding everything would hold up the caller's.
  @concurrent func run() async throws {
    let savepoint = try scope.step { transaction in
      try throwingStoreErrors { () throws(StorageError) in try transaction.savepoint() }
    }
    do {
      try await makeFit()
    } catch {
      // A transaction that goes on has nothing of it.
      try? scope.step { try $0.rollback(to: savepoint) }
      scope.work?.forgetDatastores()
      throw error
    }
  }

  private func makeFit() async throws {
    if !forced.mending.isEmpty { try mend(forced.mending) }
    guard let tree = try recordsTree() else { return }
    let stored = try DatastoreDescriptor(bytes: tree.attributes.array)
    var plan = try core.plan(for: stored, isEmpty: tree.isWithoutEntries)
    plan.rebuilt.formUnion(forced.rebuilt)
    // What a mended record had in indexes before is told by no decoder.
    if !forced.mending.isEmpty { plan.rebuilt.formUnion(core.indexes.indices) }
    plan.evaluated.subtract(plan.rebuilt)
    plan.rewritesOlderThan = forced.rewritesOlderThan
    if plan.rewritesOlderThan != nil || !forced.mending.isEmpty { plan.rebuildMoved() }
    plan.leavingOut = forced.leavingOut
    if plan.isEmpty { return }
    if !plan.rebuilt.isEmpty || plan.redescribes { try scope.step { try core.requireFittingTargets(in: $0) } }

    await core.listeners.tell(.evaluating)
    let total = Int(clamping: try tree.entryCount)
    var report = WarmUpReport(core: core, total: total, tellsInstances: plan.changesInstances)
    defer { report.end() }
    var gathered = try await scope.converting(datastore: core.key) { try await gather(plan, from: tree, &report) }
    await sort(&gathered)
    try await write(plan, &gathered, stored: stored, &report)
    await report.complete()
    await core.listeners.tell(.complete(total: total))
  }

  private func recordsTree() throws -> Tree? {
    try scope.step { transaction in
      try throwingStoreErrors { () throws(StorageError) in try transaction.tree(core.recordsTree) }
    }
  }

  /// Sorts the entries of all indexes, each on a processor of its own where there are as many.
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
