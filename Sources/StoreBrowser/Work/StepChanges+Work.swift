package import DatastoreModel

/// Which records of a datastore differ between the commit that was shown and the one that is.
package struct StepChangesRequest: Question, Hashable {
  package var datastore: String
  package var from: CommitNumber
  package var to: CommitNumber

  /// Beyond so many, the signs say nothing.
  static let limit = 5_000

  /// More records than any screen has rows.
  static let flashLimit = 500

  /// The cells of a changed record that differ, as they were.
  private static func before(_ change: RecordChange) -> [String: ValueText]? {
    guard let old = try? change.old?.document(), let new = try? change.new?.document() else { return nil }
    let (before, after) = (
      Dictionary(WorkContext.cells(of: old), uniquingKeysWith: { first, _ in first }),
      Dictionary(WorkContext.cells(of: new), uniquingKeysWith: { first, _ in first })
    )
    var cells: [String: ValueText] = [:]
    for path in Set(before.keys).union(after.keys) where before[path] != after[path] {
      cells[path] = before[path] ?? .missing
    }
    return cells
  }

  package func reply(in context: WorkContext) throws(ModelError) -> StepChangesReply {
    var reply = StepChangesReply(request: self, changed: [:])
    let reader = try context.store.changes(from: from, to: to)
    while reply.changed.count < Self.limit {
      try context.goOn()
      let changes = try reader.next(256)
      if changes.isEmpty { break }
      for change in changes where change.datastore == datastore {
        if reply.before.count < Self.flashLimit, let cells = Self.before(change) {
          reply.before[change.identifier] = cells
        }
        reply.changed[change.identifier] = change.kind
      }
    }
    return reply
  }
}

package struct StepChangesReply: Sendable, Equatable {
  package var request: StepChangesRequest
  package var changed: [StoredKey: ChangeKind]
  /// Of the first changed records the cells that differ, as they were.
  var before: [StoredKey: [String: ValueText]] = [:]
}

extension WorkSlot {
  static let stepChanges = WorkSlot("step-changes", isSlow: true)
}
