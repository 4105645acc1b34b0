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
}
