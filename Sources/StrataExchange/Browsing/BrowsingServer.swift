import StrataDocuments
import StrataEngine
import StrataLocks
import StrataModel

/// Serves a store to a browser on another computer, after the request `{"browse":2}`, until the input ends.
///
/// | request | reply |
/// |---|---|
/// | (nothing) | `{"state":BrowsedState,"bytes":RUNS}` at the beginning and after each change |
/// | `{"get":MissingBytes}` | `{"got":true,"bytes":RUNS}` with what the reading takes |
/// | `{"rules":"DATASTORE","at":COMMIT}` | `{"rules":{…}}` |
/// | `{"edit":BrowsedEdit,"letter":NAME,"changes":LINES}` | `{"commit":NUMBER}`, or `{"refused":BrowsedRefusal}` |
///
/// A reading names rows, a record, commits or changes (`AnnouncedReading`): this side reads them, too, and sends the bytes that it took and
/// had not sent before. So the browser reads the same with one round trip. If a request fails, the reply is `{"error":"…"}`.
final class BrowsingServer: Sendable {
  static let version: UInt64 = 2
  private static let mostAtOnce: UInt64 = 1 << 20
  /// The bytes of the outline that go with a new state, because each browser reads it.
  private static let outlineBudget: UInt64 = 64 << 10

  private struct Output {
    var recorded: RecordedStore
    var state: BrowsedState?
    var writer: LineWriter

    /// Sends a line with the bytes that were recorded.
    func send(_ members: [Document.Member]) throws {
      var members = members
      let (runs, drops) = try recorded.removeRuns()
      if drops { members.append(.init("drops", .bool(true))) }
      let text = Array("\"\(Base64.text(of: runs))\"".utf8)
      try writer.add(StreamLine.bytes(members, raw: ("bytes", text)))
      try writer.flush()
    }
  }

  private let store: EngineStore
  private let file: FileStore
  private let isReadOnly: Bool
  private let mostPages: Int
  private let output: Mutex<Output>

  init(_ store: EngineStore, isReadOnly: Bool, output: Int32, mostPages: Int) throws {
    guard let file = store.engine as? FileStore else {
      throw ModelError.refused(reason: "only a store in a file is browsed over a line")
    }
    self.store = store
    self.file = file
    self.isReadOnly = isReadOnly
    self.mostPages = mostPages
    let output = LineWriter(descriptor: output, name: "standard output", patience: PeerServer.patience)
    self.output = Mutex(Output(recorded: try Self.record(file, mostPages), writer: output))
  }

  /// A compaction may put other data in place between two looks.
  private static func record(_ file: FileStore, _ mostPages: Int) throws -> RecordedStore {
    for _ in 0..<4 {
      if let recorded = try? RecordedStore(file, mostPages: mostPages) { return recorded }
      try file.refresh()
    }
    return try RecordedStore(file, mostPages: mostPages)
  }

  func serve(_ reader: LineReader) throws {
    let watch = try store.follow { [weak self] in try? self?.tell() }
    defer { withExtendedLifetime(watch) {} }
    // A writer that is killed changes no file that is watched.
    reader.whileSilent = { [weak self] in if self?.output.withLock({ $0.state?.writer }) != nil { try? self?.tell() } }
    try tell()
    try say([.init("browsing", .number(NumberText(Self.version))), .init("store", .string(store.identity))])
    while let bytes = try reader.next() {
      // A request that was cut off with the line does not parse.
      guard let line = StreamLine(bytes) else { return }
      do {
        try answer(line)
      } catch let error where error is ModelError || error is StorageError || error is DiskError {
        try say([.init("error", .string("\((error as? StorageError).map { ModelError($0) } ?? error)"))])
      }
    }
  }

  private func answer(_ line: StreamLine) throws {
    switch line.kind {
    case "get":
      guard let missing = line.value("get", as: MissingBytes.self) else { throw Self.refusal(of: line) }
      try send(missing)
    case "rules":
      try say([.init("rules", store.rules(of: line.text("rules") ?? "", at: CommitNumber(line.number("at") ?? 0)))])
    default:
      guard let edit = line.value("edit", as: BrowsedEdit.self),
        let letter = line.text("letter").flatMap({ LetterName($0) })
      else { throw Self.refusal(of: line) }
      if isReadOnly { throw ModelError.readOnly(reason: "it is served for reading only") }
      let outcome = edit.outcome(in: store, recording: letter, changes: line.base64("changes") ?? [])
      // The browser learns of the new state before it hears that its edit is made.
      try tell()
      try say([outcome])
    }
  }

  private static func refusal(of line: StreamLine) -> ModelError { .refused(reason: "“\(line.kind)” is not a request") }

  private func say(_ members: [Document.Member]) throws {
    try output.withLock { output in
      try output.writer.add(StreamLine.bytes(members))
      try output.writer.flush()
    }
  }

  /// Tells the state of the store if it has changed, with the bytes that it takes to read that.
  private func tell() throws {
    try output.withLock { output in
      if store.isInPlace {
        _ = try store.refresh()
        if try !output.recorded.follow(file) {
          output.recorded = try Self.record(file, mostPages)
          output.state = nil
        }
      }
      let state = BrowsedState(store, output.recorded.settled, isReadOnly: isReadOnly)
      guard state != output.state else { return }
      output.state = state
      output.recorded.read(.outline(store.head.commit), budget: Self.outlineBudget)
      try output.send([.init("state", coding: state)])
    }
  }

  private func send(_ missing: MissingBytes) throws {
    try output.withLock { output in
      let settled = output.recorded.settled
      guard missing.file == settled.file.inode, missing.offset < settled.end, missing.count <= Self.mostAtOnce else {
        throw ModelError.refused(reason: "the data there is another one by now")
      }
      output.recorded.add(missing.offset..<missing.offset + missing.count + min(missing.ahead, Self.mostAtOnce))
      if let reading = missing.reading {
        output.recorded.read(reading.bounded, budget: min(missing.budget, SentUnits.mostBytes))
      }
      try output.send([.init("got", .bool(true))])
    }
  }
}
