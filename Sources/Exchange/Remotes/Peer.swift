package import DatastoreModel
import Documents
package import StorageEngine

/// Another copy of a store, whatever way leads to it.
package protocol Peer: AnyObject {
  /// For sentences.
  var name: String { get }
  /// Its head; several where it is a folder that several stores write to, none where it has no commit.
  func heads() throws -> [CommitIdentity]
  /// Calls `take` with the lines of the commits of its heads that one who has `haves` lacks, and, whole, those of
  /// `wants`, which are lacking though they are in the history of what is not.
  func fetch(haves: [Have], wants: [CommitIdentity], take: ([UInt8]) throws -> Void) throws
  /// What it has, as far as it takes to find out what it lacks.
  func haves() throws -> [Have]
  /// Sends the lines that `write` hands to its sink, and then asks for its head to be moved; answers whether it was, which it is where
  /// nothing of it is lost.
  func push(_ head: CommitIdentity, _ write: (_ sink: @escaping ([UInt8]) throws -> Void) throws -> Void) throws -> Bool
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
  private let now: Int64

  package init(_ store: OwnStore, name: String, now: Int64) {
    self.store = store
    self.name = name
    self.now = now
  }

  package func heads() throws -> [CommitIdentity] {
    _ = try store.refresh()
    let head = store.engine.head.commit
    return head.number == 0 ? [] : [head.identity]
  }

  package func fetch(haves: [Have], wants: [CommitIdentity], take: ([UInt8]) throws -> Void) throws {
    let heads = try heads()
    let graph = try onStorage { () throws(StorageError) in try CommitGraph(store.engine) }
    let known = try StoreExchange.known(haves, in: graph, of: store)
    let missing = CommitSender.missing(graph, heads: heads, haves: known)
    try withoutActuallyEscaping(take) { take in
      let lines = LineSplitter { try take($0) }
      try CommitSender(store, graph) { try lines.add($0) }.send(missing, since: known, whole: wants)
    }
  }

  package func haves() throws -> [Have] {
    _ = try store.refresh()
    let graph = try onStorage { () throws(StorageError) in try CommitGraph(store.engine) }
    return try StoreExchange.haves(graph, of: store)
  }

  package func push(
    _ head: CommitIdentity, _ write: (_ sink: @escaping ([UInt8]) throws -> Void) throws -> Void
  ) throws -> Bool {
    let receiver = try receiver()
    let lines = LineSplitter { try receiver.take($0) }
    do {
      try write { try lines.add($0) }
      try receiver.finish()
    } catch {
      try receiver.settle()
      throw error
    }
    return try propose(head)
  }

  /// What takes in commits for this store.
  func receiver() throws -> CommitReceiver {
    if case .readOnly(let reason) = store.access { throw ModelError.readOnly(reason: reason) }
    _ = try store.refresh()
    return CommitReceiver(store, try onStorage { () throws(StorageError) in try CommitGraph(store.engine) }, now: now)
  }

  /// Moves head to a commit that is here, where nothing of head's history is lost by it.
  func propose(_ head: CommitIdentity) throws -> Bool {
    defer { if !store.keepsLock { store.engine.releaseLock() } }
    return try StoreExchange(store, now: now).moveHead(to: head)
  }
}

/// Cuts bytes into lines.
final class LineSplitter {
  private var ahead: [UInt8] = []
  private let take: ([UInt8]) throws -> Void

  init(_ take: @escaping ([UInt8]) throws -> Void) { self.take = take }

  func add(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      let line = ahead.isEmpty ? Array(rest[..<end]) : ahead + rest[..<end]
      ahead.removeAll()
      try take(line)
      rest = rest[(end + 1)...]
    }
    ahead += rest
  }
}
