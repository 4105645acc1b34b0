import StrataModel
import StrataDocuments
import StrataExpressions
import StrataEngine
import Testing

@testable import StrataExchange

@Suite("Settling a merge by hand")
struct PlanTests {
  /// Record 1 conflicts in two fields, record 2 was deleted here and edited there.
  private func conflicting() throws -> (ExchangedStore, ExchangedStore) {
    let (ours, theirs) = try MergeTests.pair(#"{"id":1,"name":"b","n":0,"m":0}"#, #"{"id":2,"name":"two"}"#)
    try ours.put(#"{"id":1,"name":"x","n":1,"m":1}"#)
    try ours.delete(2)
    try theirs.put(#"{"id":1,"name":"y","n":2,"m":0}"#, #"{"id":2,"name":"zwei"}"#)
    try ours.fetch(theirs)
    return (ours, theirs)
  }

  @Test("each field, and each record, is settled by itself, by a side, and then the merge is written")
  func byHand() throws {
    let (ours, theirs) = try conflicting()
    var plan = try ours.exchange.planMerge(theirs.head)
    #expect(plan.conflicts.map(\.place.identifier.description) == ["1", "2"])
    #expect(plan.conflicts[0].fields.map(\.path.description) == [".name", ".n"])
    #expect(try plan.conflicts[0].preview.map { try JSONParser.parse($0.bytes) }?[member: "name"] == "x")
    let (name, number) = (plan.conflicts[0].fields[0].path, plan.conflicts[0].fields[1].path)
    try plan.conflicts[0].choose(.theirs, for: name)
    #expect(!plan.conflicts[0].isSettled && plan.conflicts[0].result == nil)
    try plan.conflicts[0].choose(.base, for: number)
    #expect(plan.conflicts[0].isSettled)
    #expect(throws: ModelError.self) {
      try plan.conflicts[0].choose(.mine, for: DocumentPath(parsing: ".m"))
    }
    #expect(throws: ExchangeError.unsettled(1)) { try ours.exchange.commit(plan) }
    plan.conflicts[1].choose(.mine)
    let head = try #require(try ours.exchange.commit(plan, named: "settled"))
    #expect(try ours.own.commit(head).action == "settled")
    let record = try #require(try ours.text(1).map { try JSONParser.parse($0) })
    #expect(record == ["id": 1, "name": "y", "n": 0, "m": 1])
    #expect(try ours.text(2) == nil)
    try ours.expectSound()
    try theirs.fetchAndMerge(ours)
    #expect(try theirs.contents() == ours.contents())
  }

  @Test("one conflict is settled by a side, and the content of another is written by hand")
  func rest() throws {
    let (ours, theirs) = try conflicting()
    var plan = try ours.exchange.planMerge(theirs.head)
    plan.conflicts[0].choose(.base)
    #expect(
      try plan.conflicts[0].result.map { try JSONParser.parse($0.bytes) } == ["id": 1, "name": "b", "n": 0, "m": 1])
    plan.conflicts[0].choose(
      content: RecordContent(version: "1", bytes: Array(#"{"id":1,"name":"hand"}"#.utf8)))
    #expect(plan.open.count == 1)
    plan.conflicts[1].choose(.theirs)
    #expect(plan.open.isEmpty)
    _ = try #require(try ours.exchange.commit(plan))
    #expect(try ours.text(1) == #"{"id":1,"name":"hand"}"#)
    #expect(try ours.text(2) == #"{"id":2,"name":"zwei"}"#)
    try ours.expectSound()
  }

  @Test(
    "where head moved meanwhile nothing is written, and a plan made anew is settled as far as its records are the same")
  func moved() throws {
    let (ours, theirs) = try conflicting()
    var plan = try ours.exchange.planMerge(theirs.head)
    plan.conflicts[0].choose(.theirs)
    plan.conflicts[1].choose(.theirs)
    try ours.put(#"{"id":1,"name":"x","n":9,"m":1}"#)
    let head = ours.own.head.commit
    #expect(try ours.exchange.commit(plan) == nil)
    #expect(ours.own.head.commit == head)
    var again = try ours.exchange.planMerge(theirs.head)
    again.settle { conflict in
      plan.conflicts.first { $0 == conflict }.map { MergePlan.Settlement(result: $0.result) }
    }
    #expect(again.open.map(\.place.identifier.description) == ["1"])
    again.conflicts[0].choose(.mine)
    _ = try #require(try ours.exchange.commit(again))
    #expect(try ours.text(1) == #"{"id":1,"name":"x","n":9,"m":1}"#)
    #expect(try ours.text(2) == #"{"id":2,"name":"zwei"}"#)
  }

  @Test("a closure settles what a policy leaves open")
  func closure() throws {
    let (ours, theirs) = try conflicting()
    let merged = try ours.exchange.merge(theirs.head, policy: .ask) { conflict in conflict.choose(.theirs) }
    #expect(merged.head != nil && merged.plan.conflicts.count == 2)
    #expect(try ours.text(1).map { try JSONParser.parse($0) } == ["id": 1, "name": "y", "n": 2, "m": 1])
  }

  @Test("two merges of the same heads that came out the same are not a new edit: both stores go on from the lower one")
  func twins() throws {
    let (ours, theirs) = try conflicting()
    let (left, right) = (ours.head, theirs.head)
    try theirs.fetch(ours)
    // Each settles by hand what the other settles the same way.
    try ours.merge(right, .ours)
    try theirs.merge(left, .theirs)
    #expect(ours.head != theirs.head)
    #expect(try ours.contents() == theirs.contents())
    let lower = min(ours.head, theirs.head)
    try ours.fetch(theirs)
    #expect(try ours.exchange.planMerge(theirs.head).kind == .twin)
    try ours.merge(theirs.head)
    try ours.push(theirs)
    #expect((ours.head, theirs.head) == (lower, lower))
    for commit in [left, right] { #expect(try ours.graph.contains(commit, in: ours.head)) }
    // The same edit on both sides is somebody's work on both sides, and stays in both histories.
    try ours.put(#"{"id":9,"name":"same"}"#)
    try theirs.put(#"{"id":9,"name":"same"}"#)
    let edits = [ours.head, theirs.head]
    try ours.fetchAndMerge(theirs)
    for edit in edits { #expect(try ours.graph.contains(edit, in: ours.head)) }
  }

  @Test("an edit that came by a merge is as late as it was made, not as late as the merge")
  func laterThanAMerge() throws {
    let (ours, theirs) = try MergeTests.pair(#"{"id":1,"name":"b","n":0}"#)
    let third = try ExchangedStore("eve", isEmpty: true)
    try third.fetchAndMerge(ours)
    try theirs.put(#"{"id":1,"name":"early","n":0}"#)
    try ours.put(#"{"id":1,"name":"late","n":0}"#)
    try third.put(#"{"id":1,"name":"b","n":1}"#)
    // The merge writes the record anew, and is dated after both edits of the name.
    try third.fetchAndMerge(theirs)
    try ours.fetchAndMerge(third, .later)
    #expect(try ours.text(1).map { try JSONParser.parse($0) } == ["id": 1, "name": "late", "n": 1])
  }

  @Test("a merge that was not sent is stepped back over; one that was sent is not, and its undo says what that means")
  func steppingBack() throws {
    let (ours, theirs) = try MergeTests.pair(#"{"id":1,"name":"b"}"#)
    try ours.put(#"{"id":1,"name":"x"}"#)
    try theirs.put(#"{"id":2,"name":"two"}"#)
    let before = ours.own.head.commit
    try ours.fetchAndMerge(theirs)
    let merge = ours.own.head.commit
    let undo = try #require(try ours.exchange.undo(of: merge))
    #expect((undo.records, undo.canStepBack) == (1, true))
    #expect(try ours.exchange.stepBack(over: merge) == before)
    #expect(try ours.text(2) == nil)
    #expect(try ours.exchange.undo(of: before) == nil)
    try ours.fetchAndMerge(theirs)
    try ours.push(theirs)
    #expect(try ours.exchange.undo(of: ours.own.head.commit)?.canStepBack == false)
    #expect(throws: ModelError.self) { try ours.exchange.stepBack(over: ours.own.head.commit) }
    try ours.expectSound()
  }

  @Test("a record that would share a value of a unique index is a conflict, and an edit by hand settles it")
  func collision() throws {
    let ours = try ExchangedStore("ada", isEmpty: true)
    var descriptor = ExchangedStore.descriptor
    descriptor.indexes[0].isUnique = true
    let unique = descriptor
    try ours.own.engine.change { try DatastoreWriter.create(unique, in: $0) }
    let theirs = try ExchangedStore("bob", isEmpty: true)
    try theirs.fetchAndMerge(ours)
    try ours.put(#"{"id":1,"name":"same"}"#)
    try theirs.put(#"{"id":2,"name":"same"}"#, #"{"id":3,"name":"other"}"#)
    let head = ours.own.head.commit
    try ours.fetch(theirs)
    var plan = try ours.exchange.planMerge(theirs.head)
    let conflict = try #require(plan.open.first)
    #expect(plan.open.count == 1 && plan.cleanCount == 1)
    #expect(conflict.sentence.contains("1 and 2") && conflict.sentence.contains("same"))
    // Either side alone would lose a record, so that no policy settles it, and no choice of a side.
    #expect(conflict.collision?.rivals.map(\.place.identifier.description) == ["1"])
    #expect(conflict.collision.map { String(decoding: $0.content.bytes, as: UTF8.self) } == #"{"id":2,"name":"same"}"#)
    for policy in MergePolicy.allCases {
      let merged = try ours.merge(theirs.head, policy)
      #expect(merged.head == nil && merged.plan.open.map(\.isCollision) == [true], "\(policy)")
    }
    plan.conflicts[0].choose(.mine)
    #expect(plan.open.count == 1)
    #expect(ours.own.head.commit == head)
    plan.conflicts[0].choose(
      content: RecordContent(version: "1", bytes: Array(#"{"id":2,"name":"renamed"}"#.utf8)))
    _ = try #require(try ours.exchange.commit(plan))
    #expect(try ours.contents().count == 3)
    try ours.expectSound()
    try theirs.fetchAndMerge(ours)
    #expect(try theirs.contents() == ours.contents())
  }

  @Test(
    "a value that a policy makes two records share is a collision, and what was left as it was may collide in its turn")
  func collisionOfSettled() throws {
    let ours = try ExchangedStore("ada", isEmpty: true)
    var descriptor = ExchangedStore.descriptor
    descriptor.indexes[0].isUnique = true
    let unique = descriptor
    try ours.own.engine.change { try DatastoreWriter.create(unique, in: $0) }
    try ours.put(#"{"id":1,"name":"a"}"#, #"{"id":2,"name":"b"}"#, #"{"id":3,"name":"c"}"#)
    let theirs = try ExchangedStore("bob", isEmpty: true)
    try theirs.fetchAndMerge(ours)
    // Here 9 takes d; there 1 takes d, 2 takes a, 3 takes b: none of them can go on where 1 stays.
    try ours.put(#"{"id":9,"name":"d"}"#)
    try theirs.put(#"{"id":1,"name":"d"}"#)
    try theirs.put(#"{"id":2,"name":"a"}"#)
    try theirs.put(#"{"id":3,"name":"b"}"#)
    try ours.fetch(theirs)
    let plan = try ours.exchange.planMerge(theirs.head, policy: .theirs)
    #expect(plan.open.map(\.place.identifier.description).sorted() == ["1", "2", "3"])
    // A field that both changed, and that the policy settles to a value that another record has.
    let (left, right) = (try ExchangedStore("left", isEmpty: true), try ExchangedStore("right", isEmpty: true))
    for store in [left, right] { try store.fetchAndMerge(ours) }
    try left.put(#"{"id":1,"name":"x"}"#, #"{"id":4,"name":"y"}"#)
    try right.put(#"{"id":1,"name":"y"}"#)
    try left.fetch(right)
    #expect(try left.exchange.planMerge(right.head, policy: .theirs).open.map(\.isCollision) == [true])
    #expect(try left.merge(right.head, .ours).head != nil)
    try left.expectSound()
  }

  @Test("a choice that gives a record another one's value leaves the conflict open, and nothing is written")
  func collisionOfChoice() throws {
    let ours = try ExchangedStore("ada", isEmpty: true)
    var descriptor = ExchangedStore.descriptor
    descriptor.indexes[0].isUnique = true
    let unique = descriptor
    try ours.own.engine.change { try DatastoreWriter.create(unique, in: $0) }
    try ours.put(#"{"id":1,"name":"a"}"#)
    let theirs = try ExchangedStore("bob", isEmpty: true)
    try theirs.fetchAndMerge(ours)
    try ours.put(#"{"id":1,"name":"x"}"#, #"{"id":2,"name":"y"}"#)
    try theirs.put(#"{"id":1,"name":"y"}"#)
    try ours.fetch(theirs)
    let head = ours.head
    let merged = try ours.exchange.merge(theirs.head, policy: .ask) { $0.choose(.theirs) }
    #expect(merged.head == nil && merged.plan.open.map(\.isCollision) == [true])
    #expect(merged.plan.open.first?.sentence.contains("1 and 2") == true && ours.head == head)
    #expect(try ours.exchange.merge(theirs.head, policy: .ask) { $0.choose(.mine) }.head != nil)
    try ours.expectSound()
  }

  @Test("a value that one record gives up and another takes over in the same merge is not a collision")
  func handedOn() throws {
    let ours = try ExchangedStore("ada", isEmpty: true)
    var descriptor = ExchangedStore.descriptor
    descriptor.indexes[0].isUnique = true
    let unique = descriptor
    try ours.own.engine.change { try DatastoreWriter.create(unique, in: $0) }
    try ours.put(#"{"id":3,"name":"c"}"#, #"{"id":6,"name":"x"}"#)
    let theirs = try ExchangedStore("bob", isEmpty: true)
    try theirs.fetchAndMerge(ours)
    try ours.put(#"{"id":6,"name":"d"}"#)
    try theirs.put(#"{"id":6,"name":"z"}"#)
    try theirs.put(#"{"id":3,"name":"d"}"#)
    try ours.fetch(theirs)
    #expect(try ours.merge(theirs.head, .theirs).head != nil)
    #expect(try ours.text(3) == #"{"id":3,"name":"d"}"#)
    #expect(try ours.text(6) == #"{"id":6,"name":"z"}"#)
    try ours.expectSound()
  }

  @Test("references that would name what is gone are told, and keep nothing from being merged")
  func dangling() throws {
    let ours = try ExchangedStore("ada")
    try ours.own.engine.change { transaction in
      try DatastoreWriter.create(
        DatastoreDescriptor(
          key: "Street", identifierType: "Int", identifierEncoding: .integer, coding: .json, identifierPath: ".id",
          indexes: [
            IndexDescriptor(
              name: "city", kind: .oneToMany, encoding: .optional(.integer), valueType: "Int?", rule: ".city",
              target: "City")
          ]), in: transaction)
    }
    try ours.put(#"{"id":1,"name":"one"}"#, #"{"id":2,"name":"two"}"#)
    let theirs = try ExchangedStore("bob", isEmpty: true)
    try theirs.fetchAndMerge(ours)
    func street(_ store: ExchangedStore, _ text: String) throws {
      _ = try store.own.commit(
        store.own.changes(putting: [JSONParser.parse(text)], into: "Street"), named: "put", options: EditOptions())
    }
    try ours.delete(1)
    try street(ours, #"{"id":20,"city":2}"#)
    try theirs.delete(2)
    try street(theirs, #"{"id":10,"city":1}"#)
    try ours.fetch(theirs)
    let plan = try ours.exchange.planMerge(theirs.head)
    #expect(
      plan.dangling.map(\.sentence) == [
        "Street/20 would name City/2, which is not there", "Street/10 would name City/1, which is not there",
      ])
    _ = try #require(try ours.exchange.commit(plan))
    try ours.expectSound()
  }
}
