import StrataDocuments
import StrataModel
import StrataEngine
import Testing

@testable import StrataExchange

@Suite("Merging datastores that both sides defined differently")
struct DefinitionMergeTests {
  @Test("records of other identifiers are not mixed: a policy takes the datastore of one side as a whole")
  func identifiers() throws {
    for policy in MergePolicy.allCases {
      let (ours, theirs) = try MergeTests.pair(#"{"id":1,"name":"a"}"#)
      try ours.put(#"{"id":2,"name":"b"}"#)
      var renewed = ExchangedStore.descriptor
      (renewed.identifierType, renewed.identifierEncoding) = ("String", .string)
      try theirs.own.engine.change { transaction in
        for name in ["name", "population"] { try transaction.dropTree(.index(name, of: "City")) }
        try transaction.dropTree(.records(of: "City"))
        try DatastoreWriter.create(renewed, in: transaction)
      }
      try theirs.put(#"{"id":"q","name":"a"}"#)
      let head = ours.own.head.commit
      _ = try ours.fetch(theirs)
      guard policy == .ours || policy == .theirs else {
        let refusal = #expect(throws: ModelError.self) { try ours.exchange.planMerge(theirs.head, policy: policy) }
        #expect(refusal?.description.contains("City has Int identifiers here and String identifiers there") == true)
        #expect(ours.own.head.commit == head)
        continue
      }
      let merged = try ours.merge(theirs.head, policy)
      #expect(merged.plan.definitions.map(\.subject) == [.identifier] && merged.plan.definitions[0].isSettled)
      #expect(try ours.contents().count == (policy == .ours ? 2 : 1))
      try ours.expectSound()
      try theirs.fetchAndMerge(ours)
      #expect(try theirs.contents() == ours.contents())
    }
  }

  @Test(
    "of unrelated stores each datastore that only one has stays, and was not dropped by the other",
    arguments: [true, false])
  func unrelated(isOurs: Bool) throws {
    let (ours, theirs) = (try ExchangedStore("ada"), try ExchangedStore("bob"))
    try ours.put(#"{"id":1,"name":"a"}"#)
    try theirs.put(#"{"id":2,"name":"b"}"#)
    try lakes(isOurs ? ours : theirs)
    _ = try ours.fetch(theirs)
    let merged = try ours.merge(theirs.head, unrelated: true)
    #expect(merged.plan.remarks.isEmpty && merged.head != nil)
    #expect(try ours.own.head.datastores.map(\.descriptor.key) == ["City", "Lake"])
    try ours.expectSound()
  }

  @Test("records that an index cannot hold are merged if the other side dropped it")
  func droppedIndex() throws {
    let (ours, theirs) = try MergeTests.pair(#"{"id":1,"name":"a"}"#)
    _ = try theirs.own.dropIndex("name", of: "City")
    try theirs.put(#"{"id":2,"population":7}"#)
    try ours.put(#"{"id":3,"name":"c"}"#)
    try ours.fetchAndMerge(theirs)
    #expect(try ours.own.head.datastore("City")?.descriptor.indexes.map(\.name) == ["population"])
    #expect(try ours.contents().count == 3)
    try ours.expectSound()
    try theirs.fetchAndMerge(ours)
    #expect(try theirs.contents() == ours.contents())
  }

  @Test("a merge rule that one side declared holds for the merge of both, whichever side makes it")
  func declaredRule() throws {
    let (ours, theirs) = try MergeTests.pair(#"{"id":1,"name":"a","tags":["x"]}"#)
    try theirs.own.engine.change { transaction in
      var declared = ExchangedStore.descriptor
      declared.setMergeRules([".tags": "set"])
      try DatastoreWriter.store(declared, in: transaction)
    }
    try ours.put(#"{"id":1,"name":"a","tags":["x","ours"]}"#)
    try theirs.put(#"{"id":1,"name":"a","tags":["x","theirs"]}"#)
    _ = try ours.fetch(theirs)
    _ = try theirs.fetch(ours)
    let (mine, other) = (ours.head, theirs.head)
    for (store, head) in [(ours, other), (theirs, mine)] {
      let merged = try store.merge(head)
      #expect(merged.plan.open.isEmpty && merged.head != nil)
    }
    #expect(try ours.contents() == theirs.contents())
    #expect(try ours.text(1)?.contains("ours") == true && ours.text(1)?.contains("theirs") == true)
  }

  @Test("of three common ancestors the third is merged with the first two on what it has in common with either")
  func threeAncestors() throws {
    let ours = try ExchangedStore("ours")
    let key = try KeyEncoding.integer.encode(.integer(1))
    func commit(on parents: UInt64..., text: String) throws -> UInt64 {
      let transaction = try ours.own.engine.beginBlocking(on: parents[0])
      let record = RecordBytes.make(version: "1", content: Array(text.utf8))
      try transaction.put(key, record, in: .records(of: "City"))
      let commit = try #require(try transaction.commit(CommitInfo(action: "put", parents: parents)))
      try commit.wait()
      return commit.number
    }
    let root = try commit(on: ours.own.engine.head.number, text: #"{"id":1,"x":0}"#)
    let changed = try commit(on: root, text: #"{"id":1,"x":1}"#)
    let first = try commit(on: root, text: #"{"id":1,"x":0,"a":1}"#)
    let second = try commit(on: changed, text: #"{"id":1,"x":0}"#)
    let third = try commit(on: changed, text: #"{"id":1,"x":1,"b":1}"#)
    let both = #"{"id":1,"x":0,"a":1,"b":1}"#
    let one = try commit(on: commit(on: first, second, text: #"{"id":1,"x":0,"a":1}"#), third, text: both)
    let other = try commit(on: commit(on: second, third, text: #"{"id":1,"x":0,"b":1}"#), first, text: both)
    let graph = try ours.graph
    func identities(_ numbers: UInt64...) throws -> [CommitIdentity] {
      try numbers.map { try #require(graph.identity(of: $0)) }
    }
    let heads = try identities(one, other)
    let bases = graph.nearestCommonAncestors(heads[0], heads[1])
    #expect(try bases == identities(first, second, third))
    #expect(try Set(graph.basesOfMerge(heads[0], heads[1])) == Set(bases + identities(root, changed)))
    let base = MergeBase(ours.own, graph, "City", ExchangedStore.descriptor, bases)
    let content = try #require(try base.content(of: StoredKey(bytes: key, value: .integer(1))))
    #expect(try JSONParser.parse(content.bytes)[member: "x"] == 0)
  }

  @Test("a merge that takes over a definition alone says so")
  func definitionAlone() throws {
    let (ours, theirs) = try MergeTests.pair(#"{"id":1,"name":"a"}"#)
    try ours.put(#"{"id":2,"name":"b"}"#)
    _ = try theirs.own.dropIndex("population", of: "City")
    _ = try ours.fetch(theirs)
    #expect(try ours.exchange.planMerge(theirs.head).result(isDone: false) == "1 definition would be merged")
    #expect(try ours.merge(theirs.head).plan.result() == "1 definition merged")
  }

  @Test("new records are written in the coding that one side changed to, whichever side merges")
  func changedCoding() throws {
    for isOurs in [true, false] {
      let (ours, theirs) = try MergeTests.pair(#"{"id":1,"name":"a"}"#)
      try (isOurs ? ours : theirs).own.engine.change { transaction in
        var changed = ExchangedStore.descriptor
        changed.coding = .binaryPropertyList
        try DatastoreWriter.store(changed, in: transaction)
      }
      try (isOurs ? theirs : ours).put(#"{"id":2,"name":"b"}"#)
      _ = try ours.fetch(theirs)
      #expect(try ours.merge(theirs.head).plan.definitions.isEmpty)
      #expect(try ours.own.head.datastore("City")?.descriptor.coding == .binaryPropertyList)
      try ours.put(#"{"id":3,"name":"c"}"#)
      #expect(try ours.text(3)?.hasPrefix("bplist") == true && ours.text(2) == #"{"id":2,"name":"b"}"#)
      try ours.expectSound()
    }
  }

  /// Two stores that merged one another's heads, each under a commit of its own. Before that one of them may have changed more.
  private func crissCross(
    changing change: (ExchangedStore) throws -> Void = { _ in }
  ) throws -> (ours: ExchangedStore, theirs: ExchangedStore) {
    let (ours, theirs) = try MergeTests.pair(#"{"id":1,"name":"a"}"#)
    try ours.put(#"{"id":2,"name":"b"}"#)
    try change(ours)
    try theirs.put(#"{"id":3,"name":"c"}"#)
    let (a, b) = (ours.head, theirs.head)
    try ours.fetch(theirs)
    try theirs.fetch(ours)
    try ours.mergeByHand(b)
    try theirs.mergeByHand(a)
    #expect(try ours.contents() == theirs.contents() && ours.head != theirs.head)
    return (ours, theirs)
  }

  private func lakes(_ store: ExchangedStore) throws {
    var descriptor = ExchangedStore.descriptor
    descriptor.key = "Lake"
    let lakes = descriptor
    try store.own.engine.change { try DatastoreWriter.create(lakes, in: $0) }
  }

  /// Merges both ways; both end with the same datastores, and with the same indexes.
  private func meet(_ ours: ExchangedStore, _ theirs: ExchangedStore) throws -> [DefinitionConflict] {
    try ours.put(#"{"id":4,"name":"d"}"#)
    _ = try ours.fetch(theirs)
    let merged = try ours.merge(theirs.head)
    #expect(merged.plan.open.isEmpty && merged.head != nil)
    try theirs.fetchAndMerge(ours)
    #expect(try theirs.own.head.datastores.map(\.descriptor) == ours.own.head.datastores.map(\.descriptor))
    try ours.expectSound()
    return merged.plan.definitions
  }

  @Test("a datastore that one side made after a criss-cross comes over without a conflict")
  func datastoreMadeAfterCrissCross() throws {
    for isOurs in [true, false] {
      let (ours, theirs) = try crissCross()
      try lakes(isOurs ? ours : theirs)
      #expect(try meet(ours, theirs).isEmpty)
      #expect(try ours.own.head.datastores.map(\.descriptor.key) == ["City", "Lake"])
    }
  }

  @Test("a datastore or an index that one side dropped after a criss-cross stays dropped", arguments: [true, false])
  func droppedAfterCrissCross(isOurs: Bool) throws {
    let population = try #require(ExchangedStore.descriptor.index("population"))
    // Both ancestors have them, or only one has.
    for isOld in [true, false] {
      let (ours, theirs) = try crissCross { store in
        if isOld { return }
        try lakes(store)
        var index = population
        index.name = "people"
        _ = try store.own.addIndex(index, to: "City", options: EditOptions())
      }
      let dropping = isOurs ? ours : theirs
      if isOld {
        _ = try dropping.own.dropIndex("population", of: "City")
      } else {
        let lake = try #require(try dropping.own.head.datastore("Lake")).descriptor
        try dropping.own.engine.change { try DatastoreWriter.drop(lake, in: $0) }
        _ = try dropping.own.dropIndex("people", of: "City")
      }
      #expect(try meet(ours, theirs).isEmpty)
      #expect(try ours.own.head.datastores.map(\.descriptor.key) == ["City"])
      #expect(try ours.own.head.datastore("City")?.descriptor.indexes.count == (isOld ? 1 : 2))
    }
  }
}
