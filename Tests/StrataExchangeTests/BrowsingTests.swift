import Dispatch
import StrataDocuments
import StrataEngine
import StrataLocks
import StrataModel
import Testing

@testable import StrataExchange

@Suite("A store that is browsed over a line")
struct BrowsingTests {
  /// The requests that some work waits for.
  private func roundTrips(_ store: RemoteStore, _ work: () throws -> Void) rethrows -> Int {
    let before = store.roundTrips
    try work()
    return store.roundTrips - before
  }

  private func records(_ store: any ReadableStore, _ ranks: Range<Int>, by index: String?) throws -> [String] {
    let datastore = try #require(try store.head.datastore("City"))
    let order = index.flatMap { name in datastore.indexes.first { $0.descriptor.name == name } } ?? datastore.primary
    return try order.entries(at: ranks).map { entry in
      let record = try #require(try datastore.record(entry.identifier))
      return "\(entry.value) \(String(decoding: record.content, as: UTF8.self))"
    }
  }

  @Test("opening asks for nothing beyond the first answer")
  func opening() throws {
    let there = try BrowsedStore(3_000)
    let here = try there.browse()
    #expect(here.roundTrips == 0)
    #expect(here.head.commit == there.own.head.commit)
    #expect(here.access == .readWrite)
    #expect((here as any EditableStore).identity == there.own.identity)
    #expect(there.bytesToHere < 100_000)
  }

  @Test(
    "a page of rows with its records is one round trip, in each order, and none where it was seen",
    arguments: [nil, "name", "population"])
  func rows(index: String?) throws {
    let there = try BrowsedStore(3_000)
    let here = try there.browse()
    _ = try here.head.datastores.map { try $0.count }
    for ranks in [0..<120, 120..<240, 1_500..<1_620, 2_900..<3_000] {
      var found: [String] = []
      #expect(try roundTrips(here) { found = try records(here, ranks, by: index) } == 1)
      #expect(try found == records(there.own, ranks, by: index))
    }
    #expect(try roundTrips(here) { _ = try records(here, 1_510..<1_600, by: index) } == 0)
  }

