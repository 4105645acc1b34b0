package import StrataModel
package import StrataEngine

/// Exchange of a store with its other copies: fetch, merge and push.
///
/// Calls block on the disk, and on the peer; one thread at a time. Only `moveHead` and `merge` move `head`, and never so that a user's work
/// leaves its history. The exchange keeps its knowledge of the commits from call to call, so that the next call reads only new ones: keep
/// one if you exchange often.
package struct StoreExchange {
  package let store: EngineStore
  let now: Int64
  /// The bytes of the file that are kept for a fetch that was cut off.
  let mostUnfinished: UInt64
  private let known = KnownGraph()

  private final class KnownGraph {
    var graph: CommitGraph?
    /// The file of the data and the number of commits that the store's folder has in its ancestry file.
    var remembered: (generation: UInt64, count: Int) = (0, 0)
  }

  /// Up to this number, new commits are read again rather than written to the ancestry file.
  private static let mostUnremembered = 512

  /// - Parameter now: Nanoseconds since 1970, by this machine's clock.
  package init(_ store: EngineStore, now: Int64, mostUnfinished: UInt64 = 1 << 30) {
    self.store = store
    self.now = now
    self.mostUnfinished = mostUnfinished
  }

  /// The commits that the store has, as of now.
  package func graph() throws -> CommitGraph {
    _ = try store.refresh()
    // Taken out, so that it is not copied when it grows.
    var graph = known.graph.take() ?? remembered() ?? CommitGraph(generation: store.engine.identity.generation)
    try graph.update(store.engine)
    known.graph = graph
    remember(graph)
    return graph
  }

  /// The graph that an earlier exchange has written, of whichever process.
  private func remembered() -> CommitGraph? {
    guard !store.isInMemory, !store.engine.isServed,
      let graph = AncestryFile(storeAt: store.path).read(of: store.engine)
    else { return nil }
    known.remembered = (graph.generation, graph.numbers.count)
    return graph
  }

  /// Writes the graph if many commits were read since. If that fails, the exchange still succeeds.
  private func remember(_ graph: CommitGraph) {
    let count = known.remembered.generation == graph.generation ? known.remembered.count : 0
    guard graph.numbers.count - count > Self.mostUnremembered, case .readWrite = store.access, !store.isInMemory,
      !store.engine.isServed
    else { return }
    known.remembered = (graph.generation, graph.numbers.count)
    try? AncestryFile(storeAt: store.path).write(graph, of: store.engine)
  }

  /// A commit by its lasting identity; nil if it is not in this store.
  package func commit(_ identity: CommitIdentity) throws -> CommitDetails? {
    try graph().number(of: identity).map { try store.commit(CommitNumber($0)) }
  }

  // MARK: Head

  /// Moves head to a commit in this store if head is in that commit's history; returns whether head is there now.
  package func moveHead(to commit: CommitIdentity) throws -> Bool {
    for _ in 0..<8 {
      let graph = try graph()
      guard let number = graph.number(of: commit) else { throw ModelError.noSuchCommit(commit.text) }
      let head = store.engine.head.commit
      if head.number == number { return true }
      if head.number > 0, try !isReplacing(head.identity, by: commit, graph) { return false }
      let moved = try commitBookkeeping(on: head.number) { $0.head = number }
      if moved { return true }
    }
    throw ModelError.refused(reason: "head moves too fast; try again")
  }

  /// Whether head may become another commit: one that was made on it, or the lower one of two twins.
  func isReplacing(_ head: CommitIdentity, by commit: CommitIdentity, _ graph: CommitGraph) throws -> Bool {
    if graph.contains(head, in: commit) { return true }
    return try MergePlanner(store, graph).replaces(commit, head)
  }

  /// Makes a commit outside of all histories; returns false if head is another one by now.
  func commitBookkeeping(on head: UInt64?, _ change: (inout CommitInfo) -> Void) throws -> Bool {
    var info = CommitInfo(action: "exchange", flags: .bookkeeping, movesHead: false)
    change(&info)
    let transaction = try store.engine.beginBlocking()
    guard head == nil || transaction.headNumber == head else { return false }
    try transaction.commit(info)?.wait()
    return true
  }

  // MARK: Commits of this store

  /// The commits to name to a peer: heads, names, and those that an earlier transfer left.
  func haves(_ graph: CommitGraph) throws -> [Have] {
    let names = try store.engine.names
    let tips = [store.engine.head.number] + names.values.sorted()
    var identities = tips.compactMap { graph.identity(of: $0) }
    identities += graph.leaves.suffix(64)
    let haves = graph.haves(tips: identities)
    try prefetch(haves, graph)
    return try haves.map { try have($0, graph) }
  }

  private func prefetch(_ identities: [CommitIdentity], _ graph: CommitGraph) throws {
    try store.engine.prefetch(commits: identities.compactMap { graph.number(of: $0) })
  }

  private func have(_ identity: CommitIdentity, _ graph: CommitGraph) throws -> Have {
    guard let node = graph[identity], let number = node.number else { throw ModelError.noSuchCommit(identity.text) }
    let commit = try store.engine.commit(number)
    return Have(identity, digest: CommitDigest.text(of: commit, node))
  }

  /// The peer's commits that are known here too. Throws if one is another commit here.
  func known(_ haves: [Have], in graph: CommitGraph) throws -> [CommitIdentity] {
    try prefetch(haves.map(\.identity), graph)
    var known: [CommitIdentity] = []
    for have in haves where graph.knows(have.identity) {
      if graph.number(of: have.identity) != nil, try self.have(have.identity, graph).digest != have.digest {
        throw ExchangeError.cloned(have.identity)
      }
      known.append(have.identity)
    }
    return known
  }

  /// The check that two stores with the same head compare: the number of records of each datastore. For a merge with few changes a second
  /// line has a check of its changes to its lower parent. Old programs made one commit of merges that came out differently, which no
  /// exchange finds otherwise.
  func headCheck() throws -> String {
    let (head, graph) = (store.engine.head.commit, try graph())
    if head.number == 0 { return "" }
    let datastores = try store.view(at: CommitNumber(head.number)).datastores
    let counts = try datastores.map { "\($0.descriptor.key) \(try $0.count)" }.sorted().joined(separator: ", ")
    guard head.isMechanicalMerge, let base = graph[head.identity]?.parents.min().flatMap({ graph.number(of: $0) })
    else {
      return counts
    }
    var (check, count): (UInt32, Int) = (0, 0)
    let excess = try store.firstChange(from: CommitNumber(base), to: CommitNumber(head.number)) { change in
      count += 1
      check = crc32c(check, Array(change.datastore.utf8) + change.identifier.bytes)
      check = crc32c(check, change.new.map { Array($0.version.utf8) + $0.content } ?? [])
      return count > Self.mostCheckedChanges
    }
    return excess == nil ? "\(counts)\n\(check)" : counts
  }

  private static let mostCheckedChanges = 10_000

  /// The local name of a remote's head; further heads of a folder have `/2`, `/3` and so on behind it.
  package static func name(of remote: String) -> String { "remotes/\(remote)" }

  func releaseLock() {
    if !store.keepsLock { store.engine.releaseLock() }
  }

  func requireWritable() throws {
    if case .readOnly(let reason) = store.access { throw ModelError.readOnly(reason: reason) }
  }
}

/// Runs an exchange and turns its errors into those of the model.
package func onExchange<Value>(_ body: () throws -> Value) throws(ModelError) -> Value {
  do {
    return try body()
  } catch let error as ModelError {
    throw error
  } catch let error as StorageError {
    throw ModelError(error)
  } catch {
    throw .refused(reason: "\(error)")
  }
}
