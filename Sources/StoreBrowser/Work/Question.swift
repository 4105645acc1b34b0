package import DatastoreModel

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Work against the store, as a value: what is asked, and how it is answered.
///
///     session.start(.frequency, FrequencyRequest(…), label: "frequency of .name")
///     …
///     guard let answer = reply as? FrequencyAnswer else { return }
package protocol Question: Sendable {
  associatedtype Reply: Sendable
  /// Answers from the store. Blocks; it is called on a thread that may wait, and asks `context.goOn()` between pieces.
  func reply(in context: WorkContext) throws(ModelError) -> Reply
}

/// The reply of work that is shown in the cockpit, with what came of it in words that stay.
protocol EndingReply: Sendable {
  var ending: WorkRun.Ending { get }
}

/// The reply of such work that says in a sentence what was done.
protocol WordedReply: EndingReply {
  var sentence: String { get }
}

extension WordedReply {
  var ending: WorkRun.Ending { .done(sentence) }
}

/// Who holds the store now, and what it says it does.
package struct StoreStanding: Sendable {
  package var access: StoreAccess
  package var writer: WriterHold?
  package var activity: Activity?
  package var nextPruning: Int64?
}

/// The means of the work.
package struct WorkContext: Sendable {
  package let store: any ReadableStore
  package let files: BrowserFiles
  package let warmUp: (any WarmUpDriver)?
  package let cancellation: Cancellation
  package let report: @Sendable (Progress) -> Void
  /// How long a person may go on typing before what takes long is begun, in milliseconds.
  package var typingPause = 0

  package init(
    store: any ReadableStore, files: BrowserFiles = .none, warmUp: (any WarmUpDriver)? = nil,
    cancellation: Cancellation = Cancellation(), report: @escaping @Sendable (Progress) -> Void = { _ in }
  ) {
    self.store = store
    self.files = files
    self.warmUp = warmUp
    self.cancellation = cancellation
    self.report = report
  }

  func view(_ commit: CommitNumber) throws(ModelError) -> any ReadableView {
    let head = store.head
    return head.commit == commit ? head : try store.view(at: commit)
  }

  /// A datastore as of a commit; throws where that commit has none of the key.
  func datastore(_ key: String, at commit: CommitNumber) throws(ModelError) -> any ReadableDatastore {
    let view = try view(commit)
    guard let datastore = try view.datastore(key) else {
      throw .noSuchDatastore(key, known: try view.datastores.map(\.descriptor.key))
    }
    return datastore
  }

  /// The store as one that takes changes.
  func editable() throws(ModelError) -> any EditableStore {
    guard let editable = store as? any EditableStore else {
      throw .readOnly(reason: "this kind of store takes no changes")
    }
    return editable
  }

  /// Waits for the pause of who types; throws where the next key took the work back.
  func pause() throws(ModelError) {
    for _ in 0..<typingPause / 10 {
      try goOn()
      usleep(10_000)
    }
    try goOn()
  }

  /// Throws where the work was cancelled: long work asks between its pieces.
  func goOn() throws(ModelError) { if cancellation.isCancelled { throw .cancelled } }

  var standing: StoreStanding {
    StoreStanding(access: store.access, writer: store.writer, activity: store.activity, nextPruning: store.nextPruning)
  }
}

extension ReadableDatastore {
  /// The order by identifier for nil, otherwise the index of the name.
  func index(_ name: String?) throws(ModelError) -> any ReadableIndex {
    guard let name else { return primary }
    guard let index = indexes.first(where: { $0.descriptor.name == name }) else {
      throw .noSuchIndex(name, datastore: descriptor.key, known: indexes.map(\.descriptor.name))
    }
    return index
  }
}
