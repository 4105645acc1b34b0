import StrataModel
import StrataExpressions
import StrataEngine
import Testing

@testable import StrataExchange

extension ExchangedStore {
  /// A commit beside head on an older one, merged into head at once.
  func forkAndMerge(at fork: CommitNumber, into head: CommitNumber) throws -> CommitNumber {
    let side = try own.engine.beginBlocking(on: fork.rawValue)
    try side.createTree(TreeName(Array("Xside".utf8)), kind: .entries)
    let number = try #require(try side.commit(CommitInfo(action: "side")))
    try number.wait()
    let merge = try own.engine.beginBlocking()
    let pending = try #require(
      try merge.commit(CommitInfo(action: "merge", parents: [head.rawValue, number.number])))
    try pending.wait()
    return CommitNumber(pending.number)
  }

  var exchange: StoreExchange { StoreExchange(own, now: LocalTime.now) }

  @discardableResult
  func fetch(_ other: ExchangedStore) throws -> StoreExchange.Fetched {
    try exchange.fetch(StorePeer(other.own, name: other.own.path, now: LocalTime.now), as: other.own.path)
  }

  @discardableResult
  func push(_ other: ExchangedStore) throws -> Int {
    try exchange.push(StorePeer(other.own, name: other.own.path, now: LocalTime.now), as: other.own.path)
  }

  @discardableResult
  func merge(
    _ commit: CommitIdentity, _ policy: MergePolicy = .ask, unrelated: Bool = false
  ) throws -> StoreExchange.Merged {
    try exchange.merge(commit, policy: policy, unrelated: unrelated)
  }

  /// A merge under an identity of this store's own, as one that a person settled.
  func mergeByHand(_ commit: CommitIdentity) throws {
    let plan = try MergePlanner(own, graph).plan(commit)
    _ = try #require(try own.commit(plan.changes, CommitInfo(action: "merge by hand"), options: EditOptions()))
  }

  func fetchAndMerge(_ other: ExchangedStore, _ policy: MergePolicy = .ask) throws {
    guard let head = try fetch(other).heads.first else { return }
    _ = try #require(try merge(head, policy).head)
  }

  /// The newest state, and every commit's frame.
  func expectHeadSound(_ comment: String, _ place: SourceLocation = #_sourceLocation) throws {
    let report = try own.verifyModel(at: own.head.commit)
    #expect(report.isClean, "\(comment): \(own.path): \(report.allFindings)", sourceLocation: place)
  }

  /// The versions that a record has from a commit on, by who its commits are.
  func versions(of identifier: Int64, from commit: UInt64) throws -> [String] {
    let graph = try self.graph
    let key = try KeyEncoding.integer.encode(.integer(identifier))
    var found: [String] = []
    var versions = try own.engine.view(at: commit).versions(of: .bytes(key), in: .records(of: "City"))
    while let version = try versions.next() {
      let kind = version.change.map { "\($0.kind)" } ?? "delete"
      found.append("\(graph.identity(of: version.commit)?.text ?? "?") \(kind)")
    }
    return found
  }

  /// Every commit that another store has too tells the same versions of some records as there.
  func expectSameVersions(
    as other: ExchangedStore, of identifiers: [Int64], _ comment: String = "",
    _ place: SourceLocation = #_sourceLocation
  ) throws {
    let (graph, others) = (try self.graph, try other.graph)
    for number in graph.numbers {
      let identity = try #require(graph.identity(of: number))
      guard let there = others.number(of: identity) else { continue }
      for identifier in identifiers {
        let told = try versions(of: identifier, from: number)
        let expected = try other.versions(of: identifier, from: there)
        #expect(told == expected, "\(comment) record \(identifier) at #\(number), #\(there)", sourceLocation: place)
      }
    }
  }
}

extension CommitGraph {
  /// All commits that are known, of a run the last one, in no order.
  var identities: [CommitIdentity] { entries.filter(\.isKnown).map(\.identity) }

  /// Commits and all that they were made on, as far as it is known; each commit of a run by itself.
  func ancestry(of commits: [CommitIdentity]) -> Set<CommitIdentity> {
    var (seen, open): (Set<CommitIdentity>, [CommitIdentity]) = ([], commits)
    while let next = open.popLast() {
      guard let node = self[next], seen.insert(next).inserted else { continue }
      open += node.parents
    }
    return seen
  }
}

/// Numbers that a seed gives again.
struct Xorshift {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

  mutating func next(below limit: Int) -> Int {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return Int(state % UInt64(limit))
  }
}
