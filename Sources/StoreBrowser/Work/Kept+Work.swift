import StrataModel

/// Keeps what is staged beside the store.
struct SaveStagedRequest: Question {
  var staged: StagedChanges

  func reply(in context: WorkContext) throws(ModelError) { try context.files.save(staged) }
}

/// The staged changes that were kept.
struct LoadStagedRequest: Question {
  var descriptors: [DatastoreDescriptor]

  func reply(in context: WorkContext) throws(ModelError) -> KeptStaged {
    try context.files.loadStaged(descriptors) { context.report(Progress(done: 0, total: $0)) }
  }
}

/// The staged changes that were read, and those that could not be.
struct KeptStaged: Sendable {
  var staged = StagedChanges()
  var problem: String?
}

/// Keeps columns, views and bookmarks.
struct SaveRememberedRequest: Question {
  var remembered: Remembered

  func reply(in context: WorkContext) throws(ModelError) { try context.files.save(remembered) }
}

struct LoadRememberedRequest: Question {
  func reply(in context: WorkContext) throws(ModelError) -> Remembered {
    context.files.loadRemembered()
  }
}
