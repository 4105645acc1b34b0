import StrataDocuments
import StrataModel
import Dispatch
import StrataLocks

/// A store whose writer's lock another process seems to hold, until it lets go; or one whose server is away.
final class HeldStore: EditableStore {
  private let store: EngineStore
  private let hold: Mutex<WriterHold?>
  private let silence = Mutex<DispatchSemaphore?>(nil)
  private let absence = Mutex<ModelError?>(nil)

  /// Whether records are not read while the server is away; otherwise all of them count as loaded.
  private let holdsRecords: Bool

  init(_ store: EngineStore, by hold: WriterHold? = nil, holdsRecords: Bool = false) {
    self.store = store
    self.hold = Mutex(hold)
    self.holdsRecords = holdsRecords
  }

  /// Whether it says to be on another computer.
  nonisolated(unsafe) var isFar: @Sendable () -> Bool = { false }
  var isDistant: Bool { isFar() }

  func letGo() { hold.withLock { $0 = nil } }

  private let damaged = Mutex<Set<StoredKey>?>([])

  /// Makes records unreadable; without a datastore and identifiers, all of them.
  func damage(_ datastore: String? = nil, _ identifiers: String...) throws {
    let found = try datastore.flatMap { key in try store.head.datastore(key) }
    let keys = try found.map { found in Set(try identifiers.map { try found.identifier(parsing: $0) }) }
    damaged.withLock { $0 = keys }
  }
  /// Whether a walk over the records meets damaged ones, too.
  nonisolated(unsafe) var damagesWalks = false
  fileprivate func look(at key: StoredKey) throws(ModelError) {
    guard damaged.withLock({ $0?.contains(key) != false }) else { return }
    throw .storage("damaged record at byte 4711", kind: .damaged)
  }

  func goAway() { fail(.storage("no connection to postgres://db/atlas", kind: .unreachable)) }
  func fail(_ error: ModelError) { absence.withLock { $0 = error } }
  func comeBack() { absence.withLock { $0 = nil } }
  fileprivate func ask() throws(ModelError) {
    if let silence = silence.withLock({ $0 }) {
      silence.wait()
      silence.signal()
    }
    if let error = absence.withLock({ $0 }) { throw error }
  }

  /// Lets whoever asks from now on wait, until it speaks again.
  func fallSilent() { silence.withLock { $0 = DispatchSemaphore(value: 0) } }
  func speak() {
    silence.withLock { silence in
      silence?.signal()
      silence = nil
    }
  }

  var writer: WriterHold? { hold.withLock { $0 } }

  func commit(
    _ changes: ChangeSet, named action: String, options: EditOptions
  ) throws(ModelError) -> CommitNumber {
    if let writer { throw .locked(writer) }
    try ask()
    return try store.commit(changes, named: action, options: options)
  }

  func compact(_ retention: CommitRetention, progress: WorkProgress?) throws(ModelError) -> RewriteReport {
    if let writer { throw .locked(writer) }
    return try store.compact(retention, progress: progress)
  }

