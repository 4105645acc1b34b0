import CodableDatastore
import Foundation
import Testing

private struct Writer: Codable, Identifiable, Hashable, Sendable {
  var id: Int
  var name: String
  var mentor: Int?
}

private struct Volume: Codable, Identifiable, Hashable, Sendable {
  var id: String
  var author: Int?
  var translators: [Int] = []
  var publisher: Int = 0
}

private struct WriterFormat: DatastoreFormat {
  enum Version: Int, CaseIterable, Sendable { case first = 1 }
  typealias Instance = Writer
  static let defaultKey: DatastoreKey = "Authors"
  static let currentVersion = Version.first
  let name = Index(\.name)
  let mentor = Reference(\.mentor, to: WriterFormat.self)
}

private struct VolumeFormat: DatastoreFormat {
  enum Version: Int, CaseIterable, Sendable { case first = 1 }
  typealias Instance = Volume
  static let defaultKey: DatastoreKey = "Books"
  static let currentVersion = Version.first
  let author = Reference(\.author, to: WriterFormat.self)
  let translators = Reference(\.translators, to: WriterFormat.self)
  let publisher = Reference(\.publisher, to: WriterFormat.self)
}

/// The same books before their index said where it leads.
private struct PlainVolumeFormat: DatastoreFormat {
  enum Version: Int, CaseIterable, Sendable { case first = 1 }
  typealias Instance = Volume
  static let defaultKey: DatastoreKey = "Books"
  static let currentVersion = Version.first
  let author = Index(\.author)
  let translators = ManyToManyIndex(\.translators)
  let publisher = Index(\.publisher)
}

private struct Shelves<Store: Persistence> where Store.AccessMode == ReadWrite {
  let persistence: Store
  let authors: WriterFormat.Datastore
  let books: VolumeFormat.Datastore

  init(_ persistence: Store) {
    self.persistence = persistence
    authors = .JSONStore(
      persistence: persistence, migrations: [.first: { decoder, data in try decoder.decode(Writer.self, from: data) }])
    books = .JSONStore(
      persistence: persistence, migrations: [.first: { decoder, data in try decoder.decode(Volume.self, from: data) }])
  }

  func edit(using random: inout SplitMix) async throws {
    switch random.below(5) {
    case 0, 1: try await authors.persist(Writer(id: random.below(12), name: "n\(random.below(5))"))
    case 2: try await authors.deleteIfPresent(random.below(12))
    case 3: try await books.deleteIfPresent("\(random.below(20))")
    default:
      try await books.persist(
        Volume(
          id: "\(random.below(20))", author: random.below(3) == 0 ? nil : random.below(12),
          translators: (0..<random.below(4)).map { _ in random.below(12) }, publisher: random.below(12)))
    }
  }

  func referring<Value>(
    to id: Int, _ reference: KeyPath<VolumeFormat, ReferenceRepresentation<Volume, WriterFormat, Value>>
  ) async throws -> [String] {
    try await books.load(referringTo: id, through: reference).collectInstances(upTo: .infinity).map(\.id)
  }
}

extension Shelves where Store == MemoryPersistence {
  init() { self.init(MemoryPersistence()) }
}

