import CodableDatastore
import Foundation
import Testing

@Suite("Touching")
struct TouchTests {
  @Test("an equal instance is no version of its own, and is one where it is touched, with its action and its entries")
  func touch() async throws {
    let persistence = MemoryPersistence()
    let books = BookFormat.datastore(persistence)
    let book = Book(id: 1, title: "Solaris", authors: ["Lem"])
    try await books.persist(book)
    try await books.persist(book)
    #expect(try await books.history(of: 1).collectInstances(upTo: .infinity).count == 1)
    try await persistence.perform(actionName: "seen again") { try await books.persist(book, touch: true) }
    let versions = try await books.history(of: 1).collectInstances(upTo: .infinity)
    #expect(versions.map(\.commit.action) == ["seen again", versions[1].commit.action])
    #expect(versions.allSatisfy { $0.instance == book })
    try await books.persist(book, to: 1, touch: true)
    try await books.persist(book, id: \.id, touch: true)
    #expect(try await books.history(of: 1).collectInstances(upTo: .infinity).count == 4)
    // A touch is no new value of any property.
    #expect(try await books.history(of: 1, \.title).collectInstances(upTo: .infinity).count == 1)
    #expect(try await books.load("Solaris", from: \.title).collectInstances(upTo: .infinity) == [book])
    #expect(try await books.load("isbn", from: \.isbn).collectInstances(upTo: .infinity).isEmpty)
    try await persistence.undo()
    #expect(try await books.history(of: 1).collectInstances(upTo: .infinity).count >= 3)
  }
}

@Suite("The life of a property")
struct PropertyLifeTests {
  @Test(
    "every value that a property had equals a walk through all commits, also after undo, restore, delete and touch",
    arguments: [1, 2, 3, 4] as [UInt64])
  func equalsWalk(seed: UInt64) async throws {
    var random = Numbers(seed)
    let persistence = MemoryPersistence()
    let books = BookFormat.datastore(persistence)
    for step in 0..<80 {
      let id = random.below(4)
      switch random.below(8) {
      case 0: try await books.deleteIfPresent(id)
      case 1 where step > 5: try await persistence.undo()
      case 2 where step > 5: try await persistence.restore(Commit.Number(UInt64(1 + random.below(step / 3))))
      default:
        let book = Book(id: id, title: "t\(random.below(3))", pages: random.below(3))
        try await books.persist(book, touch: random.below(3) == 0)
      }
    }
    let commits = try await persistence.commits.collectInstances(upTo: .infinity).reversed()
    for id in 0..<4 {
      // The values as a reader of every commit would note them: what changed, at the commit where it did.
      var lives: [(commit: Commit.Number, title: String?)] = []
      for commit in commits {
        let title = try await books.view(at: commit.id).load(id)?.title
        if lives.isEmpty, title == nil { continue }
        if let last = lives.last, last.title == title { continue }
        lives.append((commit.id, title))
      }
      let told = try await books.history(of: id, \.title).collectInstances(upTo: .infinity)
      #expect(told.map(\.value) == lives.reversed().map(\.title), "seed \(seed), \(id)")
      #expect(told.map(\.commit.id) == lives.reversed().map(\.commit), "seed \(seed), \(id)")
      // What it was at a date, and since and until one.
      for commit in commits {
        let expected = try await books.view(at: commit.date).load(id)?.title
        #expect(try await books.value(of: id, \.title, at: commit.date) == expected)
      }
      guard let middle = commits.dropFirst(commits.count / 2).first?.date else { continue }
      let since = try await books.history(of: id, \.title, since: middle).collectInstances(upTo: .infinity)
      #expect(since.map(\.commit.id) == told.filter { $0.commit.date >= middle }.map(\.commit.id))
      let until = try await books.history(of: id, \.title, until: middle).collectInstances(upTo: .infinity)
      #expect(until.map(\.commit.id) == told.filter { $0.commit.date <= middle }.map(\.commit.id))
    }
  }
}

