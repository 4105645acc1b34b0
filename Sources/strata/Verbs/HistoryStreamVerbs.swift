import StrataModel
import StrataDocuments
import StrataExchange
import StrataExpressions
import StrataEngine
import StoreBrowser

// A store as a text: with its history as a stream (export --history, import --history), and without (--interchange).

extension VerbRun {
  func exportHistory() throws {
    guard arguments.operand(1) == nil, arguments.value("--format") ?? "jsonl" == "jsonl" else {
      throw UsageError("a history is exported whole, as JSON Lines", verb: arguments.verb)
    }
    let store = try ownStore(store())
    let graph = try onStorage { try CommitGraph(store.engine) }
    func identity(_ commit: CommitNumber) throws -> [CommitIdentity] {
      if commit == CommitNumber(0) { return [] }
      guard let identity = graph.identity(of: commit.rawValue) else { throw ModelError.noSuchCommit("\(commit)") }
      return [identity]
    }
    let heads = try identity(view(of: store).commit)
    let since = try arguments.value("--since").map { try identity(store.resolve($0)) } ?? []
    let missing = graph.numbers(in: heads, butNotIn: since)
    try CommitSender(store, graph) { try self.output.bytes($0) }.send(missing, since: since)
  }

  func importHistory() throws {
    guard arguments.operand(1) == nil, let file = arguments.value("--history") else {
      throw UsageError("a history goes into a store, not into a datastore", verb: arguments.verb)
    }
    let (reader, path) = (try LineReader(path: file), try required(0))
    let take = isServer(path) ? receiveOnServer : receive
    let (outcome, head) = try take(reader, path, ProgressMeter("taking in"))
    if isJSON {
      try line(["received": .count(outcome.received), "head": .commit(head), "moved": .bool(outcome.movedHead)])
    } else {
      try output.line("\(counted(outcome.received, "commit")) taken in; head is \(head)")
      if !outcome.movedHead, let newest = outcome.newest {
        try output.line("they lie beside it: strata merge \(path.shellWord) \(newest.rawValue)")
      }
    }
  }

  private func receive(
    _ reader: LineReader, _ path: String, _ meter: ProgressMeter
  ) throws -> (StoreExchange.Taken, head: CommitNumber) {
    let (files, store) = (newFiles(of: path), try madeStore(at: path))
    if case .readOnly(let reason) = store.access { throw ModelError.readOnly(reason: reason) }
    defer { if store.engine.commitCount == 0 { remove(files, of: store) } }
    let outcome = try StoreExchange(store, now: LocalTime.now).receive(reader, progress: meter.report)
    return (outcome, store.head.commit)
  }

  /// A server has one line of states: what comes goes on from its head, or not at all. So the commits meet its own in memory, and go
  /// there as every push does.
  private func receiveOnServer(
    _ reader: LineReader, _ url: String, _ meter: ProgressMeter
  ) throws -> (StoreExchange.Taken, head: CommitNumber) {
    let store = try openServer(url, readOnly: false, creates: true)
    if case .readOnly(let reason) = store.access { throw ModelError.readOnly(reason: reason) }
    let shown = shownLocation(url)
    let peer = try peers.openServer(url, name: shown)
    let gathered = EngineStore.memory(program: "strata", author: currentUser())
    let exchange = StoreExchange(gathered, now: LocalTime.now)
    for head in try exchange.fetch(peer, as: "server").heads { _ = try exchange.moveHead(to: head) }
    var outcome = try exchange.receive(reader, progress: meter.report)
    guard outcome.movedHead || outcome.received == 0 else {
      throw ModelError.refused(
        reason: "head of \(shown) is not in the history that comes, and nothing lies beside head on a server: strata "
          + "clone '\(shown)' PATH makes a store file, where import, merge and push bring both together; nothing was written"
      )
    }
    do {
      _ = try exchange.push(peer, as: "server")
    } catch ExchangeError.fetchFirst {
      throw ModelError.refused(
        reason: "another program has written to \(shown) meanwhile: import again; nothing was written")
    }
    outcome.newest = nil
    return (outcome, try store.refresh().commit)
  }

  func exportDocument() throws {
    guard arguments.operand(1) == nil else {
      throw UsageError("an interchange document holds the whole store", verb: arguments.verb)
    }
    try StoreDocument.write(view(of: store())) { try self.output.bytes($0) }
  }

  func importDocument() throws {
    guard arguments.operand(1) == nil, let file = arguments.value("--interchange") else {
      throw UsageError("an interchange document goes into a store, not into a datastore", verb: arguments.verb)
    }
    let (bytes, path) = (try ByteStream.text(of: file), try required(0))
    let (files, store) = (newFiles(of: path), try madeStore(at: path))
    defer { if store.engine.commitCount == 0 { remove(files, of: store) } }
    let taken = try StoreDocument.read(
      bytes, into: store, named: arguments.value("--name") ?? "import \(file == "-" ? "standard input" : file)")
    for index in taken.staleIndexes {
      complain("\(index) is filled by the app's first warm-up: no rule tells its values")
    }
    try tell(
      [
        "datastores": .array(taken.datastores.map { .string($0) }), "records": .count(taken.records),
        "commit": .commit(taken.commit),
      ], or: "\(counted(taken.datastores.count, "datastore")), \(counted(taken.records, "record")): \(taken.commit)")
  }
}
