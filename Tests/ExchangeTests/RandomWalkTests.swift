import DatastoreModel
import Documents
import Expressions
import StorageEngine
import Testing

@testable import Exchange

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Three to five stores that are edited, compacted and exchanged at random, each transfer cut where chance wants it. `STRATA_SEED` runs one
/// walk again, `STRATA_WALKS` runs more of them; `STRATA_EACH` looks at all stores after each step, to find the one that breaks one.
@Suite("Random walks of exchange")
struct RandomWalkTests {
  private static var seeds: [UInt64] {
    if let text = getenv("STRATA_SEED").map({ String(cString: $0) }), let seed = UInt64(text) { return [seed] }
    let count = getenv("STRATA_WALKS").flatMap { UInt64(String(cString: $0)) } ?? 6
    return Array(1...max(1, count))
  }

  @Test("all stores end equal and sound, with every acknowledged edit in every history", arguments: seeds)
  func walk(seed: UInt64) throws {
    var walk = try Walk(seed: seed)
    var look = EachStep()
    for step in 0..<60 {
      let done = try walk.step()
      guard getenv("STRATA_EACH") != nil, let fault = try look.fault(in: walk.stores) else { continue }
      Issue.record("seed \(seed), step \(step), \(done): \(fault)")
      return
    }
    try walk.settle()
    let first = walk.stores[0]
    let graph = try first.graph
    for store in walk.stores {
      #expect(store.head == first.head, "seed \(seed)")
      #expect(try store.contents() == first.contents(), "seed \(seed)")
      let ancestry = try store.graph.ancestry(of: [store.head])
      for edit in walk.acknowledged { #expect(ancestry.contains(edit), "seed \(seed): \(edit.text)") }
      try store.expectHeadSound("seed \(seed)")
    }
    #expect(walk.acknowledged.allSatisfy { graph.knows($0) })
    #expect(walk.cuts > 0 && walk.acknowledged.count > 10, "seed \(seed)")
  }

  private struct Walk {
    var random: Xorshift
    var stores: [ExchangedStore] = []
    var acknowledged: [CommitIdentity] = []
    var cuts = 0

    init(seed: UInt64) throws {
      random = Xorshift(seed)
      let first = try ExchangedStore("one")
      for number in 1...6 { try first.put(#"{"id":\#(number),"name":"n\#(number)","a":0,"b":0}"#) }
      stores = [first]
      for name in ["two", "three", "four", "five"].prefix(2 + random.next(below: 3)) {
        let store = try ExchangedStore(name, isEmpty: true)
        try store.fetchAndMerge(first)
        stores.append(store)
      }
    }

    /// Answers what it did.
    mutating func step() throws -> String {
      let place = random.next(below: stores.count)
      let store = stores[place]
      let what = random.next(below: 13)
      switch what {
      case 0..<5: try edit(store)
      case 5:
        if let commit = try store.own.undoCandidate(), commit.rawValue > 8,
          (try? store.own.undo(commit, named: "undo")) != nil
        {
          acknowledged.append(store.head)
        }
      case 6:
        let retention = random.next(below: 2) == 0 ? Retention.all : .last(2 + random.next(below: 4))
        _ = try store.own.engine.compact(retention) { _ in true }
        return "\(store.own.path) compacts to \(retention)"
      case 7: return "\(store.own.path), cut: " + (try exchange(store, cutting: true))
      case 12: try changeIndex(of: store)
      default: return "\(store.own.path): " + (try exchange(store, cutting: false))
      }
      return "\(store.own.path) edits (\(what))"
    }

    private mutating func edit(_ store: ExchangedStore) throws {
      let identifier = Int64(1 + random.next(below: 8))
      let old = try store.text(identifier)
      let before = store.head
      if old != nil, random.next(below: 6) == 0 {
        try store.delete(identifier)
      } else {
        var document =
          try old.map { try JSONParser.parse($0) } ?? ["id": .number(NumberText(identifier)), "name": "new"]
        let field = ["name", "a", "b"][random.next(below: 3)]
        let path = try DocumentPath(parsing: ".\(field)")
        let value = random.next(below: 3)
        document = try document.setting(path, to: field == "name" ? .string("v\(value)") : .number(NumberText(value)))
        try store.put(document.json(.compact).text)
      }
      if store.head != before { acknowledged.append(store.head) }
    }

    /// Adds an index over one field or another, drops it, or fills it anew where a merge has left it to be filled.
    private mutating func changeIndex(of store: ExchangedStore) throws {
      let datastore = try #require(try store.own.head.datastore("City"))
      if let index = datastore.descriptor.index("b") {
        if index.isStale {
          _ = try store.own.rebuildIndex("b", of: "City", options: EditOptions())
        } else {
          _ = try store.own.dropIndex("b", of: "City")
        }
      } else {
        let rule = random.next(below: 2) == 0 ? ".a" : ".b"
        _ = try store.own.addIndex(
          IndexDescriptor(name: "b", kind: .oneToMany, encoding: .optional(.integer), valueType: "Int?", rule: rule),
          to: "City", options: EditOptions())
      }
      acknowledged.append(store.head)
    }

    /// Fetch, merge, push, with one of the others.
    private mutating func exchange(_ store: ExchangedStore, cutting: Bool) throws -> String {
      let others = stores.filter { $0.own !== store.own }
      let other = others[random.next(below: others.count)]
      guard cutting else {
        try exchange(store, other)
        return "exchanges with \(other.own.path)"
      }
      let peer = CutPeer(
        StorePeer(other.own, name: other.own.path, now: LocalTime.now), after: random.next(below: 6_000))
      do {
        let fetched = try store.exchange.fetch(peer, as: other.own.path)
        if let head = fetched.heads.first { try store.merge(head, policy()) }
        _ = try store.exchange.push(peer, as: other.own.path)
      } catch is CutPeer.Cut {
        cuts += 1
      } catch is ExchangeError {
        // A line that was cut in two, as a receiver sees it.
        cuts += 1
      }
      return "exchanges with \(other.own.path)"
    }

    /// Whoever settles a merge settles it for all.
    private mutating func policy() -> MergePolicy { [.later, .ours, .theirs][random.next(below: 3)] }

    private mutating func exchange(_ store: ExchangedStore, _ other: ExchangedStore) throws {
      let fetched = try store.fetch(other)
      if let head = fetched.heads.first { try store.merge(head, policy()) }
      try store.push(other)
    }

    /// One round with the first, twice, makes all equal where nobody edits.
    mutating func settle() throws {
      if cuts == 0 {
        try stores[1].put(#"{"id":7,"name":"to be cut"}"#)
        acknowledged.append(stores[1].head)
        let peer = CutPeer(StorePeer(stores[1].own, name: "two", now: LocalTime.now), after: 100)
        #expect(throws: (any Error).self) { try stores[0].exchange.fetch(peer, as: "two") }
        cuts += 1
      }
      for store in stores.dropFirst() { try exchange(store, stores[0]) }
      for store in stores.dropFirst() { try exchange(store, stores[0]) }
    }
  }
}

/// What `STRATA_EACH` looks for: records that are not sound, and commits whose past a store does not know as the one that made them did.
private struct EachStep {
  /// The past of each commit, as the first store knew it that had it.
  private var pasts: [CommitIdentity: Set<CommitIdentity>] = [:]

  mutating func fault(in stores: [ExchangedStore]) throws -> String? {
    for store in stores {
      let head = store.own.engine.head.commit
      guard try store.own.verifyModel(at: store.own.head.commit).isClean else {
        return "\(store.own.path) is not sound: \(head.action) of \(head.parents)"
      }
      let graph = try store.graph
      for identity in graph.numbers.compactMap({ graph.identity(of: $0) }) {
        let past = graph.ancestry(of: [identity])
        guard let known = pasts[identity] else {
          pasts[identity] = past
          continue
        }
        let lost = known.subtracting(past).map(\.text).sorted()
        if !lost.isEmpty { return "\(store.own.path) does not know that \(identity.text) was made on \(lost)" }
      }
    }
    return nil
  }
}

/// A peer whose line is cut after so many bytes, in either direction.
private final class CutPeer: Peer {
  struct Cut: Error {}

  private let peer: any Peer
  private var left: Int
  var name: String { peer.name }

  init(_ peer: any Peer, after bytes: Int) {
    self.peer = peer
    left = bytes
  }

  func heads() throws -> [CommitIdentity] { try peer.heads() }
  func haves() throws -> [Have] { try peer.haves() }

  func fetch(
    haves: [Have], wants: [CommitIdentity], of tips: [CommitIdentity], take: ([UInt8]) throws -> Void
  ) throws {
    try peer.fetch(haves: haves, wants: wants, of: tips) { line in try take(cut(line)) }
    if left == 0 { throw Cut() }
  }

  func push(_ commits: OutgoingCommits) throws -> Bool {
    var cut = commits
    cut.write = { sink in try commits.write { try sink(self.cut($0)) } }
    return try peer.push(cut)
  }

  private func cut(_ bytes: [UInt8]) throws -> [UInt8] {
    guard left > 0 else { throw Cut() }
    let part = Array(bytes.prefix(left))
    left = max(0, left - bytes.count)
    return part
  }
}
