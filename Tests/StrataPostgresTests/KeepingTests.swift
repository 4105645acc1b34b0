import Foundation
@testable import StrataPostgres
import StrataEngine
import Testing

@Suite("Keeping a store on a server", .enabled(if: TestServer.isThere, TestServer.missing))
struct KeepingTests {
  private static let records = TreeName([1])

  private func filled() throws -> ServerStore {
    let store = try TestServer.store()
    try store.change { transaction throws(StorageError) in try transaction.createTree(Self.records, kind: .records) }
    return store
  }

  private func rows(_ table: String, of store: ServerStore) throws -> Int {
    let server = try #require(TestServer.shared)
    return try #require(server.query("select count(*) from \(store.url.schema).\(table)").first.flatMap { Int($0) })
  }

  @Test("one of two programs gets a lease; when its holder is silent it is taken over, and the late one writes nothing")
  func leases() throws {
    let store = try filled()
    let other = try ServerStore.open(store.url, options: ServerOptions(program: "other"))
    let lease = try #require(try store.acquireLease("warm-up City"))
    #expect(try other.acquireLease("warm-up City") == nil)
    try lease.tell(Array("7 of 9".utf8), isDueNow: true)
    #expect(other.activity == Array("7 of 9".utf8))
    let transaction = try store.transaction()
    try transaction.require(lease)
    try transaction.set([1], [1], in: Self.records)
    _ = try transaction.commit()
    // Ten seconds pass for the server.
    let late = try store.transaction()
    try late.require(lease)
    try late.put([1], [2], in: Self.records)
    let server = try #require(TestServer.shared)
    var taken: Lease?
    for _ in 0..<20 where taken == nil {
      server.psql("update \(store.url.schema).lease set heartbeat = heartbeat - interval '11 seconds'")
      taken = try other.acquireLease("warm-up City")
    }
    #expect(taken != nil)
    let error = #expect(throws: StorageError.self) { try late.commit() }
    #expect(error?.description.contains("“warm-up City” was taken over") == true)
    #expect(try lease.beat() == false)
    #expect(try store.refreshed().served(Self.records)?.look(for: [1])?.payload == .bytes([1]))
    try taken?.release()
  }

  @Test("what came of a work is told until the next one, and stands behind what somebody does")
  func result() throws {
    let store = try filled()
    let other = try ServerStore.open(store.url)
    #expect(other.activity == nil)
    store.setActivity(Array("7 of 9".utf8))
    #expect(other.activity == Array("7 of 9".utf8))
    store.leaveActivity(Array("done".utf8))
    #expect(other.activity == Array("done".utf8))
    other.setActivity(Array("1 of 5".utf8))
    #expect(store.activity == Array("1 of 5".utf8))
    other.setActivity(nil)
    #expect(store.activity == nil)
  }

  @Test("another program hears of a pruning, and no longer knows the parents that were removed")
  func pruningOfOthers() throws {
    let store = try filled()
    for value in 1...5 as ClosedRange<UInt8> {
      try store.change { transaction throws(StorageError) in try transaction.set([1], [value], in: Self.records) }
    }
    let other = try ServerStore.open(store.url)
    try other.forEachCommit { _ in true }
    #expect(other.identity.generation == 0)
    let newest = try other.refreshed().commit
    let oldest = newest.number - 1
    #expect(try other.commit(oldest).parents == [oldest - 1])
    _ = try store.compact(.last(2)) { _ in true }
    #expect(store.identity.generation == oldest)
    try other.refreshed()
    #expect(other.identity.generation == oldest)
    #expect(try other.commit(oldest).parents.isEmpty)
  }

  @Test("an estimate of what pruning leaves counts named commits, and those that another program has made since")
  func estimate() throws {
    let store = try filled()
    let other = try ServerStore.open(store.url)
    for value in 1...5 as ClosedRange<UInt8> {
      let info = CommitInfo(names: value == 2 ? ["pin": 0, "also": 0] : [:])
      try other.change(info) { transaction throws(StorageError) in try transaction.set([1], [value], in: Self.records) }
    }
    let reports = [try store.compactionEstimate(.last(2)), try store.compact(.last(2)) { _ in true }]
    #expect(reports.map(\.commitsKept) == [3, 3] && reports.map(\.commitsPruned) == [3, 3])
  }

