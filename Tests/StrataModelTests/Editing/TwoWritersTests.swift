import StrataLocks
import StrataDocuments
import StrataEngine
import Testing

@testable import StrataModel

@Suite("Two openings of one store, as two processes have them")
struct TwoWritersTests {
  private func open(_ folder: TemporaryFolder, _ program: String, readOnly: Bool = false) throws -> EngineStore {
    try EngineStore.open(
      path: folder.path + "/Cities.strata", readOnly: readOnly, program: program, creates: !readOnly, patience: 0)
  }

  @Test("each sees the other's commits, and both can edit, because the lock is held for a commit only")
  func bothEdit() throws {
    let folder = try TemporaryFolder()
    let first = try open(folder, "first")
    try Cities.write((1...40).map { Cities.document($0) }, to: first)
    let second = try open(folder, "second")
    #expect(second.head.commit == first.head.commit)
    for (store, name) in [(second, "a"), (first, "b"), (second, "c"), (first, "d")] {
      _ = try store.refresh()
      let edit = Cities.edit(3, from: try store.city(3), to: Cities.document(3, name: name))
      _ = try store.commit(ChangeSet(changes: [edit]), named: name, options: EditOptions())
      #expect(store.writer == nil)
    }
    _ = try second.refresh()
    #expect(try second.city(3) == Cities.document(3, name: "d"))
    let programs = try second.commits(from: second.head.commit, limit: 4, folded: true).map(\.program)
    #expect(programs == ["first", "second", "first", "second"])
    #expect(try second.verifyModel(at: second.head.commit).isClean)
  }

