import Dispatch
import StrataDocuments
import StrataEngine
import StrataLocks
@testable import StrataModel
import Testing

@testable import StrataExchange

@Suite("Edits of a store over a line")
struct BrowsedEditTests {
  private func commit(_ store: RemoteStore, _ edits: RecordEdit...) throws -> CommitNumber {
    try store.commit(ChangeSet(base: store.head.commit, changes: edits), named: "edit", options: EditOptions())
  }

  @Test("a commit is made there, and shows here with its author's name there")
  func commit() throws {
    let there = try BrowsedStore(1_000)
    let here = try there.browse()
    let text = #"{"id":17,"name":"new","population":1}"#
    let commit = try commit(here, here.head.edit(17, to: text), here.head.edit(18, to: nil))
    #expect(here.head.commit == commit)
    _ = try there.own.refresh()
    #expect(there.own.head.commit == commit)
    #expect(try there.store.text(17) == text)
    #expect(try there.store.text(18) == nil)
    #expect(try ExchangedStore.text(17, in: here.head) == text)
    #expect(try there.own.commit(commit).author == "there")
    #expect(try here.commit(commit).changes == [ChangeCount(datastore: "City", inserted: 0, updated: 1, deleted: 1)])
  }

  @Test("undo, redo, restore and pins are made there, too")
  func others() throws {
    let there = try BrowsedStore(100)
    let here = try there.browse()
    let before = try there.store.contents()
    let first = here.head.commit
    let commit = try commit(here, here.head.edit(17, to: #"{"id":17,"name":"new","population":1}"#))
    let after = try there.browsedContents()
    #expect(try here.undoCandidate() == commit)
    let undo = try here.undo(commit, named: "undo")
    #expect(try there.browsedContents() == before)
    #expect(try here.redoCandidate() == undo)
    _ = try here.undo(undo, named: "redo")
    #expect(try there.browsedContents() == after)
    _ = try here.restore(first, datastore: nil, named: "restore")
    #expect(try there.browsedContents() == before)
    try here.pin("good", to: first)
    #expect(try here.pins.map { "\($0.name) \($0.commit)" } == ["good \(first)"])
    try here.pin("good", to: nil)
    #expect(try here.pins.isEmpty)
  }

  @Test("a commit on what was changed meanwhile lists the conflict, and leaves the store as it was")
  func conflict() throws {
    let there = try BrowsedStore(100)
    let here = try there.browse()
    let edit = try here.head.edit(17, to: #"{"id":17,"name":"mine","population":1}"#)
    try there.store.put(#"{"id":17,"name":"theirs","population":2}"#)
    let head = there.own.head.commit
    #expect {
      try commit(here, edit)
    } throws: { error in
      guard case .conflict(let found)? = error as? ModelError else { return false }
      return found.map(\.name) == ["City/17"] && found[0].fields.count == 2
    }
    #expect(try there.own.refresh().commit == head)
  }

  @Test("a store that is served for reading only is read-only here")
  func readOnly() throws {
    let there = try BrowsedStore(100, isReadOnly: true)
    let here = try there.browse()
    #expect(here.access == .readOnly(reason: "it is served for reading only"))
    #expect(throws: ModelError.readOnly(reason: "it is served for reading only")) {
      try commit(here, here.head.edit(1, to: nil))
    }
  }

  @Test("another program that holds the lock there is named, and the edit is refused")
  func locked() throws {
    let there = try BrowsedStore(10)
    let here = try there.browse()
    let transaction = try #require(there.own.engine as? FileStore).beginBlocking()
    #expect {
      try commit(here, here.head.edit(1, to: nil))
    } throws: { error in
      guard case .locked(let hold)? = error as? ModelError else { return false }
      return hold.program == "test"
    }
    transaction.cancel()
  }

  @Test("wherever a line is cut, in either direction, an edit is made once, and its commit is reported")
  func cuts() throws {
    let there = try BrowsedStore(300)
    var random = Numbers(state: 7)
    for round in 0..<60 {
      let isToThere = round.isMultiple(of: 2)
      let place = random.next(in: 0..<(isToThere ? 400 : 5_000))
      let here = try there.browse()
      let record = try here.head.edit(round + 1, to: #"{"id":\#(round + 1),"name":"round \#(round)","population":0}"#)
      there.limitLast(toThere: isToThere ? place : .max, toHere: isToThere ? .max : place)
      // The next connection is cut, too.
      there.cutNext(toHere: random.next(in: 0..<20_000))
      defer { there.cutNone() }
      let before = there.own.head.commit.rawValue
      let commit = try here.commit(
        ChangeSet(changes: [record]), named: "round \(round)", options: EditOptions())
      _ = try there.own.refresh()
      #expect(there.own.head.commit.rawValue == before + 1, "cut at \(place)")
      #expect(commit == there.own.head.commit)
      #expect(try there.store.text(Int64(round + 1))?.contains("round \(round)") == true)
    }
    #expect(there.connections > 70)
  }

  @Test("an undo that is cut off is made once")
  func undoOnce() throws {
    let there = try BrowsedStore(50)
    for round in 0..<20 {
      let here = try there.browse()
      let edited = try commit(here, here.head.edit(3, to: #"{"id":3,"name":"\#(round)","population":0}"#))
      there.limitLast(toThere: .max, toHere: round * 40)
      let undo = try here.undo(edited, named: "undo")
      _ = try there.own.refresh()
      #expect(there.own.head.commit == undo)
      #expect(undo.rawValue == edited.rawValue + 1)
    }
  }

  @Test("an edit whose outcome stays unknown says so, and the same edit again is made once")
  func unknown() throws {
    let there = try BrowsedStore(50)
    let here = try there.browse(pauses: 3_600_000...3_600_000)
    let edit = try here.head.edit(3, to: #"{"id":3,"name":"x","population":0}"#)
    there.limitLast(toThere: .max, toHere: 0)
    let changes = ChangeSet(changes: [edit])
    #expect {
      try here.commit(changes, named: "edit", options: EditOptions(progress: { _, _ in false }))
    } throws: { error in
      guard case .storage(let text, kind: .unreachable)? = error as? ModelError else { return false }
      return text.contains("whether it was made") || text.contains("Whether it was made")
    }
    #expect(here.isAway)
  }
}

extension BrowsedStore {
  func browsedContents() throws -> [String] {
    _ = try own.refresh()
    return try store.contents()
  }
}

/// Numbers from a seed.
struct Numbers {
  var state: UInt64

  mutating func next(in range: Range<Int>) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return range.lowerBound + Int(state >> 33) % range.count
  }
}
