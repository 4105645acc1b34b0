import StrataDocuments
import StrataEngine
import Testing

@testable import StrataModel

@Suite("Reading our own stores")
struct OwnReadingTests {
  @Test("windows by rank, in the primary order and along indexes, ties by identifier")
  func windows() throws {
    let store = try Cities.store(60)
    let datastore = try #require(try store.head.datastore("City"))
    #expect(try datastore.count == 60)
    #expect(try datastore.primary.entries(at: 57..<90).map(\.identifier.description) == ["58", "59", "60"])
    let country = try #require(datastore.indexes.first { $0.descriptor.name == "country" })
    let entries = try country.entries(at: 18..<22)
    #expect(entries.map { "\($0.value) \($0.identifier)" } == [#""CH" 57"#, #""CH" 60"#, #""FR" 1"#, #""FR" 4"#])
    #expect(try country.entries(at: 60..<70).isEmpty)
  }

  @Test("two ranks give the exact number of entries of any range, and read no node beyond two paths")
  func ranges() throws {
    let store = try Cities.store(2_000)
    let index = try store.index("population")
    let values = (1...2_000).map { $0 * 100 }
    for (low, high) in [(100, 200), (150, 150), (0, 1_000_000), (77_777, 123_456), (200_000, 300_000)] {
      let exact = values.filter { $0 >= low && $0 <= high }.count
      let found =
        try index.rank(of: .after(.integer(Int64(high)))) - index.rank(of: .before(.integer(Int64(low))))
      #expect(found == exact, "\(low)...\(high)")
    }
    _ = try index.tree()
    let before = store.engine.counts.nodeReads
    _ = try index.rank(of: .before(.integer(50_000)))
    _ = try index.rank(of: .after(.integer(150_000)))
    let depthLimit: UInt64 = 2 * (5 + 3)
    #expect(store.engine.counts.nodeReads - before <= depthLimit)
  }

  @Test("bounds at both sides of equal values, at the start and at the end")
  func bounds() throws {
    let store = try Cities.store(60)
    let index = try store.index("country")
    #expect(try index.rank(of: .start) == 0)
    #expect(try index.rank(of: .end) == 60)
    #expect(try index.rank(of: .before(.string("FR"))) == 20)
    #expect(try index.rank(of: .after(.string("FR"))) == 40)
    #expect(try index.rank(of: .after(.string("D"))) == 20)
    #expect(try index.rank(of: Cities.key(4), value: .string("FR")) == 21)
    #expect(try index.rank(of: Cities.key(4), value: nil) == 21)
    #expect(try index.rank(of: Cities.key(4), value: .string("CH")) == nil)
  }

  @Test("records, identifiers as a person types them, and what is not there")
  func records() throws {
    let store = try Cities.store(5)
    let datastore = try #require(try store.head.datastore("City"))
    let key = try datastore.identifier(parsing: "3")
    #expect(key == Cities.key(3))
    #expect(try datastore.record(key)?.document() == Cities.document(3))
    #expect(try datastore.record(key)?.version == "1")
    #expect(try datastore.record(Cities.key(9)) == nil)
    #expect(throws: ModelError.self) { try datastore.identifier(parsing: "three") }
    #expect(try store.head.datastore("Country") == nil)
  }

  @Test("a view of the past stays what it was")
  func pastViews() throws {
    let store = try Cities.store(5)
    let first = store.head.commit
    try Cities.write([Cities.document(3, name: "changed"), Cities.document(6)], deleting: [1], to: store)
    #expect(try store.city(3, at: first) == Cities.document(3))
    #expect(try store.city(1, at: first) != nil)
    #expect(try store.city(1) == nil)
    #expect(try store.view(at: first).datastore("City")?.count == 5)
    #expect(throws: ModelError.self) { try store.view(at: CommitNumber(99)) }
  }

  @Test("an empty store has no datastores and no commits")
  func emptyStore() throws {
    let store = EngineStore.memory()
    #expect(try store.head.datastores.isEmpty)
    #expect(try store.commits(from: store.head.commit, limit: 10, folded: true).isEmpty)
    #expect(try store.pins.isEmpty)
    #expect(try store.undoCandidate() == nil)
  }
}

