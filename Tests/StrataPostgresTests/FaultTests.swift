import Foundation
@testable import StrataPostgres
import StrataEngine
import Testing

/// Faults of the network and the server. They have a server of their own, which they may stop.
@Suite("Faults of a server", .serialized, .enabled(if: TestServer.isThere, TestServer.missing))
struct FaultTests {
  private static let records = TreeName([1])
  private static let breakable = TestServer()

  private func filled(_ folder: String? = nil) throws -> ServerStore {
    let server = try #require(Self.breakable)
    let store = try ServerStore.open(
      server.url(folder: folder), creates: true, options: ServerOptions(program: "tests", author: "ada", patience: 60))
    try store.change { transaction throws(StorageError) in try transaction.createTree(Self.records, kind: .records) }
    return store
  }

  @Test(
    "a connection that is cut at any byte of a commit, on the way there or back, leaves it committed once",
    arguments: [true, false])
  func cuts(_ isToServer: Bool) throws {
    let server = try #require(Self.breakable)
    let proxy = try #require(CuttingProxy(to: server))
    defer { proxy.close() }
    let store = try filled(proxy.folder)
    func commit(_ number: Int) throws -> ServerCommit {
      let transaction = try store.transaction()
      try transaction.set(.key(number), [UInt8(number & 255)], in: Self.records)
      let made = try #require(try transaction.commit(CommitInfo(action: "\(number)"))).number
      return try store.state(at: made).commit
    }
    // A commit sends some 1,500 bytes and is answered in some 700; beyond its end the cut comes with the next one.
    let step = ProcessInfo.processInfo.environment["STRATA_SOAK"] == nil ? (isToServer ? 23 : 11) : 1
    var number = 0
    for bytes in stride(from: 1, through: isToServer ? 2_400 : 1_000, by: step) {
      // The connection is warm again: what is cut is a commit, and not the preparing of its statements.
      for _ in 0..<2 {
        _ = try commit(number)
        number += 1
      }
      proxy.arm(CuttingProxy.Cut(isToServer: isToServer, bytes: bytes))
      let made = try commit(number)
      #expect(made.action == "\(number)")
      number += 1
    }
    #expect(proxy.cutCount > 40)
    let direct = try ServerStore.open(server.url(store.url.schema))
    let commits = try direct.commits(upTo: direct.newest.asOf, limit: 10_000)
    #expect(commits.dropLast().reversed().map(\.action) == (0..<number).map { "\($0)" })
    #expect(try direct.newest.served(Self.records)?.count == UInt64(number))
  }

  @Test(
    "when server processes are killed and the server is stopped as by a power cut, acknowledged commits are there once")
  func kills() throws {
    let server = try #require(Self.breakable)
    let store = try filled()
    let acknowledged = Box<[Int]>([])
    let isOver = Box(false)
    let done = DispatchGroup()
    for worker in 0..<4 {
      done.enter()
      Thread.detachNewThread {
        var step = 0
        while !isOver.value {
          let number = step * 4 + worker
          step += 1
          do {
            let transaction = try store.transaction()
            try transaction.set(.key(number), [1], in: Self.records)
            if try transaction.commit(CommitInfo(action: "\(number)")) != nil {
              acknowledged.change { $0.append(number) }
            }
          } catch {
            Issue.record(error)
          }
        }
        done.leave()
      }
    }
    var dice = Dice(7)
    for round in 0..<6 {
      let before = acknowledged.value.count
      var isAhead = false
      for _ in 0..<120_000 where !isAhead {
        isAhead = acknowledged.value.count > before + 20 + dice.roll(40)
        usleep(500)
      }
      #expect(isAhead, "commits go on after a fault")
      if round % 2 == 0 {
        let processes = server.query(
          "select pid from pg_stat_activity where backend_type = 'client backend' and query not like '%pg_stat%'")
        if !processes.isEmpty { kill(Int32(processes[dice.roll(processes.count)]) ?? 0, SIGKILL) }
      } else {
        #expect(server.stopImmediately())
        #expect(server.start())
      }
    }
    isOver.change { $0 = true }
    done.wait()
    var isBack = false
    for _ in 0..<100 where !isBack {
      isBack = (try? store.refreshed()) != nil
      if !isBack { usleep(100_000) }
    }
    let actions = try store.commits(upTo: store.refreshed().asOf, limit: 1_000_000).map(\.action).filter { !$0.isEmpty }
    #expect(Set(actions).count == actions.count, "one is there twice")
    #expect(Set(actions) == Set(acknowledged.value.map { "\($0)" }))
    #expect(try store.newest.served(Self.records)?.count == UInt64(actions.count))
  }

  @Test("who follows a store hears that its server is gone, and that it is back, and of what was committed meanwhile")
  func absence() async throws {
    let server = try #require(Self.breakable)
    let store = try filled()
    let other = try ServerStore.open(store.url)
    let impatient = try ServerStore.open(store.url, options: ServerOptions(patience: 0))
    let (stirs, stirred) = AsyncStream<Void>.makeStream()
    let following = store.follow { stirred.yield() }
    // It has a connection when it has told of a commit.
    try other.change { transaction throws(StorageError) in try transaction.set([1], [1], in: Self.records) }
    for await _ in stirs { break }
    #expect(!store.isAway)
    #expect(server.stopImmediately())
    for await _ in stirs { if store.isAway { break } }
    #expect(throws: StorageError.self) { try impatient.refreshed() }
    #expect(server.start())
    for await _ in stirs { if !store.isAway { break } }
    #expect(try store.refreshed().commit.number == 2)
    // And it goes on to follow.
    try other.change { transaction throws(StorageError) in try transaction.set([1], [2], in: Self.records) }
    for await _ in stirs { break }
    #expect(try store.refreshed().commit.number == 3)
    withExtendedLifetime(following) {}
  }

