import StrataDocuments
import StrataModel
import Foundation
import Testing

@testable import StrataFolders

@Suite("Checking folders")
struct VerifierTests {
  @Test(
    "folders that the original library wrote are sound, and each file that no commit names is counted",
    .enabled(if: Fixture.areThere, Fixture.absence), arguments: Fixture.names)
  func fixtures(_ name: String) throws {
    let fixture = try Fixture(name)
    let before = try FolderState(of: fixture.path)
    let report = try FolderVerifier.verify(fixture.path)
    #expect(report.isSound)
    #expect(report.exitStatus == 0)
    #expect(report.commitCount == fixture.history.count)
    #expect(report.recordCount == fixture.datastores.reduce(0) { $0 + ($1["count"].integer ?? 0) })
    let files = fixture.expected["files"].members.map(\.value)
    #expect(report.fileCount == files.reduce(0) { $0 + ($1["files"].integer ?? 0) })
    #expect(report.byteCount == files.reduce(0) { $0 + ($1["bytes"].integer ?? 0) })
    #expect(report.orphanCount == files.reduce(0) { $0 + ($1["unreferencedByAnyIteration"].integer ?? 0) })
    #expect(try FolderState(of: fixture.path) == before)
  }

  @Test("what is wrong with real stores is said", .enabled(if: Fixture.areThere, Fixture.absence))
  func realCases() throws {
    func findings(of name: String) throws -> [FolderFinding] {
      guard Fixture.names.contains(name) else { return [] }
      let fixture = try Fixture(name)
      defer { withExtendedLifetime(fixture) {} }
      return try FolderVerifier.verify(fixture.path).findings
    }
    #expect(
      try findings(of: "migrated").filter { $0.severity > .note }.map { [$0.kind.rawValue, $0.index] } == [
        ["stuck-by-meaning", "name"]
      ])
    #expect(
      try findings(of: "orphans").contains { $0.kind == .unreachableCommit && $0.message.contains("Killed before") })
    #expect(try findings(of: "emptied").filter { $0.kind == .emptyLastPage }.count == 4)
    #expect(try findings(of: "books").filter { $0.severity > .note }.isEmpty)
  }

  // MARK: Built cases

  private typealias Entry = FolderBuilder.Entry

  private func report(_ datastores: FolderBuilder.Datastore..., pageSize: Int = 4096) throws -> FolderReport {
    let builder = try FolderBuilder()
    builder.pageSize = pageSize
    builder.commit(datastores, action: "write")
    return try FolderVerifier.verify(builder.path)
  }

  private func things(_ range: Range<Int>) -> [Entry] {
    range.map { .record("\($0)", "{\"id\":\($0),\"n\":\($0 / 2)}") }
  }
  private func entries(_ range: Range<Int>) -> [Entry] { range.map { .reference("\($0 / 2)", "\($0)") } }

  private func index(_ entries: [Entry], type: String = "OneToManyIndex(Int)", isDirect: Bool = false)
    -> FolderBuilder.Index
  {
    .init(name: "n", type: type, isDirect: isDirect, entries: entries)
  }

  @Test("a sound folder has nothing to be said of")
  func sound() throws {
    let report = try report(.init(key: "things", records: things(0..<50), indexes: [index(entries(0..<50))]))
    #expect(report.findings.isEmpty)
    #expect(report.recordCount == 50 && report.entryCount == 50)
  }

  @Test("entries without a record, records without an entry, and double entries")
  func entriesAgainstRecords() throws {
    let wrong = entries(1..<50) + [.reference("25", "70"), .reference("30", "49")]
    let report = try report(.init(key: "things", records: things(0..<50), indexes: [index(wrong)]))
    #expect(report.findings(.danglingEntry).map(\.index) == ["n"])
    #expect(report.findings(.danglingEntry).first?.message.contains("1 (70)") == true)
    #expect(report.findings(.missingEntry).first?.message.contains("1 (0)") == true)
    #expect(report.findings(.repeatedEntry).first?.message.contains("1 (49)") == true)
    #expect(report.exitStatus == 3)
  }

  @Test("entries and records out of order")
  func disorder() throws {
    var records = things(0..<50)
    records.swapAt(10, 11)
    var values = entries(0..<50)
    values.swapAt(20, 30)
    let report = try report(.init(key: "things", records: records, indexes: [index(values)]))
    #expect(report.findings(.disorder).map(\.index) == [nil, "n"])
  }

  @Test("an entry that is not what all others follow")
  func contradiction() throws {
    var values = entries(0..<50)
    values[49] = .reference("77", "49")
    let report = try report(.init(key: "things", records: things(0..<50), indexes: [index(values)]))
    #expect(report.findings(.contradictingEntry).first?.message.contains(".n") == true)
    #expect(report.findings(.contradictingEntry).first?.message.contains("1 (49)") == true)
    #expect(report.isSound)
  }

  @Test("copies of a direct index that differ, except by version")
  func copies() throws {
    let copies = (0..<9).map { number in
      Entry.direct(
        "\(number / 2)", "\(number)", number == 4 ? "{\"id\":4}" : "{\"id\":\(number),\"n\":\(number / 2)}",
        version: number == 5 ? "2" : "1")
    }
    let report = try report(.init(key: "things", records: things(0..<9), indexes: [index(copies, isDirect: true)]))
    #expect(report.findings(.differingCopy).first?.message.contains("1 (4)") == true)
  }

  @Test("a copy that was encoded a second time, and dates within one millisecond, are not damage")
  func harmlessDifferences() throws {
    let copies = [Entry.direct("7", "1", "{\"n\":7,\"id\":1}")]
    let moment = "\"2023-11-14T22:13:20.123Z\""
    let report = try report(
      .init(key: "things", records: [.record("1", "{\"id\":1,\"n\":7}")], indexes: [index(copies, isDirect: true)]),
      .init(
        key: "moments", records: [.record("1", "{}"), .record("2", "{}")],
        indexes: [index([.reference(moment, "2"), .reference(moment, "1")], type: "OneToManyIndex(Date)")]))
    #expect(report.findings.isEmpty, "\(report.findings)")
  }

  @Test("elements of lists that have no entry")
  func incompleteLists() throws {
    let records = (0..<30).map { Entry.record("\($0)", "{\"tags\":[\($0),\($0 + 100)]}") }
    let values =
      (0..<30).map { Entry.reference("\($0)", "\($0)") } + (0..<29).map { Entry.reference("\($0 + 100)", "\($0)") }
    let report = try report(
      .init(key: "things", records: records, indexes: [index(values, type: "ManyToManyIndex(Int)")]))
    #expect(report.findings(.missingEntry).first?.message.contains("1 (29)") == true)
  }

  @Test("a count that is wrong, and the datastore that looks empty by it", arguments: [0, 49])
  func counts(_ size: Int) throws {
    let report = try report(.init(key: "things", records: things(0..<50), size: size))
    #expect(report.findings(.wrongCount).first?.message.contains("there are \(size) records, and there are 50") == true)
    #expect(report.exitStatus == 3)
  }

  @Test("records lost by a changed identifier type, and the commit that has them")
  func lostRecords() throws {
    let builder = try FolderBuilder()
    builder.commit([.init(key: "things", records: things(0..<5))], action: "write")
    builder.commit([.init(key: "things", identifierType: "String", records: [])], action: "Migrate things Instances")
    let report = try FolderVerifier.verify(builder.path)
    let finding = try #require(report.findings(.lostRecords).first)
    #expect(finding.message.contains("from Int to String") && finding.message.contains("5 of 5"))
    #expect(finding.remedy?.contains("--at #1") == true)
  }

  @Test("records stuck by a date with more digits than milliseconds")
  func inexactDates() throws {
    let dates = [
      ("1", 721_692_800.125, "2023-11-14T22:13:20.125Z"), ("2", 721_692_800.123456, "2023-11-14T22:13:20.123Z"),
      ("3", 721_692_900, "2023-11-14T22:15:00.000Z"),
    ]
    let report = try report(
      .init(
        key: "things", records: dates.map { .record($0.0, "{\"made\":\($0.1)}") },
        indexes: [
          index(dates.sorted { $0.2 < $1.2 }.map { .reference("\"\($0.2)\"", $0.0) }, type: "OneToManyIndex(Date)")
        ]))
    #expect(report.findings(.stuckByDate).first?.message.contains("1 (2)") == true)
  }

  @Test("records stuck by a value that is too long")
  func longValues() throws {
    let long = "\"\(String(repeating: "x", count: 9000))\""
    let report = try report(
      .init(
        key: "things", records: [.record("1", "{\"t\":\(long)}")],
        indexes: [index([.reference(long, "1")], type: "OneToManyIndex(String)")]))
    #expect(report.findings(.stuckByLength).map(\.index) == ["n"])
    #expect(report.isSound)
  }

  @Test("records of one value in an index that is meant for one record each")
  func sharedValues() throws {
    let report = try report(
      .init(key: "things", records: things(0..<4), indexes: [index(entries(0..<4), type: "OneToOneIndex(Int)")]))
    #expect(report.findings(.sharedValue).first?.severity == .note)
  }

  @Test("damaged, missing and treacherous files are named")
  func files() throws {
    let builder = try FolderBuilder()
    builder.pageSize = 300
    builder.commit([.init(key: "things", records: things(0..<50), indexes: [index(entries(0..<50))])], action: "write")
    let pages = builder.files(".datastorepage")
    builder.write(pages[0], Array(try FolderFiles(path: builder.path).bytes(of: pages[0]).dropLast(30)))
    remove(pages[3], of: builder)
    builder.write(
      pages[5],
      try FolderFiles(path: builder.path).bytes(of: pages[5]) + Array("=5000\n".utf8)
        + [UInt8](repeating: 0x20, count: 5000) + [0x0A])
    let manifest = try #require(builder.files(".indexmanifest").last)
    builder.write(
      manifest,
      try FolderFiles(path: builder.path).bytes(of: manifest) + Array("-\(FolderBuilder.identifier(9999))\n".utf8))
    let report = try FolderVerifier.verify(builder.path)
    #expect(report.findings(.unreadableFile).map(\.file).contains(pages[0]))
    #expect(report.findings(.missingFile).map(\.file).contains(pages[3]))
    #expect(report.findings(.oversizedPage).map(\.file) == [pages[5]])
    #expect(report.findings(.treacherousManifest).map(\.file) == [manifest])
    #expect(report.exitStatus == 3)
  }

  @Test("one datastore of a folder is verified: a damaged page, an entry too many, a count that no store can have")
  func datastores() throws {
    func verified(
      _ entries: [Entry], size: Int? = nil, _ damage: (FolderBuilder) throws -> Void = { _ in }
    ) throws -> DatastoreVerification {
      let builder = try FolderBuilder()
      builder.pageSize = 300
      builder.commit([
        .init(key: "things", records: things(0..<50), indexes: [index(entries)], size: size)
      ])
      try damage(builder)
      let store = try FolderStore(at: builder.path)
      return try #require(try store.head.datastore("things")).verify(index: nil, progress: nil)
    }
    let sound = try verified(entries(0..<50), size: .max)
    #expect(sound.isClean && sound.records == 50 && sound.faultyRecords == 0)
    #expect(sound.indexes.allSatisfy { $0.entries == 50 && $0.rule == ".n" })
    let stray = try verified(entries(0..<50) + [.reference("30", "70")])
    #expect(!stray.isClean && stray.indexes.first?.strays == 1)
    let damaged = try verified(entries(0..<50)) { builder in
      let page = try #require(builder.files(".datastorepage").first { $0.contains("Primary") })
      builder.write(page, Array(try FolderFiles(path: builder.path).bytes(of: page).dropLast(30)))
    }
    #expect(!damaged.isClean && damaged.faultyRecords > 0, "\(damaged)")
  }

  @Test("commits that another writer wrote over, loops, and a history that was cut")
  func history() throws {
    let builder = try FolderBuilder()
    let first = builder.commit([.init(key: "a", records: things(0..<1))], action: "one")
    builder.commit([.init(key: "a", records: things(0..<2))], action: "two")
    builder.commit([.init(key: "a", records: things(0..<3))], action: "other", preceding: first.description)
    let report = try FolderVerifier.verify(builder.path)
    #expect(report.findings(.unreachableCommit).first?.message.contains("“two”") == true)
    #expect(report.findings(.unreachableCommit).first?.message.contains("made on #1") == true)
    #expect(report.orphanCount > 0 && report.isSound)
    remove(FolderHistory.Link(iteration: first, snapshot: builder.snapshot).file, of: builder)
    #expect(try FolderVerifier.verify(builder.path).findings(.historyEnds).count == 1)
  }

  @Test("a folder of which nothing can be read gives one finding")
  func unreadable() throws {
    let builder = try FolderBuilder()
    builder.write("Info.json", "{")
    #expect(try FolderVerifier.verify(builder.path).findings.map(\.kind) == [.unreadableFile])
  }

  @Test("the check can be stopped")
  func cancelling() throws {
    let builder = try FolderBuilder()
    builder.commit([.init(key: "a", records: things(0..<1))])
    #expect(throws: ModelError.cancelled) { try FolderVerifier.verify(builder.path, progress: { _ in false }) }
  }

  @Test("mutated folders are checked to the end", arguments: [UInt64](1...6))
  func mutations(seed: UInt64) throws {
    var numbers = SeededNumbers(seed: seed)
    let builder = try FolderBuilder()
    builder.pageSize = 200
    for round in 0..<2 {
      builder.commit([
        .init(key: "things", records: things(0..<(20 + round)), indexes: [index(entries(0..<(20 + round)))])
      ])
    }
    let files = builder.files("")
    for _ in 0..<10 {
      let file = files[Int(numbers.next() % UInt64(files.count))]
      var bytes = try FolderFiles(path: builder.path).bytes(of: file)
      guard !bytes.isEmpty else { continue }
      bytes[Int(numbers.next() % UInt64(bytes.count))] ^= UInt8(truncatingIfNeeded: numbers.next()) | 1
      builder.write(file, bytes)
      let report = try FolderVerifier.verify(builder.path)
      #expect(report.fileCount == 0 || report.fileCount >= files.count)
    }
  }
}

extension FolderReport {
  fileprivate func findings(_ kind: FolderFinding.Kind) -> [FolderFinding] { findings.filter { $0.kind == kind } }
}
