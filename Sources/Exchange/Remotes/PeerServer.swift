package import DatastoreModel
import Documents
import StorageEngine

/// Answers for a store on two pipes, as `strata serve` does.
///
/// | asked | answered |
/// |---|---|
/// | (nothing) | `{"serve":1,"store":…,"head":…,"check":"NAME 12, …"}` |
/// | `{"fetch":["identity digest",…],"wants":["identity",…]}` | the stream of what is lacking, then `{"done":n}` |
/// | the same with `"tips":["identity",…]` | also what is lacking of these |
/// | `{"pins":true}` | `{"pins":{"NAME":"identity",…}}` |
/// | `{"haves":true}` | `{"haves":["identity digest",…]}` |
/// | `{"receive":true}`, a stream, `{"done":true}` | `{"received":n}` |
/// | `{"propose":"identity"}` | `{"serve":1,…,"moved":true}`, or `false` where head has what the proposed has not |
///
/// `{"error":"…"}` answers what cannot be done, with `"missing":"identity"` where a commit was made on one that is not there. It ends with the end of its input.
package struct PeerServer {
  private let store: OwnStore
  private let peer: StorePeer
  private let isReadOnly: Bool
  private let now: Int64

  private static let mostHaves = 10_000
  private static let mostPins = 1_000
  /// Requests are lines of at most so many bytes.
  private static let requestLimit = 4 << 20
  /// So many bytes of a stream that was refused are read before its sender is not waited for any more.
  static let mostRefused = 1 << 30
  /// A client that says nothing for so many milliseconds has gone, as where a network was cut without a word.
  package static let patience: Int32 = 600_000

  package init(_ store: OwnStore, isReadOnly: Bool, now: Int64) {
    self.store = store
    self.isReadOnly = isReadOnly
    self.now = now
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
            throw ExchangeError.peer(name: "strata serve", reason: "what is proposed is no identity")
          }
          let isMoved = try peer.propose(head)
          try say(greeting() + [.init("moved", .bool(isMoved))])
        default: throw ExchangeError.peer(name: "strata serve", reason: "“\(line.kind)” is no request")
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
    ]
  }

  /// Takes a stream up to `{"done":true}`; what cannot be taken is read to its end all the same, so that the other side hears why.
  private func receive(_ reader: LineReader) throws -> Int {
    var failure: (any Error)?
    var receiver: CommitReceiver?
    var refused = 0
    do {
      guard !isReadOnly else { throw ModelError.readOnly(reason: "it is served for reading only") }
      receiver = try peer.receiver()
    } catch { failure = error }
    while true {
      guard let bytes = try reader.next() else {
        try receiver?.settle()
        throw ExchangeError.peer(name: "strata serve", reason: "the stream was cut off")
      }
      if bytes.starts(with: Array("{\"done\":".utf8)) { break }
      if failure != nil { refused += bytes.count }
      guard refused <= Self.mostRefused else {
        throw ExchangeError.peer(name: "strata serve", reason: "what was refused goes on without end")
      }
      guard failure == nil else { continue }
      do { try receiver?.take(bytes) } catch { failure = error }
    }
    defer { if !store.keepsLock { store.engine.releaseLock() } }
    do {
      if failure == nil { try receiver?.finish() }
    } catch { failure = error }
    try receiver?.settle()
    if let failure { throw failure }
    return receiver?.received.count ?? 0
  }
}
