package import DatastoreModel
import Documents
package import StorageEngine

/// Exchange of a store with its other copies: fetch, merge, push, and what is made of them.
///
/// Calls block on the disk, and on the peer; one thread at a time. Nothing here moves `head` but `moveHead` and `merge`, and these never so
/// that somebody's work leaves its history. What it knows of the commits it keeps from call to call, so that the next one reads only what is
/// new: whoever exchanges often keeps one.
package struct StoreExchange {
  package let store: OwnStore
  let now: Int64
  /// So many bytes of the file are kept for a fetch that was cut.
  let mostUnfinished: UInt64
  private let known = KnownGraph()

  private final class KnownGraph {
    var graph: CommitGraph?
    /// Of what the store's folder remembers: the file of the data, and how many commits.
    var remembered: (generation: UInt64, count: Int) = (0, 0)
  }

  /// So many commits are read rather than written down again.
  private static let mostUnremembered = 512

  /// - Parameters:
  ///   - now: nanoseconds since 1970, by this machine's clock.
  ///   - mostUnfinished: so many bytes of the store's file are kept for a fetch that was cut.
  package init(_ store: OwnStore, now: Int64, mostUnfinished: UInt64 = 1 << 30) {
    self.store = store
    self.now = now
    self.mostUnfinished = mostUnfinished
  }

  /// The commits that the store has, as of now.
  package func graph() throws -> CommitGraph {
    _ = try store.refresh()
    if known.graph == nil { known.graph = remembered() }
    if known.graph == nil {
      known.graph = try CommitGraph(store.engine)
    } else {
      try known.graph?.update(store.engine)
    }
    guard let graph = known.graph else { throw ModelError.noSuchStore(path: store.path, reason: "it has no commits") }
    remember(graph)
    return graph
  }

  /// What an earlier exchange has written down, of whatever process.
  private func remembered() -> CommitGraph? {
    guard !store.isInMemory, !store.engine.isServed,
      let graph = AncestryFile(storeAt: store.path).read(of: store.engine)
    else { return nil }
    known.remembered = (graph.generation, graph.numbers.count)
    return graph
  }

  /// Writes down what was read, where that was much. That it cannot be fails no exchange.
  private func remember(_ graph: CommitGraph) {
    let count = known.remembered.generation == graph.generation ? known.remembered.count : 0
    guard graph.numbers.count - count > Self.mostUnremembered, case .readWrite = store.access, !store.isInMemory,
      !store.engine.isServed
    else { return }
    known.remembered = (graph.generation, graph.numbers.count)
    try? AncestryFile(storeAt: store.path).write(graph, of: store.engine)
  }

  /// A commit by its lasting identity; nil where it does not lie here.
  package func commit(_ identity: CommitIdentity) throws -> Commit? {
    try graph().number(of: identity).map { try store.commit(CommitNumber($0)) }
  }

  // MARK: Head

  /// Moves head to a commit that lies here, where it is in the other's history; answers whether head is there now.
  package func moveHead(to commit: CommitIdentity) throws -> Bool {
    for _ in 0..<8 {
      let graph = try graph()
      guard let number = graph.number(of: commit) else { throw ModelError.noSuchCommit(commit.text) }
      let head = store.engine.head.commit
      if head.number == number { return true }
      if head.number > 0, try !isReplacing(head.identity, by: commit, graph) { return false }
      let moved = try keepBook(on: head.number) { $0.head = number }
      if moved { return true }
    }
    throw ModelError.refused(reason: "head moves too fast; try again")
  }

  /// Whether head may become another commit: one that was made on it, or the lower one of two that are the same.
  func isReplacing(_ head: CommitIdentity, by commit: CommitIdentity, _ graph: CommitGraph) throws -> Bool {
    if graph.contains(head, in: commit) { return true }
    return try MergePlanner(store, graph).replaces(commit, head)
  }

  /// Moves head whatever is lost of its history by that; false where it is not the commit any more that it was.
  func setHead(to commit: UInt64, from head: UInt64) throws -> Bool { try keepBook(on: head) { $0.head = commit } }

  /// Makes a commit that stands beside all histories; false where head is another one by now.
  func keepBook(on head: UInt64?, _ change: (inout CommitInfo) -> Void) throws -> Bool {
    var info = CommitInfo(action: "exchange", flags: .bookkeeping, movesHead: false)
    change(&info)
    let transaction = try store.engine.beginBlocking()
    guard head == nil || transaction.headNumber == head else {
      transaction.cancel()
      return false
    }
    try transaction.commit(info)?.wait()
    return true
  }

  // MARK: What is here

  /// What is told to a peer of what is here: heads, names, and what an earlier transfer left.
  func haves(_ graph: CommitGraph) throws -> [Have] {
    let names = try store.engine.names
    let tips = [store.engine.head.commit.number] + names.values.sorted()
    var identities = tips.compactMap { graph.identity(of: $0) }
    identities += graph.leaves.suffix(64)
    let haves = graph.haves(tips: identities)
    try foresee(haves, graph)
    return try haves.map { try have($0, graph) }
  }

  private func foresee(_ identities: [CommitIdentity], _ graph: CommitGraph) throws {
    try store.engine.foresee(commits: identities.compactMap { graph.number(of: $0) })
  }

  private func have(_ identity: CommitIdentity, _ graph: CommitGraph) throws -> Have {
    guard let node = graph[identity], let number = node.number else { throw ModelError.noSuchCommit(identity.text) }
    let commit = try store.engine.commit(number)
    return Have(identity, digest: CommitDigest.text(of: commit, node))
  }

  /// Those of a peer's commits that are known here too. Throws where one is another commit here.
  func known(_ haves: [Have], in graph: CommitGraph) throws -> [CommitIdentity] {
    try foresee(haves.map(\.identity), graph)
    var known: [CommitIdentity] = []
    for have in haves where graph.knows(have.identity) {
      if graph.number(of: have.identity) != nil, try self.have(have.identity, graph).digest != have.digest {
        throw ExchangeError.cloned(have.identity)
      }
      known.append(have.identity)
    }
    return known
  }

  /// What two stores compare that have one head: how many records each datastore has, and on a second line, of a merge with few changes, a
  /// check of what it made of its lower parent. Programs of old made one commit of merges that came out differently, which no exchange
  /// finds otherwise.
  func headCheck() throws -> String {
    let (head, graph) = (store.engine.head.commit, try graph())
    if head.number == 0 { return "" }
    let datastores = try store.view(at: CommitNumber(head.number)).datastores
    let counts = try datastores.map { "\($0.descriptor.key) \(try $0.count)" }.sorted().joined(separator: ", ")
    guard head.isMechanicalMerge, let base = graph[head.identity]?.parents.min().flatMap({ graph.number(of: $0) })
    else {
      return counts
    }
    let reader = try store.changes(from: CommitNumber(base), to: CommitNumber(head.number))
    var (check, count): (UInt32, Int) = (0, 0)
    while case let changes = try reader.next(512), !changes.isEmpty {
      count += changes.count
      if count > Self.mostCheckedChanges { return counts }
      for change in changes {
        check = crc32c(check, Array(change.datastore.utf8) + change.identifier.bytes)
        check = crc32c(check, change.new.map { Array($0.version.utf8) + $0.content } ?? [])
      }
    }
    return "\(counts)\n\(check)"
  }

  private static let mostCheckedChanges = 10_000

  /// The name that a remote's head has here; those of a folder with several have `/2`, `/3` and so on behind it.
  package static func name(of remote: String) -> String { "remotes/\(remote)" }

  /// Lets go of the writer's lock, where the store does not keep it.
  func releaseLock() {
    if !store.keepsLock { store.engine.releaseLock() }
  }

  func requireWritable() throws {
    if case .readOnly(let reason) = store.access { throw ModelError.readOnly(reason: reason) }
  }
}

/// Runs what exchanges, with its errors told as the model's.
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
