import CodableDatastore
import Foundation
import Testing

// What the guides show, run. `samples` sees to it that every block of code in a guide stands here, line by line.

@Suite("The guides' code")
struct GuideTests {
  let place = TemporaryPlace()
  var url: URL { place.url }

  @Test("every sample of the guides is compiled here")
  func samples() throws {
    let here = URL(filePath: #filePath)
    let root = here.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let guides = root.appending(path: "Sources/CodableDatastore/CodableDatastore.docc")
    let sources = ["GuideTests.swift", "GuideTypes.swift"].map { here.deletingLastPathComponent().appending(path: $0) }
    let compiled = try sources.map { lines(of: try String(contentsOf: $0, encoding: .utf8)) }
    let files = try FileManager.default.contentsOfDirectory(at: guides, includingPropertiesForKeys: nil)
    #expect(files.filter { $0.pathExtension == "md" }.count >= 8)
    for file in files + [root.appending(path: "README.md")] {
      guard file.pathExtension == "md" else { continue }
      let parts = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "```")
      for block in stride(from: 1, to: parts.count, by: 2) where parts[block].hasPrefix("swift\n") {
        // What shows the browser is compiled with the example app.
        if parts[block].contains("import StoreBrowser") { continue }
        let sample = lines(of: String(parts[block].dropFirst(6))).filter { !$0.hasPrefix("import ") }
        let isThere = compiled.contains { source in contains(source, sample) }
        #expect(isThere, "\(file.lastPathComponent): \(sample.first ?? "")")
      }
    }
  }

  private func lines(of text: String) -> [String] {
    text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
  }

  private func contains(_ source: [String], _ sample: [String]) -> Bool {
    guard let first = sample.first, source.count >= sample.count else { return false }
    return source.indices.contains { start in
      source[start] == first && source[start...].starts(with: sample)
    }
  }