@Suite("The life of a property through merges")
struct MergedPropertyLifeTests {
  @Test("the edits of both sides are in the history, and a merge of them is no new value of a property")
  func bothSides() async throws {
    let (here, there) = (TemporaryPlace(), TemporaryPlace())
    let ours = try DiskPersistence(readWriteURL: here.url)
    let theirs = try DiskPersistence(readWriteURL: there.url)
    let (books, others) = (BookFormat.datastore(ours), BookFormat.datastore(theirs))
    try await books.persist(Book(id: 1, title: "a", pages: 1))
    try await theirs.addRemote(RemoteStore(name: "ours", location: here.url.path))
    try await theirs.exchange(with: "ours")
    for pages in 2...3 { try await others.persist(Book(id: 1, title: "a", pages: pages)) }
    try await theirs.releaseWriter()
    for title in ["b", "c"] { try await books.persist(Book(id: 1, title: title, pages: 1)) }
    try await ours.addRemote(RemoteStore(name: "theirs", location: there.url.path))
    try await ours.exchange(with: "theirs")
    #expect(try #require(try await ours.head).parents.count == 2)

    let states = try await books.history(of: 1).collectInstances(upTo: .infinity)
    let seen = states.map { state in state.instance.map { "\($0.title)\($0.pages)" } ?? "" }
    #expect(seen == ["c3"] + seen.dropFirst().dropLast() + ["a1"] && seen.count == 6)
    #expect(Set(seen) == ["c3", "c1", "b1", "a3", "a2", "a1"])
    for (since, titles, pages) in [
      ("a1", ["c", "b", "a"], [3, 2, 1]), ("a2", ["c", "b"], [3, 2]), ("b1", ["c", "b"], []),
    ] {
      let since = try #require(seen.firstIndex(of: since).map { states[$0].commit.date })
      let foundTitles = try await books.history(of: 1, \.title, since: since).collectInstances(upTo: .infinity)
      #expect(foundTitles.map(\.value) == titles)
      let foundPages = try await books.history(of: 1, \.pages, since: since).collectInstances(upTo: .infinity)
      #expect(foundPages.map(\.value) == pages)
    }
  }
}

@Suite("Blame")
struct BlameTests {
  @Test(
    "of each stored property the newest commit that made it another than it was, through random edits of lists",
    arguments: [1, 2, 3, 4] as [UInt64])
  func equalsWalk(seed: UInt64) async throws {
    var random = Numbers(seed)
    let persistence = MemoryPersistence()
    let books = BookFormat.datastore(persistence)
    for step in 0..<60 {
      switch random.below(9) {
      case 0: try await books.deleteIfPresent(1)
      case 1 where step > 5: try await persistence.undo()
      default:
        var book = try await books.load(1) ?? Book(id: 1, title: "t")
        switch random.below(4) {
        case 0: book.authors.insert("a\(random.below(3))", at: random.below(book.authors.count + 1))
        case 1: if !book.authors.isEmpty { book.authors.remove(at: random.below(book.authors.count)) }
        case 2: if !book.authors.isEmpty { book.authors[random.below(book.authors.count)] = "a\(random.below(3))" }
        default: book.pages = random.below(3)
        }
        try await books.persist(book, touch: random.below(4) == 0)
      }
    }
    let commits = try await persistence.commits.collectInstances(upTo: .infinity)
    guard let now = try await books.load(1) else {
      #expect(try await books.blame(of: 1).isEmpty)
      return
    }
    func newest<Value: Equatable>(_ property: KeyPath<Book, Value>) async throws -> Commit.Number? {
      for (commit, before) in zip(commits, commits.dropFirst()) {
        if try await books.view(at: before.id).load(1)?[keyPath: property] != now[keyPath: property] {
          return commit.id
        }
      }
      return commits.last?.id
    }
    let blame = try await books.blame(of: 1)
    for (name, expected) in [
      (".authors", try await newest(\.authors)), (".pages", try await newest(\.pages)),
      (".title", try await newest(\.title)),
    ] {
      #expect(blame.first { $0.property == name }?.commit.id == expected, "seed \(seed), \(name)")
    }
    #expect(try await books.blame(of: 1, \.authors)?.id == newest(\.authors), "seed \(seed)")
  }
}

/// Numbers that are the same for a seed (splitmix64).
private struct Numbers {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed }

  mutating func below(_ limit: Int) -> Int {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return Int((mixed ^ (mixed >> 31)) % UInt64(max(1, limit)))
  }
}
