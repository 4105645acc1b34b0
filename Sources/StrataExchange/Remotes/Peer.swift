package import StrataModel
package import StrataEngine

/// Another copy of a store, whatever way leads to it. One thread at a time calls it.
package protocol Peer: AnyObject {
  /// For messages.
  var name: String { get }
  /// Its head; several heads if it is a folder that several stores write to, none if it has no commit.
  func heads() throws -> [CommitIdentity]
  /// The check of its head's content, for the case that both sides have the same head; nil if it has none.
  func headCheck() throws -> String?
  /// Prepares for a request for commits; it may read ahead for that. No other call comes meanwhile.
  func prepare()
  /// Its names except `head` and those of its own remotes.
  func pins() throws -> [PeerPin]
  /// Calls `take` with the lines of the commits of its heads and of `tips` that a store with `haves` lacks. Commits of `wants` are sent
  /// whole: the caller lacks them although it has their descendants. An error of `take` ends the fetch.
  func fetch(haves: [Have], wants: [CommitIdentity], of tips: [CommitIdentity], take: ([UInt8]) throws -> Void) throws
  /// Its commits, as far as they are needed to find out which it lacks.
  func haves() throws -> [Have]
  /// Sends commits, then asks for its head to be moved; returns whether it was. It is moved if its history loses nothing.
  func push(_ commits: OutgoingCommits) throws -> Bool
}

extension Peer {
  package func headCheck() throws -> String? { nil }

  package func prepare() {}

  package func pins() throws -> [PeerPin] { [] }
}

/// A name that another copy has given to a commit.
package struct PeerPin: Hashable, Sendable {
  package var name: String
  package var commit: CommitIdentity

  /// Whether it may follow `remotes/NAME/` and differs from the names that an exchange keeps there.
  var isPlain: Bool {
    name != "common" && UInt(name) == nil && 1...200 ~= name.utf8.count
      && !name.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F || $0 == "/" }
  }
}

/// A commit that a store has, with its digest, which reveals a clone.
package struct Have: Hashable, Sendable {
  package var identity: CommitIdentity
  package var digest: String

  var text: String { "\(identity.text) \(digest)" }

  init(_ identity: CommitIdentity, digest: String) {
    self.identity = identity
    self.digest = digest
  }

  init?(text: String) {
    let parts = text.split(separator: " ")
    guard parts.count == 2, let identity = CommitIdentity(text: String(parts[0])), parts[1].utf8.count == 32 else {
      return nil
    }
    self.init(identity, digest: String(parts[1]))
  }
}

/// A store that this process has open: the target of a path, and the store that `strata serve` serves.
package final class StorePeer: Peer {
  package let name: String
  package var path: String { store.path }
  private let store: EngineStore
  private let exchange: StoreExchange

  package init(_ store: EngineStore, name: String, now: Int64) {
    self.store = store
    self.name = name
    exchange = StoreExchange(store, now: now)
  }

  package func heads() throws -> [CommitIdentity] {
    _ = try store.refresh()
    let head = store.engine.head.commit
    return head.number == 0 ? [] : [head.identity]
  }

  package func headCheck() throws -> String? { try exchange.headCheck() }

  /// If this fails, the same error comes when the commits are asked for.
  package func prepare() { _ = try? exchange.graph() }

  package func pins() throws -> [PeerPin] {
    let graph = try exchange.graph()
    return try store.pins.filter { !$0.name.hasPrefix("remotes/") }.compactMap { pin in
      graph.identity(of: pin.commit.rawValue).map { PeerPin(name: pin.name, commit: $0) }
    }
  }

  package func fetch(
    haves: [Have], wants: [CommitIdentity], of tips: [CommitIdentity], take: ([UInt8]) throws -> Void
  ) throws {
    let heads = try heads() + tips
    let graph = try exchange.graph()
    let known = try exchange.known(haves, in: graph)
    let missing = graph.numbers(in: heads, butNotIn: known)
    try withoutActuallyEscaping(take) { take in
      _ = try CommitSender(store, graph) { try take(Array($0.dropLast())) }.send(missing, since: known, whole: wants)
    }
  }

  package func haves() throws -> [Have] { try exchange.haves(exchange.graph()) }

  package func push(_ commits: OutgoingCommits) throws -> Bool {
    let receiver = try receiver()
    defer { exchange.releaseLock() }
    try receiver.read { try commits.write { try receiver.receive(Array($0.dropLast())) } }
    return try propose(commits.head)
  }

  func receiver() throws -> CommitReceiver {
    try exchange.requireWritable()
    return CommitReceiver(store, try exchange.graph(), now: exchange.now)
  }

  /// Moves head to a commit that is here, if head's history loses nothing by that.
  func propose(_ head: CommitIdentity) throws -> Bool {
    defer { exchange.releaseLock() }
    return try exchange.moveHead(to: head)
  }
}