  @Test("the introduction")
  func introduction() async throws {
    // Stands for the initializer, so that the sample's relative path leaves nothing behind.
    func URL(filePath: String) -> Foundation.URL { url }

    struct Book: Codable, Identifiable, Sendable {
      var id: UUID
      var title: String
      var authors: [String]
    }

    struct BookFormat: DatastoreFormat {
      enum Version: Int, CaseIterable, Sendable { case first = 1 }
      typealias Instance = Book
      static let defaultKey: DatastoreKey = "Books"
      static let currentVersion = Version.first
      let title = Index(\.title)
      let author = ManyToManyIndex(\.authors)
    }

    let persistence = try DiskPersistence(readWriteURL: URL(filePath: "Library.strata"))
    let books: BookFormat.Datastore = .JSONStore(
      persistence: persistence, migrations: [.first: { decoder, data in try decoder.decode(Book.self, from: data) }])

    try await books.persist(Book(id: UUID(), title: "Solaris", authors: ["Lem"]))
    for try await book in books.load(where: #Predicate { $0.authors.contains("Lem") }) { print(book.title) }
    #expect(try await books.count == 1)
  }

  @Test("your first store")
  func firstStore() async throws {
    let persistence = try DiskPersistence(readWriteURL: url)
    let plants = PlantFormat.datastore(in: persistence)

    let oak = Plant(name: "Oak", height: 24)
    try await plants.persist(oak)
    try await plants.persist(Plant(name: "Daisy", height: 0.2))

    let found = try await plants.load(oak.id)
    for try await plant in plants.load(1..., order: .descending, from: \.height) {
      print(plant.name)
    }
    try await plants.delete(oak)
    #expect(found?.name == "Oak")
    #expect(try await plants.count == 1)
  }

  @Test("indexes")
  func indexes() async throws {
    let cities = CityFormat.Datastore.JSONStore(
      persistence: MemoryPersistence(), migrations: [.first: { try $0.decode(City.self, from: $1) }])
    for (id, name) in ["Bern", "Thun", "Chur"].enumerated() {
      try await cities.persist(
        City(id: id, name: name, country: "CH", population: id * 100_000, otherNames: ["x"], code: name))
    }
    for try await city in cities.load(prefix: "CH", range: 100_000..., from: \.largest) {
      print(city.name)
    }
    let largest = try await cities.load(prefix: "CH", range: 100_000..., from: \.largest).map(\.name).all()
    #expect(largest == ["Chur", "Thun"])
    #expect(Size.small < .large)
  }

  @Test("queries")
  func queries() async throws {
    let cities = CityFormat.Datastore.JSONStore(
      persistence: MemoryPersistence(), migrations: [.first: { try $0.decode(City.self, from: $1) }])
    for (id, name) in ["Bern", "Thun", "Zug"].enumerated() {
      try await cities.persist(
        City(id: id, name: name, country: "CH", population: id * 100_001, otherNames: [], code: name))
    }
    let large = cities.load(where: #Predicate { $0.country == "CH" && $0.population > 100_000 })
      .sorted(by: \.population, .descending).limit(20)
    for try await city in large { print(city.name) }

    print(try await large.count, try await large.explain())
    #expect(try await large.map(\.name).all() == ["Zug", "Thun"])
    #expect(try await large.explain().hasPrefix("INDEX"))

    let named = large.where(#Predicate { $0.name.starts(with: "Z") })
    if let first = try await named.first { print(first.name) }
    try await cities.load(where: #Predicate { $0.population == 0 }).delete()
    try await cities.load(where: #Predicate { $0.country == "CH" }).update { $0.population += 1 }
    #expect(try await cities.load(1)?.population == 100_002)

    let odd = cities.load(where: #Predicate { $0.otherNames.isEmpty }).scanning()
    print(try await odd.count)
    #expect(try await odd.count == 2)
  }

  @Test("migrations")
  func migrations() async throws {
    let persistence = MemoryPersistence()
    do {
      let plain = PlainNoteFormat.Datastore.JSONStore(
        persistence: persistence, migrations: [.plain: { try $0.decode(PlainNote.self, from: $1) }])
      try await plain.persist(PlainNote(id: 1, text: "Hello\nworld"))
    }
    let notes = NoteFormat.datastore(in: persistence)
    try await notes.warm { progress in
      switch progress {
      case .evaluating: print("looking")
      case .working(let current, let total): print("\(current) of \(total)")
      case .complete(let total): print("\(total) notes")
      }
    }
    let rehearsal = try await notes.rehearseMigration()
    for failure in rehearsal.failures {
      print(failure.identifier, failure.version, failure.decodingPath, failure.reason)
    }
    #expect(rehearsal.succeeds)
    #expect(try await notes.load("Hello", from: \.title).firstInstance?.id == 1)
  }

  @Test("transactions")
  func transactions() async throws {
    let persistence = MemoryPersistence()
    let accounts = AccountFormat.Datastore.JSONStore(
      persistence: persistence, migrations: [.first: { try $0.decode(Account.self, from: $1) }])
    try await accounts.persist(Account(id: "a", balance: 100))
    try await accounts.persist(Account(id: "b", balance: 0))
    try await persistence.perform(actionName: "Transfer") {
      var from = try await accounts.load("a")
      var to = try await accounts.load("b")
      from?.balance -= 10
      to?.balance += 10
      if let from { try await accounts.persist(from) }
      if let to { try await accounts.persist(to) }
    }
    #expect(try await accounts.load("b")?.balance == 10)
  }

  @Test("history")
  func history() async throws {
    let persistence = MemoryPersistence()
    let notes = NoteFormat.datastore(in: persistence)
    let note = Note(id: 1, title: "A", text: "")
    try await notes.persist(note)
    let first = try #require(try await persistence.head)
    try await notes.persist(Note(id: 1, title: "B", text: ""))
    for try await commit in persistence.commits {
      print(commit.id, commit.date, commit.action, commit.author)
    }
    let before = try await notes.view(at: first.id)
    let then = try await before.load(note.id)
    for try await change in notes.changes(from: first.id) {
      print(change.id)
    }
    #expect(then?.title == "A")
    for try await version in notes.history(of: note.id, \.title) {
      print(version.value ?? "deleted", version.commit.date, version.commit.author)
    }
    try await persistence.undo()
    try await persistence.restore(first.id, actionName: "Start over")
    try await persistence.name("release-1")
    #expect(try await notes.load(1)?.title == "A")
  }

  @Test("keeping less, and backups")
  func keeping() async throws {
    let (backup, another) = (url.appendingPathExtension("backup"), url.appendingPathExtension("restored"))
    var configuration = StoreConfiguration()
    configuration.retention = .younger(than: .seconds(30 * 24 * 60 * 60))
    let persistence = try DiskPersistence(readWriteURL: url, configuration: configuration)
    try await NoteFormat.datastore(in: persistence).persist(Note(id: 1, title: "A", text: ""))
    try await persistence.backUp(to: backup)
    let restored = try await DiskPersistence.restore(backup: backup, to: another)
    #expect(try await NoteFormat.datastore(in: restored).load(1)?.title == "A")
  }

  @Test("several processes")
  func severalProcesses() async throws {
    try await NoteFormat.datastore(in: DiskPersistence(readWriteURL: url)).persist(Note(id: 1, title: "A", text: ""))
    let reader = DiskPersistence(readOnlyURL: url)
    let notes = NoteFormat.reader(in: reader)
    let count = try await notes.count
    let changes = try await notes.observe(includingOtherProcesses: true)
    _ = changes
    #expect(count == 1)
  }
}
