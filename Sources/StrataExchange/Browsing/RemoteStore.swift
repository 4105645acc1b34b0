import StrataDocuments
import StrataEngine
import StrataLocks
package import StrataModel

/// A store on another computer, which is read and edited over a line: `strata serve` runs there, usually started by ssh.
///
/// It is one of our own stores on a disk whose bytes come over the line, so all that reads stores reads it. Edits are made on the other
/// side, by its rules and with its lock. While the line is broken, what came before can still be read; it connects again by itself.
package final class RemoteStore: EditableStore {
  package let path: String
  private let line: RemoteLine
  private let local: EngineStore
  private let isReadOnly: Bool
  /// The sender of this store's edits, and the edit whose outcome is not known.
  private let edits: Mutex<(sender: UInt64, number: UInt32, open: (request: [UInt8], letter: LetterName)?)>

  /// - Throws: `ModelError`, with one sentence that says what is missing on the other side.
  init(_ line: RemoteLine, isReadOnly: Bool, mayAsk: Bool) throws(ModelError) {
    self.line = line
    self.isReadOnly = isReadOnly
    path = line.name
    edits = Mutex((UInt64.random(in: 1 ... .max), 0, nil))
    try line.connect(mayAsk: mayAsk)
    let disk = try line.durableDisk()
    let engine = try onStorage {
      try FileStore.open(at: line.name, options: StoreOptions(isReadOnly: true, readsMapped: false), disk: disk)
    }
    local = EngineStore(
      engine, path: path, access: .readOnly(reason: "its bytes are on another computer"), disk: disk,
      distant: line.bytes)
  }

  /// Opens the store at a location behind ssh.
  ///
  /// - Parameter mayAsk: whether ssh may use the terminal for its first connection.
  package convenience init(
    _ location: RemoteLocation, readOnly: Bool, mayAsk: Bool
  ) throws(ModelError) {
    guard case .ssh(let user, let host, let port, let path) = location else {
      throw .refused(reason: "only a store behind ssh is read over a line")
    }
    let line = RemoteLine(name: location.text) { mayAsk in
      try ChildProcess(
        PipePeer.words(user: user, host: host, port: port, path: path, mayAsk: mayAsk),
        keepsTerminal: mayAsk)
    }
    try self.init(line, isReadOnly: readOnly, mayAsk: mayAsk)
  }

  deinit { line.close() }

  /// The requests that waited for an answer, for statistics.
  package var roundTrips: Int { line.bytes.roundTrips }

  // MARK: State

  package var access: StoreAccess {
    if isReadOnly { return .readOnly(reason: "it was opened for reading only") }
    return line.browsed?.refusal.map { .readOnly(reason: $0) } ?? .readWrite
  }

  package var isAway: Bool { line.problem != nil }
  package var isDistant: Bool { true }
  /// While the line is broken, that is what there is to say, and not where the store lay before.
  package var isInPlace: Bool { isAway || line.browsed?.isAbsent != true }
  package var writer: WriterHold? { line.browsed?.writer }
  package var activity: Activity? { line.browsed?.activity.flatMap { Activity(bytes: [UInt8]($0)) } }

  package func refresh() throws(ModelError) -> any ReadableView {
    if let problem = line.problem { throw .storage(problem, kind: .unreachable) }
    return try local.refresh()
  }

  package func follow(_ change: @escaping @Sendable () -> Void) throws(ModelError) -> any Sendable & AnyObject {
    line.follow(change)
  }

  // MARK: Reading

  package var openingReport: [String] { local.openingReport }
  package var damage: String? { local.damage }
  package var head: any ReadableView { local.head }
  package var identity: String { local.identity }
  package var commitCount: UInt64 { local.commitCount }
  package var generation: UInt64 { local.generation }
  package var byteCount: UInt64 {
    get throws(ModelError) {
      if let bytes = line.browsed?.bytes { return bytes }
      return try local.byteCount
    }
  }
  package var historyBytes: UInt64? { local.historyBytes }
  package var pins: [Pin] { get throws(ModelError) { try local.pins } }
  package func view(at commit: CommitNumber) throws(ModelError) -> any ReadableView { try local.view(at: commit) }
  package func commit(_ number: CommitNumber) throws(ModelError) -> CommitDetails { try local.commit(number) }
  package func commitUncounted(_ number: CommitNumber) throws(ModelError) -> CommitDetails {
    try local.commitUncounted(number)
  }
  package func resolve(_ name: String) throws(ModelError) -> CommitNumber { try local.resolve(name) }

  package func commitPage(from open: [CommitNumber], limit: Int, folded: Bool) throws(ModelError) -> CommitPage {
    try local.commitPage(from: open, limit: limit, folded: folded)
  }

  package func changes(of commit: CommitNumber) throws(ModelError) -> any ChangeReader { try local.changes(of: commit) }

  package func changes(from old: CommitNumber, to new: CommitNumber) throws(ModelError) -> any ChangeReader {
    try local.changes(from: old, to: new)
  }

  package func versions(
    of key: StoredKey, in datastore: String, from newest: CommitNumber, limit: Int
  ) throws(ModelError) -> [RecordVersion] {
    try local.versions(of: key, in: datastore, from: newest, limit: limit)
  }

  package func preview(_ changes: ChangeSet, options: EditOptions) throws(ModelError) -> ChangePreview {
    try local.preview(changes, options: options)
  }

  package func rebase(
    _ changes: ChangeSet, onto commit: CommitNumber, progress: WorkProgress?
  ) throws(ModelError) -> RebasedChanges {
    try local.rebase(changes, onto: commit, progress: progress)
  }

  package func undoPreview(of commit: CommitNumber, progress: WorkProgress?) throws(ModelError) -> ChangeSet {
    try local.undoPreview(of: commit, progress: progress)
  }

  package func stateBroughtBack(byUndoing commit: CommitNumber) throws(ModelError) -> CommitNumber? {
    try local.stateBroughtBack(byUndoing: commit)
  }

  package func undoCandidate() throws(ModelError) -> CommitNumber? { try local.undoCandidate() }
  package func redoCandidate() throws(ModelError) -> CommitNumber? { try local.redoCandidate() }

  package func copy(
    to path: String, at commit: CommitNumber?, progress: WorkProgress?
  ) throws(ModelError) -> RewriteReport {
    throw elsewhere("strata clone \(self.path.shellWord) \(path.shellWord) brings it here")
  }

  // MARK: Edits

  package func commit(
    _ changes: ChangeSet, named action: String, options: EditOptions
  ) throws(ModelError) -> CommitNumber {
    let text = Base64.text(of: changes.text(titled: action))
    do throws(ModelError) {
      return try edit(BrowsedEdit(.changes, options: options), [.init("changes", .string(text))], options: options)
    } catch {
      // The other side has said that there are some; what they are shows here.
      guard error == .conflict([]) || error == .notUnique([]) else { throw error }
      let found = try local.preview(changes, options: options)
      if error == .conflict([]) { throw .conflict(found.conflicts) }
      throw .notUnique(found.uniqueness.filter(\.isEnforced))
    }
  }

  package func undo(_ commit: CommitNumber, named action: String, options: EditOptions) throws(ModelError)
    -> CommitNumber
  {
    try edit(BrowsedEdit(.undo(commit), named: action), options: options)
  }

  package func restore(
    _ commit: CommitNumber, datastore: String?, named action: String
  ) throws(ModelError) -> CommitNumber {
    try edit(BrowsedEdit(.restore(commit, datastore: datastore), named: action))
  }

  package func pin(_ name: String, to commit: CommitNumber?) throws(ModelError) {
    _ = try edit(BrowsedEdit(.pin(name, commit)))
  }

  package func rebuildIndex(
    _ name: String, of datastore: String, options: EditOptions
  ) throws(ModelError) -> CommitNumber {
    try edit(BrowsedEdit(.rebuild(name, datastore: datastore), options: options), options: options)
  }

  package func dropIndex(_ name: String, of datastore: String) throws(ModelError) -> CommitNumber {
    try edit(BrowsedEdit(.drop(name, datastore: datastore)))
  }

  package func addIndex(
    _ index: IndexDescriptor, to datastore: String, options: EditOptions
  ) throws(ModelError) -> CommitNumber {
    throw elsewhere("strata index adds one there")
  }

  package func compactionEstimate(_ retention: CommitRetention) throws(ModelError) -> RewriteReport {
    throw elsewhere("strata compact runs there")
  }

  package func compact(_ retention: CommitRetention, progress: WorkProgress?) throws(ModelError) -> RewriteReport {
    throw elsewhere("strata compact runs there")
  }

  private func elsewhere(_ way: String) -> ModelError {
    .refused(reason: "this is not done over a line: \(way)")
  }

  /// Makes an edit on the other side. An edit whose outcome is not known has the same name if it is asked for again.
  private func edit(
    _ edit: BrowsedEdit, _ parts: [Document.Member] = [], options: EditOptions = EditOptions()
  ) throws(ModelError) -> CommitNumber {
    if case .readOnly(let reason) = access { throw .readOnly(reason: reason) }
    let members = [.init("edit", coding: edit)] + parts
    let request = StreamLine.bytes(members)
    let letter = edits.withLock { edits in
      if let open = edits.open, open.request == request { return open.letter }
      edits.number += 1
      let letter = LetterName(date: wallClock(), sender: edits.sender, number: edits.number)
      edits.open = (request, letter)
      return letter
    }
    let reply = try line.send(StreamLine.bytes(members + [.init("letter", .string(letter.description))])) {
      options.progress?(0, 0) ?? true
    }
    edits.withLock { $0.open = nil }
    // The new state came before the reply. The edit is made, whatever becomes of the line now.
    _ = try? local.refresh()
    if let commit = reply.number("commit") { return CommitNumber(commit) }
    if let reason = reply.text("error") { throw .refused(reason: reason) }
    throw reply.value("refused", as: BrowsedRefusal.self)?.error ?? .refused(reason: "it was refused there")
  }
}
