import StrataModel

/// Keeps what is staged beside the store.
struct SaveStagedRequest: Question {
  var staged: StagedChanges

  struct Reply: Sendable {}

  func reply(in context: WorkContext) throws(ModelError) -> Reply {
    try context.files.save(staged)
    return Reply()
  }
}

/// The staged changes that were kept.
struct LoadStagedRequest: Question {
  /// The datastores of the store.
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

  struct Reply: Sendable {}

  func reply(in context: WorkContext) throws(ModelError) -> Reply {
    try context.files.save(remembered)
    return Reply()
  }
}

struct LoadRememberedRequest: Question {
  func reply(in context: WorkContext) throws(ModelError) -> Remembered {
    try context.files.loadRemembered() ?? Remembered()
  }
}
