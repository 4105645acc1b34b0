import StrataEngine
import Testing

@testable import StrataModel

@Suite("Compacting and copying")
struct RewritingTests {
  private func open(_ path: String, creates: Bool = false) throws -> EngineStore {
    try EngineStore.open(path: path, program: "Tests", creates: creates)
  }

  @Test("a compacted store keeps its state and its pins, says what it squashed, and stays editable and clean")
  func compact() throws {
    let folder = try TemporaryFolder()
    let store = try open(folder.path + "/a", creates: true)
    try Cities.write((1...40).map { Cities.document($0) }, to: store)
    for round in 1...20 { try Cities.write([Cities.document(3, name: "round \(round)")], to: store) }
    try store.pin("early", to: CommitNumber(5))
    let before = store.head.commit
    _ = try store.preview(
      ChangeSet(changes: [Cities.edit(3, from: try store.city(3), to: Cities.document(3))]), options: EditOptions())
    let estimate = try store.compactionEstimate(CommitRetention(parsing: "3"))
    // The three newest that the history shows, the one that gave a name, and the named one.
    #expect(estimate.commitsKept == 5)
    let rows = try store.commits(from: before, limit: 3, folded: true).map(\.number)
    #expect(estimate.bytesAfter < estimate.bytesBefore)
    let report = try store.compact(.last(3), progress: nil)
    #expect(report.bytesAfter < report.bytesBefore)
    #expect(store.head.commit == before)
    #expect(store.writer == nil)
    #expect(try store.city(3) == Cities.document(3, name: "round 20"))
    #expect(try store.resolve("early") == CommitNumber(5))
    #expect(try store.city(3, at: CommitNumber(5)) == Cities.document(3, name: "round 4"))
    #expect(throws: ModelError.self) { try store.view(at: CommitNumber(7)) }
    let commits = try store.commits(from: store.head.commit, limit: 99, folded: true)
    #expect(commits.contains { $0.isSquashed })
    #expect(commits.prefix(3).map(\.number) == rows)
    for commit in commits { _ = try store.changes(of: commit.number).next(1_000) }
    let edit = Cities.edit(3, from: try store.city(3), to: Cities.document(3, name: "after"))
    _ = try store.commit(ChangeSet(changes: [edit]), named: "after", options: EditOptions())
    #expect(try store.verifyModel(at: store.head.commit).isClean)
  }

  @Test("a squashed commit is not what an undo takes back")
  func undo() throws {
    let folder = try TemporaryFolder()
    let store = try open(folder.path + "/a", creates: true)
    try Cities.write((1...4).map { Cities.document($0) }, to: store)
    for round in 1...3 { try Cities.write([Cities.document(3, name: "round \(round)")], to: store) }
    #expect(try store.undoCandidate() == store.head.commit)
    _ = try store.compact(.last(2), progress: nil)
    #expect(try store.undoCandidate() == store.head.commit)
    let undo = try store.undo(store.head.commit, named: "back")
    #expect(try store.city(3) == Cities.document(3, name: "round 2"))
    #expect(try store.undoCandidate() == nil)
    #expect(try store.redoCandidate() == undo)
  }

  @Test(
    "to undo a squashed commit is refused with the reason, whether or not it is the newest one", arguments: [1, 2])
  func undoSquashed(kept: Int) throws {
    let folder = try TemporaryFolder()
    let store = try open(folder.path + "/a", creates: true)
    for id in 1...6 { try Cities.write([Cities.document(id)], to: store) }
    _ = try store.compact(.last(kept), progress: nil)
    if kept == 2 { try Cities.write([Cities.document(7)], to: store) }
    let squashed = try #require(
      store.commits(from: store.head.commit, limit: 9, folded: true).first { $0.isSquashed }?.number)
    let before = store.head.commit
    let attempts: [() throws -> Void] = [
      { _ = try store.undoPreview(of: squashed, progress: nil) }, { _ = try store.undo(squashed, named: "back") },
    ]
    for attempt in attempts {
      let error = #expect(throws: ModelError.self) { try attempt() }
      #expect(
        error?.description.contains("\(squashed) holds the changes of commits that a compaction squashed") == true)
    }
    #expect(store.head.commit == before)
    #expect(try store.city(1) == Cities.document(1))
  }

  @Test("a copy has the same state, and one up to a commit ends there")
  func copy() throws {
    let folder = try TemporaryFolder()
    let store = try open(folder.path + "/a", creates: true)
    try Cities.write((1...40).map { Cities.document($0) }, to: store)
    let first = store.head.commit
    try Cities.write([Cities.document(3, name: "later")], to: store)
    _ = try store.copy(to: folder.path + "/b", at: nil, progress: nil)
    _ = try store.copy(to: folder.path + "/c", at: first, progress: nil)
    #expect(try open(folder.path + "/b").city(3) == Cities.document(3, name: "later"))
    let early = try open(folder.path + "/c")
    #expect(early.head.commit == first)
    #expect(try early.city(3) == Cities.document(3))
    #expect(try early.verifyModel(at: first).isClean)
    #expect(throws: ModelError.self) { try store.copy(to: folder.path + "/b", at: nil, progress: nil) }
  }

  @Test(
    "retention is all, a number, an age, or one of each",
    arguments: ["", "0", "-3", "3x", "d", "99999999999d", "10000w", "3 or", "3 or 4", "3 xor 4d"])
  func retention(text: String) throws {
    #expect(throws: ModelError.self) { try CommitRetention(parsing: text) }
    #expect(try CommitRetention(parsing: "all") == .all)
    #expect(try CommitRetention(parsing: "12") == .last(12))
    #expect(try CommitRetention(parsing: "2w") == .younger(1_209_600_000_000_000))
    #expect(try CommitRetention(parsing: "3 or 1m") == .either(last: 3, younger: 60_000_000_000))
    #expect(try CommitRetention(parsing: "1h and 3") == .both(last: 3, younger: 3_600_000_000_000))
  }
}
