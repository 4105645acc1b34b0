import StrataDocuments
import StrataEngine
import Testing

@testable import StrataModel

@Suite("Editing without the app's types")
struct EditingTests {
  @Test("an edit by proven rules is one named commit, and verify is clean after it")
  func commits() throws {
    let store = try Cities.store(40)
    let changes = ChangeSet(
      base: store.head.commit,
      changes: [
        Cities.edit(3, from: Cities.document(3), to: Cities.document(3, name: "Žofie", tags: ["x"])),
        Cities.edit(100, from: nil, to: Cities.document(100)),
        Cities.edit(7, from: Cities.document(7), to: nil),
      ])
    let number = try store.commit(changes, named: "by hand", options: EditOptions())
    let commit = try store.commit(number)
    #expect(commit.action == "by hand")
    #expect(commit.changes == [ChangeCount(datastore: "City", inserted: 1, updated: 1, deleted: 1)])
    #expect(try store.entries("tags").contains(#""x" 3"#))
    let report = try store.verifyModel(at: number)
    #expect(report.isClean, "\(report.allFindings)")
  }

  @Test("an edit of a record that changed meanwhile is a conflict that shows all three sides, and writes nothing")
  func conflicts() throws {
    let store = try Cities.store(40)
    try Cities.write([Cities.document(3, name: "theirs", population: 5)], to: store)
    let head = store.head.commit
    let mine = Cities.document(3, name: "mine")
    let edit = Cities.edit(3, from: Cities.document(3), to: mine)
    #expect {
      try store.commit(ChangeSet(changes: [edit]), named: "x", options: EditOptions(mergesFields: true))
    } throws: { error in
      guard case .conflict(let conflicts)? = error as? ModelError, let conflict = conflicts.first else { return false }
      return conflict.fields.map(\.path.description) == [".name"]
        && conflict.fields.first?.base == "City 3" && conflict.fields.first?.mine == "mine"
        && conflict.fields.first?.theirs == "theirs" && conflict.sentence.contains("City/3")
    }
    #expect(store.head.commit == head)
  }

  @Test("changes of different fields are put together where that is asked for, and only there")
  func merges() throws {
    let store = try Cities.store(40)
    try Cities.write([Cities.document(3, population: 5)], to: store)
    let changes = ChangeSet(changes: [Cities.edit(3, from: Cities.document(3), to: Cities.document(3, name: "mine"))])
    #expect(throws: ModelError.self) { try store.commit(changes, named: "x", options: EditOptions()) }
    _ = try store.commit(changes, named: "x", options: EditOptions(mergesFields: true))
    #expect(try store.city(3) == Cities.document(3, name: "mine", population: 5))
    #expect(try store.verifyModel(at: store.head.commit).isClean)
  }

  @Test("staged changes are rebased onto a moved head: merged, already made, or in conflict")
  func rebase() throws {
    let store = try Cities.store(40)
    let base = store.head.commit
    let changes = ChangeSet(
      base: base,
      changes: [
        Cities.edit(1, from: Cities.document(1), to: Cities.document(1, name: "mine")),
        Cities.edit(2, from: Cities.document(2), to: Cities.document(2, name: "same")),
        Cities.edit(3, from: Cities.document(3), to: Cities.document(3, name: "mine")),
        Cities.edit(4, from: Cities.document(4), to: Cities.document(4, name: "mine")),
        Cities.edit(5, from: Cities.document(5), to: nil),
      ])
    try Cities.write(
      [
        Cities.document(1, population: 1), Cities.document(2, name: "same"), Cities.document(3, name: "theirs"),
        Cities.document(5, name: "theirs"),
      ], to: store)
    let rebased = try store.rebase(changes, onto: store.head.commit, progress: nil)
    #expect(rebased.hasMoved)
    #expect(rebased.merged.map(\.identifier) == [Cities.key(1)])
    #expect(rebased.alreadyMade.map(\.identifier) == [Cities.key(2)])
    #expect(rebased.conflicts.map(\.place.identifier) == [Cities.key(3), Cities.key(5)])
    let merged = try #require(rebased.changes.changes.first)
    #expect(merged.old == Cities.content(Cities.document(1, population: 1)))
    #expect(merged.new == Cities.content(Cities.document(1, name: "mine", population: 1)))

    let conflict = rebased.conflicts[0]
    let name = try DocumentPath(parsing: ".name")
    #expect(try conflict.resolved(by: [name: .theirs], descriptor: Cities.descriptor) == nil)
    let kept = try #require(try conflict.resolved(by: [name: .mine], descriptor: Cities.descriptor))
    #expect(kept.old == conflict.theirs)
    #expect(kept.new == Cities.content(Cities.document(3, name: "mine")))
    #expect(try rebased.conflicts[1].resolved(by: [.root: .mine], descriptor: Cities.descriptor)?.new == nil)
    #expect(try rebased.conflicts[1].resolved(by: [.root: .theirs], descriptor: Cities.descriptor) == nil)
  }

  @Test("the choice of a field counts also for a record that both sides inserted")
  func insertedTwice() throws {
    let store = try Cities.store(40)
    let base = store.head.commit
    let mine = Cities.document(99, name: "mine", population: 1)
    let changes = ChangeSet(base: base, changes: [Cities.edit(99, from: nil, to: mine)])
    try Cities.write([Cities.document(99, name: "theirs", population: 2)], to: store)
    let conflict = try #require(try store.rebase(changes, onto: store.head.commit, progress: nil).conflicts.first)
    let (name, population) = (DocumentPath([.member("name")]), DocumentPath([.member("population")]))
    #expect(Set(conflict.fields.map(\.path)) == [name, population])
    let choices: [DocumentPath: MergeSide] = [name: .theirs, population: .mine]
    let settled = try #require(try conflict.resolved(by: choices, descriptor: Cities.descriptor))
    #expect(settled.new == Cities.content(Cities.document(99, name: "theirs", population: 1)))
  }

  @Test("a preview tells entries that come and go, and what would be shared, and writes nothing")
  func preview() throws {
    let store = try Cities.store(40)
    let bytes = try store.byteCount
    let preview = try store.preview(
      ChangeSet(changes: [
        Cities.edit(3, from: Cities.document(3), to: Cities.document(3, name: "City 4")),
        Cities.edit(7, from: Cities.document(7), to: nil),
      ]), options: EditOptions())
    #expect(preview.records.count == 2)
    #expect(
      preview.records[0].entries == [
        EntryChange(index: "name", value: .string("City 3"), isAdded: false),
        EntryChange(index: "name", value: .string("City 4"), isAdded: true),
      ])
    #expect(preview.addedEntries == 1)
    #expect(preview.removedEntries == 6)
    #expect(preview.uniqueness.map(\.identifiers) == [[Cities.key(3), Cities.key(4)]])
    #expect(preview.uniqueness.first?.isEnforced == false)
    #expect(preview.isPossible)
    #expect(preview.byteCount > 0)
    #expect(try store.byteCount == bytes)
  }

  @Test("a swap of unique values is not a conflict in a preview")
  func previewOfSwap() throws {
    let store = try Cities.store(40)
    let preview = try store.preview(
      ChangeSet(changes: [
        Cities.edit(3, from: Cities.document(3), to: Cities.document(3, name: "City 4")),
        Cities.edit(4, from: Cities.document(4), to: Cities.document(4, name: "City 3")),
      ]), options: EditOptions())
    #expect(preview.uniqueness.isEmpty)
  }

  @Test("a conflict within a swap of unique values is reported as a conflict")
  func conflictWithinSwap() throws {
    let store = EngineStore.memory()
    var unique = Cities.descriptor
    for place in unique.indexes.indices { unique.indexes[place].isUnique = unique.indexes[place].name == "name" }
    try Cities.write((1...40).map { Cities.document($0) }, to: store, as: unique)
    try Cities.write([Cities.document(4, population: 7)], to: store, as: unique)
    let swap = ChangeSet(changes: [
      Cities.edit(3, from: Cities.document(3), to: Cities.document(3, name: "City 4")),
      Cities.edit(4, from: Cities.document(4), to: Cities.document(4, name: "City 3")),
    ])
    #expect {
      try store.commit(swap, named: "swap", options: EditOptions())
    } throws: { error in
      guard case .conflict(let conflicts)? = error as? ModelError else { return false }
      return conflicts.map(\.place.identifier) == [Cities.key(4)]
    }
    _ = try store.commit(swap, named: "swap", options: EditOptions(mergesFields: true))
    #expect(try store.city(4) == Cities.document(4, name: "City 3", population: 7))
  }

  @Test("without a proven rule an edit is refused with the reason, or marks the index stale on request")
  func refusal() throws {
    let store = EngineStore.memory()
    try Cities.write((1...10).map { Cities.document($0) }, to: store, as: Cities.descriptorWithUnprovenName)
    let head = store.head.commit
    let changes = ChangeSet(changes: [Cities.edit(3, from: Cities.document(3), to: Cities.document(3, population: 1))])
    let preview = try store.preview(changes, options: EditOptions())
    #expect(preview.refusals.map(\.index) == ["name"])
    #expect(!preview.isPossible)
    #expect {
      try store.commit(changes, named: "x", options: EditOptions())
    } throws: { error in
      (error as? ModelError)?.description
        == "City: index name has no proven rule: .name reproduces it, but by only 10 distinct values"
    }
    #expect(store.head.commit == head)
    let number = try store.commit(changes, named: "x", options: EditOptions(marksIndexesStale: true))
    let after = try store.engineView(at: number).requiredDatastore("City")
    #expect(after.descriptor.index("name")?.isStale == true)
    #expect(try store.entries("population").first == "1 3")
    let report = try store.verifyModel(at: number)
    #expect(report.isClean)
    #expect(report.allFindings.contains { $0.index == "name" && $0.severity == .note })
  }

  @Test(
    "content that is not a record of its identifier is refused",
    arguments: ["not json", #"{"id":4}"#, #"{"id":3,"name":"x"}"#, "", #"{"id":"3"}"#])
  func wrongContent(text: String) throws {
    let store = try Cities.store(40)
    let edit = RecordEdit(
      datastore: "City", identifier: Cities.key(3), old: Cities.content(Cities.document(3)),
      new: RecordContent(version: "1", bytes: Array(text.utf8)))
    let head = store.head.commit
    #expect(throws: ModelError.self) {
      try store.commit(ChangeSet(changes: [edit]), named: "x", options: EditOptions())
    }
    #expect(store.head.commit == head)
    #expect(try !store.preview(ChangeSet(changes: [edit]), options: EditOptions()).isPossible)
  }

  @Test("a value that is longer than a key may be is refused before anything is written")
  func longKeys() throws {
    let store = try Cities.store(40)
    let long = Cities.document(3, name: String(repeating: "n", count: 20_000))
    #expect {
      try store.commit(
        ChangeSet(changes: [Cities.edit(3, from: Cities.document(3), to: long)]), named: "x", options: EditOptions())
    } throws: { error in
      (error as? ModelError)?.description.contains("longer than a key may be") ?? false
    }
  }

  @Test("a cancelled edit leaves the store as it was")
  func cancel() throws {
    let store = try Cities.store(300)
    let changes = ChangeSet(
      changes: (1...300).map { Cities.edit($0, from: Cities.document($0), to: Cities.document($0, name: "x\($0)")) })
    let head = store.head.commit
    let options = EditOptions { done, _ in done < 100 }
    #expect(throws: ModelError.cancelled) { try store.commit(changes, named: "x", options: options) }
    #expect(store.head.commit == head)
    _ = try store.commit(changes, named: "x", options: EditOptions())
    #expect(try store.verifyModel(at: store.head.commit).isClean)
  }

  @Test("an unknown datastore is named with those there are")
  func unknownDatastore() throws {
    let store = try Cities.store(4)
    let edit = RecordEdit(datastore: "Town", identifier: Cities.key(1), old: nil, new: nil)
    #expect(throws: ModelError.noSuchDatastore("Town", known: ["City"])) {
      try store.commit(ChangeSet(changes: [edit]), named: "x", options: EditOptions())
    }
  }

  @Test("documents are put by the identifier that the datastore names")
  func put() throws {
    let store = try Cities.store(40)
    let put = try store.changes(
      putting: [Cities.document(3, name: "a"), Cities.document(900), Cities.document(3, name: "b")], into: "City")
    #expect(put.changes.map(\.kind) == [.update, .insert])
    _ = try store.commit(put, named: "put", options: EditOptions())
    #expect(try store.city(3) == Cities.document(3, name: "b"))
    #expect(throws: ModelError.self) { try store.changes(putting: [["name": "no id"]], into: "City") }
  }

  @Test("an edit that is made at most once notes its name also if its transaction is run again")
  func repeatedTransaction() throws {
    let store = try Cities.store(1)
    let name = LetterName(date: 1, sender: 7, number: 1)
    let letter = RecordedLetter(name)
    let first = try store.engine.beginBlocking() as any WriteTransaction
    #expect(try letter.record(in: first))
    first.cancel()
    let second = try store.engine.beginBlocking() as any WriteTransaction
    #expect(try letter.record(in: second))
    try second.commit(CommitInfo(action: "again"))?.wait()
    #expect(try store.commit(recording: name) != nil)
  }
}
