import StrataModel
import StrataLocks
import StrataEngine

// Reads and writes that go on although an instance does not decode, so that indexes cannot be built.

extension DatastoreCore {
  /// The error of the last warm-up, if the instance is still as it was. Saves reading all other records again.
  func knownFailure(in records: Tree) throws -> UnreadableInstanceError? {
    guard let (error, record) = unreadable.withLock({ $0 }) else { return nil }
    if try records.record(at: identifiers.order.place(of: error.key)) == record { return error }
    unreadable.withLock { $0 = nil }
    return nil
  }

  func remember(_ error: UnreadableInstanceError, in records: Tree?) {
    guard let place = try? identifiers.order.place(of: error.key), let record = try? records?.record(at: place) else {
      return
    }
    unreadable.withLock { $0 = (error, Bytes(record.array)) }
  }

  /// Marks in the store which indexes are not as the declaration says, so that a write can go on without them. They answer nothing
  /// until a warm-up has built them. Indexes that were only renamed are moved. The caller must hold the scope's turn.
  func leaveIndexesBehind(in scope: TransactionScope, because failure: UnreadableInstanceError) throws {
    guard let tree = try scope.step({ try $0.tree(recordsTree) }) else { return }
    var descriptor = try DatastoreDescriptor(bytes: tree.attributes.array)
    let plan = try plan(for: descriptor, isEmpty: false)
    // Where all identifiers change, nothing can be written before.
    if plan.rekeys { throw failure }
    let behind = Set(plan.rebuilt.union(plan.evaluated).map { indexes[$0].name })
    let kept = Set(indexes.map(\.name)).subtracting(behind)
    try scope.change { transaction in
      try moveRenamed(plan, &descriptor, in: transaction)
      descriptor.markStale(Set(descriptor.indexes.map(\.name)).subtracting(kept))
      try transaction.setAttributes(try descriptor.bytes, of: recordsTree)
    }
    scope.work?.updateKnown(number) { $0.behind = behind }
  }
}