  // Everything else is the store's.
  func compactionEstimate(_ retention: CommitRetention) throws(ModelError) -> RewriteReport {
    try store.compactionEstimate(retention)
  }
  func copy(to path: String, at commit: CommitNumber?, progress: WorkProgress?) throws(ModelError) -> RewriteReport {
    try store.copy(to: path, at: commit, progress: progress)
  }
  var path: String { store.path }
  var identity: String { store.identity }
  var access: StoreAccess { store.access }
  var openingReport: [String] { store.openingReport }
  var head: any ReadableView { holdsRecords ? HeldView(view: store.head, store: self) : store.head }
  var activity: Activity? {
    _ = try? ask()
    return store.activity
  }
  var pins: [Pin] { get throws(ModelError) { try store.pins } }
  var commitCount: UInt64 { store.commitCount }
  var byteCount: UInt64 {
    get throws(ModelError) {
      try ask()
      return try store.byteCount
    }
  }
  func refresh() throws(ModelError) -> any ReadableView {
    try ask()
    return try store.refresh()
  }
  func follow(_ change: @escaping @Sendable () -> Void) throws(ModelError) -> any Sendable & AnyObject {
    try ask()
    return try store.follow(change)
  }
  func view(at commit: CommitNumber) throws(ModelError) -> any ReadableView {
    try ask()
    return try store.view(at: commit)
  }
  func commit(_ number: CommitNumber) throws(ModelError) -> CommitDetails { try store.commit(number) }
  func commitPage(from open: [CommitNumber], limit: Int, folded: Bool) throws(ModelError) -> CommitPage {
    try store.commitPage(from: open, limit: limit, folded: folded)
  }
  func resolve(_ name: String) throws(ModelError) -> CommitNumber { try store.resolve(name) }
  func changes(of commit: CommitNumber) throws(ModelError) -> any ChangeReader {
    try ask()
    return try store.changes(of: commit)
  }
  func changes(from old: CommitNumber, to new: CommitNumber) throws(ModelError) -> any ChangeReader {
    try store.changes(from: old, to: new)
  }
  func versions(
    of key: StoredKey, in datastore: String, from newest: CommitNumber, limit: Int
  ) throws(ModelError) -> [RecordVersion] {
    try store.versions(of: key, in: datastore, from: newest, limit: limit)
  }
  func preview(_ changes: ChangeSet, options: EditOptions) throws(ModelError) -> ChangePreview {
    try store.preview(changes, options: options)
  }
  func rebase(
    _ changes: ChangeSet, onto commit: CommitNumber, progress: WorkProgress?
  ) throws(ModelError) -> RebasedChanges {
    try store.rebase(changes, onto: commit, progress: progress)
  }
  func undoPreview(of commit: CommitNumber, progress: WorkProgress?) throws(ModelError) -> ChangeSet {
    try store.undoPreview(of: commit, progress: progress)
  }
  func undo(_ commit: CommitNumber, named action: String, options: EditOptions) throws(ModelError) -> CommitNumber {
    try store.undo(commit, named: action, options: options)
  }
  func stateBroughtBack(byUndoing commit: CommitNumber) throws(ModelError) -> CommitNumber? {
    try store.stateBroughtBack(byUndoing: commit)
  }
  func undoCandidate() throws(ModelError) -> CommitNumber? { try store.undoCandidate() }
  func redoCandidate() throws(ModelError) -> CommitNumber? { try store.redoCandidate() }
  func restore(_ commit: CommitNumber, datastore: String?, named action: String) throws(ModelError) -> CommitNumber {
    try store.restore(commit, datastore: datastore, named: action)
  }
  func pin(_ name: String, to commit: CommitNumber?) throws(ModelError) { try store.pin(name, to: commit) }
  func addIndex(
    _ index: IndexDescriptor, to datastore: String, options: EditOptions
  ) throws(ModelError) -> CommitNumber { try store.addIndex(index, to: datastore, options: options) }
  func rebuildIndex(_ name: String, of datastore: String, options: EditOptions) throws(ModelError) -> CommitNumber {
    try store.rebuildIndex(name, of: datastore, options: options)
  }
  func dropIndex(_ name: String, of datastore: String) throws(ModelError) -> CommitNumber {
    try store.dropIndex(name, of: datastore)
  }
}

/// A view whose records are not read while the server is away.
private struct HeldView: ReadableView {
  let view: any ReadableView
  let store: HeldStore

  var commit: CommitNumber { view.commit }
  var datastoreKeys: [String] {
    get throws(ModelError) {
      try store.ask()
      return try view.datastoreKeys
    }
  }
  func datastore(_ key: String) throws(ModelError) -> (any ReadableDatastore)? {
    try view.datastore(key).map { HeldDatastore(datastore: $0, store: store) }
  }
}

private struct HeldDatastore: ReadableDatastore {
  let datastore: any ReadableDatastore
  let store: HeldStore

  var descriptor: DatastoreDescriptor { datastore.descriptor }
  var count: Int { get throws(ModelError) { try datastore.count } }
  var primary: any ReadableIndex { datastore.primary }
  var indexes: [any ReadableIndex] { datastore.indexes }
  func record(_ key: StoredKey) throws(ModelError) -> Record? {
    try store.ask()
    try store.look(at: key)
    return try datastore.record(key)
  }
  func records(at ranks: Range<Int>) throws(ModelError) -> any RecordCursor {
    try store.ask()
    let records = try datastore.records(at: ranks)
    return store.damagesWalks ? HeldCursor(records: records, store: store) : records
  }
  func identifier(parsing text: String) throws(ModelError) -> StoredKey { try datastore.identifier(parsing: text) }
  func verify(index: String?, progress: WorkProgress?) throws(ModelError) -> DatastoreVerification {
    try store.ask()
    return try datastore.verify(index: index, progress: progress)
  }
}

private struct HeldCursor: RecordCursor {
  var records: any RecordCursor
  let store: HeldStore

  mutating func next() throws(ModelError) -> Bool { try records.next() }
  var identifier: StoredKey { get throws(ModelError) { try records.identifier } }
  func rawRecord() throws(ModelError) -> RawRecord? {
    try store.look(at: identifier)
    return try records.rawRecord()
  }
}
