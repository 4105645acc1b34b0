import DiskSimulation
import Testing

@testable import StrataEngine

@Suite("The places of what was copied")
struct PlaceTableTests {
  @Test("what was set in any order is found, and nothing else is")
  func anyOrder() {
    var table = PlaceTable<UInt64>()
    var model: [UInt64: UInt64] = [:]
    var random = RandomSource(seed: 7)
    #expect(table[0] == nil)
    for step in 0..<20_000 {
      // Mostly forward, as a copy goes, and now and then somewhere before; some twice.
      let offset = step % 3 == 0 ? random.next() % 400_000 : UInt64(step) * 31
      table[FileOffset(offset)] = UInt64(step)
      model[offset] = UInt64(step)
    }
    for offset in UInt64(0)..<700_000 where table[FileOffset(offset)] != model[offset] {
      Issue.record(
        "\(offset): \(String(describing: table[FileOffset(offset)])), not \(String(describing: model[offset]))")
      return
    }
    #expect(table[.unreachable] == nil)
  }

  @Test("a place beyond the file, which a forged reference may name, is refused and takes no memory")
  func forged() throws {
    let disk = MemoryDisk()
    let store = try FileStore.create(at: "store", options: StoreOptions(), disk: disk)
    try store.change { try $0.createTree(people, kind: .records) }
    let file = store.publication.current.file
    let copy = try GenerationCopy(
      from: file, to: try DraftFile.make("store/copy", on: disk), options: StoreOptions(), generation: 2,
      firstNumber: 1,
      counters: Counters())
    let new = EntryReference(offset: 5, length: 1, check: 0)
    for offset in [FileOffset.unreachable, file.end] {
      #expect(throws: StorageError.damaged(what: "reference to a record", offset: offset)) {
        try copy.remember(EntryReference(offset: offset, length: 1, check: 0), as: new)
      }
    }
    let last = EntryReference(offset: file.end - (1 as UInt64), length: 1, check: 0)
    try copy.remember(last, as: new)
    #expect(copy.copiedEntry(last) == new)
  }

  @Test("copied commits are found by their numbers, and the newest before one")
  func commits() {
    var commits = CopiedCommits()
    #expect(commits.newest(before: 5) == nil)
    for number in [3, 4, 9] as [UInt64] { commits.append(number, at: FileOffset(number * 100)) }
    #expect(commits.count == 3)
    #expect((0..<12).map { commits.contains($0) } == (0..<12).map { [3, 4, 9].contains($0) })
    #expect(commits.offset(of: 9) == 900)
    #expect([3, 4, 5, 9, 10].map { commits.newest(before: $0) } == [nil, 3, 4, 4, 9])
  }
}
