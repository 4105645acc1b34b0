import DiskSimulation
import StrataEngine
import Testing

@testable import StrataModel

@Suite("Staged changes")
struct StagedChangesTests {
  private let key = StoredKey(bytes: [0x15, 7], value: .integer(7))

  private func content(_ text: String) -> RecordContent { RecordContent(version: "1", bytes: Array(text.utf8)) }

  private func edit(_ old: String?, _ new: String?, id: UInt8 = 7) -> RecordEdit {
    RecordEdit(
      datastore: "City", identifier: StoredKey(bytes: [0x15, id], value: .integer(Int64(id))), old: old.map(content),
      new: new.map(content))
  }

  @Test("per record the first old content and the last new one count")
  func composition() {
    var staged = StagedChanges(base: CommitNumber(3))
    staged.add(StagedStep(title: "a", edits: [edit("1", "2")]))
    staged.add(StagedStep(title: "b", edits: [edit("2", "3"), edit(nil, "n", id: 8)]))
    #expect(staged.changes.changes == [edit("1", "3"), edit(nil, "n", id: 8)])
    staged.add(StagedStep(title: "c", edits: [edit("3", "1")]))
    #expect(staged.changes.changes == [edit(nil, "n", id: 8)])
  }

  @Test("an edit that does not go on from the one before stands for what it was made on")
  func movedBase() {
    var staged = StagedChanges(base: CommitNumber(3))
    staged.add(StagedStep(title: "a", edits: [edit("1", "1a")]))
    staged.add(StagedStep(title: "b", edits: [edit("2", "2ab")]))
    #expect(staged.changes.changes == [edit("2", "2ab")])
    _ = staged.undo()
    #expect(staged.changes.changes == [edit("1", "1a")])
  }

  @Test("how many changes a file has is heard before they are read")
  func counted() throws {
    let steps = [
      StagedStep(title: "a", edits: [edit("1", "2"), edit(nil, "x", id: 9)]),
      StagedStep(title: "b", edits: [edit("2", "3")]),
    ]
    var heard: [Int] = []
    let text = StagedText(path: "/s/staged-1")
    _ = try text.changes(of: text.bytes(of: StagedChanges(steps: steps)), counted: { heard.append($0) })
    #expect(heard == [3])
  }

  @Test("undo and redo walk over the steps, and a new step forgets what was undone")
  func undoAndRedo() {
    var staged = StagedChanges()
    staged.add(StagedStep(title: "a", edits: [edit("1", "2")]))
    staged.add(StagedStep(title: "b", edits: [edit("2", "3")]))
    #expect(staged.undo()?.title == "b")
    #expect(staged.changes.changes == [edit("1", "2")])
    #expect(staged.redo()?.title == "b")
    #expect(staged.changes.changes == [edit("1", "3")])
    _ = staged.undo()
    _ = staged.undo()
    #expect(staged.isEmpty)
    #expect(staged.undo() == nil)
    staged.add(StagedStep(title: "c", edits: [edit("1", nil)]))
    #expect(!staged.canRedo)
    #expect(staged.totals.deleted == 1)
  }

  @Test("what was saved is loaded again, undone steps included, bytes that are not text included")
  func survives() throws {
    let disk = SimulatedDisk()
    var staged = StagedChanges(base: CommitNumber(12))
    staged.add(StagedStep(title: "price “8.95”", edits: [edit(#"{"a":"ü\n"}"#, nil)]))
    let binary = RecordContent(version: "2024", bytes: [0xFF, 0xFE, 0])
    staged.add(
      StagedStep(
        title: "raw", edits: [RecordEdit(datastore: "City", identifier: key, old: nil, new: binary)]))
    _ = staged.undo()
    do { try StagedFile(folder: "/state/strata/abc", disk: disk).save(staged) }
    let loaded = try StagedFile(folder: "/state/strata/abc", disk: disk).load()
    #expect(loaded?.steps == staged.steps)
    #expect(loaded?.position == 1)
    #expect(loaded?.base == CommitNumber(12))
  }

  @Test("an empty set leaves no file behind")
  func emptyIsRemoved() throws {
    let disk = SimulatedDisk()
    let file = try StagedFile(folder: "/s", disk: disk)
    try file.save(StagedChanges(steps: [StagedStep(title: "a", edits: [edit("1", "2")])]))
    #expect(try disk.status(file.path) != nil)
    try file.save(StagedChanges())
    #expect(try disk.status(file.path) == nil)
    #expect(try file.load() == nil)
  }

  @Test("two browsers keep two files, and what a dead one left is found by the next")
  func twoBrowsers() throws {
    let disk = SimulatedDisk()
    var first: StagedFile? = try StagedFile(folder: "/s", disk: disk)
    let second = try StagedFile(folder: "/s", disk: disk)
    #expect(first?.path != second.path)
    try second.save(StagedChanges(steps: [StagedStep(title: "second", edits: [edit("1", "2")])]))
    try first?.save(StagedChanges(steps: [StagedStep(title: "first", edits: [edit("1", "2")])]))
    first = nil
    let third = try StagedFile(folder: "/s", disk: disk)
    #expect(try third.load()?.steps.first?.title == "first")
    #expect(try second.load()?.steps.first?.title == "second")
  }

  @Test("a number of steps that no file holds is refused")
  func forgedCount() {
    let text = "{\"format\":1,\"position\":0,\"steps\":\(Int.max)}"
    #expect(throws: ModelError.self) {
      try StagedText(path: "p").changes(of: Array(text.utf8))
    }
  }

  @Test("every truncation of the file is reported with its place, and the file is kept aside")
  func truncations() throws {
    let disk = SimulatedDisk()
    let file = try StagedFile(folder: "/s", disk: disk)
    let staged = StagedChanges(steps: [StagedStep(title: "a", edits: [edit("1", "2"), edit(nil, "x", id: 9)])])
    let whole = StagedText(path: "/s/staged-1").bytes(of: staged)
    for length in 1..<whole.count - 1 {
      #expect(throws: ModelError.self) {
        try StagedText(path: "p").changes(of: Array(whole.prefix(length)))
      }
    }
    try file.save(staged)
    let aside = try file.setAside()
    #expect(try disk.status(aside) != nil)
    #expect(try file.load() == nil)
  }
}

@Suite("Staged changes and power cuts")
struct StagedFileCrashTests {
  @Test("after a power cut at any moment there is the set that was saved, or a later whole one")
  func powerCuts() throws {
    let disk = SimulatedDisk()
    let file = try StagedFile(folder: "/state/strata", disk: disk)
    let titles = ["one", "two", "three"]
    for (number, title) in titles.enumerated() {
      let content = RecordContent(version: "1", bytes: Array(repeating: UInt8(ascii: "x"), count: 700 * (number + 1)))
      let edit = RecordEdit(
        datastore: "City", identifier: StoredKey(bytes: [1], value: .integer(1)), old: nil, new: content)
      try file.save(StagedChanges(steps: [StagedStep(title: title, edits: [edit])]))
      disk.note(UInt64(number + 1))
    }
    var count = 0
    try CrashImages.forEach(of: disk.record, on: disk.start, seed: 1) { crash in
      count += 1
      let promised = Int(crash.notes.last ?? 0)
      let reopened = try StagedFile(folder: "/state/strata", disk: SimulatedDisk(crash.image))
      let title = try reopened.load()?.steps.first?.title
      let found = title.flatMap { titles.firstIndex(of: $0) }.map { $0 + 1 } ?? 0
      #expect(found >= promised, "\(crash.kind) after \(crash.position) operations")
    }
    #expect(count > 100)
  }
}