@Suite("The history of our own stores")
struct OwnHistoryTests {
  private func store() throws -> (EngineStore, [CommitNumber]) {
    let store = try Cities.store(3)
    var commits = [store.head.commit]
    commits.append(try Cities.write([Cities.document(1, name: "A")], to: store, named: "rename"))
    commits.append(try Cities.write([Cities.document(4)], deleting: [2], to: store, named: "swap"))
    commits.append(try Cities.write([Cities.document(1, name: "A", population: 9)], to: store, named: "count"))
    commits.append(try Cities.write([Cities.document(2, name: "back")], to: store, named: "bring back"))
    return (store, commits)
  }

  @Test("commits are listed newest first, with who, why and how much")
  func commits() throws {
    let (store, numbers) = try store()
    let commits = try store.commits(from: store.head.commit, limit: 3, folded: true)
    #expect(commits.map(\.action) == ["bring back", "count", "swap"])
    #expect(commits.map(\.number) == [numbers[4], numbers[3], numbers[2]])
    #expect(commits[2].changes == [ChangeCount(datastore: "City", inserted: 1, updated: 0, deleted: 1)])
    #expect(commits[0].program == "App")
    #expect(commits[0].author == "Žofie")
    let rest = try store.commits(from: numbers[1], limit: 10, folded: true)
    #expect(rest.map(\.action) == ["rename", "import"])
  }

  @Test("what a commit changed is read off it in key order, old and new")
  func changesOfCommit() throws {
    let (store, numbers) = try store()
    let changes = try store.changes(of: numbers[2]).next(100)
    #expect(changes.map(\.identifier.description) == ["2", "4"])
    #expect(try changes[0].old?.document() == Cities.document(2))
    #expect(changes[0].new == nil)
    #expect(changes[1].old == nil)
    let first = try store.changes(of: numbers[0])
    #expect(try first.next(2).count == 2)
    #expect(try first.next(2).count == 1)
    #expect(try first.next(2).isEmpty)
  }

  @Test("the difference of any two commits, forwards and backwards")
  func difference() throws {
    let (store, numbers) = try store()
    let forwards = try store.changes(from: numbers[0], to: numbers[4]).next(100)
    #expect(forwards.map(\.identifier.description) == ["1", "2", "4"])
    let backwards = try store.changes(from: numbers[4], to: numbers[0]).next(100)
    #expect(try backwards.first { $0.identifier == Cities.key(4) }?.new?.document() == nil)
    #expect(try backwards.first { $0.identifier == Cities.key(2) }?.new?.document() == Cities.document(2))
    #expect(try store.changes(from: numbers[3], to: numbers[3]).next(100).isEmpty)
  }

  @Test("a record's versions cross its delete, its return, and a restore")
  func versions() throws {
    let (store, numbers) = try store()
    let two = try store.versions(of: Cities.key(2), in: "City", from: numbers[4], limit: 10)
    #expect(two.map(\.commit.number) == [numbers[4], numbers[2], numbers[0]])
    #expect(two.map(\.isDeletion) == [false, true, false])
    let restored = try store.restore(numbers[1], datastore: "City", named: "restore")
    let one = try store.versions(of: Cities.key(1), in: "City", from: restored, limit: 10)
    #expect(one.map(\.commit.number) == [restored, numbers[3], numbers[1], numbers[0]])
    #expect(try one[0].record?.document() == Cities.document(1, name: "A"))
    let page = try store.versions(of: Cities.key(1), in: "City", from: numbers[1], limit: 10)
    #expect(page.map(\.commit.number) == [numbers[1], numbers[0]])
  }

  @Test("blame names the commit that gave each field its value")
  func blame() throws {
    let (store, numbers) = try store()
    let place = RecordPlace(datastore: "City", identifier: Cities.key(1))
    let parts = try store.life(of: place, from: store.head.commit).parts
    let blame = Dictionary(uniqueKeysWithValues: parts.map { ($0.path, $0.commit.number) })
    #expect(blame[try DocumentPath(parsing: ".name")] == numbers[1])
    #expect(blame[try DocumentPath(parsing: ".population")] == numbers[3])
    #expect(blame[try DocumentPath(parsing: ".country")] == numbers[0])
    #expect(blame[try DocumentPath(parsing: ".tags[0]")] == numbers[0])
  }

