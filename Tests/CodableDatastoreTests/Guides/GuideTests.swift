import CodableDatastore
import Foundation
import StrataLocks
import Testing

// What the guides show, run. `samples` sees to it that every block of code in a guide stands here, line by line.

@Suite("The guides' code")
struct GuideTests {
  let place = TemporaryPlace()
  var url: URL { place.url }

  private let here = URL(filePath: #filePath)

  private var root: URL {
    here.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  }

  private var guides: URL { root.appending(path: "Sources/CodableDatastore/CodableDatastore.docc") }

  @Test("every figure of the guides and the README stands in the results of the benches")
  func figures() throws {
    let unit = #/\b[0-9][0-9.]* (?:ns|µs|ms|s|KB|MB|MiB)\b/#
    let results = try String(contentsOf: root.appending(path: "Benchmarks/RESULTS.md"), encoding: .utf8)
    let measured = Set(results.matches(of: unit).map { String($0.output) })
    for file in [
      guides.appending(path: "Performance.md"), guides.appending(path: "ChoosingIndexes.md"),
      root.appending(path: "README.md"),
    ] {
      let text = try String(contentsOf: file, encoding: .utf8)
      let figures = text.matches(of: unit).map { String($0.output) }
      #expect(figures.count >= 5, "\(file.lastPathComponent)")
      #expect(figures.filter { !measured.contains($0) } == [], "\(file.lastPathComponent)")
    }
    let servers = try String(contentsOf: guides.appending(path: "WhenOneMachineIsNotEnough.md"), encoding: .utf8)
    let rows = servers.split(separator: "\n").filter { $0.contains(#/^\| (processes|tasks of one process), /#) }
    #expect(rows.count == 4)
    for row in rows {
      let cells = row.split(separator: " | ", maxSplits: 1).last ?? ""
      #expect(results.contains("| \(cells)"), "\(row)")
    }
  }

  @Test("every sample of the guides is compiled here")
  func samples() throws {
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
    let books = persistence.datastore(BookFormat.self)

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

  @Test("several copies")
  func severalCopies() async throws {
    struct NoteFormat: DatastoreFormat {
      enum Version: Int, CaseIterable, Sendable { case first = 1 }
      struct Note: Codable, Identifiable, Equatable, Sendable {
        var id: Int
        var title: String
        var pages: Int
      }
      typealias Instance = Note
      static let defaultKey: DatastoreKey = "Notes"
      static let currentVersion = Version.first
    }
    let elsewhere = TemporaryPlace()
    let desk = try DiskPersistence(readWriteURL: elsewhere.url)
    let there = desk.datastore(NoteFormat.self)
    try await there.persist(NoteFormat.Note(id: 1, title: "a", pages: 1))
    let persistence = try DiskPersistence(readWriteURL: url)
    try await persistence.addRemote(RemoteStore(name: "desk", location: elsewhere.url.path(percentEncoded: false)))
    try await persistence.exchange(with: "desk")
    let here = persistence.datastore(NoteFormat.self)
    try await there.persist(NoteFormat.Note(id: 1, title: "b", pages: 1))
    try await here.persist(NoteFormat.Note(id: 1, title: "c", pages: 3))

    try await persistence.exchange(with: "desk") { conflict in
      conflict.field == ".title" ? .theirs : .open
    }
    #expect(try await here.load(1) == NoteFormat.Note(id: 1, title: "b", pages: 3))
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

    let page = try await large.limit(1).collectInstances(upTo: .infinity)
    let next = large.after(try large.cursor(after: page[0])).limit(1)
    for try await city in next { print(city.name) }
    #expect(try await next.map(\.name).all() == ["Thun"])

    let showing = Task {
      for try await answer in large.live() {
        print(answer.map(\.name))
      }
    }
    showing.cancel()

    let named = large.where(#Predicate { $0.name.starts(with: "Z") })
    if let first = try await named.first { print(first.name) }
    try await cities.load(where: #Predicate { $0.population == 0 }).delete()
    try await cities.load(where: #Predicate { $0.country == "CH" }).update { $0.population += 1 }
    #expect(try await cities.load(1)?.population == 100_002)

    let swiss = cities.load(where: #Predicate { $0.country == "CH" })
    print(try await swiss.sum(of: \.population), try await swiss.average(of: \.population) ?? 0)
    print(try await cities.load(...).distinct(\.country))
    #expect(try await swiss.sum(of: \.population) == swiss.map(\.population).all().reduce(0, +))

    let cheap = cities.load("A"..<"M", from: \.name).where(#Predicate { $0.population < 50_000 }).limit(10)
    for try await city in cheap { print(city.name) }
    if let last = try await cities.load(..., order: .descending).first { print(last.name) }
    #expect(try await cheap.explain() == "INDEX name in range 0 entries · KEEP population < 50000 · SORT no")

    let countries = try await cities.load(...).grouped(by: \.country) {
      $0.count
      $0.sum(\.population)
    }
    for (country, (count, population)) in countries { print(country, count, population) }
    #expect(countries.map(\.key) == ["CH"] && countries[0].figures == (2, 300_005))

    for try await (name, population) in large.select(\.name, \.population) { print(name, population) }
    #expect(try await large.select(\.name).all() == ["Zug", "Thun"])

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
    var versions = notes.history(of: note.id).makeAsyncIterator()
    while true {
      do {
        guard let version = try await versions.next() else { break }
        print(version.commit.date, version.instance?.title ?? "deleted")
      } catch let error as UnreadableChangeError {
        print(error.localizedDescription)
      }
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
    var configuration = StoreConfiguration()
    configuration.writerIdleTime = .milliseconds(200)
    let persistence = try DiskPersistence(readWriteURL: url, configuration: configuration)
    try await NoteFormat.datastore(in: persistence).persist(Note(id: 1, title: "A", text: ""))
    let reader = DiskPersistence(readOnlyURL: url)
    let notes = NoteFormat.reader(in: reader)
    let count = try await notes.count
    let changes = try await notes.observe(includingOtherProcesses: true)
    _ = changes
    #expect(count == 1)
  }

  @Test("sharing with extensions")
  func sharingWithExtensions() async throws {
    let outbox = try Outbox(storeAt: url)
    try await outbox.persist(Note(id: 1, title: "Milk", text: "two litres"), in: NoteFormat.self)
    try await outbox.send("Share") { letter in
      try letter.persist(Note(id: 2, title: "Bread", text: "one loaf"), in: NoteFormat.self)
      try letter.delete(1, from: NoteFormat.self)
    }
    var configuration = StoreConfiguration()
    configuration.appliesInbox = true
    let persistence = try DiskPersistence(readWriteURL: url, configuration: configuration)
    let listening = Task {
      for await event in persistence.inbox.events {
        if case .refused(let letter, let reason) = event { print("\(letter): \(reason)") }
      }
    }
    let notes = NoteFormat.datastore(in: persistence)
    try await persistence.inbox.apply()
    #expect(try await notes.load(1) == nil)
    #expect(try await notes.load(2)?.title == "Bread")
    listening.cancel()
    try await persistence.suspend()
    let reader = DiskPersistence(readOnlyURL: url, readsThroughMapping: false)
    #expect(try await reader.datastore(NoteFormat.self).load(2)?.title == "Bread")
    await persistence.resume()
    try await persistence.releaseWriter()
  }

  @Test("references")
  func references() async throws {
    let persistence = MemoryPersistence()
    let people = PoetFormat.Datastore.JSONStore(
      persistence: persistence, migrations: [.first: { try $0.decode(Poet.self, from: $1) }])
    let poems = PoemFormat.Datastore.JSONStore(
      persistence: persistence, migrations: [.first: { try $0.decode(Poem.self, from: $1) }])
    let rilke = try await people.resolve(.matching(\.name, "Rilke"), orCreate: { Poet(id: 1, name: "Rilke") })
    #expect(rilke.isCreated)
    let poem = Poem(id: 7, title: "Herbsttag", poet: rilke.instance.id)
    try await poems.persist(poem)
    try await poems.persist(Poem(id: 8, title: "Der Panther", poet: 2))
    var titles: [String] = []
    let poets = try await poems.follow(\.poet, from: poem, in: people)
    for try await poem in poems.load(referringTo: 1, through: \.poet) { titles.append(poem.title) }
    let dangling = try await poems.dangling(\.poet, in: people)
    #expect(poets.map { $0?.name } == ["Rilke"])
    #expect(titles == ["Herbsttag"])
    #expect(dangling.map(\.id) == [8])
    try await people.delete(1, references: .clear(poems, \.poet))
    #expect(try await poems.load(7)?.poet == nil)
  }

  @Test("concurrency")
  func concurrency() async throws {
    let persistence = MemoryPersistence()
    let plants = PlantFormat.datastore(in: persistence)
    let oak = Plant(name: "Oak", height: 24)
    let saving =
      Task { try await plants.persist(oak) }
    _ = try await saving.value
    #expect(try await show(plants) == ["Oak"])
  }

  @Test("from code that is not async")
  func blocking() async throws {
    let url = url
    try await PlantFormat.datastore(in: try DiskPersistence(readWriteURL: url)).persist(Plant(name: "Oak", height: 24))
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      Thread.detachNewThread { continuation.resume(with: Result { try Self.script(url) }) }
    }
  }

  private static func script(_ url: URL) throws {
    let plants = try DiskPersistence(readOnlyURL: url).blocking.datastore(PlantFormat.self)
    for plant in try plants.load(10..., from: \.height) { print(plant.name) }

    let tall = try plants { try await $0.load(10..., from: \.height).count }
    let walk = try plants.walk { $0.load(10..., order: .descending, from: \.height) }
    while let plant = try walk.next() { print(plant.name) }
    #expect(try plants.count == 1)
    #expect(tall == 1)
  }

  @MainActor
  func show(_ plants: PlantFormat.Datastore) async throws -> [String] {
    var names: [String] = []
    for try await plant in plants.load(1..., order: .descending, from: \.height) {
      names.append(plant.name)
    }
    return names
  }

  @Test("errors")
  func errors() async throws {
    let shown = Mutex<[String]>([])
    func show(_ text: String) { shown.withLock { $0.append(text) } }
    let plants = PlantFormat.datastore(in: try DiskPersistence(readWriteURL: url))
    let oak = Plant(name: "Oak", height: 24)
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data("no store".utf8).write(to: url)
    do {
      try await plants.persist(oak)
    } catch let error as StoreError {
      switch error.kind {
      case .full: show("There is no room left on the disk. Nothing was saved.")
      case .locked(_, let program): show("\(program) is writing to this store.")
      case .outcomeUnknown: show("The disk does not answer. Please open the app again.")
      default: show(error.message)
      }
    }
    #expect(shown.withLock { $0 }.first?.contains("is a file, not a store") == true)
  }

  @Test("observation")
  func observation() async throws {
    let persistence = MemoryPersistence()
    let plants = PlantFormat.datastore(in: persistence)
    func show(_ text: String) { print(text) }
    let oak = Plant(name: "Oak", height: 24)
    let reading = Task {
      let changes = try await plants.observe()
      for try await change in changes {
        switch change {
        case .created(_, let new): print("planted", new.name)
        case .updated(_, let old, let new): print(old.height, "to", new.height)
        case .deleted(_, let old): print("felled", old.name)
        }
      }
    }
    let keeping = Task {
      for try await tall in plants.live(where: { $0.height > 10 }, sortedBy: { $0.name < $1.name }) {
        show(tall.map(\.name).joined(separator: ", "))
      }
    }
    try await plants.persist(oak)
    try await plants.delete(oak)
    reading.cancel()
    keeping.cancel()
    _ = await (reading.result, keeping.result)
    try await observing(plants)
  }

  @MainActor
  private func observing(_ plants: PlantFormat.Datastore) async throws {
    try await plants.persist(Plant(name: "Elm", height: 12))
    let tall = LiveResults(of: plants, where: { $0.height > 10 })
    while tall.instances.isEmpty { await Task.yield() }
    #expect(tall.instances.map(\.name) == ["Elm"] && tall.failure == nil)
  }

  @Test("deleting")
  func deleting() async throws {
    let persistence = try DiskPersistence(readWriteURL: url)
    let cities = CityFormat.Datastore.JSONStore(
      persistence: persistence, migrations: [.first: { try $0.decode(City.self, from: $1) }])
    try await persistence.perform {
      for id in 0..<300 {
        try await cities.persist(
          City(
            id: id, name: "\(id)", country: id % 2 == 0 ? "CH" : "DE", population: id * 10,
            otherNames: id % 50 == 0 ? [] : ["x"], code: "\(id)"))
      }
    }
    try await cities.delete(7)
    try await cities.deleteIfPresent(id: 8)
    try await cities.delete(100..<200)
    try await cities.delete(..<1_000, from: \.population)
    try await cities.load(prefix: "CH", range: ..<500, from: \.largest).delete()
    try await cities.delete(range: ..., where: { $0.otherNames.isEmpty })
    #expect(try await cities.count == 98)
    try await persistence.undo()
    #expect(try await cities.count == 100)
    try await persistence.shortenHistory(keeping: .last(1))
    #expect(try await persistence.commits.collectInstances(upTo: 9).count == 1)
  }

  @Test("testing an app")
  func testing() async throws {
    let oak = Plant(name: "Oak", height: 24)
    let persistence = MemoryPersistence()
    let plants = PlantFormat.datastore(in: persistence)
    try await plants.persist(oak)
    #expect(try await plants.count == 1)
    let head = try await persistence.head
    #expect(head?.changes == [Commit.Changes(datastore: "Plants", inserted: 1, updated: 0, deleted: 0)])
    await #expect(throws: CancellationError.self) {
      try await persistence.perform {
        try await plants.persist(Plant(name: "Elm", height: 12))
        throw CancellationError()
      }
    }
    #expect(try await plants.count == 1)
  }

  @Test("testing a migration on a store that was released")
  func rehearsing() async throws {
    let (released, another) = (url, url.appendingPathExtension("copy"))
    do {
      let old = try DiskPersistence(readWriteURL: released)
      let plain = PlainNoteFormat.Datastore.JSONStore(
        persistence: old, migrations: [.plain: { try $0.decode(PlainNote.self, from: $1) }])
      try await plain.persist(PlainNote(id: 1, text: "Hello\nworld"))
      try await old.close()
    }
    let copy = try await DiskPersistence.restore(backup: released, to: another)
    let notes = NoteFormat.datastore(in: copy)
    let rehearsal = try await notes.rehearseMigration()
    #expect(rehearsal.succeeds)
    #expect(rehearsal.failures.isEmpty)
  }

  @Test("moving an app that is out there")
  func movingAnApp() async throws {
    let old = url.appendingPathExtension("old")
    try FileManager.default.createDirectory(at: old, withIntermediateDirectories: true)
    try Data(#"{"version":"alpha","modificationDate":"2026-11-20T13:53:53.486Z"}"#.utf8)
      .write(to: old.appending(path: "Info.json"))
    let report = try await DiskPersistence.convertFolder(at: old, to: url, keepsHistory: false) { progress in
      print(progress.title)
    }
    print(report.lines.joined(separator: "\n"))
    try FileManager.default.removeItem(at: url)
    try FileManager.default.moveItem(at: old, to: url)
    do {
      var configuration = StoreConfiguration()
      configuration.oldFolders = .convert { progress in
        print(progress.title, progress.done, "of", progress.total)
      }
      #expect(configuration.oldFolders == .convert)
    }
    do {
      var configuration = StoreConfiguration()
      configuration.oldFolders = .convert
      let persistence = try DiskPersistence(readWriteURL: url, configuration: configuration)
      try await NoteFormat.datastore(in: persistence).persist(Note(id: 1, title: "A", text: ""))
      #expect(try await persistence.commits.collectInstances(upTo: 9).isEmpty == false)
    }
    #expect(FileManager.default.fileExists(atPath: url.path + ".original"))
    let original = url.appendingPathExtension("original")
    try? FileManager.default.removeItem(at: original)
  }

  @Test("how big a history gets")
  func historySize() async throws {
    var configuration = StoreConfiguration()
    configuration.retention = .younger(than: .seconds(30 * 24 * 60 * 60))
    let persistence = try DiskPersistence(readWriteURL: url, configuration: configuration)
    let notes = NoteFormat.datastore(in: persistence)
    for number in 1...120 { try await notes.persist(Note(id: 1, title: "\(number)", text: "")) }
    let report = try await persistence.shortenHistory(keeping: .last(100))
    print(report.bytesBefore, report.bytesAfter, report.commitsRemoved)
    #expect(report.commitsRemoved >= 20)
  }

  @Test("performance")
  func performance() async throws {
    let plants = PlantFormat.datastore(in: MemoryPersistence())
    let count = 10
    for number in 1...count { try await plants.persist(Plant(name: "\(number)", height: Double(number))) }
    var total = 0.0
    let clock = ContinuousClock()
    let duration = try await clock.measure {
      for try await plant in plants.load(...) { total += plant.height }
    }
    print(duration / count)
    #expect(total == 55)
  }
}
