import StrataModel
import StrataDocuments
import StrataExpressions
import StrataEngine
import Testing

@testable import StrataExchange

@Suite("Merging two stores")
struct MergeTests {
  /// Two stores that have one commit in common with these records.
  static func pair(_ documents: String...) throws -> (ExchangedStore, ExchangedStore) {
    let ours = try ExchangedStore("ada")
    for document in documents { try ours.put(document) }
    let theirs = try ExchangedStore("bob", isEmpty: true)
    try theirs.fetchAndMerge(ours)
    return (ours, theirs)
  }

  @Test("different fields of a record both survive, and both stores make the same commit of it")
  func fields() throws {
    let (ours, theirs) = try Self.pair(#"{"id":1,"name":"London","population":1}"#)
    try ours.put(#"{"id":1,"name":"London","population":2}"#)
    try theirs.put(#"{"id":1,"name":"Londinium","population":1}"#)
    let (left, right) = (ours.head, theirs.head)
    try ours.fetch(theirs)
    try theirs.fetch(ours)
    // At once, of the same two heads.
    try ours.merge(right)
    try theirs.merge(left)
    #expect(ours.head == theirs.head)
    #expect(try ours.text(1) == #"{"id":1,"name":"Londinium","population":2}"#)
    #expect(try ours.contents() == theirs.contents())
    #expect(try ours.fetch(theirs).received == 0)
    for store in [ours, theirs] {
      try store.expectSound()
      #expect(try store.graph.contains(left, in: store.head) && store.graph.contains(right, in: store.head))
    }
  }

  @Test("a record that one side has changed is left out of the indexes in the merge if it is so there")
  func leftOut() throws {
    func leaveOut(_ identifier: Int64, in store: ExchangedStore) throws {
      let key = try KeyEncoding.integer.encode(.integer(identifier))
      try store.own.engine.change { transaction in
        try DatastoreWriter(ExchangedStore.descriptor, in: transaction).leaveOut(key, "no name")
      }
    }
    let ours = try ExchangedStore("ada")
    try ours.put(#"{"id":1,"name":"one"}"#, #"{"id":2,"name":"two"}"#, #"{"id":3,"name":"three"}"#)
    try leaveOut(1, in: ours)
    let theirs = try ExchangedStore("bob", isEmpty: true)
    try theirs.fetchAndMerge(ours)
    try theirs.put(#"{"id":1,"name":"mended"}"#, #"{"id":3,"name":"three","n":1}"#)
    try leaveOut(3, in: theirs)
    try ours.put(#"{"id":2,"name":"second"}"#)
    try ours.fetchAndMerge(theirs)
    let datastore = try #require(try ours.own.head.datastore("City"))
    #expect(try datastore.leftOut(limit: 9).map(\.identifier.description) == ["3"])
    try ours.expectSound()
  }

  /// A row of the table: the record before, here, there, and what comes out; nil: none.
  struct Row: CustomStringConvertible, Sendable {
    var base: String?
    var ours: String?
    var theirs: String?
    var result: String?
    var isConflict = false
    var description: String {
      "\(base ?? "–") \(ours ?? "–") \(theirs ?? "–") → \(isConflict ? "conflict" : result ?? "–")"
    }
  }

  private static let (b, x, y) = (
    #"{"id":1,"name":"b","n":0}"#, #"{"id":1,"name":"x","n":0}"#, #"{"id":1,"name":"b","n":5}"#
  )
  private static let z = #"{"id":1,"name":"z","n":0}"#

  static let rows: [Row] = [
    Row(base: b, ours: x, theirs: x, result: x), Row(base: nil, ours: x, theirs: x, result: x),
    Row(base: b, ours: b, theirs: y, result: y), Row(base: b, ours: x, theirs: b, result: x),
    Row(base: b, ours: nil, theirs: b, result: nil), Row(base: b, ours: b, theirs: nil, result: nil),
    Row(base: b, ours: nil, theirs: nil, result: nil), Row(base: nil, ours: x, theirs: nil, result: x),
    Row(base: nil, ours: nil, theirs: x, result: x),
    Row(base: b, ours: x, theirs: y, result: #"{"id":1,"name":"x","n":5}"#),
    Row(base: b, ours: y, theirs: x, result: #"{"id":1,"name":"x","n":5}"#),
    Row(base: b, ours: x, theirs: z, result: x, isConflict: true),
    Row(base: nil, ours: x, theirs: z, result: x, isConflict: true),
    Row(
      base: nil, ours: #"{"id":1,"name":"c","a":1}"#, theirs: #"{"id":1,"name":"c","d":2}"#,
      result: #"{"id":1,"name":"c","d":2,"a":1}"#),
    Row(base: b, ours: nil, theirs: y, result: y, isConflict: true),
    Row(base: b, ours: y, theirs: nil, result: y, isConflict: true),
  ]

  @Test("every row of the table, and its mirror", arguments: rows)
  func table(_ row: Row) throws {
    // Another record keeps the datastore from being taken whole.
    let (ours, theirs) = try Self.pair(#"{"id":2,"name":"two"}"#)
    if let base = row.base {
      try ours.put(base)
      try theirs.fetchAndMerge(ours)
    }
    try ours.put(#"{"id":3,"name":"three"}"#)
    try theirs.put(#"{"id":4,"name":"four"}"#)
    for (store, state) in [(ours, row.ours), (theirs, row.theirs)] where state != row.base {
      if let state { try store.put(state) } else { try store.delete(1) }
    }
    try ours.fetch(theirs)
    let plan = try MergePlanner(ours.own, ours.graph).plan(theirs.head)
    #expect(plan.open.count == (row.isConflict ? 1 : 0))
    let before = ours.own.head.commit
    if row.isConflict {
      #expect(try ours.merge(theirs.head).head == nil)
      #expect(ours.own.head.commit == before)
      try ours.merge(theirs.head, row.result == row.ours ? .ours : .theirs)
    } else {
      try ours.merge(theirs.head)
    }
    let wanted = try row.result.map { try JSONParser.parse($0) }
    #expect(try ours.text(1).map { try JSONParser.parse($0) } == wanted)
    for other in [2, 3, 4] as [Int64] { #expect(try ours.text(other) != nil) }
    try ours.expectSound()
    // The other side gets the same.
    try theirs.fetchAndMerge(ours)
    #expect(theirs.head == ours.head)
    #expect(try theirs.contents() == ours.contents())
    try theirs.expectSound()
  }

  @Test(
    "an edit that was taken back on one side stays taken back, also after a criss-cross, and a compaction that leaves out what it can",
    arguments: [false, true])
  func takenBack(isCompacted: Bool) throws {
    let (ours, theirs) = try Self.pair(#"{"id":1,"name":"b","n":0}"#, #"{"id":2,"name":"two"}"#)
    try ours.put(#"{"id":1,"name":"b","n":1}"#)
    try theirs.put(#"{"id":2,"name":"zwei"}"#)
    let (a, b) = (ours.head, theirs.head)
    try ours.fetch(theirs)
    try theirs.fetch(ours)
    // Each merges the other's first head under a name of its own, so that two different merges come of it.
    try ours.mergeByHand(b)
    try theirs.mergeByHand(a)
    #expect(ours.head != theirs.head)
    try theirs.put(#"{"id":1,"name":"b","n":0}"#)
    try ours.put(#"{"id":3,"name":"three"}"#)
    try ours.fetch(theirs)
    #expect(try ours.graph.nearestCommonAncestors(ours.head, theirs.head) == [a, b].sorted())
    if isCompacted {
      for _ in 0..<2 { _ = try ours.own.engine.compact(.last(1)) { _ in true } }
    }
    #expect(try ours.own.pins.map(\.name) == ["remotes/bob"])
    try ours.merge(theirs.head)
    #expect(try ours.text(1) == #"{"id":1,"name":"b","n":0}"#)
    #expect(try ours.text(2) == #"{"id":2,"name":"zwei"}"#)
    try theirs.fetchAndMerge(ours)
    #expect(try theirs.contents() == ours.contents())
    try ours.expectSound()
  }

  @Test("the later edit of a field wins where that was asked for, on both sides the same")
  func later() throws {
    let (ours, theirs) = try Self.pair(#"{"id":1,"name":"b","n":0}"#, #"{"id":2,"name":"two"}"#)
    try ours.put(#"{"id":1,"name":"first","n":0}"#)
    try theirs.put(#"{"id":1,"name":"second","n":1}"#)
    try ours.put(#"{"id":1,"name":"first","n":2}"#)
    try ours.put(#"{"id":2,"name":"deux"}"#)
    try ours.fetch(theirs)
    let merged = try ours.merge(theirs.head, .later)
    #expect(merged.plan.conflicts.first?.fields.map(\.path.description) == [".name", ".n"])
    #expect(try ours.text(1) == #"{"id":1,"name":"second","n":2}"#)
  }

  @Test("indexes follow what was merged, and the past of a record goes on where its value came from")
  func versions() throws {
    let (ours, theirs) = try Self.pair(#"{"id":1,"name":"a"}"#, #"{"id":2,"name":"b"}"#)
    try theirs.put(#"{"id":1,"name":"a1"}"#)
    try theirs.put(#"{"id":1,"name":"a2"}"#)
    try ours.put(#"{"id":2,"name":"b1"}"#)
    try ours.fetch(theirs)
    try ours.merge(theirs.head)
    let datastore = try #require(try ours.own.head.datastore("City"))
    let key = try datastore.identifier(parsing: "1")
    let versions = try ours.own.versions(of: key, in: "City", from: ours.own.head.commit, limit: 10)
    #expect(try versions.map { try $0.record?.document()[member: "name"] } == ["a2", "a1", "a"])
    #expect(versions.first?.commit.author == "bob")
    try ours.expectSound()
    _ = try ours.own.engine.compact(.all) { _ in true }
    try ours.expectSound()
  }

  @Test(
    "what a merge took from the other side has its past there, where the merge was made and wherever it is fetched to")
  func pastOfTheOtherSide() throws {
    let (ours, theirs) = try Self.pair(
      #"{"id":1,"name":"a"}"#, #"{"id":2,"name":"a"}"#, #"{"id":3,"name":"a"}"#, #"{"id":4,"name":"a"}"#)
    try theirs.put(#"{"id":1,"name":"theirs"}"#)
    let edit = theirs.head
    try theirs.delete(2)
    let delete = theirs.head
    // Both change these two, and theirs are chosen.
    try theirs.put(#"{"id":3,"name":"theirs"}"#)
    let chosen = theirs.head
    try theirs.delete(4)
    let chosenDelete = theirs.head
    try ours.put(#"{"id":3,"name":"ours"}"#, #"{"id":4,"name":"ours"}"#)
    try ours.fetch(theirs)
    try ours.merge(theirs.head, .theirs)
    let third = try ExchangedStore("third", isEmpty: true)
    try third.fetchAndMerge(ours)
    for store in [ours, third] {
      let head = store.own.head.commit.rawValue
      #expect(try store.versions(of: 1, from: head).first == "\(edit.text) put")
      #expect(try store.versions(of: 2, from: head).first == "\(delete.text) delete")
      #expect(try store.versions(of: 3, from: head).first == "\(chosen.text) put")
      #expect(try store.versions(of: 4, from: head).first == "\(chosenDelete.text) delete")
      try store.expectSound()
    }
    try third.expectSameVersions(as: ours, of: [1, 2, 3, 4])
  }

  @Test("a datastore that only they changed comes with its indexes, and one that they made too")
  func whole() throws {
    let (ours, theirs) = try Self.pair(#"{"id":1,"name":"a"}"#)
    try ours.own.engine.change { transaction in
      var town = ExchangedStore.descriptor
      town.key = "Town"
      try DatastoreWriter.create(town, in: transaction)
    }
    _ = try theirs.own.addIndex(
      IndexDescriptor(name: "n", kind: .oneToMany, encoding: .optional(.integer), valueType: "Int?", rule: ".n"),
      to: "City", options: EditOptions())
    try theirs.put(#"{"id":2,"name":"b","n":7}"#)
    try ours.fetchAndMerge(theirs)
    let descriptor = try #require(try ours.own.head.datastore("City")).descriptor
    #expect(descriptor.indexes.map(\.name) == ["n", "name", "population"])
    #expect(descriptor.indexes.allSatisfy { !$0.isStale })
    #expect(try ours.own.head.datastores.map(\.descriptor.key) == ["City", "Town"])
    try ours.expectSound()
  }

  @Test("an index that one side made while the other changed records is there after the merge, to be filled")
  func descriptors() throws {
    let (ours, theirs) = try Self.pair(#"{"id":1,"name":"a"}"#)
    _ = try theirs.own.addIndex(
      IndexDescriptor(name: "n", kind: .oneToMany, encoding: .optional(.integer), valueType: "Int?", rule: ".n"),
      to: "City", options: EditOptions())
    try ours.put(#"{"id":2,"name":"b","n":7}"#)
    try ours.fetchAndMerge(theirs)
    let index = try #require(try ours.own.head.datastore("City")?.descriptor.index("n"))
    #expect(index.isStale)
    _ = try ours.own.rebuildIndex("n", of: "City", options: EditOptions())
    try ours.expectSound()
    try theirs.fetchAndMerge(ours)
    #expect(try theirs.contents() == ours.contents())
  }

  @Test(
    "an index that both define otherwise is a conflict of its own: it keeps no data from merging, and a policy settles it"
  )
  func definitions() throws {
    func add(_ store: ExchangedStore, _ path: String) throws {
      _ = try store.own.addIndex(
        IndexDescriptor(name: "n", kind: .oneToMany, encoding: .optional(.integer), valueType: "Int?", rule: path),
        to: "City", options: EditOptions())
    }
    for policy in [MergePolicy.ask, .ours, .theirs] {
      let (ours, theirs) = try Self.pair(#"{"id":1,"name":"a"}"#)
      try add(ours, ".n")
      try add(theirs, ".m")
      try ours.put(#"{"id":2,"name":"b","n":7}"#)
      try theirs.put(#"{"id":3,"name":"c","m":7}"#)
      _ = try ours.fetch(theirs)
      let plan = try ours.exchange.planMerge(theirs.head, policy: policy)
      #expect(plan.open.isEmpty)
      let clash = try #require(plan.definitions.first)
      #expect(plan.definitions.count == 1 && clash.subject == .index("n") && clash.datastore == "City")
      #expect(clash.ours?.hasSuffix("over .n") == true && clash.theirs?.hasSuffix("over .m") == true)
      #expect(clash.isSettled == (policy != .ask))
      #expect(clash.taken == (policy == .theirs ? .theirs : .mine))
      #expect(plan.remarks.contains { $0.contains("index n") })
      var told: [String] = []
      try ours.exchange.forEachChange(of: plan) { place, kind in told.append("\(place.identifier) \(kind)") }
      #expect(told == ["3 put"])
      _ = try ours.exchange.merge(theirs.head, policy: policy)
      let index = try #require(try ours.own.head.datastore("City")?.descriptor.index("n"))
      #expect(index.rule == (policy == .theirs ? ".m" : ".n"))
      if index.isStale { _ = try ours.own.rebuildIndex("n", of: "City", options: EditOptions()) }
      #expect(try ours.contents().count == 3)
      try ours.expectSound()
    }
  }

  @Test(
    "an index whose parts both define otherwise keeps this side's entries, though name, kind and encoding are the same")
  func tiers() throws {
    func add(_ store: ExchangedStore, _ path: String) throws {
      _ = try store.own.addIndex(
        IndexDescriptor(
          name: "c", kind: .oneToMany, encoding: .compound([.string, .optional(.integer)]), valueType: "String, Int?",
          tiers: [
            IndexTier(valueType: "String", rule: ".name"), IndexTier(valueType: "Int?", rule: path),
          ]), to: "City", options: EditOptions())
    }
    let (ours, theirs) = try Self.pair(#"{"id":1,"name":"a","n":1,"m":2}"#)
    try add(ours, ".n")
    try add(theirs, ".m")
    try ours.put(#"{"id":2,"name":"b","n":7,"m":8}"#)
    try theirs.put(#"{"id":3,"name":"c","n":7,"m":8}"#)
    try ours.fetch(theirs)
    try ours.merge(theirs.head)
    let index = try #require(try ours.own.head.datastore("City")?.descriptor.index("c"))
    #expect(index.tiers.last?.rule == ".n" && !index.isStale)
    try ours.expectSound()
  }

  @Test(
    "an index that one side made unique is not another one: what only the other side changed is taken as it lies there")
  func uniqueOnOneSide() throws {
    let (ours, theirs) = try Self.pair(#"{"id":1,"name":"a"}"#)
    try ours.own.engine.change { transaction in
      var descriptor = ExchangedStore.descriptor
      descriptor.indexes[0].isUnique = true
      try DatastoreWriter.store(descriptor, in: transaction)
    }
    try theirs.put(#"{"id":2,"name":"b"}"#)
    try ours.fetchAndMerge(theirs)
    #expect(try ours.own.head.datastore("City")?.descriptor.indexes[0].isUnique == true)
    try ours.expectSound()
    try theirs.put(#"{"id":3,"name":"b"}"#)
    try ours.fetch(theirs)
    #expect(try ours.merge(theirs.head, .theirs).plan.open.map(\.isCollision) == [true])
  }

  @Test(
    "an index that is stale on one side is stale and empty in both stores that make the merge",
    arguments: [false, true])
  func staleOnOneSide(isOurs: Bool) throws {
    let (one, other) = try Self.pair(#"{"id":1,"name":"a"}"#)
    try (isOurs ? one : other).own.engine.change { transaction in
      var descriptor = ExchangedStore.descriptor
      descriptor.indexes[0].isStale = true
      try DatastoreWriter.store(descriptor, in: transaction)
    }
    try one.put(#"{"id":2,"name":"b"}"#)
    try other.put(#"{"id":3,"name":"c"}"#)
    let heads = (one: one.head, other: other.head)
    try one.fetch(other)
    try other.fetch(one)
    _ = try one.merge(heads.other)
    _ = try other.merge(heads.one)
    for store in [one, other] {
      let index = try #require(try store.own.head.datastore("City")?.indexes.first)
      #expect(index.descriptor.isStale)
      #expect(try index.count == 0)
    }
  }

  @Test("what the ancestors of a criss-cross have in common is found once, however many records are merged")
  func searches() throws {
    let (ours, theirs) = try Self.pair(#"{"id":1,"name":"b","n":0}"#, #"{"id":2,"name":"two"}"#)
    for id in 3...9 as ClosedRange<Int64> { try ours.put(id, bytes: #"{"id":\#(id),"name":"n"}"#) }
    try theirs.put(#"{"id":2,"name":"zwei"}"#)
    let (a, b) = (ours.head, theirs.head)
    try ours.fetch(theirs)
    try theirs.fetch(ours)
    try ours.mergeByHand(b)
    try theirs.mergeByHand(a)
    try ours.fetch(theirs)
    let graph = try ours.graph
    let bases = graph.nearestCommonAncestors(ours.head, theirs.head)
    #expect(bases == [a, b].sorted())
    let base = MergeBase(ours.own, graph, "City", ExchangedStore.descriptor, bases)
    let datastore = try #require(try ours.own.head.datastore("City"))
    for id in 1...9 { #expect(try base.content(of: datastore.identifier(parsing: "\(id)")) != nil) }
    #expect(base.searches == 1)
  }

  @Test("unrelated stores merge only when asked to")
  func unrelated() throws {
    let (ours, theirs) = (try ExchangedStore("ada"), try ExchangedStore("bob"))
    try ours.put(#"{"id":1,"name":"a"}"#)
    try theirs.put(#"{"id":2,"name":"b"}"#)
    try ours.fetch(theirs)
    #expect(throws: ExchangeError.unrelated) { try ours.merge(theirs.head) }
    try ours.merge(theirs.head, unrelated: true)
    #expect(try ours.contents().count == 2)
    try ours.expectSound()
  }

  @Test("a value that a unique index would hold twice keeps the merge from being written, and both records are named")
  func uniqueness() throws {
    let ours = try ExchangedStore("ada", isEmpty: true)
    var descriptor = ExchangedStore.descriptor
    descriptor.indexes[0].isUnique = true
    let unique = descriptor
    try ours.own.engine.change { try DatastoreWriter.create(unique, in: $0) }
    let theirs = try ExchangedStore("bob", isEmpty: true)
    try theirs.fetchAndMerge(ours)
    try ours.put(#"{"id":1,"name":"same"}"#)
    try theirs.put(#"{"id":2,"name":"same"}"#)
    let head = ours.own.head.commit
    try ours.fetch(theirs)
    let merged = try ours.merge(theirs.head)
    #expect(merged.head == nil && merged.plan.open.count == 1)
    #expect(try #require(merged.plan.open.first).sentence.contains("1 and 2"))
    #expect(ours.own.head.commit == head)
  }

  @Test("what one side has pruned and the other builds on is sent whole")
  func prunedParent() throws {
    let (ours, theirs) = try Self.pair(#"{"id":1,"name":"a"}"#, #"{"id":2,"name":"b"}"#, #"{"id":3,"name":"c"}"#)
    // Theirs builds on what lies behind the newest commit that both have.
    let old = try theirs.graph.numbers[1]
    try theirs.put(#"{"id":4,"name":"d"}"#)
    let (fork, head) = (CommitNumber(old), theirs.own.head.commit)
    let number = try theirs.forkAndMerge(at: fork, into: head)
    #expect(number > head)
    for number in 0..<3 { try ours.put(#"{"id":3,"name":"c\#(number)"}"#) }
    _ = try ours.own.engine.compact(.last(1)) { _ in true }
    #expect(try ours.graph.number(of: try #require(theirs.graph.identity(of: old))) == nil)
    try ours.fetchAndMerge(theirs, .later)
    #expect(try ours.graph.number(of: try #require(theirs.graph.identity(of: old))) != nil)
    #expect(try ours.text(4) == #"{"id":4,"name":"d"}"#)
    try ours.expectSound()
    try ours.push(theirs)
    #expect(try ours.contents() == theirs.contents())
  }

  @Test("a record that the other side has no more goes, with its entries, also where no trace of its delete came")
  func deletedWithoutTrace() throws {
    let (ours, theirs) = try Self.pair(#"{"id":1,"name":"b"}"#, #"{"id":2,"name":"two"}"#)
    try theirs.delete(1)
    try ours.put(#"{"id":3,"name":"three"}"#)
    // Sent with all that it holds, it says nothing of what is not there.
    var bytes: [UInt8] = []
    try CommitSender(theirs.own, theirs.graph) { bytes += $0 }.send([], since: [], whole: [theirs.head])
    try ours.receive(bytes.split(separator: UInt8(ascii: "\n")).map(Array.init))
    try ours.merge(theirs.head)
    #expect(try ours.text(1) == nil)
    #expect(try ours.contents().count == 2)
    try ours.expectSound()
  }

  @Test(
    "what compaction has left out of both histories is still the common ancestor, and its peer is asked for nothing older"
  )
  func prunedBase() throws {
    let (ours, theirs) = try Self.pair(#"{"id":1,"name":"b","n":0}"#, #"{"id":2,"name":"two"}"#)
    try ours.fetch(theirs)
    for number in 1...5 { try ours.put(#"{"id":1,"name":"b","n":\#(number)}"#) }
    try ours.put(#"{"id":1,"name":"b","n":0}"#)
    _ = try ours.own.engine.compact(.last(1)) { _ in true }
    try theirs.put(#"{"id":2,"name":"zwei"}"#)
    try ours.fetch(theirs)
    let plan = try MergePlanner(ours.own, ours.graph).plan(theirs.head)
    #expect(!plan.isTwoWay)
    try ours.merge(theirs.head)
    #expect(try ours.text(1) == #"{"id":1,"name":"b","n":0}"#)
    #expect(try ours.text(2) == #"{"id":2,"name":"zwei"}"#)
    try ours.expectSound()
  }
}
