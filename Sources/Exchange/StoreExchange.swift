package import DatastoreModel
import Documents
package import StorageEngine

/// Exchange of a store with its other copies: fetch, merge, push, and what is made of them.
///
/// Calls block on the disk, and on the peer. Nothing here moves `head` but `moveHead` and `merge`, and these never so that a commit leaves
/// its history.
package struct StoreExchange {
  package let store: OwnStore
  private let now: Int64

  /// - Parameter now: nanoseconds since 1970, by this machine's clock.
  package init(_ store: OwnStore, now: Int64) {
    self.store = store
    self.now = now
  }

  package func graph() throws -> CommitGraph {
    _ = try store.refresh()
    return try onStorage { () throws(StorageError) in try CommitGraph(store.engine) }
  }

  // MARK: Taking in

  /// What came in.
  package struct Taken: Sendable, Hashable {
    /// Commits that were not here before.
    package var received = 0
    /// The newest one of what came, whether it was here before or not.
    package var newest: CommitNumber?
    package var movedHead = false
  }

  /// Takes in a stream, and moves head where nothing of its history is lost by it.
  package func takeIn(_ lines: LineReader) throws -> Taken {
    let receiver = try receiver()
    defer { if !store.keepsLock { store.engine.releaseLock() } }
    do {
      while let line = try lines.next() { try receiver.take(line) }
      try receiver.finish()
    } catch {
      try receiver.settle()
      throw error
    }
    var taken = Taken(received: receiver.received.count)
    guard let newest = receiver.newest, let number = receiver.graph.number(of: newest) else { return taken }
    taken.newest = CommitNumber(number)
    taken.movedHead = try moveHead(to: newest)
    return taken
  }

  private func receiver() throws -> CommitReceiver {
    if case .readOnly(let reason) = store.access { throw ModelError.readOnly(reason: reason) }
    return CommitReceiver(store, try graph(), now: now)
  }

  /// Moves head to a commit that lies here, where it is in the other's history; answers whether head is there now.
  package func moveHead(to commit: CommitIdentity) throws -> Bool {
    for _ in 0..<8 {
      let graph = try graph()
      guard let number = graph.number(of: commit) else { throw ModelError.noSuchCommit(commit.text) }
      let head = store.engine.head.commit
      if head.number == number { return true }
      if head.number > 0, !graph.contains(head.identity, in: commit) { return false }
      let moved = try keepBook(on: head.number) { $0.head = number }
      if moved { return true }
    }
    throw ModelError.refused(reason: "head moves too fast; try again")
  }

  /// Moves head whatever is lost of its history by that; false where it is not the commit any more that it was.
  func setHead(to commit: UInt64, from head: UInt64) throws -> Bool { try keepBook(on: head) { $0.head = commit } }

  /// Makes a commit that stands beside all histories; false where head is another one by now.
  private func keepBook(on head: UInt64?, _ change: (inout CommitInfo) -> Void) throws -> Bool {
    var info = CommitInfo(action: "exchange", flags: .bookkeeping, movesHead: false)
    change(&info)
    return try onStorage { () throws(StorageError) in
      let transaction = try store.engine.beginBlocking()
      guard head == nil || transaction.headNumber == head else {
        transaction.cancel()
        return false
      }
      try transaction.commit(info)?.wait()
      return true
    }
  }

  // MARK: What is here

  /// What is told to a peer of what is here: heads, names, and what an earlier transfer left.
  static func haves(_ graph: CommitGraph, of store: OwnStore) throws -> [Have] {
    let names = try onStorage { () throws(StorageError) in try store.engine.names }
    let tips = [store.engine.head.commit.number] + names.values.sorted()
    var identities = tips.compactMap { graph.identity(of: $0) }
    identities += graph.leaves.suffix(64)
    return try graph.haves(tips: identities).map { try have($0, graph, store) }
  }

  private static func have(_ identity: CommitIdentity, _ graph: CommitGraph, _ store: OwnStore) throws -> Have {
    guard let number = graph.number(of: identity), let node = graph.nodes[identity] else {
      throw ModelError.noSuchCommit(identity.text)
    }
    let commit = try onStorage { () throws(StorageError) in try store.engine.commit(number) }
    return Have(identity, digest: CommitDigest.text(of: commit, node))
  }

  /// Those of a peer's commits that are known here too. Throws where one is another commit here.
  static func known(_ haves: [Have], in graph: CommitGraph, of store: OwnStore) throws -> [CommitIdentity] {
    var known: [CommitIdentity] = []
    for have in haves where graph.knows(have.identity) {
      if graph.number(of: have.identity) != nil, try self.have(have.identity, graph, store).digest != have.digest {
        throw ExchangeError.cloned(have.identity)
      }
      known.append(have.identity)
    }
    return known
  }

  /// The name that a remote's head has here.
  package static func name(of remote: String) -> String { "remotes/\(remote)" }

  // MARK: Fetch and push

  /// Brings the commits that are missing here, and names the peer's head `remotes/NAME`; of a folder with several, the others
  /// `remotes/NAME/2` and so on. Answers the heads that are there to be merged.
  package func fetch(_ peer: any Peer, as remote: String) throws -> (received: Int, heads: [CommitIdentity]) {
    if case .readOnly(let reason) = store.access { throw ModelError.readOnly(reason: reason) }
    defer { if !store.keepsLock { store.engine.releaseLock() } }
    let heads = try peer.heads()
    var graph = try graph()
    var received = 0
    if heads.contains(where: { graph.number(of: $0) == nil }) {
      if let folder = peer as? FolderPeer {
        try folder.fetch(
          into: { lines in
            let receiver = CommitReceiver(store, graph, now: now)
            defer {
              received += receiver.received.count
              graph = receiver.graph
            }
            try Self.read(receiver) { while let line = try lines.next() { try receiver.take(line) } }
          }, isKnown: { graph.number(of: $0) != nil })
      } else {
        try Self.asking { wants in
          let receiver = CommitReceiver(store, graph, now: now)
          defer {
            received += receiver.received.count
            graph = receiver.graph
          }
          let haves = try Self.haves(graph, of: store)
          try Self.read(receiver) { try peer.fetch(haves: haves, wants: wants) { try receiver.take($0) } }
        }
        if let missing = heads.first(where: { graph.number(of: $0) == nil }) {
          throw ExchangeError.peer(name: peer.name, reason: "its head \(missing.text) did not come")
        }
      }
    }
    let newest = graph.newest(of: heads.filter { graph.number(of: $0) != nil })
    try note(remote, newest, graph)
    return (received, newest)
  }

  /// Sends or fetches, and again with what turns out to be lacking: what one side has pruned the other may have.
  private static func asking(_ body: (_ wants: [CommitIdentity]) throws -> Void) throws {
    var wants: [CommitIdentity] = []
    while true {
      do {
        return try body(wants)
      } catch ExchangeError.missing(let commit, let line) {
        guard !wants.contains(commit), wants.count < 1_000 else { throw ExchangeError.missing(commit, line: line) }
        wants.append(commit)
      }
    }
  }

  /// Reads a stream to its end; what came whole stays also where it fails.
  private static func read(_ receiver: CommitReceiver, _ body: () throws -> Void) throws {
    do {
      try body()
      try receiver.finish()
    } catch {
      try receiver.settle()
      throw error
    }
  }

  /// Names a remote's heads, and what the first and head have in common, which compaction then keeps for the merge.
  private func note(_ remote: String, _ heads: [CommitIdentity], _ graph: CommitGraph) throws {
    // For people alone: that it cannot be kept fails no exchange.
    try? RemotesFile(storeAt: store.path).noteExchange(with: remote, at: now)
    let name = Self.name(of: remote)
    let known = try onStorage { () throws(StorageError) in try store.engine.names }
    var names: [String: UInt64?] = [:]
    for (place, head) in heads.enumerated() {
      names[place == 0 ? name : "\(name)/\(place + 1)"] = .some(graph.number(of: head))
    }
    if let theirs = heads.first, let ours = graph.identity(of: store.engine.head.commit.number) {
      let common = graph.nearestCommonAncestors(ours, theirs).compactMap { graph.number(of: $0) }.first
      names[name + "/common"] = .some(common)
    }
    for old in known.keys where old == name || old.hasPrefix(name + "/") {
      if names[old] == nil { names.updateValue(nil, forKey: old) }
    }
    let changes = names.filter { known[$0.key] != $0.value }
    guard !changes.isEmpty else { return }
    _ = try keepBook(on: nil) { $0.names = changes }
  }

  /// Sends what the peer lacks of head, and moves its head where nothing of it is lost.
  package func push(_ peer: any Peer, as remote: String) throws -> Int {
    let graph = try graph()
    guard let head = graph.identity(of: store.engine.head.commit.number) else { return 0 }
    let theirs = try peer.heads()
    var sent = 0
    if !theirs.contains(head) {
      let ancestry = graph.ancestry(of: [head])
      guard theirs.allSatisfy(ancestry.contains) else { throw ExchangeError.fetchFirst(peer.name) }
      let known = try peer is FolderPeer ? theirs : Self.known(peer.haves(), in: graph, of: store)
      let missing = CommitSender.missing(graph, heads: [head], haves: known)
      var isMoved = false
      try Self.asking { wants in
        isMoved = try peer.push(head) { sink in
          try CommitSender(store, graph, sink: sink).send(missing, since: known, whole: wants)
        }
      }
      guard isMoved else { throw ExchangeError.fetchFirst(peer.name) }
      sent = missing.count
    }
    guard case .readWrite = store.access else { return sent }
    defer { if !store.keepsLock { store.engine.releaseLock() } }
    try note(remote, [head], graph)
    return sent
  }

  // MARK: Merge

  /// What a merge did.
  package struct Merged: Sendable {
    package var plan: MergePlan
    /// Head after it; nil where nothing was written.
    package var head: CommitNumber?
  }

  /// Merges a commit that lies here into head. Where conflicts are open, nothing is written, and the plan tells them.
  package func merge(
    _ theirs: CommitIdentity, policy: MergePolicy, unrelated: Bool = false, isDryRun: Bool = false,
    named action: String = "Merge", options: EditOptions = EditOptions()
  ) throws -> Merged {
    for _ in 0..<8 {
      let plan = try MergePlanner(store, graph()).plan(theirs, policy: policy, unrelated: unrelated)
      if isDryRun || !plan.open.isEmpty { return Merged(plan: plan, head: nil) }
      switch plan.kind {
      case .nothing: return Merged(plan: plan, head: store.head.commit)
      case .fastForward:
        defer { if !store.keepsLock { store.engine.releaseLock() } }
        if try moveHead(to: theirs) { return Merged(plan: plan, head: store.head.commit) }
      case .merge:
        if let head = try commit(plan, named: action, options: options) { return Merged(plan: plan, head: head) }
      }
    }
    throw ModelError.refused(reason: "head moves too fast to be merged with; try again")
  }

  /// Commits a plan; nil where head is another commit by now.
  package func commit(
    _ plan: MergePlan, named action: String = "Merge", options: EditOptions = EditOptions()
  ) throws -> CommitNumber? {
    guard plan.open.isEmpty else { throw ExchangeError.unsettled(plan.open.count) }
    guard let ours = plan.ours else { return nil }
    try onStorage { () throws(StorageError) in try store.engine.admitCommitsOfOthers() }
    var info = CommitInfo(action: action)
    if plan.isMechanical {
      let parents = [ours, plan.theirs].sorted()
      let dates = try onStorage { () throws(StorageError) in
        (
          try store.engine.commit(plan.changes.first.rawValue).date,
          try store.engine.commit(plan.changes.second.rawValue).date
        )
      }
      info = CommitInfo(
        date: max(dates.0, dates.1), action: "Merge", program: "strata", author: "",
        identity: Self.identity(of: parents))
    }
    return try store.commit(plan.changes, info, options: options)
  }

  /// Who a merge is that nobody had to settle: whoever makes it of the same parents makes the same commit.
  private static func identity(of parents: [CommitIdentity]) -> CommitIdentity {
    let digest = SHA256.digest(of: Array("merge \(parents.map(\.text).joined(separator: " "))".utf8))
    return CommitIdentity(origin: digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } | 1, number: 1)
  }
}
