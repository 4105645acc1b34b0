import Foundation
import StrataEngine
import StrataLocks
import StrataModel
import Testing

@testable import CodableDatastore

@Suite("Several copies of a store")
struct SeveralCopiesTests {
  private let ours = TemporaryPlace()
  private let theirs = TemporaryPlace()

  @Test("an undo of the edit with which an app of a newer version converted an instance keeps the later edits")
  func undoAcrossVersions() async throws {
    let persistence = try DiskPersistence(readWriteURL: ours.url)
    do {
      let old = Datastore<OldNoteFormat, ReadWrite>.JSONStore(
        persistence: persistence, migrations: [.first: { try $0.decode(OldNote.self, from: $1) }])
      try await old.persist(OldNote(id: 1, text: "T1:b1", stars: 0))
      try await old.persist(OldNote(id: 1, text: "T1:b1", stars: 1))
    }
    let notes = Datastore<NoteFormat, ReadWrite>.JSONStore(
      persistence: persistence,
      migrations: [
        .first: { Note(try $0.decode(OldNote.self, from: $1)) }, .second: { try $0.decode(Note.self, from: $1) },
      ])
    try await notes.persist(Note(id: 1, title: "T2", body: "b2", stars: 1))
    let converted = try #require(try await persistence.head).id
    try await notes.persist(Note(id: 1, title: "T2", body: "later", stars: 1))
    try await persistence.undo(converted)
    #expect(try await notes.load(1) == Note(id: 1, title: "T1", body: "later", stars: 1))
    try await persistence.undo(2)
    #expect(try await notes.load(1) == Note(id: 1, title: "T1", body: "later", stars: 0))
    #expect(try await notes.load("T1", from: \.title).all().map(\.id) == [1])
    #expect(try await notes.load("T2", from: \.title).all().isEmpty)
  }

