package import DatastoreModel
import Documents
package import StorageEngine

/// Another copy of a store, whatever way leads to it. One thread at a time calls it.
package protocol Peer: AnyObject {
  /// For sentences.
  var name: String { get }
  /// Its head; several where it is a folder that several stores write to, none where it has no commit.
  func heads() throws -> [CommitIdentity]
  /// What its head holds, to be compared where both sides have the same head; nil if it does not tell.
  func headCheck() throws -> String?
  /// Hears that it will be asked for commits, and may read already what it needs for that. Nobody else calls it meanwhile.
  func prepare()
  /// Its names but `head` and those of its own remotes.
  func pins() throws -> [PeerPin]
  /// Calls `take` with the lines of the commits of its heads, and of `tips`, that one who has `haves` lacks, and, whole, those of
  /// `wants`, which are lacking though they are in the history of what is not. What `take` throws ends it.
  func fetch(haves: [Have], wants: [CommitIdentity], of tips: [CommitIdentity], take: ([UInt8]) throws -> Void) throws
  /// What it has, as far as it takes to find out what it lacks.
  func haves() throws -> [Have]
  /// Sends commits, and then asks for its head to be moved; answers whether it was, which it is where nothing of it is lost.
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

  package init(name: String, commit: CommitIdentity) {
    self.name = name
    self.commit = commit
  }

  /// Whether it may stand behind `remotes/NAME/` and be told from what an exchange keeps there.
  var isPlain: Bool {
    name != "common" && UInt(name) == nil && 1...200 ~= name.utf8.count
      && !name.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F || $0 == "/" }
  }
}

/// A commit that a store has, with its digest, by which a clone is noticed.
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

/// A store that this process has open: what a path leads to, and what `strata serve` answers with.
package final class StorePeer: Peer {
  package let name: String
  private let store: OwnStore
  private let exchange: StoreExchange

  package init(_ store: OwnStore, name: String, now: Int64) {
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

  /// What fails here fails again when it is asked.
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
    do {
      try commits.write { try receiver.take(Array($0.dropLast())) }
      try receiver.finish()
    } catch {
      try receiver.settle()
      throw error
    }
    return try propose(commits.head)
  }

  /// What takes in commits for this store.
  func receiver() throws -> CommitReceiver {
    try exchange.requireWritable()
    return CommitReceiver(store, try exchange.graph(), now: exchange.now)
  }

  /// Moves head to a commit that is here, where nothing of head's history is lost by it.
  func propose(_ head: CommitIdentity) throws -> Bool {
    defer { exchange.releaseLock() }
    return try exchange.moveHead(to: head)
  }
}
