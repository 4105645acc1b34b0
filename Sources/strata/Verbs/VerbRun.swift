import StrataDocuments
import StrataModel
import StrataFolders
import StrataLocks
import StoreBrowser
import StrataFoundation
import StrataEngine

/// One run of a headless verb: its arguments and its output.
struct VerbRun {
  let arguments: VerbArguments
  let output = Output()
  /// Whether lines are JSON instead of text for people.
  let isJSON: Bool

  let notice = DamageNotice()

  init(_ arguments: VerbArguments) {
    self.arguments = arguments
    isJSON = arguments.has("--json")
  }

  /// Does what the verb says. A verb without a status of its own ends with 0.
  ///
  /// - Returns: The exit status: 0 fine, 1 failed or not found, 2 usage, 3 damaged or newer format, 4 locked.
  nonisolated(nonsending) func run() async throws -> Int32 {
    // A verb that fails has printed what it did before.
    defer { try? output.flush() }
    try requireFileWhereNeeded()
    try requireFileHere()
    var status: Int32 = 0
    switch arguments.verb.name {
    case "info": try info()
    case "records": try records()
    case "get": try get()
    case "history": try history()
    case "blame": try blame()
    case "describe": try describe()
    case "diff": try difference()
    case "export" where arguments.has("--entities"):
      return try await Self.onPool(arguments) { try await $0.exportEntities() }
    case "export" where arguments.has("--history"): try exportHistory()
    case "export" where arguments.has("--interchange"): try exportDocument()
    case "export": try export()
    case "references": status = try references()
    case "watch": try watch()
    case "warm": status = try warm()
    case "import" where arguments.has("--entities"):
      return try await Self.onPool(arguments) { try await $0.importEntities() }
    case "import" where arguments.has("--history"): try importHistory()
    case "import" where arguments.has("--interchange"): try importDocument()
    case "import": status = try importFile()
    case "put": try put()
    case "delete": try delete()
    case "undo": try undo()
    case "redo": try redo()
    case "restore": try restore()
    case "pin": try pin()
    case "inbox": status = try inbox()
    case "remote": try remote()
    case "fetch": status = try fetch()
    case "merge": status = try merge()
    case "push": status = try push()
    case "exchange": status = try exchange()
    case "clone": try clone()
    case "serve": try serve()
    case "copy": try copy()
    case "compact": try compact()
    case "verify": status = try verify()
    case "salvage": status = try salvage()
    case "convert": try convert()
    case "help": try help()
    case "man": try manual()
    case "completions": try completions()
    default: throw UsageError("“\(arguments.verb.name)” is not a verb")
    }
    return try end(status)
  }

  /// Runs a verb off the main actor: a verb that awaits tasks repeatedly would pay for each return to the main actor.
  @concurrent private static func onPool(
    _ arguments: VerbArguments, _ verb: @Sendable (VerbRun) async throws -> Void
  ) async throws -> Int32 {
    let run = VerbRun(arguments)
    defer { try? run.output.flush() }
    try await verb(run)
    return try run.end(0)
  }

  private func end(_ status: Int32) throws -> Int32 {
    try output.flush()
    return (notice.isGiven || UnreadableMappings.areMet.load(ordering: .relaxed)) && status < 3 ? 3 : status
  }

  /// Throws if the verb reads a file's bytes or keeps something beside it, and the store is on a server: the error says what to do instead.
  private func requireFileWhereNeeded() throws(ModelError) {
    let verb = arguments.verb.name
    guard let first = [0, 1].first(where: { arguments.operand($0).map(isServer) ?? false }) else { return }
    // Quoted, as a shell takes it: most URLs have an ampersand.
    let url = "'\(shownLocation(arguments.operand(first) ?? ""))'"
    let reason: String
    switch (verb, first) {
    case ("serve", 0) where arguments.has("--read-only"): return
    case ("serve", 0):
      reason =
        "a store on a server is served for reading only, with --read-only; to write to it, add \(url) as a remote"
    case ("remote", 0), ("fetch", 0), ("merge", 0), ("push", 0), ("exchange", 0):
      reason =
        "\(verb) works from a store file that has the server as its remote: strata clone \(url) PATH makes one, and "
        + "strata exchange PATH brings both together"
    case ("fetch", _), ("merge", _), ("push", _), ("exchange", _), ("remote", _):
      reason = "name a remote here, not its URL: strata remote PATH add NAME URL gives it a name"
    case ("clone", 1):
      reason =
        "a clone is a store file, which keeps its remotes beside it; strata copy FROM URL puts a store with its history "
        + "on a server"
    case ("salvage", 0):
      reason =
        "salvage reads the bytes of a damaged file, and a server keeps its own: strata verify \(url) names what is "
        + "wrong there, and strata copy \(url) PATH makes a store file of it"
    case ("salvage", _), ("convert", _):
      reason = "\(verb) makes a store file; strata copy PATH URL puts that on a server afterwards"
    default: return
    }
    throw .refused(reason: reason)
  }

  /// The operand of a place, which must be there.
  func required(_ index: Int) throws(UsageError) -> String {
    if let operand = arguments.operand(index) { return operand }
    throw UsageError("\(arguments.verb.operands[index].name) is missing", verb: arguments.verb)
  }