  @Test("an element that comes to a list or goes leaves the others what they are, and changes the list")
  func blameOfLists() throws {
    let store = try Cities.store(0)
    var commits: [CommitNumber] = []
    for tags in [["b", "c"], ["a", "b", "c"], ["a", "b", "c"], ["a", "b"], ["a", "x", "b"], ["a", "y", "b"]] {
      try Cities.write([Cities.document(1, name: "n\(commits.count / 3)", tags: tags)], to: store)
      commits.append(try store.refresh().commit)
    }
    let place = RecordPlace(datastore: "City", identifier: Cities.key(1))
    func blame(from commit: CommitNumber) throws -> [String: CommitNumber] {
      Dictionary(
        uniqueKeysWithValues: try store.life(of: place, from: commit).parts.map {
          ($0.path.description, $0.commit.number)
        })
    }
    let newest = try blame(from: commits[5])
    #expect(newest[".tags"] == commits[5])
    #expect(newest[".tags[0]"] == commits[1], "inserted at the head")
    #expect(newest[".tags[1]"] == commits[5])
    #expect(newest[".tags[2]"] == commits[0], "pushed along and back")
    #expect(newest[".name"] == commits[3])
    #expect(newest["."] == commits[5])
    let shorter = try blame(from: commits[3])
    #expect(shorter[".tags"] == commits[3], "its last element went")
    #expect(shorter[".tags[0]"] == commits[1] && shorter[".tags[1]"] == commits[0])
    let life = try store.life(of: place, from: commits[5], keepsValues: true)
    let values = life.parts.first { $0.path.description == ".tags[1]" }?.values ?? []
    #expect(values.map(\.value) == ["x", "y"] && values.map(\.commit.number) == [commits[4], commits[5]])
    let cut = try store.life(of: place, from: commits[5], keepsValues: true, limit: 3)
    #expect(cut.parts.map(\.commit.number) == life.parts.map(\.commit.number), "the commits are those without a limit")
    for (part, whole) in zip(cut.parts, life.parts) {
      #expect(part.values.map(\.value) == whole.values.filter { $0.commit.number >= commits[3] }.map(\.value))
    }
  }

  @Test("a commit is named by number, steps, pin and time")
  func resolve() throws {
    let (store, numbers) = try store()
    #expect(try store.resolve("head") == numbers[4])
    #expect(try store.resolve("head~2") == numbers[2])
    #expect(try store.resolve("#\(numbers[1].rawValue)") == numbers[1])
    #expect(try store.resolve("today") == numbers[4])
    try store.pin("pre-v3", to: numbers[1])
    #expect(try store.resolve("pre-v3") == numbers[1])
    #expect(try store.pins == [Pin(name: "pre-v3", commit: numbers[1])])
    #expect(try store.resolve("head~1") == numbers[3])
    #expect(try store.commits(from: store.head.commit, limit: 9, folded: true).count == 5)
    try store.pin("pre-v3", to: nil)
    #expect(try store.pins.isEmpty)
    #expect(throws: ModelError.self) { try store.resolve("pre-v3") }
    for name in ["head~5", "head~\(Int.max)"] {
      #expect(throws: ModelError.noSuchCommit(name, reason: "the history has 5 commits")) { try store.resolve(name) }
    }
    #expect(throws: ModelError.self) { try store.resolve("1999-01-01") }
    for name in ["", "12", "head~1", "Tuesday", "a b", "2026-11-17"] {
      #expect(throws: ModelError.self) { try store.pin(name, to: numbers[0]) }
    }
  }

  @Test("a command that a message suggests quotes the path as a shell needs it")
  func suggestedCommands() {
    let paths = [
      ("a/b-1.strata", "a/b-1.strata"), ("my store", "'my store'"), ("it's", #"'it'\''s'"#), ("#5", "'#5'"),
      ("a&b", "'a&b'"), ("~", "'~'"), ("é😀", "é😀"), ("", "''"),
    ]
    for (path, word) in paths { #expect(path.shellWord == word) }
    #expect("\(ModelError.storage("torn", kind: .damaged).opening("my store"))".contains("salvage 'my store' NEW"))
  }
}
