package import DatastoreModel

/// Which records of a datastore differ between the commit that was shown and the one that is.
package struct StepChangesRequest: Question, Hashable {
  package var datastore: String
  package var from: CommitNumber
  package var to: CommitNumber

  /// Beyond so many, the signs say nothing.
  static let limit = 5_000

  package func reply(in context: WorkContext) throws(ModelError) -> StepChangesReply {
    var reply = StepChangesReply(request: self, changed: [:])
    let reader = try context.store.changes(from: from, to: to)
    while reply.changed.count < Self.limit {
      try context.goOn()
      let changes = try reader.next(256)
      if changes.isEmpty { break }
      for change in changes where change.datastore == datastore {
        reply.changed[change.identifier] = change.old == nil ? .insert : change.new == nil ? .delete : .update
      }
    }
    return reply
  }
}

package struct StepChangesReply: Sendable {
  package var request: StepChangesRequest
  package var changed: [StoredKey: ChangeKind]
}

extension WorkSlot {
  static let stepChanges = WorkSlot("step-changes", isSlow: true)
}