  /// The store at the first operand, for reading. If it is damaged, all that can be read is read. The user must not take that for the
  /// whole store, so a notice and the exit status report the damage.
  func store() throws -> any ReadableStore {
    UnreadableMappings.areZeros.store(true, ordering: .relaxed)
    let store = try openStore(required(0), readOnly: true, encoding: encoding())
    // A file's is never released: the system takes back the memory of a process that ends faster than the store would.
    if let store = store as? EngineStore { _ = Unmanaged.passRetained(store) }
    if let damage = store.damage {
      let remedy = store is FolderStore ? FolderFinding.backup : "strata salvage saves what can be read behind it"
      notice.give("\(store.path): \(damage); \(remedy)")
    }
    return store
  }

  /// Prints a datastore's records by `body`. If some cannot be read, a notice reports them and the rest is printed: `body` runs again
  /// from the beginning, without the output that is printed already. `--strict` ends with the first record that cannot be read.
  func printAllReadable(
    of datastore: any ReadableDatastore, _ body: (any ReadableDatastore) throws -> Void
  ) throws {
    let start = output.count
    do {
      try body(datastore)
    } catch let error as ModelError where error.exitStatus == 3 && !arguments.has("--strict") {
      output.leaveOut(output.count - start)
      try body(ReadableRest(of: datastore) { [notice] in notice.give($0) })
      // All records were read, without an index that cannot be.
      if !notice.isGiven { notice.give("\(datastore.descriptor.key): \(error)") }
    }
  }

  /// The store at the first operand, for a change.
  func editableStore() throws -> any EditableStore {
    let store = try openStore(required(0), readOnly: false)
    if case .readOnly(let reason) = store.access { throw ModelError.readOnly(reason: reason) }
    guard let editable = store as? any EditableStore else {
      throw ModelError.readOnly(reason: "stores of this kind are only read; see strata convert")
    }
    return editable
  }

  /// The store at a path or URL to write into; it is created if there is none.
  func madeStore(at path: String) throws -> EngineStore {
    if isServer(path) { return try ownStore(openServer(path, readOnly: false, creates: true)) }
    return try EngineStore.open(path: path, program: "strata", author: currentUser(), creates: true)
  }

  /// The files of a store that a verb would make at a path, and last its folder; empty if a store is there. If the verb commits nothing,
  /// it removes them again, and nothing else: a person's own files may be in the folder, even under these names, and the folder itself may
  /// be a person's own.
  func newFiles(of path: String) -> [String] {
    if isServer(path) || FileStore.exists(at: path, disk: SystemDisk()) { return [] }
    return ["/data", "/lock", "/activity", ""].map { path + $0 }.filter { !FileManager.default.fileExists(atPath: $0) }
  }

  /// Removes new files of a store to which no process has committed, and its new folder if that is empty then. Holds the writer's lock,
  /// so that none commits meanwhile.
  func remove(_ newFiles: [String], of store: EngineStore) {
    guard !newFiles.isEmpty, !store.isInMemory, let turn = try? store.engine.beginBlocking() as any WriteTransaction
    else { return }
    defer { turn.cancel() }
    guard store.engine.commitCount == 0 else { return }
    for file in newFiles where (try? SystemDisk().removeDirectory(file)) == nil { try? SystemDisk().unlink(file) }
  }

  /// The view that `--at` names; the head without it.
  func view(of store: any ReadableStore) throws -> any ReadableView {
    guard let name = arguments.value("--at") else { return store.head }
    return try store.view(at: store.resolve(name))
  }

  /// The datastore that the second operand names; without it the only one.
  func datastore(in view: any ReadableView) throws -> any ReadableDatastore {
    if let key = arguments.operand(1) { return try datastore(key, in: view) }
    let keys = try view.datastoreKeys
    guard keys.count == 1 else {
      let reason = keys.isEmpty ? "the store has none" : "one of \(keys.joined(separator: ", "))"
      throw UsageError("DATASTORE is missing: \(reason)", verb: arguments.verb)
    }
    return try datastore(keys[0], in: view)
  }

  /// The datastores that can be read. A notice reports each other one.
  func datastores(of view: any ReadableView) throws -> [any ReadableDatastore] {
    try view.readableDatastores { notice.give("\($0)") }
  }

  /// The datastore of a name.
  func datastore(_ key: String, in view: any ReadableView) throws -> any ReadableDatastore {
    if let datastore = try view.datastore(key) { return datastore }
    throw ModelError.noSuchDatastore(key, known: try view.datastoreKeys)
  }

  /// Prints a line: JSON, or a text for people.
  func tell(_ document: @autoclosure () throws -> Document, or text: @autoclosure () throws -> String) throws {
    try isJSON ? line(document()) : output.line(text())
  }

  /// Prints a JSON document as a line.
  func line(_ document: Document) throws { try output.line(document.compactJSON) }
}

/// Reports damage on standard error, each message once.
final class DamageNotice: Sendable {
  private let given = Mutex<Set<String>>([])
  var isGiven: Bool { given.withLock { !$0.isEmpty } }

  func give(_ sentence: String) {
    if given.withLock({ $0.insert(sentence).inserted }) { complain(sentence) }
  }
}
