import Foundation
import StrataLocks
import StrataEngine
import Testing

@testable import CodableDatastore
@testable import StrataFolders

/// An app whose store the original library wrote, and that opens it with ours.
@Suite("Old folders become stores when they are opened")
struct OldFolderTests {
  struct Thing: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    var name: String
  }

  struct ThingFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case first = 1 }
    typealias Instance = Thing
    static let defaultKey: DatastoreKey = "things"
    static let currentVersion = Version.first
    let name = Index(\.name)
  }

  typealias Things<AccessMode: _AccessMode> = Datastore<ThingFormat, AccessMode>

  private func things(in persistence: DiskPersistence<ReadWrite>) -> Things<ReadWrite> {
    .JSONStore(persistence: persistence, migrations: [.first: { try $0.decode(Thing.self, from: $1) }])
  }

  private func things(in persistence: DiskPersistence<ReadOnly>) -> Things<ReadOnly> {
    .readOnlyJSONStore(persistence: persistence, migrations: [.first: { try $0.decode(Thing.self, from: $1) }])
  }

  private static func records(_ numbers: Range<Int>) -> [FolderBuilder.Entry] {
    numbers.map { .record("\($0)", #"{"id":\#($0),"name":"thing \#($0)"}"#) }
  }

  /// A folder of two commits and forty things.
  private func folder() throws -> FolderBuilder {
    let builder = try FolderBuilder()
    builder.commit([.init(key: "things", records: Self.records(0..<20))], action: "first")
    builder.commit([.init(key: "things", records: Self.records(0..<40))], action: "second")
    return builder
  }

  private var converting: StoreConfiguration {
    var configuration = StoreConfiguration()
    configuration.oldFolders = .convert
    return configuration
  }

  /// Without the lock that a process which ended in the last moment leaves: an empty file, which is in nobody's way.
  private func names(in folder: String) throws -> Set<String> {
    Set(try FileManager.default.contentsOfDirectory(atPath: folder).filter { !$0.hasSuffix(".converting.lock") })
  }

  @Test("a folder is refused with a word on what to do, unless the app says otherwise")
  func refused() throws {
    let builder = try folder()
    do {
      _ = try DiskPersistence(readWriteURL: URL(filePath: builder.path))
      Issue.record("it was opened")
    } catch let error as StoreError {
      #expect(error.kind == .notAStore && error.message.contains("oldFolders = .convert"))
    }
  }

  @Test("at the first use a store takes the folder's place, with all its history; the folder is kept")
  func converted() async throws {
    let builder = try folder()
    let before = try FolderState(of: builder.path)
    let url = URL(filePath: builder.path)
    let titles = Mutex<[String]>([])
    var configuration = StoreConfiguration()
    configuration.oldFolders = .convert { progress in titles.withLock { $0.append(progress.title) } }
    let persistence = try DiskPersistence(readWriteURL: url, configuration: configuration)
    let things = things(in: persistence)
    #expect(try await things.load(...).collectInstances(upTo: .infinity).map(\.id) == Array(0..<40))
    #expect(try await things.load("thing 7", from: \.name).firstInstance?.id == 7)
    #expect(try names(in: builder.directory.path) == ["built.persistencestore", "built.persistencestore.original"])
    #expect(try FolderState(of: builder.path + ".original") == before)
    #expect(persistence.folderConversion?.commitCount == 2)
    #expect(persistence.folderConversion?.datastores.map(\.instanceCount) == [40])
    #expect(titles.withLock { $0 }.contains { $0.contains("second") })
    let actions = try await persistence.commits.collectInstances(upTo: .infinity).map(\.action)
    #expect(actions.suffix(2) == ["second", "first"])
    try await things.persist(Thing(id: 40, name: "new"))
    try await persistence.close()
    let again = self.things(in: try DiskPersistence(readWriteURL: url))
    #expect(try await again.count == 41)
    #expect(try names(in: builder.directory.path).count == 2)
  }

  @Test("each way to begin converts: a write, a transaction, a load, a count, the history", arguments: 0..<6)
  func beginnings(_ way: Int) async throws {
    let builder = try folder()
    let persistence = try DiskPersistence(readWriteURL: URL(filePath: builder.path), configuration: converting)
    let things = things(in: persistence)
    switch way {
    case 0: try await things.persist(Thing(id: 0, name: "new"))
    case 1: try await persistence.perform { _ = try await things.persist(Thing(id: 0, name: "new")) }
    case 2: #expect(try await things.load(39)?.name == "thing 39")
    case 3: #expect(try await persistence.perform(options: .readOnly) { try await things.count } == 40)
    case 4: #expect(try await persistence.head != nil)
    default: try await persistence.createPersistenceIfNecessary()
    }
    #expect(try await things.count == 40)
    #expect(try names(in: builder.directory.path) == ["built.persistencestore", "built.persistencestore.original"])
  }

  @Test("whatever moment the process ends in, the next opening has everything")
  func cutAtEachStep() async throws {
    let builder = try folder()
    let home = builder.directory.path
    let snapshots = try TemporaryDirectory()
    let count = Mutex(0)
    // What lies on the disk at a moment is what a process that ends there leaves behind.
    let keep: @Sendable () -> Void = {
      let number = count.withLock { count in
        count += 1
        return count
      }
      do {
        try FileManager.default.copyItem(atPath: home, toPath: snapshots.path + "/\(number)")
      } catch {
        Issue.record("\(error)")
      }
    }
    var steps: [FolderReplacement.Step] = []
    let replacement = FolderReplacement(at: builder.path)
    _ = try replacement.run(.convert { _ in keep() }) { step in
      steps.append(step)
      keep()
    }
    keep()
    #expect(steps == FolderReplacement.Step.allCases)
    let total = count.withLock { $0 }
    #expect(total > 5)
    for number in 1...total {
      let url = URL(filePath: snapshots.path + "/\(number)/built.persistencestore")
      // Who only reads sees everything at each moment, and changes nothing.
      let before = try names(in: snapshots.path + "/\(number)")
      let reader = things(in: DiskPersistence(readOnlyURL: url))
      #expect(try await reader.count == 40, "as \(number) of \(total) is read")
      #expect(try names(in: snapshots.path + "/\(number)") == before)
      let persistence = try DiskPersistence(readWriteURL: url, configuration: converting)
      #expect(try await things(in: persistence).count == 40, "at \(number) of \(total)")
      #expect(
        try names(in: snapshots.path + "/\(number)") == ["built.persistencestore", "built.persistencestore.original"])
      try await persistence.close()
    }
  }

  @Test("a process that is killed while it converts loses nothing, however often, and the next one goes on")
  func killed() async throws {
    let builder = try FolderBuilder()
    for commit in 1...30 {
      builder.commit([.init(key: "things", records: Self.records(0..<20 * commit))], action: "commit \(commit)")
    }
    let before = try FolderState(of: builder.path)
    let clock = ContinuousClock()
    let whole = try clock.measure {
      _ = try FolderConversion.make(
        from: builder.path, to: builder.directory.path + "/measured.strata", keepsHistory: true
      ) { _ in true }
    }
    var killedInside = 0
    // Each delay is half as long again as the one before. The measured time may contain waiting for a processor, which the processes that
    // are killed may not have to do.
    for round in 1...12 where FolderReplacement(at: builder.path).state != .none {
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [path = builder.path as String, delay = whole / pow(1.5, Double(12 - round)) as Duration] in
        killThisProcess(after: delay)
        _ = try FolderReplacement(at: path).run(.convert)
        // The conversion came first.
        while true { pause() }
      }
      let kept = FolderReplacement(at: builder.path).state == .folder ? builder.path : builder.path + ".original"
      #expect(try FolderState(of: kept) == before, "after round \(round)")
      let reader = things(in: DiskPersistence(readOnlyURL: URL(filePath: builder.path)))
      #expect(try await reader.count == 600, "after round \(round)")
      if FolderReplacement(at: builder.path).state != .none { killedInside += 1 }
    }
    #expect(killedInside > 0, "each conversion was quicker than its kill")
    let persistence = try DiskPersistence(readWriteURL: URL(filePath: builder.path), configuration: converting)
    #expect(try await things(in: persistence).load(...).collectInstances(upTo: .infinity).map(\.id) == Array(0..<600))
    let actions = try await persistence.commits.collectInstances(upTo: .infinity).map(\.action)
    #expect(Array(actions.suffix(30)) == (1...30).reversed().map { "commit \($0)" })
    #expect(try FileStore.verify(at: builder.path, disk: SystemDisk()).isClean)
    #expect(
      try names(in: builder.directory.path) == [
        "built.persistencestore", "built.persistencestore.original", "measured.strata",
      ])
  }

  @Test("a failure at each step leaves what the next opening goes on with", arguments: FolderReplacement.Step.allCases)
  func failureAtEachStep(_ step: FolderReplacement.Step) async throws {
    struct Failure: Error {}
    let builder = try folder()
    #expect(throws: Failure.self) {
      try FolderReplacement(at: builder.path).run(.convert) { if $0 == step { throw Failure() } }
    }
    if step == .movingAside {
      // An older version of the app runs once more.
      builder.commit([.init(key: "things", records: Self.records(0..<45))], action: "meanwhile")
    }
    let persistence = try DiskPersistence(readWriteURL: URL(filePath: builder.path), configuration: converting)
    #expect(try await things(in: persistence).count == (step == .movingAside ? 45 : 40))
    #expect(try names(in: builder.directory.path) == ["built.persistencestore", "built.persistencestore.original"])
  }

  @Test("a folder that was moved aside is not taken for a place without a store, whatever the policy")
  func movedAside() async throws {
    struct Failure: Error {}
    let builder = try folder()
    #expect(throws: Failure.self) {
      try FolderReplacement(at: builder.path).run(.convert) { if $0 == .takingPlace { throw Failure() } }
    }
    let things = things(in: try DiskPersistence(readWriteURL: URL(filePath: builder.path)))
    #expect(try await things.count == 40)
  }

  @Test("an earlier original is not written over")
  func secondOriginal() async throws {
    let builder = try folder()
    try FileManager.default.createDirectory(
      atPath: builder.path + ".original", withIntermediateDirectories: false)
    let persistence = try DiskPersistence(readWriteURL: URL(filePath: builder.path), configuration: converting)
    #expect(try await things(in: persistence).count == 40)
    #expect(try names(in: builder.directory.path).contains("built.persistencestore.original-2"))
  }

  @Test("one process converts at a time")
  func twoProcesses() throws {
    let builder = try folder()
    var heard: StoreError?
    _ = try FolderReplacement(at: builder.path).run(.convert) { step in
      guard step == .movingAside else { return }
      do {
        _ = try FolderReplacement(at: builder.path).run(.convert)
      } catch let error as StoreError {
        heard = error
      }
    }
    guard case .locked = heard?.kind else {
      Issue.record("both converted")
      return
    }
    #expect(try FolderReplacement(at: builder.path).run(.convert) == nil)
  }

  @Test("a persistence that only reads shows the folder and changes nothing")
  func readOnly() async throws {
    let builder = try folder()
    let before = try FolderState(of: builder.path)
    let things = things(in: DiskPersistence(readOnlyURL: URL(filePath: builder.path)))
    #expect(try await things.count == 40)
    #expect(try await things.load(12)?.name == "thing 12")
    #expect(try await things.load(30...).collectInstances(upTo: .infinity).map(\.id) == Array(30..<40))
    #expect(try FolderState(of: builder.path) == before)
    #expect(try names(in: builder.directory.path) == ["built.persistencestore"])
  }

  @Test("a folder is converted to another place by one call, and reported as the verb does")
  func oneCall() async throws {
    let builder = try folder()
    let url = URL(filePath: builder.directory.path + "/new.strata")
    let last = Mutex<FolderConversionProgress?>(nil)
    let report = try await DiskPersistence.convertFolder(at: URL(filePath: builder.path), to: url) { progress in
      last.withLock { $0 = progress }
    }
    #expect(report.lines.first == "converted 1 datastore, 40 records, 2 commits to \(url.path)")
    #expect(last.withLock { $0 }?.done == 2)
    #expect(try await things(in: DiskPersistence(readWriteURL: url)).count == 40)
    let newest = URL(filePath: builder.directory.path + "/newest.strata")
    let short = try await DiskPersistence.convertFolder(
      at: URL(filePath: builder.path), to: newest, keepsHistory: false)
    #expect(short.commitCount == 1)
  }

  @Test("a cancelled conversion leaves nothing, and neither does one of what is not a folder")
  func failures() async throws {
    let builder = try folder()
    let (old, url) = (URL(filePath: builder.path), URL(filePath: builder.directory.path + "/new.strata"))
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await DiskPersistence.convertFolder(at: old, to: url)
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try names(in: builder.directory.path) == ["built.persistencestore"])
    await #expect(throws: StoreError.self) { try await DiskPersistence.convertFolder(at: url, to: url) }
    await #expect(throws: StoreError.self) { try await DiskPersistence.convertFolder(at: old, to: old) }
    let web = try #require(URL(string: "https://example.com"))
    await #expect(throws: DiskPersistenceError.notFileURL) { try await DiskPersistence.convertFolder(at: web, to: url) }
    withExtendedLifetime(builder) {}
  }
}

/// Ends this process as `kill -9` does, from a thread of its own.
private func killThisProcess(after delay: Duration) {
  Thread.detachNewThread {
    Thread.sleep(forTimeInterval: delay / .seconds(1))
    kill(getpid(), SIGKILL)
  }
}
