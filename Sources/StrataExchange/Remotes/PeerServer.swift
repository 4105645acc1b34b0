package import StrataModel
import StrataDocuments
import StrataEngine

/// Serves a store on two pipes, as `strata serve` does.
///
/// | request | reply |
/// |---|---|
/// | (nothing) | `{"serve":1,"store":…,"head":…,"check":"NAME 12, …"}` |
/// | `{"fetch":["identity digest",…],"wants":["identity",…]}` | the stream of the missing commits, then `{"done":n}` |
/// | the same with `"tips":["identity",…]` | also the missing commits of these |
/// | `{"pins":true}` | `{"pins":{"NAME":"identity",…}}` |
/// | `{"haves":true}` | `{"haves":["identity digest",…]}` |
/// | `{"receive":true}`, a stream, `{"done":true}` | `{"received":n}` |
/// | `{"browse":2}` | from then on `BrowsingServer` answers |
/// | `{"propose":"identity"}` | `{"serve":1,…,"moved":true}`, or `false` if head has commits that the proposed one lacks |
///
/// If a request fails, the reply is `{"error":"…"}`, with `"missing":"identity"` if a commit's parent is missing. It ends with its input.
package struct PeerServer {
  private let store: EngineStore
  private let peer: StorePeer
  private let isReadOnly: Bool
  /// After how many pages of a file a browser forgets what it has read.
  var mostPages = SentUnits.usualPages

  private static let mostHaves = 10_000
  private static let mostPins = 1_000
  private static let requestLimit = 4 << 20
  /// The most bytes of a refused stream that are read before its sender is no longer waited for.
  static let mostRefused = 1 << 30
  /// A client that is silent for this many milliseconds counts as gone: a network may be cut without notice.
  package static let patience: Int32 = 600_000

  package init(_ store: EngineStore, isReadOnly: Bool, now: Int64) {
    self.store = store
    self.isReadOnly = isReadOnly
    peer = StorePeer(store, name: store.path, now: now)
  }

  package func serve(_ reader: LineReader, _ writer: LineWriter) throws {
    func say(_ members: [Document.Member]) throws {
      try writer.add(StreamLine.bytes(members))
      try writer.flush()
    }
    try say(greeting())
    while let bytes = try reader.next(limit: Self.requestLimit) {
      do {
        guard let line = StreamLine(bytes) else { throw ExchangeError.peer(name: "strata serve", reason: "no request") }
        switch line.kind {
        case "fetch":
          let haves = (line.texts("fetch") ?? []).prefix(Self.mostHaves).compactMap(Have.init(text:))
          let wants = (line.texts("wants") ?? []).prefix(Self.mostHaves).compactMap(CommitIdentity.init(text:))
          let tips = (line.texts("tips") ?? []).prefix(Self.mostPins).compactMap(CommitIdentity.init(text:))
          try peer.fetch(haves: haves, wants: wants, of: tips) { try writer.add($0 + [UInt8(ascii: "\n")]) }
          try say([.init("done", .bool(true))])
        case "pins":
          let pins = try peer.pins().prefix(Self.mostPins)
          try say([.init("pins", .object(pins.map { .init($0.name, .string($0.commit.text)) }))])
        case "haves": try say([.init("haves", .array(peer.haves().map { .string($0.text) }))])
        case "receive": try say([.init("received", .number(NumberText(receive(reader))))])
        case "propose":
          guard !isReadOnly else { throw ModelError.readOnly(reason: "it is served for reading only") }
          guard let head = line.text("propose").flatMap(CommitIdentity.init(text:)) else {
            throw ExchangeError.peer(name: "strata serve", reason: "what is proposed is not an identity")
          }
          let isMoved = try peer.propose(head)
          try say(greeting() + [.init("moved", .bool(isMoved))])
        case "browse":
          return try BrowsingServer(store, isReadOnly: isReadOnly, output: writer.descriptor, mostPages: mostPages)
            .serve(reader)
        default: throw ExchangeError.peer(name: "strata serve", reason: "“\(line.kind)” is not a request")
        }
      } catch {
        let told: any Error = (error as? StorageError).map { ModelError($0) } ?? error
        var members = [Document.Member("error", .string("\(told)"))]
        if case .missing(let commit, _)? = error as? ExchangeError {
          members.append(.init("missing", .string(commit.text)))
        }
        try say(members)
      }
    }
  }

  private func greeting() throws -> [Document.Member] {
    [
      .init("serve", .number(NumberText(1))), .init("store", .string(store.identity)),
      .init("head", try peer.heads().first.map { .string($0.text) } ?? .null),
      .init("check", try peer.headCheck().map { .string($0) } ?? .null),
      .init("browse", .number(NumberText(BrowsingServer.version))),
    ]
  }

  /// Takes a stream up to `{"done":true}`. A stream that it cannot take is still read to its end, so that the other side gets the reason.
  private func receive(_ reader: LineReader) throws -> Int {
    var isDone = false
    func next() throws -> [UInt8]? {
      guard let bytes = try reader.next() else {
        throw ExchangeError.peer(name: "strata serve", reason: "the stream was cut off")
      }
      isDone = bytes.starts(with: Array("{\"done\":".utf8))
      return isDone ? nil : bytes
    }
    defer { if !store.keepsLock { store.engine.releaseLock() } }
    do {
      guard !isReadOnly else { throw ModelError.readOnly(reason: "it is served for reading only") }
      let receiver = try peer.receiver()
      try receiver.read { while let bytes = try next() { try receiver.receive(bytes) } }
      return receiver.received.count
    } catch {
      var refused = 0
      while !isDone, let bytes = try next() {
        refused += bytes.count
        guard refused <= Self.mostRefused else {
          throw ExchangeError.peer(name: "strata serve", reason: "what was refused goes on without end")
        }
      }
      throw error
    }
  }
}
