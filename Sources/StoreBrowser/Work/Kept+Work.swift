import StrataModel

/// The staged changes that were kept.
struct LoadStagedRequest: Question {
  var descriptors: [DatastoreDescriptor]

  func reply(in context: WorkContext) throws(ModelError) -> KeptStaged {
    try context.files.loadStaged(descriptors, counted: { context.report(Progress(done: 0, total: $0)) }) { staged in
      // Of the store are changes one of which found a record as it is there now, or was when the first was staged.
      let views: [(any ReadableView)?] = [staged.base.flatMap { try? context.view($0) }, context.store.head]
      let changed = staged.edits.values.filter { $0.old != nil }
      return changed.isEmpty
        || changed.contains { edit in
          views.contains { (try? $0?.datastore(edit.datastore)?.record(edit.identifier)?.stored) == edit.old }
        }
    }
  }
}

/// The staged changes that were read, and those that could not be.
struct KeptStaged: Sendable {
  var staged = StagedChanges()
  var problem: String?
}

/// The columns, views and bookmarks that were read, and those that could not be.
struct KeptRemembered: Sendable {
  var remembered = Remembered()
  var problem: String?
}
