import StrataDocuments
import StrataLocks
import StrataEngine
import Testing

@testable import StrataModel

@Suite("Taking back and bringing back")
struct UndoTests {
  private func undo(_ store: EngineStore) throws -> CommitNumber? {
    guard let candidate = try store.undoCandidate() else { return nil }
    return try store.undo(candidate, named: "undo \(candidate)")
  }

  private func redo(_ store: EngineStore) throws -> CommitNumber? {
    guard let candidate = try store.redoCandidate() else { return nil }
    return try store.undo(candidate, named: "redo")
  }

  @Test("the newest commit is taken back by its parent's roots, whatever the types, in a few bytes")
  func newest() throws {
    let store = try Cities.store(2_000)
    let number = try Cities.write((1...2_000).map { Cities.document($0, name: "x\($0)") }, to: store)
    let undone = try store.undo(number, named: "undo")
    let commit = try store.commit(undone)
    #expect(commit.undoes == number)
    #expect(commit.changes == [ChangeCount(datastore: "City", inserted: 0, updated: 2_000, deleted: 0)])
    #expect(commit.byteCount < 2_000)
    #expect(try store.city(7) == Cities.document(7))
    #expect(try store.verifyModel(at: undone).isClean)
    #expect(try store.changes(of: undone).next(10_000).count == 2_000)
  }

  @Test("an undo and a redo pass over a restore that changed nothing, as older programs committed it")
  func restoreOfNothing() throws {
    let store = try Cities.store(10)
    func restoreNothing() throws {
      let view = try store.engineView(at: store.head.commit).view
      _ = try store.transact(CommitInfo(action: "restore", flags: .restore)) { try $0.restore(nil, from: view) }
    }
    let edit = try Cities.write([Cities.document(1, name: "edited")], to: store)
    try restoreNothing()
    #expect(try store.head.commit != edit && store.undoCandidate() == edit)
    let undone = try undo(store)
    #expect(try store.city(1) == Cities.document(1))
    try restoreNothing()
    #expect(try store.redoCandidate() == undone && undone != nil)
    _ = try redo(store)
    #expect(try store.city(1) == Cities.document(1, name: "edited"))
    for name in ["other", "edited"] { try Cities.write([Cities.document(1, name: name)], to: store) }
    // The record is another one of the same value.
    #expect(try store.restore(edit, datastore: nil, named: "restore") == store.head.commit)
    #expect(try undo(store) != nil)
    #expect(try store.city(1) == Cities.document(1, name: "other"))
  }

  @Test("an older commit is taken back by roots, with what it dropped, if only other datastores changed since")
  func olderOfAnotherDatastore() throws {
    let store = try Cities.store(2_000)
    var towns = Cities.descriptor
    towns.key = "Town"
    let start = store.head.commit
    try Cities.write([Cities.document(1)], to: store, as: towns)
    let number = try Cities.write((1...2_000).map { Cities.document($0, name: "x\($0)") }, to: store)
    let dropping = try store.restore(CommitNumber(0), datastore: "City", named: "drop")
    try Cities.write([Cities.document(1, name: "later")], to: store, as: towns)
    for (commit, city) in [(dropping, Cities.document(7, name: "x7")), (number, Cities.document(7))] {
      #expect(try store.undoPreview(of: commit, progress: nil).count == 2_000)
      let undone = try store.commit(store.undo(commit, named: "undo"))
      #expect(undone.changes.map(\.total) == [2_000] && undone.byteCount < 2_000)
      #expect(try store.city(7) == city)
      #expect(try store.verifyModel(at: undone.number).isClean)
    }
    #expect(try store.changes(from: start, to: store.head.commit).next(10).map { $0.datastore } == ["Town"])
  }