  @Test("a save of what was read in an older version is put together with what came since")
  func readAtOlderVersion() async throws {
    let persistence = try DiskPersistence(readWriteURL: ours.url)
    do {
      let old = Datastore<OldNoteFormat, ReadWrite>.JSONStore(
        persistence: persistence, migrations: [.first: { try $0.decode(OldNote.self, from: $1) }])
      try await old.persist(OldNote(id: 1, text: "T1:b1", stars: 0))
    }
    let notes = Datastore<NoteFormat, ReadWrite>.JSONStore(
      persistence: persistence,
      migrations: [
        .first: { Note(try $0.decode(OldNote.self, from: $1)) },
        .second: { try $0.decode(Note.self, from: $1) },
      ])
    try await notes.persist(Note(id: 1, title: "T1", body: "b1", stars: 3))
    let merged = Note(id: 1, title: "T1", body: "longer", stars: 3)
    #expect(try await notes.persist(Note(id: 1, title: "T1", body: "longer", stars: 0), readAt: 1) == merged)
    #expect(try await notes.load(1) == merged)
    await #expect(throws: StoreError.self) {
      try await notes.persist(Note(id: 1, title: "T1", body: "b1", stars: 4), readAt: 1)
    }
  }

  @Test("an app clones a store, both edit a record, and after an exchange both have both edits")
  func exchange() async throws {
    let here = try DiskPersistence(readWriteURL: ours.url)
    let books = BookFormat.datastore(here)
    try await books.persist(Book(id: 1, title: "Invisible Cities", pages: 165))
    let there = try DiskPersistence(readWriteURL: theirs.url)
    try await there.addRemote(RemoteStore(name: "desk", location: ours.url.path(percentEncoded: false)))
    #expect(try await there.remotes.map(\.name) == ["desk"])
    try await there.exchange(with: "desk")
    let copies = BookFormat.datastore(there)
    #expect(try await copies.load(1)?.title == "Invisible Cities")
    try await books.persist(Book(id: 1, title: "Le città invisibili", pages: 165))
    try await copies.persist(Book(id: 1, title: "Invisible Cities", pages: 170))
    #expect(try await there.fetch(from: "desk") == 1)
    let plan = try await there.planMerge(with: "desk")
    #expect((plan.mergedRecords, plan.conflicts.count, plan.commit) == (1, 0, nil))
    let report = try await there.exchange(with: "desk")
    #expect(report.commit != nil && !report.isOpen)
    for datastore in [books, copies] {
      #expect(try await datastore.load(1) == Book(id: 1, title: "Le città invisibili", pages: 170))
    }
    #expect(try await there.push(to: "desk") == 0)
  }

  @Test("copies are merged by an app that has a datastore not open, though nothing tells the rule of its empty index")
  func closedDatastore() async throws {
    let (here, there) = (try DiskPersistence(readWriteURL: ours.url), try DiskPersistence(readWriteURL: theirs.url))
    try await BookFormat.datastore(here).persist(Book(id: 1, title: "Invisible Cities", pages: 165))
    try await there.addRemote(RemoteStore(name: "desk", location: ours.url.path(percentEncoded: false)))
    try await there.exchange(with: "desk")
    try await BookFormat.datastore(here).persist(Book(id: 1, title: "Le città invisibili", pages: 165))
    try await BookFormat.datastore(there).persist(Book(id: 1, title: "Invisible Cities", pages: 170))
    try await there.exchange(with: "desk")
    for persistence in [here, there] {
      let books = BookFormat.datastore(persistence)
      #expect(try await books.load(1) == Book(id: 1, title: "Le città invisibili", pages: 170))
      try await books.persist(Book(id: 2, title: "Solaris", authors: ["Lem"]))
      #expect(try await books.load("Lem", from: \.authors).all().map(\.id) == [2])
      #expect(try await books.load(170, from: \.pages).all().map(\.id) == [1])
    }
  }

  @Test("an edit is undone by an app that has the datastore not open, though nothing tells the rule of its empty index")
  func undoInClosedDatastore() async throws {
    do {
      let books = BookFormat.datastore(try DiskPersistence(readWriteURL: ours.url))
      try await books.persist(Book(id: 1, title: "Invisible Cities", pages: 165))
      try await books.persist(Book(id: 1, title: "Le città invisibili", pages: 165))
      try await books.persist(Book(id: 1, title: "Le città invisibili", pages: 170))
    }
    let persistence = try DiskPersistence(readWriteURL: ours.url)
    let edit = try #require(try await persistence.head).parents[0]
    try await persistence.undo(edit)
    let books = BookFormat.datastore(persistence)
    #expect(try await books.load(1) == Book(id: 1, title: "Invisible Cities", pages: 170))
    try await books.persist(Book(id: 2, title: "Solaris", authors: ["Lem"]))
    #expect(try await books.load("Lem", from: \.authors).all().map(\.id) == [2])
    #expect(try await books.load(170, from: \.pages).all().map(\.id) == [1])
  }

  @Test("an exchange with a store that this process has open waits for no idleness of its writer")
  func openHere() async throws {
    var configuration = StoreConfiguration()
    configuration.writerIdleTime = .seconds(3_600)
    let here = try DiskPersistence(readWriteURL: ours.url, configuration: configuration)
    let books = BookFormat.datastore(here)
    try await books.persist(Book(id: 1, title: "a"))
    let there = try DiskPersistence(readWriteURL: theirs.url, configuration: configuration)
    try await there.addRemote(RemoteStore(name: "desk", location: ours.url.path(percentEncoded: false)))
    try await there.exchange(with: "desk")
    let copies = BookFormat.datastore(there)
    for title in ["b", "c"] {
      try await copies.persist(Book(id: 1, title: title))
      try await there.exchange(with: "desk")
      #expect(try await books.load(1)?.title == title)
      try await books.persist(Book(id: 2, title: title))
    }
  }

  @Test("a record of more than 128 MiB is exchanged as any other")
  func longRecord() async throws {
    let here = try DiskPersistence(readWriteURL: ours.url)
    let long = Data(repeating: 0xA5, count: 129 << 20)
    try await BlobDatastore(persistence: here).persist(long, to: "film")
    let there = try DiskPersistence(readWriteURL: theirs.url)
    try await there.addRemote(RemoteStore(name: "desk", location: ours.url.path(percentEncoded: false)))
    try await there.exchange(with: "desk")
    #expect(try await BlobDatastore(persistence: there).load("film") == long)
  }

  @Test(
    "a datastore that one copy dropped stays dropped if the other did not edit it, but shortened its history",
    arguments: [true, false])
  func droppedBesideCompaction(isDroppedHere: Bool) async throws {
    let here = try DiskPersistence(readWriteURL: ours.url)
    try await BlobDatastore(persistence: here).persist(Data([1]), to: "first")
    let books = BookFormat.datastore(here)
    try await books.persist(Book(id: 1, title: "a"))
    let there = try DiskPersistence(readWriteURL: theirs.url)
    try await there.addRemote(RemoteStore(name: "desk", location: ours.url.path(percentEncoded: false)))
    try await there.exchange(with: "desk")
    let (dropping, other) = isDroppedHere ? (here, there) : (there, here)
    try await dropping.restore(1)
    try await BlobDatastore(persistence: other).persist(Data([2]), to: "second")
    _ = try await other.shortenHistory(keeping: .last(1))
    let report = try await there.exchange(with: "desk")
    #expect(report.conflicts.isEmpty && report.notes.isEmpty)
    for copy in [here, there] {
      #expect(try await BookFormat.datastore(copy).count == 0)
      #expect(try await BlobDatastore(persistence: copy).names == ["first", "second"])
    }
  }

  @Test("what conflicts is told and not written, until a settlement is named")
  func conflict() async throws {
    let here = try DiskPersistence(readWriteURL: ours.url)
    let books = BookFormat.datastore(here)
    try await books.persist(Book(id: 1, title: "a"))
    let there = try DiskPersistence(readWriteURL: theirs.url)
    try await there.addRemote(RemoteStore(name: "desk", location: ours.url.path(percentEncoded: false)))
    try await there.exchange(with: "desk")
    let copies = BookFormat.datastore(there)
    try await books.persist(Book(id: 1, title: "b"))
    try await copies.persist(Book(id: 1, title: "c"))
    let open = try await there.exchange(with: "desk")
    #expect(open.isOpen && open.commit == nil)
    #expect(open.conflicts.map(\.fields) == [[".title"]])
    #expect(try await copies.load(1)?.title == "c")
    try await there.exchange(with: "desk", settling: .theirs)
    #expect(try await copies.load(1)?.title == "b")
    #expect(try await books.load(1)?.title == "b")
  }

  struct Page: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    var tags: [String]
    var visits: Int
    var title = ""
  }

  struct PageFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case first = 1 }
    typealias Instance = Page
    static let defaultKey: DatastoreKey = "Pages"
    static let currentVersion = Version.first
    static let mergeRules: [MergeRule<Page>] = [.set(\.tags), .counter(\.visits)]
  }

  private func pages(_ persistence: DiskPersistence<ReadWrite>) -> Datastore<PageFormat, ReadWrite> {
    .JSONStore(
      persistence: persistence, key: PageFormat.defaultKey,
      migrations: [.first: { decoder, data in try decoder.decode(Page.self, from: data) }])
  }

  @Test("lists and counters merge as the format declares it")
  func rules() async throws {
    let (here, there) = (try DiskPersistence(readWriteURL: ours.url), try DiskPersistence(readWriteURL: theirs.url))
    let (books, copies) = (pages(here), pages(there))
    try await books.persist(Page(id: 1, tags: ["a", "b"], visits: 10))
    try await there.addRemote(RemoteStore(name: "desk", location: ours.url.path(percentEncoded: false)))
    try await there.exchange(with: "desk")
    try await books.persist(Page(id: 1, tags: ["a", "b", "c"], visits: 13))
    try await copies.persist(Page(id: 1, tags: ["b"], visits: 11))
    #expect(try await !there.exchange(with: "desk").isOpen)
    for datastore in [books, copies] {
      let page = try #require(try await datastore.load(1))
      #expect((Set(page.tags), page.visits) == (["b", "c"], 14))
    }
    // One visit on each side.
    for datastore in [books, copies] {
      var page = try #require(try await datastore.load(1))
      page.visits += 1
      try await datastore.persist(page)
    }
    #expect(try await !there.exchange(with: "desk").isOpen)
    for datastore in [books, copies] { #expect(try await datastore.load(1)?.visits == 16) }
  }

  struct Tagged: Codable, Hashable, Identifiable, Sendable {
    struct Part: Codable, Hashable, Sendable { var marks: Set<Int> }

    var id: Int
    var tags: Set<String>
    var counts: [UUID: Int]
    var titles: [String: Int] = ["a": 1]
    var part: Part?
    var list = [1, 2, 3]
    var title = ""

    /// The same value, of which the lists are written in another order.
    var reordered: Self {
      var other = self
      other.tags = Set(minimumCapacity: 4_096)
      other.tags.formUnion(tags)
      other.counts = Dictionary(minimumCapacity: 4_096)
      for (key, value) in counts { other.counts[key] = value }
      return other
    }
  }

  struct TaggedFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case first = 1 }
    typealias Instance = Tagged
    static let defaultKey: DatastoreKey = "Tagged"
    static let currentVersion = Version.first
  }

  @Test("a set, and a dictionary that is written as a list, have no order: equal ones are no change, and others merge")
  func unordered() async throws {
    let (here, there) = (try DiskPersistence(readWriteURL: ours.url), try DiskPersistence(readWriteURL: theirs.url))
    let (mine, copies) = (here.datastore(TaggedFormat.self), there.datastore(TaggedFormat.self))
    let keys = (0..<12).map { _ in UUID() }
    let first = Tagged(
      id: 1, tags: Set((0..<12).map { "tag \($0)" }), counts: Dictionary(uniqueKeysWithValues: keys.map { ($0, 1) }),
      part: .init(marks: Set(0..<12)))
    #expect(
      Array(first.tags) != Array(first.reordered.tags) && Array(first.counts.keys) != Array(first.reordered.counts.keys)
    )
    try await mine.persist(first)
    let head = try await here.head?.id
    try await mine.persist(first.reordered)
    #expect(try await here.head?.id == head, "an equal value was written again")
    try await there.addRemote(RemoteStore(name: "desk", location: ours.url.path(percentEncoded: false)))
    try await there.exchange(with: "desk")
    // Both write all in another order, and change one thing each.
    var (left, right) = (first, first.reordered)
    left.title = "left"
    left.tags.insert("more")
    left.counts[keys[0]] = 5
    right.tags.remove("tag 3")
    right.counts[keys[1]] = 7
    right.part?.marks.insert(99)
    try await mine.persist(left)
    try await copies.persist(right)
    #expect(try await there.exchange(with: "desk").conflicts.isEmpty)
    var merged = left
    merged.tags.remove("tag 3")
    merged.counts[keys[1]] = 7
    merged.part?.marks.insert(99)
    for datastore in [mine, copies] { #expect(try await datastore.load(1) == merged) }
    // A list keeps its order.
    var (up, down) = (merged, merged)
    up.list = [3, 1, 2]
    down.list = [2, 1, 3]
    try await mine.persist(up)
    try await copies.persist(down)
    #expect(try await there.exchange(with: "desk").conflicts.map(\.fields) == [[".list"]])
  }

  /// A page of an app's first and second version: the second splits the title off.
  struct OldNote: Codable, Identifiable, Sendable {
    var id: Int
    var text: String
    var stars: Int
  }

  struct Note: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    var title: String
    var body: String
    var stars: Int

    init(id: Int, title: String, body: String, stars: Int) {
      (self.id, self.title, self.body, self.stars) = (id, title, body, stars)
    }

    init(_ old: OldNote) {
      let parts = old.text.split(separator: ":", maxSplits: 1).map(String.init)
      self.init(id: old.id, title: parts[0], body: parts.count > 1 ? parts[1] : "", stars: old.stars)
    }
  }

  struct OldNoteFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case first = 1 }
    typealias Instance = OldNote
    static let defaultKey: DatastoreKey = "Notes"
    static let currentVersion = Version.first
  }

  struct NoteFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case first = 1, second }
    typealias Instance = Note
    static let defaultKey: DatastoreKey = "Notes"
    static let currentVersion = Version.second
    let title = Index(\.title)
  }

  private func notes(_ persistence: DiskPersistence<ReadWrite>) -> Datastore<NoteFormat, ReadWrite> {
    .JSONStore(
      persistence: persistence,
      migrations: [
        .first: { decoder, data in Note(try decoder.decode(OldNote.self, from: data)) },
        .second: { decoder, data in try decoder.decode(Note.self, from: data) },
      ])
  }

  @Test("where one side has migrated, the other's edits by the older app are converted first, and merge field by field")
  func lifted() async throws {
    let there = try DiskPersistence(readWriteURL: theirs.url)
    let old = Datastore<OldNoteFormat, ReadWrite>.JSONStore(
      persistence: there, migrations: [.first: { decoder, data in try decoder.decode(OldNote.self, from: data) }])
    for id in 1...3 { try await old.persist(OldNote(id: id, text: "T\(id):b\(id)", stars: 0)) }
    let here = try DiskPersistence(readWriteURL: ours.url)
    try await here.addRemote(RemoteStore(name: "desk", location: theirs.url.path(percentEncoded: false)))
    try await here.exchange(with: "desk")
    let new = notes(here)
    try await new.migrateEntireStore(ifLessThan: .second)
    try await new.persist(Note(id: 1, title: "T1", body: "longer", stars: 0))
    try await old.persist(OldNote(id: 1, text: "T1:b1", stars: 5))
    try await old.persist(OldNote(id: 2, text: "T2:edited", stars: 0))
    try await here.fetch(from: "desk")
    let plan = try await here.planMerge(with: "desk")
    #expect(plan.conflicts.isEmpty, "\(plan.conflicts.map(\.description))")
    try await here.merge(with: "desk")
    #expect(try await new.load(1) == Note(id: 1, title: "T1", body: "longer", stars: 5))
    #expect(try await new.load(2) == Note(id: 2, title: "T2", body: "edited", stars: 0))
    #expect(try await new.load(3) == Note(id: 3, title: "T3", body: "b3", stars: 0))
    #expect(try await new.load("T2", from: \.title).collectInstances(upTo: .infinity).map(\.id) == [2])
  }

  struct RankedNoteFormat: DatastoreFormat {
    typealias Version = NoteFormat.Version
    typealias Instance = Note
    static let defaultKey: DatastoreKey = "Notes"
    static let currentVersion = Version.second
    let title = Index(\.title)
    let stars = Index(\.stars)
  }

  @Test("an app without an index that a newer one added merges with its copy, and the newer one finds all by the index")
  func addedIndex() async throws {
    let here = try DiskPersistence(readWriteURL: ours.url)
    let old = notes(here)
    for id in 1...3 { try await old.persist(Note(id: id, title: "T\(id)", body: "", stars: id)) }
    let there = try DiskPersistence(readWriteURL: theirs.url)
    try await there.addRemote(RemoteStore(name: "desk", location: ours.url.path(percentEncoded: false)))
    try await there.exchange(with: "desk")
    let new = there.datastore(RankedNoteFormat.self)
    try await new.warm()
    try await new.persist(Note(id: 1, title: "T1", body: "", stars: 10))
    try await old.persist(Note(id: 2, title: "T2", body: "", stars: 20))
    try await old.persist(Note(id: 4, title: "T4", body: "", stars: 40))
    try await here.addRemote(RemoteStore(name: "laptop", location: theirs.url.path(percentEncoded: false)))
    #expect(try await here.exchange(with: "laptop").conflicts.isEmpty)
    #expect(try await old.load(...).all().map(\.stars) == [10, 20, 3, 40])
    #expect(try await new.load(4..., from: \.stars).all().map(\.id) == [1, 2, 4])
    #expect(try await old.load("T4", from: \.title).all().map(\.id) == [4])
  }

  @Test("an app that cannot read the newer app's records leaves the merge to that one, and says why in one sentence")
  func olderApp() async throws {
    let here = try DiskPersistence(readWriteURL: ours.url)
    let old = Datastore<OldNoteFormat, ReadWrite>.JSONStore(
      persistence: here, migrations: [.first: { decoder, data in try decoder.decode(OldNote.self, from: data) }])
    try await old.persist(OldNote(id: 1, text: "T1:b1", stars: 0))
    let there = try DiskPersistence(readWriteURL: theirs.url)
    try await there.addRemote(RemoteStore(name: "desk", location: ours.url.path(percentEncoded: false)))
    try await there.exchange(with: "desk")
    let new = notes(there)
    try await new.persist(Note(id: 2, title: "T2", body: "b2", stars: 0))
    try await old.persist(OldNote(id: 1, text: "T1:b1", stars: 5))
    try await here.addRemote(RemoteStore(name: "laptop", location: theirs.url.path(percentEncoded: false)))
    let error = await #expect(throws: StoreError.self) { try await here.exchange(with: "laptop") }
    #expect(
      error?.message == "Notes 2: it does not decode as OldNote: Version 2 is not a case of Version: "
        + "a newer program has written it.")
    #expect(try await old.load(...).all().map(\.stars) == [5])
    #expect(try await there.exchange(with: "desk").conflicts.isEmpty)
    #expect(try await new.load(...).all().map(\.stars) == [5, 0])
  }

  @Test(
    "a save of what was read at a commit is put together with what came since, and never brings back what was deleted")
  func readAt() async throws {
    let here = try DiskPersistence(readWriteURL: ours.url)
    let books = pages(here)
    try await books.persist(Page(id: 1, tags: ["a"], visits: 1, title: "x"))
    let read = try #require(try await here.head).id
    try await books.persist(Page(id: 1, tags: ["a", "b"], visits: 1, title: "x"))
    let now = try await books.persist(Page(id: 1, tags: ["a"], visits: 4, title: "x"), readAt: read)
    #expect(now == Page(id: 1, tags: ["a", "b"], visits: 4, title: "x"))
    #expect(try await books.load(1) == now)
    try await books.persist(Page(id: 1, tags: ["a"], visits: 4, title: "y"))
    await #expect(throws: StoreError.self) {
      try await books.persist(Page(id: 1, tags: ["a"], visits: 1, title: "z"), readAt: read)
    }
    #expect(try await books.load(1)?.title == "y")
    try await books.delete(1)
    await #expect(throws: StoreError.self) {
      try await books.persist(Page(id: 1, tags: ["a"], visits: 1, title: "z"), readAt: read)
    }
    #expect(try await books.load(1) == nil)
  }

  @Test("the same where only the app orders the identifiers")
  func readAtInAppOrder() async throws {
    let here = try DiskPersistence(readWriteURL: ours.url)
    let parcels = here.datastore(QueryOrderTests.ParcelFormat.self)
    func parcel(_ weight: Int, _ floor: Int) -> QueryOrderTests.Parcel {
      QueryOrderTests.Parcel(id: .init(letters: "B"), size: .small, weight: weight, floor: floor)
    }
    try await parcels.persist(parcel(1, 1))
    let read = try #require(try await here.head).id
    try await parcels.persist(parcel(2, 1))
    #expect(try await parcels.persist(parcel(1, 7), readAt: read) == parcel(2, 7))
    await #expect(throws: StoreError.self) { try await parcels.persist(parcel(3, 1), readAt: read) }
    try await parcels.delete(.init(letters: "B"))
    await #expect(throws: StoreError.self) { try await parcels.persist(parcel(1, 1), readAt: read) }
    #expect(try await parcels.count == 0)
  }

  @Test("two saves that count on from one reading both count, also to the same number")
  func countersReadAt() async throws {
    let here = try DiskPersistence(readWriteURL: ours.url)
    let books = pages(here)
    func page(_ visits: Int, _ title: String = "x") -> Page { Page(id: 1, tags: [], visits: visits, title: title) }
    try await books.persist(page(10))
    let read = try #require(try await here.head).id
    #expect(try await books.persist(page(11), readAt: read) == page(11))
    #expect(try await books.persist(page(11), readAt: read) == page(12))
    #expect(try await books.persist(page(10, "y"), readAt: read) == page(12, "y"))
    #expect(try await books.load(1) == page(12, "y"))
  }

  @Test("a name that is none, a remote that is there, and a push to a head that moved are errors with a sentence")
  func errors() async throws {
    let here = try DiskPersistence(readWriteURL: ours.url)
    try await here.addRemote(RemoteStore(name: "desk", location: theirs.url.path(percentEncoded: false)))
    for bad in ["desk", "a b", ""] {
      await #expect(throws: StoreError.self) { try await here.addRemote(RemoteStore(name: bad, location: "/x")) }
    }
    await #expect(throws: StoreError.self) { try await here.fetch(from: "nobody") }
    await #expect(throws: StoreError.self) { try await here.fetch(from: "desk") }
    await #expect(throws: StoreError.self) { try await here.merge(with: "desk") }
    try await here.removeRemote(named: "desk")
    #expect(try await here.remotes.isEmpty)
  }

  @Test("an exchange tells how far it is, and ends with its task; what came stays, and the next one goes on")
  func progress() async throws {
    let here = try DiskPersistence(readWriteURL: ours.url)
    let books = BookFormat.datastore(here)
    for number in 1...5 { try await books.persist(Book(id: number, title: "t\(number)")) }
    let there = try DiskPersistence(readWriteURL: theirs.url)
    try await there.addRemote(RemoteStore(name: "desk", location: ours.url.path(percentEncoded: false)))
    let steps = Mutex<[ExchangeProgress]>([])
    let task = Mutex<Task<Int, any Error>?>(nil)
    let (started, start) = AsyncStream<Void>.makeStream()
    let fetching = Task {
      for await _ in started { break }
      return try await there.fetch(from: "desk") { step in
        steps.withLock { $0.append(step) }
        if step.done == 2 { task.withLock { $0?.cancel() } }
      }
    }
    task.withLock { $0 = fetching }
    start.yield()
    await #expect(throws: CancellationError.self) { try await fetching.value }
    let first = try #require(steps.withLock { $0.first })
    #expect(first.step == .fetching && first.done == 1 && first.total >= 5)
    #expect(steps.withLock { $0.count } == 2)
    #expect(try await there.fetch(from: "desk") == first.total - 2)
    try await there.exchange(with: "desk")
    #expect(try await BookFormat.datastore(there).load(5)?.title == "t5")
  }

  @Test("a closure chooses for each field that both copies changed")
  func choosing() async throws {
    let here = try DiskPersistence(readWriteURL: ours.url)
    let books = BookFormat.datastore(here)
    try await books.persist(Book(id: 1, title: "a", pages: 1))
    let there = try DiskPersistence(readWriteURL: theirs.url)
    try await there.addRemote(RemoteStore(name: "desk", location: ours.url.path(percentEncoded: false)))
    try await there.exchange(with: "desk")
    let copies = BookFormat.datastore(there)
    try await books.persist(Book(id: 1, title: "b", pages: 2))
    try await copies.persist(Book(id: 1, title: "c", pages: 3))
    let asked = Mutex<[MergeReport.FieldConflict]>([])
    let open = try await there.exchange(with: "desk") { conflict in
      asked.withLock { $0.append(conflict) }
      return conflict.field == ".title" ? .theirs : .open
    }
    #expect(open.isOpen)
    let title = try #require(asked.withLock { $0.first { $0.field == ".title" } })
    #expect([title.base, title.ours, title.theirs] == ["\"a\"", "\"c\"", "\"b\""])
    #expect(title.identifier == "1")
    let settled = try await there.exchange(with: "desk") { $0.field == ".title" ? .theirs : .ours }
    #expect(!settled.isOpen && settled.conflicts.count == 1)
    for datastore in [books, copies] { #expect(try await datastore.load(1) == Book(id: 1, title: "b", pages: 3)) }
  }

  @Test("the sets that an app's own encoder writes have no order either")
  func setsOfOwnEncoder() async throws {
    let persistence = try DiskPersistence(readWriteURL: ours.url)
    try await persistence.createPersistenceIfNecessary()
    let tagged = TaggedFormat.Datastore(
      persistence: persistence, encoder: { try JSONEncoder().encode($0) },
      decoders: [.first: { data in try JSONDecoder().decode(Tagged.self, from: data) }])
    try await tagged.persist(Tagged(id: 1, tags: ["a"], counts: [:], part: .init(marks: [1])))
    let tree = try Transactions.readState(for: persistence._store).tree(.records(of: "Tagged"))
    let descriptor = try DatastoreDescriptor(bytes: #require(tree).attributes.array)
    #expect(descriptor.unorderedFields == [".counts": "pairs", ".part.marks": "set", ".tags": "set"])
  }
}