  @Test("a stale edit is found out although this process had not seen the other's commit")
  func staleEdit() throws {
    let folder = try TemporaryFolder()
    let first = try open(folder, "first")
    try Cities.write((1...40).map { Cities.document($0) }, to: first)
    let second = try open(folder, "second")
    try Cities.write([Cities.document(3, name: "theirs")], to: first)
    let edit = Cities.edit(3, from: Cities.document(3), to: Cities.document(3, name: "mine"))
    #expect {
      try second.commit(ChangeSet(changes: [edit]), named: "x", options: EditOptions())
    } throws: { error in
      guard case .conflict(let conflicts)? = error as? ModelError else { return false }
      return conflicts.first?.theirs == Cities.content(Cities.document(3, name: "theirs"))
    }
    #expect(try second.undoCandidate() == first.head.commit)
  }

  @Test("while another one writes, a commit answers who holds the lock, and goes through once it is let go")
  func locked() throws {
    let folder = try TemporaryFolder()
    let first = try open(folder, "warm-up")
    try Cities.write((1...40).map { Cities.document($0) }, to: first)
    let second = try open(folder, "second")
    let edit = Cities.edit(3, from: Cities.document(3), to: Cities.document(3, name: "mine"))
    let changes = ChangeSet(changes: [edit])
    let transaction = try first.engine.beginBlocking()
    #expect(second.writer?.program == "warm-up")
    #expect {
      try second.commit(changes, named: "x", options: EditOptions())
    } throws: { error in
      guard case .locked(let hold)? = error as? ModelError else { return false }
      let isSaid = (error as? ModelError)?.description.hasPrefix(
        "held by warm-up (pid \(hold.processIdentifier)) since ")
      return hold.program == "warm-up" && (error as? ModelError)?.exitStatus == 4 && isSaid == true
    }
    let report = try second.preview(changes, options: EditOptions())
    #expect(report.isPossible)
    transaction.cancel()
    first.engine.releaseLock()
    _ = try second.commit(changes, named: "x", options: EditOptions())
    _ = try first.refresh()
    #expect(try first.city(3) == Cities.document(3, name: "mine"))
  }

  @Test("an index is not rebuilt if another process has dropped it meanwhile, or its rule holds no longer")
  func changedIndex() throws {
    let folder = try TemporaryFolder()
    let first = try open(folder, "first")
    try Cities.write((1...40).map { Cities.document($0) }, to: first)
    let second = try open(folder, "second")
    _ = try first.dropIndex("country", of: "City")
    #expect(throws: ModelError.self) { try second.rebuildIndex("country", of: "City", options: EditOptions()) }
    #expect(try second.refresh().datastore("City")?.descriptor.index("country") == nil)
    let stray = EntryKey.make(
      value: try KeyEncoding.string.encode(.string("Atlantis")), identifier: Cities.key(8).bytes)
    _ = try first.transact(CommitInfo(action: "stray")) { transaction throws(ModelError) in
      _ = try onStorage { try transaction.insert(stray, .none, in: .index("name", of: "City")) }
    }
    #expect(throws: ModelError.self) { try second.rebuildIndex("name", of: "City", options: EditOptions()) }
    _ = try second.refresh()
    #expect(try second.entries("name").count == 41)
  }

  @Test("activity of the one is read by the other while it lasts")
  func activity() throws {
    let folder = try TemporaryFolder()
    let first = try open(folder, "first")
    try Cities.write((1...40).map { Cities.document($0) }, to: first)
    let second = try open(folder, "second")
    let transaction = try first.engine.beginBlocking()
    let activity = Activity(
      title: "warm-up City: index population", done: 7, total: 40, startedAt: 12,
      steps: [Activity.Step(title: "index population", done: 7, total: 40, isComplete: false)])
    first.engine.setActivity(activity.bytes)
    #expect(second.activity == activity)
    first.engine.setActivity(nil)
    #expect(second.activity == nil)
    transaction.cancel()
    first.engine.releaseLock()
  }

  @Test("what came of an index that could not be built, and of one that was, is read by others after the lock is free")
  func leftActivity() throws {
    let folder = try TemporaryFolder()
    let store = try open(folder, "first")
    try Cities.write((1...600).map { Cities.document($0, population: $0) }, to: store)
    func index(_ encoding: KeyEncoding) -> IndexDescriptor {
      IndexDescriptor(name: "size", kind: .oneToMany, encoding: encoding, valueType: "X", rule: ".population")
    }
    #expect(throws: ModelError.self) { try store.addIndex(index(.string), to: "City", options: EditOptions()) }
    let failed = try #require(store.engine.activity.flatMap { Activity(bytes: $0) })
    #expect(failed.ending?.failureCount == 600 && failed.ending?.failures.count == 100)
    #expect(failed.ending?.failures.first?.datastore == "City" && failed.ending?.commit == nil)
    #expect(failed.ending?.reason == "600 records do not fit")
    #expect(store.activity == nil, "what it did itself it knows")
    let shares = Shares()
    var options = EditOptions(activity: { shares.note($0) })
    options.learnsType = true
    let commit = try store.addIndex(index(.string), to: "City", options: options)
    let done = try #require(store.engine.activity.flatMap { Activity(bytes: $0) })
    #expect(done.ending?.commit == commit.rawValue && done.ending?.reason == nil)
    #expect(done.steps.map(\.title) == Self.steps)
    #expect(done.steps.allSatisfy { $0.isComplete && ($0.total == 600 || $0.title == "commit") && $0.cost != nil })
    #expect(done.steps.allSatisfy { $0.seconds != nil } && done.share == 1)
    #expect(shares.titles == [Self.steps], "all steps are known from the beginning")
    #expect(try store.refresh().datastore("City")?.indexes.first { $0.descriptor.name == "size" }?.count == 600)
  }

  @Test("an import leaves how many rows it left out, and one that only counts leaves no word that it was cancelled")
  func trial() throws {
    let folder = try TemporaryFolder()
    let store = try open(folder, "first")
    var plan = ImportPlan(datastore: "City", identifier: try DocumentPath(parsing: ".id"), indexes: [])
    for isDryRun in [true, false] {
      plan.isDryRun = isDryRun
      var source = DocumentList((1...600).map { ["id": .number(NumberText($0))] } + [["name": "without"]])
      #expect(try Importer(store, plan).run(&source).new == 600)
      let left = store.engine.activity.flatMap { Activity(bytes: $0) }
      #expect((left == nil) == isDryRun && left?.ending?.reason == nil, "\(left?.title ?? "")")
      #expect(left?.ending?.leftOut == (isDryRun ? nil : 1))
    }
  }

  @Test("what came of a build of few records is read by others too, and of its repetition")
  func leftActivityOfFew() throws {
    let folder = try TemporaryFolder()
    let store = try open(folder, "first")
    try Cities.write((1...3).map { Cities.document($0, population: $0) }, to: store)
    func left() -> Activity.Ending? { store.engine.activity.flatMap { Activity(bytes: $0) }?.ending }
    func build(leavingOut count: Int) throws {
      var options = EditOptions()
      let cities = try #require(try store.refresh().datastore("City"))
      options.leavingOut = Set(try (1...3).prefix(count).map { try cities.identifier(parsing: "\($0)") })
      let index = IndexDescriptor(
        name: "size", kind: .oneToMany, encoding: .string, valueType: "X", rule: ".population")
      _ = try store.addIndex(index, to: "City", options: options)
    }
    #expect(throws: ModelError.self) { try build(leavingOut: 0) }
    #expect(left()?.failureCount == 3)
    #expect(throws: ModelError.self) { try build(leavingOut: 1) }
    #expect(left()?.failureCount == 2)
    try build(leavingOut: 3)
    #expect(left()?.failureCount == 0 && left()?.commit != nil)
  }

  private static let steps = ["learn the types", "read", "decode", "sort", "write index size", "commit"]

  /// Hears of the steps of a work.
  private final class Shares: Sendable {
    private let heard = Mutex<Set<[String]>>([])
    func note(_ activity: Activity) -> Bool {
      _ = heard.withLock { $0.insert(activity.steps.map(\.title)) }
      return true
    }
    var titles: Set<[String]> { heard.withLock { $0 } }
  }

  @Test("read-only refuses every change with the reason, and takes no lock")
  func readOnly() throws {
    let folder = try TemporaryFolder()
    try Cities.write((1...40).map { Cities.document($0) }, to: open(folder, "first"))
    let store = try open(folder, "reader", readOnly: true)
    let reason = ModelError.readOnly(reason: "it was opened for reading only")
    let edit = Cities.edit(3, from: Cities.document(3), to: nil)
    #expect(throws: reason) { try store.commit(ChangeSet(changes: [edit]), named: "x", options: EditOptions()) }
    #expect(throws: reason) { try store.undo(store.head.commit, named: "x") }
    #expect(throws: reason) { try store.restore(store.head.commit, datastore: nil, named: "x") }
    #expect(throws: reason) { try store.pin("x", to: store.head.commit) }
    #expect(try store.preview(ChangeSet(changes: [edit]), options: EditOptions()).removedEntries > 0)
  }

  @Test("a path with nothing, or with something else, is a clear error")
  func wrongPaths() throws {
    let folder = try TemporaryFolder()
    for path in [folder.path + "/nothing", folder.path] {
      #expect {
        try EngineStore.open(path: path)
      } throws: { error in
        guard case .noSuchStore(path, _)? = error as? ModelError else { return false }
        return (error as? ModelError)?.exitStatus == 1
      }
    }
  }

  @Test("what was committed is there when the store is opened again")
  func reopened() throws {
    let folder = try TemporaryFolder()
    do {
      let store = try open(folder, "first")
      try Cities.write((1...40).map { Cities.document($0) }, to: store)
      try store.engine.close()
    }
    let store = try open(folder, "first")
    #expect(try store.city(7) == Cities.document(7))
    #expect(store.identity.count == 32)
    #expect(store.openingReport.isEmpty)
  }
}