  @Test("what an undo and a redo changed is known from the commit that they take back, and is what a comparison finds")
  func countsOfUndo() throws {
    let store = try Cities.store(400)
    try Cities.write(
      (1...40).map { Cities.document($0, name: "x\($0)") } + [Cities.document(900)], deleting: [300, 301], to: store)
    for step in [undo, redo, undo] {
      let made = try #require(try step(store))
      let commit = try store.commit(made)
      let parent = try #require(commit.parents.first)
      #expect(commit.changes == (try ChangeSet.counts(reading: store.changes(from: parent, to: made))))
      #expect(store.restoredCounts.withLock { $0.isEmpty }, "nothing was compared")
    }
    #expect(
      try store.commit(store.head.commit).changes == [
        ChangeCount(datastore: "City", inserted: 2, updated: 40, deleted: 1)
      ])
  }

  @Test("taking back an older commit is heard of record by record, and ends where the listener wants no more")
  func olderIsHeard() throws {
    let store = try Cities.store(2_000)
    let number = try Cities.write((1...2_000).map { Cities.document($0, name: "x\($0)") }, to: store)
    try Cities.write([Cities.document(1, name: "later")], to: store)
    let heard = Heard()
    let changes = try store.undoPreview(of: number, progress: { heard.note($0, $1) })
    #expect(changes.count == 1_999)
    #expect(heard.last == 2_000 && heard.totals == [2_000])
    let head = store.head.commit
    #expect(throws: ModelError.cancelled) {
      try store.undo(number, named: "undo", options: EditOptions(progress: { _, _ in false }))
    }
    #expect(store.head.commit == head)
    let whole = Heard()
    _ = try store.undo(
      number, named: "undo", options: EditOptions(progress: { whole.note($0, $1) }, proving: { _, _ in true }))
    let shares = whole.shares
    #expect(shares == shares.sorted() && shares.last == 100, "reading and writing are one percentage: \(shares)")
    #expect(shares.contains { $0 > 0 && $0 < 50 } && shares.contains { $0 > 50 && $0 < 100 }, "\(shares)")
  }

  /// Hears of progress.
  private final class Heard: Sendable {
    private let words = Mutex<[(done: Int, total: Int)]>([])
    func note(_ done: Int, _ total: Int) -> Bool {
      words.withLock { $0.append((done, total)) }
      return true
    }
    var last: Int { words.withLock { $0.last?.done ?? 0 } }
    var totals: Set<Int> { words.withLock { Set($0.map(\.total)) } }
    var shares: [Int] { words.withLock { $0.map { $0.done * 100 / $0.total } } }
  }

  @Test("u u ^r ^r walks back and forth over the commits")
  func walk() throws {
    let store = try Cities.store(3)
    try Cities.write([Cities.document(1, name: "A")], to: store)
    try Cities.write([Cities.document(1, name: "B")], to: store)
    let name = { try store.city(1)?[member: "name"] }
    #expect(try undo(store) != nil)
    #expect(try name() == "A")
    #expect(try undo(store) != nil)
    #expect(try name() == "City 1")
    #expect(try redo(store) != nil)
    #expect(try name() == "A")
    #expect(try redo(store) != nil)
    #expect(try name() == "B")
    #expect(try redo(store) == nil)
    #expect(try undo(store) != nil)
    #expect(try name() == "A")
    #expect(try store.verifyModel(at: store.head.commit).isClean)
  }

  @Test("an older commit is taken back field by field, and later edits are kept")
  func older() throws {
    let store = try Cities.store(40)
    let number = try Cities.write(
      [
        Cities.document(1, name: "A", population: 1), Cities.document(2, name: "A2"), Cities.document(100),
        Cities.document(3, name: "A3"),
      ], deleting: [4], to: store)
    try Cities.write(
      [Cities.document(1, name: "A", country: "XX", population: 2), Cities.document(3, name: "later")], to: store)
    let preview = try store.undoPreview(of: number, progress: nil)
    #expect(preview.count == 4)
    _ = try store.undo(number, named: "revert")
    #expect(try store.city(1) == Cities.document(1, country: "XX", population: 2))
    #expect(try store.city(2) == Cities.document(2))
    #expect(try store.city(3) == Cities.document(3, name: "later"))
    #expect(try store.city(4) == Cities.document(4))
    #expect(try store.city(100) == nil)
    #expect(try store.verifyModel(at: store.head.commit).isClean)
  }

  @Test("a preview of what an undo brings back names the indexes that it marks stale, and does not refuse them")
  func previewOfUnproven() throws {
    let store = EngineStore.memory()
    try Cities.write((1...10).map { Cities.document($0) }, to: store, as: Cities.descriptorWithUnprovenName)
    let number = try Cities.write([Cities.document(1, population: 1)], to: store)
    try Cities.write([Cities.document(1, country: "XX", population: 1)], to: store)
    #expect(try store.stateBroughtBack(byUndoing: number) == nil)
    let changes = try store.undoPreview(of: number, progress: nil)
    let preview = try store.preview(changes, options: EditOptions(bringsBackContents: true))
    #expect(preview.isPossible && preview.refusals.isEmpty)
    #expect(preview.marked == ["City name"])
    let undone = try store.undo(number, named: "undo")
    #expect(try store.engineView(at: undone).requiredDatastore("City").descriptor.index("name")?.isStale == true)
    #expect(try store.city(1) == Cities.document(1, country: "XX"))
  }

  @Test("where nothing is left to take back, that is said")
  func nothingLeft() throws {
    let store = try Cities.store(40)
    let number = try Cities.write([Cities.document(1, name: "A")], to: store)
    try Cities.write([Cities.document(1, name: "B")], to: store)
    #expect(throws: ModelError.self) { try store.undo(number, named: "revert") }
  }

  @Test("what only the app can convert to the record's version is not mixed into it")
  func otherVersion() throws {
    let store = try Cities.store(5)
    func migrated(population: Int) throws -> RecordContent {
      let document = Cities.document(1, name: "A", population: population)
      return RecordContent(
        version: "2", bytes: try document.setting(DocumentPath(parsing: ".motto"), to: "x").json(.compact))
    }
    func put(_ new: RecordContent, over old: RecordContent) throws -> CommitNumber {
      let edit = RecordEdit(datastore: "City", identifier: Cities.key(1), old: old, new: new)
      return try store.commit(ChangeSet(changes: [edit]), named: "put", options: EditOptions())
    }
    let number = try put(migrated(population: 1), over: Cities.content(Cities.document(1)))
    let head = try put(migrated(population: 2), over: migrated(population: 1))
    #expect(throws: ModelError.self) { try store.undo(number, named: "undo") }
    #expect(store.head.commit == head)
    #expect(try store.head.datastore("City")?.record(Cities.key(1))?.stored == migrated(population: 2))
  }

  @Test("what has no datastore any more is not taken back in silence: the refusal names the datastore")
  func datastoreGone() throws {
    let store = try Cities.store(5)
    let first = store.head.commit
    var source = DocumentList([["iso": "CH"], ["iso": "FR"]])
    _ = try Importer(store, ImportPlan(datastore: "Country", identifier: DocumentPath(parsing: "iso"))).run(&source)
    let imported = store.head.commit
    let changed = try store.commit(
      store.changes(putting: [["iso": "CH", "area": 41_285]], into: "Country", version: nil), named: "put",
      options: EditOptions())
    let dropped = try store.restore(first, datastore: "Country", named: "drop")
    try Cities.write([Cities.document(1, name: "A")], to: store)
    #expect {
      try store.undo(changed, named: "undo")
    } throws: { error in
      guard case ModelError.refused(let reason) = error else { return false }
      return reason.contains("Country") && reason.contains("restore")
    }
    // What it inserted is gone already.
    #expect {
      try store.undo(imported, named: "undo")
    } throws: { error in
      guard case ModelError.refused(let reason) = error else { return false }
      return reason.contains("nothing")
    }
    _ = try store.undo(dropped, named: "undo")
    #expect(try store.head.datastore("Country")?.count == 2)
  }

  @Test("what was changed in a list that was reordered since is not taken back from another element")
  func reorderedList() throws {
    let store = EngineStore.memory(program: "test", author: "test")
    func list(_ elements: (name: String, isDone: Bool)...) -> Document {
      ["id": 1, "list": .array(elements.map { ["name": .string($0.name), "done": .bool($0.isDone)] })]
    }
    var source = DocumentList([list(("bread", false), ("wine", false))])
    _ = try Importer(store, ImportPlan(datastore: "Note", identifier: DocumentPath(parsing: "id"))).run(&source)
    func put(_ document: Document) throws -> CommitNumber {
      try store.commit(
        store.changes(putting: [document], into: "Note", version: nil), named: "put", options: EditOptions())
    }
    let ticked = try put(list(("bread", true), ("wine", false)))
    let head = try put(list(("wine", false), ("bread", true)))
    #expect(throws: ModelError.self) { try store.undo(ticked, named: "undo") }
    #expect(store.head.commit == head)
  }

  @Test("the very first commit is taken back by roots too, with the datastore that it brought")
  func firstCommit() throws {
    let store = try Cities.store(2_000)
    let first = store.head.commit
    let indexes = try store.headView.requiredDatastore("City").descriptor.indexes.count
    let undone = try undo(store)
    #expect(try undone.map { try store.commit($0).byteCount < 2_000 } == true)
    #expect(try store.head.datastore("City") == nil && store.headView.datastoreKeys.isEmpty)
    #expect(try redo(store) != nil)
    #expect(try store.city(7) == Cities.document(7))
    #expect(try store.headView.requiredDatastore("City").descriptor.indexes.count == indexes)
    #expect(try store.verifyModel(at: store.head.commit).isClean && store.undoCandidate() == first)
  }

  @Test("warm-ups and pins are passed over by undo")
  func maintenance() throws {
    let store = try Cities.store(40)
    let number = try Cities.write([Cities.document(1, name: "A")], to: store)
    _ = try store.dropIndex("tags", of: "City")
    try store.pin("here", to: number)
    #expect(try store.undoCandidate() == number)
    _ = try store.undo(number, named: "undo")
    #expect(try store.city(1) == Cities.document(1))
    #expect(try store.headView.requiredDatastore("City").descriptor.index("tags") == nil)
    #expect(try store.verifyModel(at: store.head.commit).isClean)
  }

  @Test("a later edit of one's own closes the way to redo, another program's does not")
  func redoIsClosed() throws {
    let store = try Cities.store(40)
    try Cities.write([Cities.document(1, name: "A")], to: store)
    _ = try undo(store)
    try Cities.write([Cities.document(2, name: "the app's")], to: store)
    #expect(try store.redoCandidate() != nil)
    let edit = Cities.edit(3, from: Cities.document(3), to: Cities.document(3, name: "mine"))
    _ = try store.commit(ChangeSet(changes: [edit]), named: "mine", options: EditOptions())
    #expect(try store.redoCandidate() == nil)
  }

  @Test("a datastore and the store are restored by new commits that can be taken back")
  func restore() throws {
    let store = try Cities.store(40)
    let first = store.head.commit
    try Cities.write([Cities.document(1, name: "A", population: 1)], deleting: [2], to: store)
    let second = store.head.commit
    let whole = try store.restore(first, datastore: nil, named: "restore store")
    #expect(try store.city(1) == Cities.document(1))
    #expect(try store.commit(whole).restores == first)
    let datastore = try store.restore(second, datastore: "City", named: "restore datastore")
    #expect(try store.city(1) == Cities.document(1, name: "A", population: 1))
    #expect(try store.commit(datastore).changes.first?.updated == 1)
    _ = try undo(store)
    #expect(try store.city(1) == Cities.document(1))
    #expect(try store.verifyModel(at: store.head.commit).isClean)
    #expect(throws: ModelError.self) { try store.restore(first, datastore: "Town", named: "x") }
  }

  @Test("restoring a datastore leaves the others alone, and drops what the commit had not")
  func restoreOne() throws {
    let store = try Cities.store(5)
    let first = store.head.commit
    var source = DocumentList([["iso": "CH"], ["iso": "FR"]])
    _ = try Importer(store, ImportPlan(datastore: "Country", identifier: DocumentPath(parsing: "iso"))).run(&source)
    try Cities.write([Cities.document(1, name: "A")], to: store)
    _ = try store.restore(first, datastore: "City", named: "x")
    #expect(try store.city(1) == Cities.document(1))
    #expect(try store.head.datastore("Country")?.count == 2)
    _ = try store.restore(first, datastore: "Country", named: "y")
    #expect(try store.head.datastore("Country") == nil)
    #expect(try store.verifyModel(at: store.head.commit).isClean)
  }
}