@Suite("References")
struct ReferenceTests {
  @Test("a reference is followed in the order of its property, with a gap where nobody is")
  func follow() async throws {
    let library = Shelves()
    for id in 1...3 { try await library.authors.persist(Writer(id: id, name: "\(id)")) }
    let book = Volume(id: "a", author: 2, translators: [3, 9, 1, 3])
    let other = Volume(id: "b")
    #expect(try await library.books.follow(\.author, from: book, in: library.authors).map { $0?.id } == [2])
    #expect(try await library.books.follow(\.author, from: other, in: library.authors).isEmpty)
    #expect(
      try await library.books.follow(\.translators, from: [book, other], in: library.authors).map { $0.map { $0?.id } }
        == [[3, nil, 1, 3], []])
  }

  @Test(
    "references, who refers and what dangles equal a loop over the records, through edits, undo, restore and at old commits",
    arguments: [1, 2, 3, 4] as [UInt64])
  func random(seed: UInt64) async throws {
    var random = SplitMix(seed)
    let library = Shelves()
    var states: [Commit.Number: ([Volume], Set<Int>)] = [:]
    for step in 0..<120 {
      switch random.below(8) {
      case 0 where step > 10: try await library.persistence.undo()
      case 1 where step > 10:
        let known = states.keys.sorted()
        try await library.persistence.restore(known[random.below(known.count)])
      default: try await library.edit(using: &random)
      }
      guard let head = try await library.persistence.head?.id else { continue }
      let books = try await library.books.load(...).collectInstances(upTo: .infinity)
      let authors = Set(try await library.authors.load(...).collectInstances(upTo: .infinity).map(\.id))
      states[head] = (books, authors)
      try await check(library.books, library.authors, books, authors, "seed \(seed), step \(step)")
    }
    for (commit, (books, authors)) in states {
      guard authors.count > 0, books.count > 0 else { continue }
      try await check(
        library.books.view(at: commit), library.authors.view(at: commit), books, authors, "seed \(seed), at \(commit)")
    }
  }

  @Test(
    "references, who refers and what dangles equal a loop over the records after a merge, in both copies",
    arguments: [1, 2, 3] as [UInt64])
  func merges(seed: UInt64) async throws {
    var random = SplitMix(seed)
    let (here, there) = (TemporaryPlace(), TemporaryPlace())
    let ours = Shelves(try DiskPersistence(readWriteURL: here.url))
    let theirs = Shelves(try DiskPersistence(readWriteURL: there.url))
    for _ in 0..<20 { try await ours.edit(using: &random) }
    try await theirs.persistence.addRemote(
      RemoteStore(name: "desk", location: here.url.path(percentEncoded: false)))
    try await theirs.persistence.exchange(with: "desk")
    var mergeCount = 0
    for round in 0..<6 {
      for _ in 0..<6 {
        try await ours.edit(using: &random)
        try await theirs.edit(using: &random)
      }
      let report = try await theirs.persistence.exchange(with: "desk", settling: round % 2 == 0 ? .ours : .theirs)
      #expect(!report.isOpen)
      if report.commit != nil { mergeCount += 1 }
      for copy in [ours, theirs] {
        let books = try await copy.books.load(...).collectInstances(upTo: .infinity)
        let authors = Set(try await copy.authors.load(...).collectInstances(upTo: .infinity).map(\.id))
        try await check(copy.books, copy.authors, books, authors, "seed \(seed), round \(round)")
      }
      #expect(
        try await ours.books.load(...).collectInstances(upTo: .infinity)
          == theirs.books.load(...).collectInstances(upTo: .infinity))
    }
    #expect(mergeCount > 0)
  }

  private func check<Mode>(
    _ store: Datastore<VolumeFormat, Mode>, _ targets: Datastore<WriterFormat, Mode>, _ books: [Volume],
    _ authors: Set<Int>,
    _ place: String
  ) async throws {
    for id in 0..<12 {
      let byAuthor = try await store.load(referringTo: id, through: \.author).collectInstances(upTo: .infinity)
      #expect(byAuthor == books.filter { $0.author == id }, "\(place)")
      let byTranslator = try await store.load(referringTo: id, through: \.translators).collectInstances(upTo: .infinity)
      #expect(byTranslator == books.filter { $0.translators.contains(id) }, "\(place)")
    }
    let expected = Set(
      books.flatMap { book in
        Set(book.translators).filter { !authors.contains($0) }.map { DanglingReference(id: book.id, target: $0) }
      })
    let dangling = try await store.dangling(\.translators, in: targets)
    #expect(Set(dangling) == expected && dangling.count == expected.count, "\(place)")
    let unknown = try await store.dangling(\.author, in: targets)
    #expect(
      Set(unknown)
        == Set(
          books.compactMap { book in
            book.author.flatMap { authors.contains($0) ? nil : DanglingReference(id: book.id, target: $0) }
          }), "\(place)")
  }

  @Test("a delete is refused, clears or goes on, as the rules say, in one commit")
  func delete() async throws {
    let library = Shelves()
    for id in 1...3 { try await library.authors.persist(Writer(id: id, name: "\(id)")) }
    try await library.books.persist(Volume(id: "a", author: 1, translators: [1, 2, 1]))
    try await library.books.persist(Volume(id: "b", author: 2, publisher: 1))
    let error = await #expect(throws: ReferenceError.self) {
      try await library.authors.delete(
        1, references: .clear(library.books, \.translators), .refuse(library.books, \.author))
    }
    #expect(error == .isReferredTo(datastore: "Authors", by: "Books", count: 1))
    #expect(error?.errorDescription == "It cannot be deleted from Authors: 1 of Books refers to it.")
    #expect(try await library.books.load("a")?.translators == [1, 2, 1])
    let before = try await library.persistence.head?.id
    try await library.authors.delete(
      1, references: .clear(library.books, \.author), .clear(library.books, \.translators))
    #expect(try await library.books.load("a") == Volume(id: "a", author: nil, translators: [2]))
    #expect(try await library.persistence.head?.parents == [before].compactMap { $0 })
    try await library.authors.delete(2, references: .delete(library.books, \.author))
    #expect(try await library.books.load("b") == nil)
    await #expect(throws: DatastoreInterfaceError.instanceNotFound) {
      try await library.authors.delete(7, references: .delete(library.books, \.author))
    }
  }

  @Test("what cannot be without its reference is told of, and nothing is changed")
  func cannotClear() async throws {
    let library = Shelves()
    try await library.authors.persist(Writer(id: 1, name: "1"))
    try await library.books.persist(Volume(id: "a", publisher: 1))
    await #expect(throws: ReferenceError.cannotBeCleared(datastore: "Books", index: "publisher")) {
      try await library.authors.delete(1, references: .clear(library.books, \.publisher))
    }
    #expect(try await library.authors.load(1) != nil)
  }

  @Test("deletes that go in a circle end, with each deleted once")
  func circle() async throws {
    let library = Shelves()
    let (a, b) = (library.authors, library.authors)
    try await a.persist(Writer(id: 1, name: "a", mentor: 2))
    try await a.persist(Writer(id: 2, name: "b", mentor: 1))
    try await a.persist(Writer(id: 3, name: "c", mentor: 3))
    try await a.delete(1, references: .delete(b, \.mentor, references: .delete(a, \.mentor)))
    #expect(try await a.load(...).collectInstances(upTo: .infinity).map(\.id) == [3])
    try await a.delete(3, references: .refuse(a, \.mentor))
    #expect(try await a.count == 0)
  }

  @Test("the delete of an instance that does not exist says so, and applies no rule to the references that dangle")
  func missingInstance() async throws {
    let library = Shelves()
    let book = Volume(id: "a", author: 7, translators: [7])
    try await library.books.persist(book)
    let (books, authors) = (library.books, library.authors)
    for rule: ReferenceRule<WriterFormat> in [
      .refuse(books, \.author), .clear(books, \.author), .delete(books, \.author),
    ] {
      await #expect(throws: DatastoreInterfaceError.instanceNotFound) { try await authors.delete(7, references: rule) }
      #expect(try await books.load(...).all() == [book])
    }
  }

  @Test("a delete along a reference within one datastore takes the whole tree below")
  func tree() async throws {
    let authors = Shelves().authors
    for id in 1...40 { try await authors.persist(Writer(id: id, name: "n\(id)", mentor: id == 1 ? nil : id / 2)) }
    var below: Set = [3]
    for id in 4...40 where below.contains(id / 2) { below.insert(id) }
    try await authors.delete(3, references: .delete(authors, \.mentor))
    let left = try await authors.load(...).collectInstances(upTo: .infinity).map(\.id)
    #expect(left == (1...40).filter { !below.contains($0) })
    // Each refers to the one before.
    for id in 101...2_100 { try await authors.persist(Writer(id: id, name: "chain", mentor: id - 1)) }
    try await authors.delete(101, references: .delete(authors, \.mentor))
    #expect(try await authors.count == left.count)
  }

  @Test("a reference that leads elsewhere is refused")
  func elsewhere() async throws {
    let (library, other) = (Shelves(), Shelves())
    await #expect(throws: ReferenceError.otherStore("Authors")) {
      try await library.books.dangling(\.author, in: other.authors)
    }
    let named: WriterFormat.Datastore = .JSONStore(
      persistence: library.persistence, key: "People",
      migrations: [.first: { decoder, data in try decoder.decode(Writer.self, from: data) }])
    await #expect(throws: ReferenceError.otherTarget(declared: "Authors", given: "People")) {
      try await library.books.follow(\.author, from: Volume(id: "a"), in: named)
    }
  }

  @Test("an index that was there before gains its target without being built anew")
  func oldStore() async throws {
    let persistence = MemoryPersistence()
    do {
      let plain: PlainVolumeFormat.Datastore = .JSONStore(
        persistence: persistence, migrations: [.first: { decoder, data in try decoder.decode(Volume.self, from: data) }]
      )
      for id in 0..<50 { try await plain.persist(Volume(id: "\(id)", author: id % 7, translators: [id])) }
    }
    let library = Shelves(persistence)
    try await library.books.warm()
    #expect(try await library.referring(to: 3, \.author).count == 7)
    let commits = try await library.persistence.commits.collectInstances(upTo: 1)
    #expect(commits.first?.changes.isEmpty == true)
  }

  @Test("what is meant is found by the first match that leads somewhere, or made, also in a list")
  func resolve() async throws {
    let authors = Shelves().authors
    #expect(try await authors.resolve(.matching(\.name, "Lem")) as Resolved? == nil)
    let made = try await authors.resolve(
      .identifier(7), .matching(\.name, "Lem"), orCreate: { Writer(id: 7, name: "Lem") })
    #expect(made.isCreated && made.instance.id == 7)
    let found = try await authors.resolve(
      .identifier(8), .matching(\.name, "Lem"), orCreate: { Writer(id: 8, name: "Lem") })
    #expect(!found.isCreated && found.instance.id == 7)
    let all = try await authors.resolve(
      ["Dick", "Lem", "Dick"], by: { [.matching(\.name, $0)] }, orCreate: { Writer(id: $0.count, name: $0) })
    #expect(all.map(\.instance.name) == ["Dick", "Lem", "Dick"])
    #expect(all.map(\.isCreated) == [true, false, false])
    await #expect(throws: DatastoreInterfaceError.instanceAlreadyExists) {
      try await authors.resolve(.matching(\.name, "Eco"), orCreate: { Writer(id: 7, name: "Eco") })
    }
    #expect(try await authors.load(7)?.name == "Lem")
  }
}

/// Numbers that are the same for a seed (splitmix64).
private struct SplitMix {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed }

  mutating func below(_ limit: Int) -> Int {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return Int((mixed ^ (mixed >> 31)) % UInt64(limit))
  }
}
