package import DatastoreModel

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Work against the store, as a value: what is asked, not how. `WorkContext` does it, off the main thread.
package enum Work: Sendable {
  /// What a pane asks that brings its own question.
  case ask(any Question)
  case outline(CommitNumber)
  case refresh(since: CommitNumber, shown: String?)
  case table(TableRequest)
  case rows(RowsRequest)
  case record(RecordRequest)
  case gather(GatherRequest)
  case search(SearchRequest)
  case filter(FilterRequest)
  case sort(SortRequest)
  case history(HistoryRequest)
  case changes(ChangesRequest)
  case fields(FieldsRequest)
  case blame(BlameRequest)
  case resolve(String, for: ResolvePurpose)
  case step(from: CommitNumber, by: Int, head: CommitNumber)
  case keys(KeysRequest)
  case range(RangeRequest)
  case verifyIndex(VerifyRequest)
  case referrers(ReferrersRequest)
  case changeIndex(IndexChange, datastore: String, leavingOut: [RecordPlace], mending: [RecordEdit])
  case review(ReviewRequest)
  case commit(CommitRequest)
  case undoCandidate(isRedo: Bool)
  case pin(String, CommitNumber?)
  case bulk(BulkRequest)
  case export(ExportRequest)
  case editedDocuments(EditedDocumentsRequest)
  case identify(datastore: String, text: String, commit: CommitNumber)
  case saveStaged(StagedChanges)
  /// What was kept of staged changes, by the datastores of the store.
  case loadStaged([DatastoreDescriptor])
  case loadRemembered
  case saveRemembered(Remembered)
  case warmUp(leavingOut: [RecordPlace], mending: [RecordEdit])
  case rewrite(Rewrite)

  /// Whether it reads what is kept, so that nothing is lost without it.
  var isReadingOnly: Bool {
    switch self {
    case .loadStaged, .loadRemembered: true
    default: false
    }
  }
}

/// What work answers.
package enum Answer: Sendable {
  /// The reply to a question of a pane, of the type that the question says.
  case reply(any Sendable)
  case outline(Outline, StoreStanding)
  case refreshed(RefreshAnswer)
  case table(TableAnswer)
  case rows(RowsAnswer)
  case record(RecordAnswer)
  case gathered(GatherAnswer)
  case found(SearchAnswer)
  case filtered(ScanAnswer)
  case sorted(ScanAnswer)
  case history(HistoryAnswer)
  case changes(ChangesAnswer)
  case fields(FieldsAnswer)
  case blame(BlameAnswer)
  case resolved(CommitNumber, for: ResolvePurpose)
  case keys(KeysAnswer)
  case range(RangeAnswer)
  case verified(VerifyAnswer)
  case referrers(ReferrersAnswer)
  case indexChanged(IndexChangeReport)
  case indexFailed([WarmUpFailure], total: Int)
  case review(ReviewAnswer)
  case committed(CommitNumber, CommitRequest)
  case undoCandidate(CommitNumber?, isRedo: Bool)
  case pinned([Pin])
  case bulk(BulkAnswer)
  case exported(ExportAnswer)
  case identified(RecordPlace)
  case editedDocuments(EditedDocumentsAnswer)
  case staged(StagedChanges, problem: String?)
  case saved
  case remembered(Remembered)
  case warmedUp(WarmUpAnswer)
  case rewritten(Rewrite, RewriteReport)
  case done
}

/// A question to the store as a type of its own: what a pane brings that asks something no other asks.
///
///     session.start(.frequency, .ask(FrequencyRequest(…)), label: "frequency of .name")
///     …
///     guard case .reply(let answer as FrequencyAnswer) = answer else { return }
package protocol Question: Sendable {
  associatedtype Reply: Sendable
  /// Answers from the store. Blocks; it is called on a thread that may wait, and asks `context.goOn()` between pieces.
  func reply(in context: WorkContext) throws(ModelError) -> Reply
}

/// What a commit's name was typed for.
package enum ResolvePurpose: Sendable, Hashable {
  case travel
  case pin(String)
  case restore(datastore: String?)
  /// The older side of a difference; the newer one is named, or is what is shown.
  case differenceBase(to: String?)
  case difference(from: CommitNumber)
  case merge
}

/// Who holds the store now, and what it says it does.
package struct StoreStanding: Sendable {
  package var access: StoreAccess
  package var writer: WriterHold?
  package var activity: Activity?
  package var nextPruning: Int64?
}

/// What work is done with.
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

  /// The store as of a commit.
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