  @Test(
    "the outline is none, and a record, a bound, a page of history, the changes of a commit and versions are one round trip each"
  )
  func single() throws {
    let there = try BrowsedStore(3_000)
    for number in 1...250 {
      try there.store.put(
        #"{"id":\#(number % 7 + 1),"name":"v\#(number)","population":\#(number)}"#, named: "put \(number)")
    }
    let here = try there.browse()
    let (head, own) = (here.head.commit, there.own)
    func both<Value: Equatable>(asking count: Int = 1, _ read: (any ReadableStore) throws -> Value) throws {
      var found: Value?
      #expect(try roundTrips(here) { found = try read(here) } == count)
      #expect(try found == read(own))
      #expect(try roundTrips(here) { _ = try read(here) } == 0)
    }
    // It comes with the state.
    try both(asking: 0) { store in
      try store.head.datastores.map { "\($0.descriptor.key) \(try $0.count) \(try $0.indexes.map { try $0.count })" }
    }
    try both { store in
      let datastore = try #require(try store.head.datastore("City"))
      return try datastore.record(datastore.identifier(parsing: "2017"))
    }
    try both { store in
      let index = try #require(try store.head.datastore("City")?.indexes.first { $0.descriptor.name == "population" })
      return try index.rank(of: .before(index.value(parsing: "777")))
    }
    // Rows that a filter has found, far apart, and the ranks of found records.
    try both { store in
      let datastore = try #require(try store.head.datastore("City"))
      let index = try #require(datastore.indexes.first { $0.descriptor.name == "name" })
      let ranges = stride(from: 5, to: 3_000, by: 90).map { $0..<$0 + 1 }
      return try index.entries(at: ranges).joined().map { try datastore.record($0.identifier) }
    }
    let found = try records(here, 200..<240, by: nil).map { String($0.prefix { $0 != " " }) }
    try both { store in
      let datastore = try #require(try store.head.datastore("City"))
      let index = try #require(datastore.indexes.first { $0.descriptor.name == "population" })
      return try index.ranks(of: found.map { try datastore.identifier(parsing: $0) })
    }
    try both { try $0.commitPage(from: [head], limit: 100, folded: true) }
    try both { try $0.commit(CommitNumber(55)) }
    try both { store in
      let reader = try store.changes(of: CommitNumber(120))
      return try reader.next(10).map { "\($0.identifier) \(String(describing: $0.old)) \(String(describing: $0.new))" }
    }
    try both { store in
      let reader = try store.changes(from: CommitNumber(20), to: CommitNumber(240))
      return try reader.next(10).map { "\($0.identifier) \(String(describing: $0.old)) \(String(describing: $0.new))" }
    }
    try both { store in
      let key = try #require(try store.head.datastore("City")).identifier(parsing: "3")
      return try store.versions(of: key, in: "City", from: head, limit: 40)
        .map { "\($0.commit) \(String(describing: try $0.record))" }
    }
    try both { try $0.resolve("head~200") }
  }

  @Test("all records are read in few requests, and are the same")
  func scan() throws {
    let there = try BrowsedStore(3_000)
    let here = try there.browse()
    var found: [Record] = []
    let asked = try roundTrips(here) {
      var cursor = try #require(try here.head.datastore("City")).records(at: 0..<3_000)
      while try cursor.next() { if let record = try cursor.record() { found.append(record) } }
    }
    var expected: [Record] = []
    var cursor = try #require(try there.own.head.datastore("City")).records(at: 0..<3_000)
    while try cursor.next() { if let record = try cursor.record() { expected.append(record) } }
    #expect(found == expected)
    #expect(asked <= 8)
  }

  @Test("the rules of indexes are proven there, and a preview is the same here")
  func rules() throws {
    let there = try BrowsedStore(3_000, isUnproven: true)
    let here = try there.browse()
    let edit = try here.head.edit(17, to: #"{"id":17,"name":"new","population":1}"#)
    var preview: ChangePreview?
    let asked = try roundTrips(here) { preview = try here.preview(ChangeSet(changes: [edit]), options: EditOptions()) }
    let expected = try there.own.preview(ChangeSet(changes: [edit]), options: EditOptions())
    #expect(preview?.records == expected.records)
    #expect(preview?.refusals == expected.refusals)
    #expect(asked <= 6)
  }

  @Test("a commit there is reported, and the next look shows it without a request")
  func following() throws {
    let there = try BrowsedStore(1_000)
    let here = try there.browse()
    let stirred = Stirred()
    let token = try here.follow { stirred.signal() }
    let commit = try there.store.put(#"{"id":5,"name":"changed","population":3}"#)
    stirred.wait { (try? here.refresh().commit) == commit }
    #expect(here.roundTrips == 0)
    #expect(try ExchangedStore.text(5, in: here.head) == ExchangedStore.text(5, in: there.own.head))
    withExtendedLifetime(token) {}
  }

  @Test("a store has the same size on both sides, with the zeros ahead")
  func size() throws {
    let there = try BrowsedStore(1_000)
    let before = try there.own.byteCount
    let here = try there.browse().byteCount
    // The zeros ahead may grow meanwhile.
    #expect(try before <= here && here <= there.own.byteCount)
  }

  @Test("the end of a writer that was killed, which no file tells, is reported")
  func killedWriter() throws {
    let there = try BrowsedStore(10)
    let lock = try SystemDisk().open("\(there.folder)/lock", .readWrite)
    #expect(try lock.tryLock())
    let here = try there.browse()
    let stirred = Stirred()
    let token = try here.follow { stirred.signal() }
    #expect(here.writer != nil)
    try lock.unlock()
    stirred.wait { here.writer == nil }
    withExtendedLifetime(token) {}
  }

  @Test("a peer that lies, floods or is of another release ends with an error, and its bytes are believed nowhere")
  func liars() throws {
    let there = try BrowsedStore(300)
    let greeting = #"{"serve":1,"store":"x","head":null,"check":null,"browse":2}"#
    func state(_ end: UInt64, bytes: String = "") -> String {
      #"{"state":{"settled":{"file":{"device":0,"inode":7},"generation":0,"end":\#(end)}},"bytes":"\#(bytes)"}"#
    }
    let hello = #"{"browsing":2,"store":"x"}"#
    func opened(_ lines: [String]) -> String {
      let line = RemoteLine(name: "ssh://liar/store") { _ in try Liar(lines) }
      do {
        let store = try RemoteStore(line, isReadOnly: false, mayAsk: false)
        _ = try store.head.datastores
        return "opened"
      } catch { return "\(error)" }
    }
    #expect(opened([#"{"serve":1,"store":"x","head":null,"check":null}"#]).contains("no browsing"))
    #expect(opened([greeting.replacing("\"browse\":2", with: "\"browse\":9")]).contains("version 9 of browsing"))
    for lines in [
      ["hello"], [greeting, "hello"], [greeting, #"{"got":true,"bytes":""}"#], [greeting, hello],
      [greeting, state(.max), hello], [greeting, state(20_000, bytes: "AAAA"), hello], [greeting, state(64), hello],
      [greeting, state(20_000), hello], [greeting, state(20_000), hello, #"{"got":true,"bytes":""}"#],
      [greeting, String(repeating: "x", count: 5 << 20)],
    ] {
      #expect(opened(lines) != "opened")
    }
    // True lines with other bytes in them.
    let truth = there.line()
    let taken = Mutex<[String]>([])
    let honest = RemoteLine(name: "ssh://there/store") { _ in
      let wire = try truth.begin()
      return try Recorder(wire) { line in taken.withLock { $0.append(line) } }
    }
    _ = try RemoteStore(honest, isReadOnly: false, mayAsk: false)
    let lines = taken.withLock { $0 }
    var random = Numbers(state: 11)
    for _ in 0..<200 {
      var garbled = lines
      let place = random.next(in: 0..<garbled.count)
      var bytes = Array(garbled[place].utf8)
      for _ in 0..<4 { bytes[random.next(in: 0..<bytes.count)] = UInt8(random.next(in: 32..<127)) }
      garbled[place] = String(decoding: bytes, as: UTF8.self)
      let outcome = opened(garbled)
      #expect(!outcome.isEmpty)
    }
  }

  @Test(
    "a store that was deleted or moved there is known to be gone, takes no changes, and is followed again when it is back"
  )
  func moved() throws {
    let there = try BrowsedStore(10)
    let here = try there.browse()
    let stirred = DispatchSemaphore(value: 0)
    let token = try here.follow { stirred.signal() }
    defer { withExtendedLifetime(token) {} }
    #expect(here.isInPlace && here.access == .readWrite)
    try SystemDisk().rename(there.folder, to: there.folder + "-away")
    while here.isInPlace { stirred.wait() }
    #expect(here.access == .readOnly(reason: "the store was deleted or moved"))
    try SystemDisk().rename(there.folder + "-away", to: there.folder)
    while !here.isInPlace { stirred.wait() }
    #expect(here.access == .readWrite)
    try there.store.put(#"{"id":11,"name":"back","population":1}"#, named: "put")
    while try here.refresh().commit != there.own.head.commit { stirred.wait() }
  }

  @Test("a line that cannot be made again names its store once")
  func namedOnce() throws {
    let there = try BrowsedStore(3)
    let here = try there.browse()
    for _ in 0..<1_000 { there.cutNext(toThere: 0) }
    there.cutNow()
    var reasons: Set<String> = []
    while there.connections < 5 {
      do throws(ModelError) { _ = try here.refresh() } catch { reasons.insert(error.description) }
    }
    there.cutNone()
    #expect(!reasons.isEmpty)
    for reason in reasons { #expect(reason.ranges(of: "ssh://there/store").count == 1, "\(reason)") }
  }

  @Test("a compaction there is followed, and what is read then is right")
  func compaction() throws {
    let there = try BrowsedStore(2_000)
    for number in 1...50 { try there.store.put(#"{"id":9,"name":"\#(number)","population":3}"#) }
    let here = try there.browse()
    _ = try records(here, 0..<100, by: nil)
    let stirred = Stirred()
    let token = try here.follow { stirred.signal() }
    let history = here.historyBytes
    _ = try there.own.compact(.last(3), progress: nil)
    stirred.wait {
      _ = try? here.refresh()
      return here.historyBytes != history
    }
    #expect(try records(here, 0..<2_000, by: "name") == records(there.own, 0..<2_000, by: "name"))
    withExtendedLifetime(token) {}
  }

  @Test("more bytes than the sides keep are asked for again, and are right")
  func forgotten() throws {
    let there = try BrowsedStore(3_000, mostPages: 100)
    let here = try there.browse()
    for start in stride(from: 0, to: 3_000, by: 7) {
      #expect(try records(here, start..<start + 1, by: "name") == records(there.own, start..<start + 1, by: "name"))
    }
    #expect(try roundTrips(here) { _ = try records(here, 0..<40, by: "name") } >= 1)
    #expect(try records(here, 0..<40, by: "name") == records(there.own, 0..<40, by: "name"))
  }

  @Test("a record that is longer than all that the sides keep is read")
  func longRecord() throws {
    let there = try BrowsedStore(3, mostPages: 600)
    let text = String(repeating: "0123456789", count: 600_000)
    try there.store.put(#"{"id":2,"name":"long","population":1,"text":"\#(text)"}"#)
    let here = try there.browse()
    #expect(try records(here, 0..<3, by: nil) == records(there.own, 0..<3, by: nil))
  }
}

extension ReadableView {
  func edit(_ identifier: Int, to text: String?) throws -> RecordEdit {
    let datastore = try #require(try datastore("City"))
    let key = try datastore.identifier(parsing: "\(identifier)")
    return RecordEdit(
      datastore: "City", identifier: key, old: try datastore.record(key)?.stored,
      new: text.map { RecordContent(version: "1", bytes: Array($0.utf8)) })
  }
}

/// Waits for what another thread tells, without polling.
final class Stirred: Sendable {
  private let count = DispatchSemaphore(value: 0)
  func signal() { count.signal() }

  /// Waits until a condition holds, looked at after each signal.
  func wait(until isSo: () -> Bool) {
    while !isSo() { count.wait() }
  }
}
