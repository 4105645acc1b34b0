import StrataLocks
package import StrataModel
import StrataSystem

/// Work on the store, as a value: the request, and how it is answered.
///
///     session.start(.resolve, ResolveRequest(name: "head~3")) { browser, commit in browser.travel(to: commit) }
package protocol Question: Sendable {
  associatedtype Reply: Sendable
  /// Answers from the store. Blocks; it is called on a thread that may wait, and calls `context.goOn()` between pieces.
  func reply(in context: WorkContext) throws(ModelError) -> Reply
  /// Whether damaged records are left out of the reply, and reported.
  var readsOn: Bool { get }
}

extension Question {
  package var readsOn: Bool { false }

  /// Answers, and reports the reply or the error. If the work reads on, it begins again if it meets a damaged record.
  package func report(in context: WorkContext) -> WorkReport {
    do throws(ModelError) {
      return .finished(try reply(in: context))
    } catch {
      guard readsOn, case .storage(_, kind: .damaged) = error else { return .failed(error) }
      let sentences = Mutex<Set<String>>([])
      var rest = context
      rest.leaveOut = { sentence in sentences.withLock { _ = $0.insert(sentence) } }
      do throws(ModelError) {
        let reply = try reply(in: rest)
        return .finished(reply, leftOut: sentences.withLock { $0 }.wordsOfLeftOut ?? error.description)
      } catch {
        return .failed(error)
      }
    }
  }
}

extension Collection<String> {
  /// One sentence for sentences about records that are left out; nil if there is none.
  var wordsOfLeftOut: String? { count < 2 ? first : "\(count) records are left out; \(self.min() ?? "")" }
}

/// Work that is asked for in one place only, as a closure: it runs like any other work.
struct Inquiry<Reply: Sendable>: Question {
  let answer: @Sendable (WorkContext) throws(ModelError) -> Reply

  func reply(in context: WorkContext) throws(ModelError) -> Reply { try answer(context) }
}

/// The reply of work that is shown in the cockpit, with its result in words that stay.
protocol EndingReply: Sendable {
  var ending: WorkRun.Ending { get }
}

/// The reply of such work whose result is a sentence.
protocol WordedReply: EndingReply {
  var sentence: String { get }
}

extension WordedReply {
  var ending: WorkRun.Ending { .done(sentence) }
}

/// The writer that holds the store now, and its reported activity.
package struct StoreStatus: Sendable {
  package var access: StoreAccess
  /// See `ReadableStore.isInPlace`.
  package var isInPlace: Bool
  package var writer: WriterHold?
  package var activity: Activity?
  /// When the store's retention is tried again, if it failed; in nanoseconds since 1970.
  package var nextPruning: Int64?
  /// See `ReadableStore.generation`.
  package var generation: UInt64
  /// The first letters in the store's inbox.
  package var letters: [LetterNotice]

  init(of store: any ReadableStore, letters: [LetterNotice] = []) {
    isInPlace = store.isInPlace
    (writer, activity) = (store.writer, store.activity)
    access = isInPlace ? store.access : .readOnly(reason: EngineStore.absence)
    (nextPruning, generation, self.letters) = (store.nextPruning, store.generation, letters)
  }
}

/// The tools that work uses.
package struct WorkContext: Sendable {
  package let store: any ReadableStore
  package var files = BrowserFiles.none
  package var warmUp: (any WarmUpDriver)?
  package var cancellation = Cancellation()
  package var report: @Sendable (Progress) -> Void = { _ in }
  /// How long the user must pause in typing before slow work begins, in milliseconds.
  package var typingPause = 0
  /// Receives a sentence for each damaged record that is left out; nil if the first one ends the work.
  var leaveOut: (@Sendable (String) -> Void)?

  func view(_ commit: CommitNumber) throws(ModelError) -> any ReadableView {
    let head = store.head
    return head.commit == commit ? head : try store.view(at: commit)
  }

  /// Returns a datastore as of a commit; throws if that commit has none of the key.
  func datastore(_ key: String, at commit: CommitNumber) throws(ModelError) -> any ReadableDatastore {
    let view = try view(commit)
    guard let datastore = try view.datastore(key) else {
      throw .noSuchDatastore(key, known: try view.datastoreKeys)
    }
    return reading(datastore)
  }

  /// Returns a datastore without its damaged records if the work leaves them out.
  func reading(_ datastore: any ReadableDatastore) -> any ReadableDatastore {
    leaveOut.map { ReadableRest(of: datastore, keepsRanks: true, tell: $0) } ?? datastore
  }

  /// The datastores as of a commit.
  func datastores(at commit: CommitNumber) throws(ModelError) -> [any ReadableDatastore] {
    guard let leaveOut else { return try view(commit).datastores }
    return try view(commit).readableDatastores { leaveOut("\($0)") }.map(reading)
  }

  /// The store as one that accepts changes.
  func editable() throws(ModelError) -> any EditableStore {
    guard let editable = store as? any EditableStore else {
      throw .readOnly(reason: "this kind of store takes no changes")
    }
    return editable
  }

  /// Waits for a pause in typing; throws if the next key cancelled the work.
  func pause() throws(ModelError) {
    for _ in 0..<typingPause / 10 {
      try goOn()
      usleep(10_000)
    }
    try goOn()
  }

  /// Throws if the work was cancelled: long work calls it between its pieces.
  func goOn() throws(ModelError) { if cancellation.isCancelled { throw .cancelled } }

  var status: StoreStatus { StoreStatus(of: store, letters: letters) }
}