  @Test("a read waits for a server that is gone until it is back, and says so once")
  func waiting() throws {
    let server = try #require(Self.breakable)
    let told = Box<[String]>([])
    let options = ServerOptions(
      patience: 60,
      notice: { text in
        told.change { $0.append(text) }
        _ = server.start()
      })
    let store = try ServerStore.open(server.url(), creates: true, options: options)
    #expect(server.stopImmediately())
    #expect(try store.refreshed().commit.number == 0)
    #expect(told.value.count == 1 && told.value.first?.contains("waited for") == true)
  }

  @Test("a transaction that keeps others waiting ends with its connection, and so do its trees")
  func lostAlone() throws {
    let server = try #require(TestServer.shared)
    let store = try TestServer.store()
    let alone = try store.beginAlone()
    try alone.createTree(Self.records, kind: .records)
    server.psql(
      """
      select pg_terminate_backend(pid, 60000) from pg_stat_activity
      where state = 'idle in transaction' and query like '%\(store.url.schema)%'
      """)
    let error = #expect(throws: StorageError.self) { try alone.commit(CommitInfo()) }
    guard case .conflict? = error else {
      Issue.record("another outcome: \(String(describing: error))")
      return
    }
    #expect(try store.refreshed().trees().isEmpty)
  }

  @Test("a row that another session holds is waited for, and then told of with who holds it; nothing is written")
  func heldRow() throws {
    let server = try #require(TestServer.shared)
    let url = try server.url()
    let store = try ServerStore.open(url, creates: true, options: ServerOptions(program: "tests", rowPatience: 0.2))
    try store.change { transaction throws(StorageError) in try transaction.createTree(Self.records, kind: .records) }
    let holder = try store.pool.connect()
    try holder.exchange([Statement("begin"), store.tables.statement("select one from {store} for update")])
    let transaction = try store.transaction()
    try transaction.set([1], [1], in: Self.records)
    let error = try #require(#expect(throws: StorageError.self) { try transaction.commit() })
    #expect(error.description.contains("a row of table “store”: process ") && error.description.contains("strata"))
    // The number of a new tree is in that row, too.
    #expect(throws: StorageError.self) { try store.transaction().createTree(TreeName([2]), kind: .records) }
    // And the oldest commit that is kept.
    #expect(throws: StorageError.self) { try store.prune(before: 1) }
    try holder.exchange([Statement("rollback")])
    // And one of the entries.
    try store.change { transaction throws(StorageError) in try transaction.set([1], [1], in: Self.records) }
    try holder.exchange([Statement("begin"), store.tables.statement("select key from {current} for update")])
    let second = try store.transaction()
    try second.put([1], [2], in: Self.records)
    let other = try #require(#expect(throws: StorageError.self) { try second.commit() })
    #expect(other.description.contains("a row of table “current”"))
    try holder.exchange([Statement("rollback")])
    #expect(try store.refreshed().served(Self.records)?.look(for: [1])?.payload == .bytes([1]))
  }

  @Test(
    "a commit whose outcome the server does not know (40003), or that collided by itself (40001), is there once",
    arguments: ["40003", "40001"])
  func ambiguous(_ state: String) throws {
    let server = try #require(TestServer.shared)
    let url = try server.url()
    let store = try ServerStore.open(url, creates: true)
    try store.change { transaction throws(StorageError) in try transaction.createTree(Self.records, kind: .records) }
    // Each first try of a commit ends so; a sequence is not rolled back with it.
    let made = server.psql(
      """
      create sequence \(url.schema).tries;
      create function \(url.schema).fail() returns trigger language plpgsql as $$
      begin
        if nextval('\(url.schema).tries') % 2 = 1 then raise exception 'said by a test' using errcode = '\(state)'; end if;
        return null;
      end $$;
      create constraint trigger fail after insert on \(url.schema).commit deferrable initially deferred
        for each row execute function \(url.schema).fail();
      """)
    #expect(made == 0)
    for number in 0..<5 {
      let transaction = try store.transaction()
      try transaction.set(.key(number), [1], in: Self.records)
      let made = try #require(try transaction.commit(CommitInfo(action: "\(number)"))).number
      #expect(try store.state(at: made).commit.action == "\(number)")
    }
    #expect(server.query("select last_value from \(url.schema).tries") == ["10"])
    let direct = try ServerStore.open(url)
    let actions = try direct.commits(upTo: direct.newest.asOf, limit: 100).map(\.action)
    #expect(actions.dropLast().reversed() == (0..<5).map { "\($0)" })
    #expect(try direct.newest.served(Self.records)?.count == 5)
  }

  @Test("a server that is gone for longer than it is waited for is told of in a sentence, and nothing is written")
  func gone() throws {
    let server = try #require(TestServer.shared)
    let proxy = try #require(CuttingProxy(to: server))
    let url = try server.url(folder: proxy.folder)
    let store = try ServerStore.open(url, creates: true, options: ServerOptions(patience: 0.3))
    try store.change { transaction throws(StorageError) in try transaction.createTree(Self.records, kind: .records) }
    let transaction = try store.transaction()
    try transaction.set([1], [1], in: Self.records)
    proxy.arm(CuttingProxy.Cut(isToServer: true, bytes: 10))
    proxy.close()
    let error = try #require(#expect(throws: StorageError.self) { try transaction.commit() })
    // A notification of the commit before may have met the cut: then nothing of this one was sent.
    switch error {
    case .server(.outcomeUnknown, _), .server(.unreachable, _): break
    default: Issue.record("another error: \(error)")
    }
    #expect(!error.description.contains("\n"))
    let direct = try ServerStore.open(server.url(url.schema))
    #expect(try direct.newest.served(Self.records)?.count == 0)
  }
}