  @Test("who follows a store hears of commits of others")
  func following() async throws {
    let store = try filled()
    let (changes, told) = AsyncStream<Void>.makeStream()
    let following = store.follow { told.yield() }
    let other = try ServerStore.open(store.url)
    try other.change { transaction throws(StorageError) in try transaction.set([1], [1], in: Self.records) }
    for await _ in changes { break }
    #expect(try store.refreshed().commit.number == 2)
    withExtendedLifetime(following) {}
  }

  @Test("pruning takes away what only older commits have, but not what a named one needs, and an older view says so")
  func pruning() throws {
    let store = try filled()
    let big = [UInt8](repeating: 7, count: 5_000)
    for number in 0..<10 {
      let transaction = try store.transaction()
      try transaction.set([1], big + [UInt8(number)], in: Self.records)
      try transaction.set(.key(number), [1], in: Self.records)
      if number > 0 { try transaction.delete(.key(number - 1), in: Self.records) }
      _ = try transaction.commit(CommitInfo(names: number == 3 ? ["kept": 0] : [:]))
    }
    let named = try #require(try store.names["kept"])
    let newest = store.newest.commit.number
    let oldView = try store.state(at: newest - 4)
    let keptView = try store.state(at: named)
    let values = try rows("value", of: store)
    try store.prune(before: newest - 2)
    #expect(try rows("commit", of: store) == 4)
    #expect(try rows("value", of: store) == values - 6)
    #expect(throws: StorageError.prunedCommit(number: newest - 4, nearest: newest - 2)) {
      try oldView.served(Self.records)?.look(for: [1])
    }
    #expect(throws: StorageError.prunedCommit(number: newest - 4, nearest: newest - 2)) {
      try store.state(at: newest - 4)
    }
    #expect(try keptView.served(Self.records)?.look(for: [1])?.payload == .bytes(big + [3]))
    #expect(
      try keptView.served(Self.records)?.entries(limit: 10).map(\.key)
        == [.key(3), [1]].sorted { $0.lexicographicallyPrecedes($1) })
    for number in (newest - 2)...newest {
      let value = UInt8(number - (newest - 9))
      #expect(try store.state(at: number).served(Self.records)?.look(for: [1])?.payload == .bytes(big + [value]))
    }
    #expect(store.commitCount == 4)
  }

  @Test("a named state differs from a later one also in what pruned commits inserted and changed")
  func differenceFromNamed() throws {
    let store = try filled()
    func set(_ key: UInt8, _ value: UInt8, _ info: CommitInfo = CommitInfo()) throws {
      try store.change(info) { transaction throws(StorageError) in
        try transaction.set([key], [value], in: Self.records)
      }
    }
    try set(1, 1, CommitInfo(names: ["kept": 0]))
    let named = store.newest
    try set(2, 1)
    try set(2, 2)
    try set(1, 2)
    let later = store.newest
    try store.change { transaction throws(StorageError) in try transaction.delete([2], in: Self.records) }
    func keys() throws -> [[UInt8]] {
      try named.differences(to: later, in: Self.records, from: []).page.map(\.key.array)
    }
    #expect(try keys() == [[1], [2]])
    try store.prune(before: later.commit.number)
    #expect(try keys() == [[1], [2]])
  }

  @Test("a commit that pruning has passed cannot be named, also while its entries are still being taken away")
  func namingMeanwhile() throws {
    let store = try filled()
    for number in 0..<4 {
      try store.change { transaction throws(StorageError) in
        try transaction.set([1], [UInt8(number)], in: Self.records)
      }
    }
    let other = try ServerStore.open(store.url)
    let newest = store.newest.commit.number
    // Whoever names it looked at it before.
    let naming = try other.transaction()
    let late = try naming.sealed(CommitInfo(names: ["late": newest - 2]))
    // What is deleted is held up here.
    let holder = try store.pool.open()
    try holder.exchange([Statement("begin"), store.tables.statement("lock table {history} in share mode")])
    let pruned = Box<Result<Void, StorageError>?>(nil)
    let isDone = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      let result = Result { () throws(StorageError) in try store.prune(before: newest) }
      pruned.change { $0 = result }
      isDone.signal()
    }
    let server = try #require(TestServer.shared)
    while server.query("select oldest from \(store.url.schema).store") != ["\(newest)"] { usleep(1_000) }
    #expect(throws: StorageError.prunedCommit(number: newest - 1, nearest: newest)) {
      try other.transaction().commit(CommitInfo(names: ["pin": newest - 1]))
    }
    guard case .failure(.conflict) = other.commits.commit(try #require(late), of: other) else {
      Issue.record("a name was given to a commit that is being taken away")
      return
    }
    _ = try other.transaction().commit(CommitInfo(names: ["head of then": newest]))
    try holder.exchange([Statement("commit")])
    isDone.wait()
    try pruned.value?.get()
    #expect(try rows("commit", of: store) == 2)
    #expect(try store.names == ["head of then": newest])
    #expect(try store.faultsOfNames().isEmpty)
  }

  @Test("a flush whose view is older than what pruning has left is a conflict: a deleted record does not come back")
  func flushOfThePruned() throws {
    let store = try filled()
    try store.change { transaction throws(StorageError) in try transaction.set([1], [1], in: Self.records) }
    let edit = try store.transaction()
    #expect(try edit.look(for: [1], in: Self.records) != nil)
    try edit.set([1], [2], in: Self.records)
    let other = try ServerStore.open(store.url)
    try other.change { transaction throws(StorageError) in try transaction.delete([1], in: Self.records) }
    let entries = try rows("history", of: store)
    try other.prune(before: other.newest.commit.number)
    #expect(try rows("history", of: store) == entries - 1)
    let error = #expect(throws: StorageError.self) { try edit.commit() }
    guard case .conflict? = error else {
      Issue.record("another outcome: \(String(describing: error))")
      return
    }
    #expect(try store.refreshed().served(Self.records)?.look(for: [1]) == nil)
  }

  @Test("a write whose state is pruned while it reads is made again, and one that fails for another reason is not")
  func writingBesidePruning() throws {
    let store = try filled()
    let other = try ServerStore.open(store.url)
    var attempts = 0
    let written = try store.write(CommitInfo()) { transaction throws(StorageError) in
      attempts += 1
      if attempts == 1 {
        for number in 0..<2 as Range<UInt8> {
          try other.change { other throws(StorageError) in try other.set([9], [number], in: Self.records) }
        }
        try other.prune(before: other.newest.commit.number)
      }
      _ = try transaction.tree(Self.records)?.find(.bytes([5]))
      try transaction.put([1], [UInt8(attempts)], in: Self.records)
    }
    #expect(try written.get() == store.newest.commit.number && attempts == 2)
    #expect(try store.newest.served(Self.records)?.look(for: [1])?.payload == .bytes([2]))
    let failed = try store.write(CommitInfo()) { transaction throws(StorageError) in
      attempts += 1
      throw StorageError.noSuchTree(Self.records)
    }
    #expect(throws: StorageError.self) { try failed.get() }
    #expect(attempts == 3)
  }

  @Test("of two commits side by side each lists what was pruned before it, because the other may be pruned later")
  func sideBySide() throws {
    let source = FileStore.memory()
    for base in [nil, 1, 2, 2] as [UInt64?] {
      let transaction = try source.beginBlocking(on: base)
      if base == nil { try transaction.createTree(Self.records, kind: .records) }
      try transaction.put([1], [UInt8(transaction.number)], in: Self.records)
      try transaction.commit(CommitInfo(movesHead: true))?.wait()
    }
    let server = try TestServer.store()
    try HistoryUpload.run(from: source, to: server)
    try server.prune(before: 3)
    for number in 3...4 as ClosedRange<UInt64> {
      #expect(try server.pedigree(of: server.commit(number))?.squashed.map(\.numbers) == [1...2])
    }
  }

  @Test("a name is one name however its letters are encoded")
  func spellings() throws {
    let store = try filled()
    let (one, two) = ("caf\u{E9}", "cafe\u{301}")
    _ = try store.transaction().commit(CommitInfo(names: [one: 0]))
    _ = try store.transaction().commit(CommitInfo(names: [two: 0]))
    #expect(try store.names == [one: store.newest.commit.number])
    _ = try store.transaction().commit(CommitInfo(names: [one: nil]))
    #expect(try store.names == [:])
  }

  @Test("a commit with a name that lacks what it had is found")
  func faultsOfNames() throws {
    let store = try filled()
    try store.change(CommitInfo(names: ["pin": 0])) { transaction throws(StorageError) in
      for number in 0..<5 { try transaction.set(.key(number), [1], in: Self.records) }
    }
    try store.change { transaction throws(StorageError) in
      for number in 0..<3 { try transaction.set(.key(number), [2], in: Self.records) }
      try transaction.delete(.key(3), in: Self.records)
    }
    #expect(try store.faultsOfNames().isEmpty)
    let server = try #require(TestServer.shared)
    server.psql("delete from \(store.url.schema).history where born = 2")
    #expect(try store.faultsOfNames() == ["“pin” names commit #2, which lacks 3 entries"])
    server.psql("delete from \(store.url.schema).commit where number = 2")
    #expect(try store.faultsOfNames() == ["“pin” names commit #2, which is not there"])
  }

  @Test("what a pruning that was interrupted has left the next one takes, up to the same commit")
  func interruptedPruning() throws {
    let store = try filled()
    for number in 0..<4 {
      try store.change { transaction throws(StorageError) in
        try transaction.set([1], [UInt8(number)], in: Self.records)
      }
    }
    let newest = store.newest.commit.number
    let server = try #require(TestServer.shared)
    server.psql("update \(store.url.schema).store set oldest = \(newest)")
    let entries = try rows("history", of: store)
    try store.prune(before: newest)
    #expect(try rows("history", of: store) == entries - 3)
    #expect(store.commitCount == 1)
  }

  @Test("people with psql read a datastore's records as documents")
  func reportingViews() throws {
    let store = try filled()
    try store.change { transaction throws(StorageError) in
      // As Int 300, −1, −70000 and 0 lie in keys, and version "1".
      for (key, text) in [
        ([0x16, 0x01, 0x2C], #"{"name":"London"}"#), ([0x13, 0xFE], #"{"name":"below"}"#),
        ([0x11, 0xFE, 0xEE, 0x8F], #"{"name":"far"}"#), ([0x14], #"{"name":"zero"}"#),
      ] as [([UInt8], String)] {
        try transaction.set(key, [1, 0x31] + Array(text.utf8), in: Self.records)
      }
    }
    let tree = try #require(try store.newest.served(Self.records))
    let view = ReportingView(name: "City", tree: tree.number, identifier: .integer, isJSON: true)
    try store.setReportingViews([view])
    try store.setReportingViews([view])
    let server = try #require(TestServer.shared)
    let rows = server.query(
      "select identifier, version, document->>'name' from \(store.url.schema).\"City\" order by identifier")
    #expect(rows == ["-70000|1|far", "-1|1|below", "0|1|zero", "300|1|London"])
    // As everything is right, nothing is locked: a reader of the view may stay as long as it likes.
    let reader = try store.pool.connect()
    try reader.exchange([Statement("begin"), store.tables.statement("select identifier from {City}")])
    #expect(try store.setReportingViews([view]).isEmpty)
    // What must be made anew is not waited for for ever, and says so.
    let other = ReportingView(name: "City", tree: tree.number + 1, identifier: .integer, isJSON: true)
    #expect(try store.setReportingViews([other]).first?.contains("“City”") == true)
    try reader.exchange([Statement("commit")])
    #expect(try store.setReportingViews([other]).isEmpty)
    // The store is one still.
    #expect(try ServerStore.open(store.url).newest.commit == store.newest.commit)
  }

  @Test("an identifier with a zero character, which the server's texts cannot hold, leaves the other rows readable")
  func zeroInView() throws {
    let store = try filled()
    let server = try #require(TestServer.shared)
    let tree = try #require(try store.newest.served(Self.records)).number
    try store.change { transaction throws(StorageError) in
      // As the texts “a”, “b”, a zero and “c”, and “d” lie in keys.
      for key in [[0x61], [0x62, 0x00, 0xFF, 0x63], [0x64]] as [[UInt8]] {
        try transaction.set([2] + key + [0], [1, 0x31] + Array("{}".utf8), in: Self.records)
      }
    }
    let view = ReportingView(name: "City", tree: tree, identifier: .string, isJSON: true)
    try store.setReportingViews([view])
    let rows = server.query(
      "select identifier from \(store.url.schema).\"City\" where identifier in ('a', 'd') order by 1")
    #expect(rows == ["a", "d"])
  }

  @Test("a view follows the attributes of its records' tree, which tell the coding of the records")
  func viewFollowsAttributes() throws {
    let server = try #require(TestServer.shared)
    let url = try server.url()
    let store = try ServerStore.open(
      url, creates: true,
      reporting: { view in
        try view.served(Self.records).map {
          [ReportingView(name: "City", tree: $0.number, identifier: .integer, isJSON: $0.attributes == [1])]
        } ?? []
      })
    func columns() -> [String] {
      server.query(
        "select column_name from information_schema.columns where table_schema = '\(url.schema)' and table_name = 'City' and ordinal_position = 3"
      )
    }
    try store.change { transaction throws(StorageError) in
      try transaction.createTree(Self.records, kind: .records, attributes: [1])
    }
    #expect(columns() == ["document"])
    try store.change { transaction throws(StorageError) in try transaction.setAttributes([2], of: Self.records) }
    #expect(columns() == ["content"])
  }

  @Test("a program that knows an older state leaves the view of what another one has made since")
  func viewsOfOthers() throws {
    let server = try #require(TestServer.shared)
    let url = try server.url()
    let reporting: ServerStore.Reporting = { view in
      try view.served(Self.records).map {
        [ReportingView(name: "City", tree: $0.number, identifier: .integer, isJSON: true)]
      } ?? []
    }
    let store = try ServerStore.open(url, creates: true, reporting: reporting)
    let other = try ServerStore.open(url, reporting: reporting)
    try other.change { transaction throws(StorageError) in try transaction.createTree(Self.records, kind: .records) }
    store.keepReporting()
    #expect(server.query("select viewname from pg_views where schemaname = '\(url.schema)'") == ["City"])
  }

  @Test("views that people made stay, also those like ours and on ours; one of ours that is not wanted goes")
  func viewsOfPeople() throws {
    let store = try filled()
    let server = try #require(TestServer.shared)
    let schema = store.url.schema
    let tree = try #require(try store.newest.served(Self.records)).number
    func view(_ name: String, _ identifier: ReportingView.Identifier = .integer) -> ReportingView {
      ReportingView(name: name, tree: tree, identifier: identifier, isJSON: true)
    }
    func names() -> [String] {
      server.query("select viewname from pg_views where schemaname = '\(schema)' order by viewname collate \"C\"")
    }
    server.psql("create view \(schema).\"Mine\" as select 1 as one")
    server.psql("create view \(schema).\"Alike\" as select c.key from \(schema).current c where c.tree = \(tree)")
    #expect(try store.setReportingViews([view("Old"), view("City")]).isEmpty)
    #expect(names() == ["Alike", "City", "Mine", "Old"])
    #expect(try store.setReportingViews([view("City")]).isEmpty)
    #expect(names() == ["Alike", "City", "Mine"])
    server.psql("create view \(schema).report as select identifier from \(schema).\"City\"")
    // Of another shape, under another's name, and a new one.
    let failures = try store.setReportingViews([view("City", .string), view("Mine"), view("Town")])
    #expect(failures.count == 2)
    #expect(failures[0].contains("“City”") && failures[0].contains("depend"))
    #expect(failures[1].contains("“Mine”"))
    #expect(names() == ["Alike", "City", "Mine", "Town", "report"])
    #expect(server.query("select one from \(schema).\"Mine\"") == ["1"])
    // The same shape from another tree is no matter to those who read it.
    let moved = ReportingView(name: "City", tree: tree + 1, identifier: .integer, isJSON: true)
    #expect(try store.setReportingViews([moved, view("Town")]).isEmpty)
  }
}
