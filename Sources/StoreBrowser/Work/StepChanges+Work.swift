package import StrataModel

/// Finds the records of a datastore that differ between the previously shown commit and the present one.
package struct StepChangesRequest: Question, Hashable {
  static let slot = WorkSlot(name: "step-changes", isSlow: true)
  package var datastore: String
  package var from: CommitNumber
  package var to: CommitNumber

  /// With more changes than this, the signs would say nothing.
  static let limit = 5_000

  /// More records than any screen has rows.
  static let flashLimit = 500

  /// Returns the earlier values of the cells of a changed record that differ.
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
    while reply.changed.count < Self.limit, case let changes = try reader.next(256), !changes.isEmpty {
      try context.goOn()
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
  /// The earlier values of the differing cells of the first changed records.
  var before: [StoredKey: [String: ValueText]] = [:]
}
