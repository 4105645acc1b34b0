import Foundation
@testable import StrataPostgres
import StrataEngine
import Testing

@Suite("Opening a store on a server", .enabled(if: TestServer.isThere, TestServer.missing))
struct OpeningTests {
  private func server() throws -> TestServer { try #require(TestServer.shared) }

  /// What opening fails with; nothing is waited for.
  private func failure(_ url: ServerURL, creates: Bool = false) throws -> StorageError {
    let options = ServerOptions(notice: { Issue.record("\($0)") })
    return try #require(
      #expect(throws: StorageError.self) { try ServerStore.open(url, creates: creates, options: options) })
  }

  @Test("a store is made once, and found again; two that make it at once get the same")
  func creation() throws {
    let server = try server()
    let schema = "We \"shall\" see"
    let url = try server.url(schema.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")
    #expect(try failure(url).description.contains("no store in schema “\(schema)”"))
    let identities = Box<[StoreIdentity]>([])
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      do {
        let store = try ServerStore.open(url, creates: true)
        identities.change { $0.append(store.identity) }
      } catch {
        Issue.record(error)
      }
    }
    #expect(Set(identities.value).count == 1 && identities.value.count == 4)
    #expect(try ServerStore.open(url).newest.commit.number == 0)
    server.psql("drop schema \"We \"\"shall\"\" see\" cascade")
  }

  @Test("no server, a wrong password, TLS that the server has not: a sentence each, and no password in it")
  func unreachable() throws {
    let server = try server()
    let nobody = try failure(try ServerURL(parsing: "postgres://ada:hush@/x?host=\(server.folder)/nowhere&wait=0"))
    #expect(nobody.description.contains("no connection to postgres://ada@/x"))
    let wrong = try failure(
      try ServerURL(parsing: "postgres://locked:hush@/postgres?host=\(server.folder)&port=\(server.port)"))
    #expect(wrong.description.contains("password authentication failed"))
    let tls = try failure(
      try ServerURL(parsing: "postgres://strata:hush@127.0.0.1:\(server.port)/postgres?sslmode=require"))
    #expect(tls.description.contains("SSL"))
    for error in [nobody, wrong, tls] {
      #expect(!error.description.contains("hush"))
      #expect(!error.description.contains("\n"))
      guard case .server(.unreachable, _) = error else {
        Issue.record("another kind of error: \(error)")
        continue
      }
    }
    let right = try failure(
      try ServerURL(parsing: "postgres://locked:sesame@/postgres?host=\(server.folder)&port=\(server.port)"))
    #expect(right.description.contains("no store in schema “strata”"))
  }

  @Test("a role without rights is told which; one that may only read gets a store that can be read")
  func rights() throws {
    let server = try server()
    let schema = TestServer.newSchema()
    let store = try ServerStore.open(server.url(schema), creates: true)
    try store.change { transaction throws(StorageError) in try transaction.createTree(TreeName([1]), kind: .records) }
    let reader = try server.url(schema, user: "reader")
    let unreadable = try failure(reader).description
    #expect(unreadable.contains("the role lacks a right") && unreadable.contains(schema))
    server.psql("grant usage on schema \(schema) to reader; grant select on all tables in schema \(schema) to reader")
    let readOnly = try ServerStore.open(reader)
    #expect(try readOnly.newest.trees() == [TreeName([1])])
    let error = try #require(#expect(throws: StorageError.self) { try readOnly.transaction() })
    #expect("\(error)".contains("the role may not write"))
    // One that may not make a schema.
    #expect(try failure(server.url(user: "reader"), creates: true).description.contains("the role lacks a right"))
  }

  @Test("a schema of something else, and one of a newer or an older format, are left alone")
  func others() throws {
    let server = try server()
    let schema = TestServer.newSchema()
    server.psql("create schema \(schema); create table \(schema).orders (id integer)")
    #expect(try failure(server.url(schema), creates: true).description.contains("something else (orders)"))
    let store = try TestServer.store()
    server.psql("update \(store.url.schema).store set format = 3")
    let newer = try failure(store.url)
    #expect(newer == .newerFormat(version: 3, requiredFeatures: 0))
    server.psql("update \(store.url.schema).store set format = 1")
    let older = try failure(store.url)
    guard case .server(.damaged, let sentence) = older else {
      Issue.record("another kind of error: \(older)")
      return
    }
    #expect(sentence.contains("format version 1") && sentence.contains("strata copy"))
    server.psql("update \(store.url.schema).store set format = 2, features = 4")
    #expect(try failure(store.url).description.contains("node deltas"))
    server.psql("update \(store.url.schema).store set features = 0, magic = 'other'")
    #expect(try failure(store.url).description.contains("something else"))
  }

  @Test("where a prepared statement is gone, as behind a pooler, the error names the remedy")
  func preparedStatementsThatAreGone() throws {
    let store = try TestServer.store()
    try store.refreshed()
    _ = try store.pool.with { connection throws(StorageError) in try connection.exchange([Statement("deallocate all")])
    }
    let error = try #require(#expect(throws: StorageError.self) { try store.refreshed() })
    #expect(error.description.contains("prepared=no"))
  }

  @Test("each statement sees what was committed before it, whatever isolation the role has set")
  func isolation() throws {
    let url = try server().url(more: "&options=-c%20default_transaction_isolation%3Dserializable")
    let store = try ServerStore.open(url, creates: true)
    let level = try store.pool.read(Statement("select current_setting('transaction_isolation')::text"))
    #expect(level.text(0, 0) == "read committed")
  }

  @Test("a password file that others may read is told of in our sentence, and libpq has nothing to say of it")
  func openPasswordFile() throws {
    let server = try server()
    let file = NSTemporaryDirectory() + "strata-passwords-\(UInt64.random(in: 0 ... .max))"
    defer { try? FileManager.default.removeItem(atPath: file) }
    try Data("*:*:*:locked:sesame\n".utf8).write(to: URL(filePath: file))
    let url = try ServerURL(
      parsing: "postgres://locked@/postgres?host=\(server.folder)&port=\(server.port)&passfile=\(file)")
    chmod(file, 0o644)
    #expect(url.words(program: "tests").last { $0.name == "passfile" }?.value != file)
    #expect(try failure(url).description.contains("chmod 600 \(file)"))
    chmod(file, 0o600)
    #expect(url.words(program: "tests").last { $0.name == "passfile" }?.value == file)
    #expect(try failure(url).description.contains("no store in schema “strata”"))
  }

  @Test("texts are the same for every client, whatever encoding its role or the environment sets")
  func encodings() throws {
    let server = try server()
    let schema = TestServer.newSchema() + "é"
    server.psql("create role western login superuser; alter role western set client_encoding = 'LATIN1'")
    let western = try ServerStore.open(
      server.url(schema, user: "western", more: "&client_encoding=LATIN1"), creates: true)
    try western.change(CommitInfo(action: "löschen", names: ["näme": nil])) { transaction throws(StorageError) in
      try transaction.createTree(TreeName([1]), kind: .records)
    }
    try western.change(CommitInfo(action: "naming", names: ["näme": 1])) { _ throws(StorageError) in }
    let other = try ServerStore.open(server.url(schema))
    #expect(try other.names == ["näme": 1])
    #expect(try other.commit(1).action == "löschen")
  }

  @Test("what a server says while a client connects is not printed")
  func notices() throws {
    let server = try server()
    server.psql("create role chatty login; alter role chatty set client_min_messages = 'debug5'")
    let printed = NSTemporaryDirectory() + "strata-notices-\(UInt64.random(in: 0 ... .max))"
    defer { try? FileManager.default.removeItem(atPath: printed) }
    let chatty = try server.url(user: "chatty")
    let descriptor = open(printed, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    let error = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
    dup2(descriptor, STDERR_FILENO)
    let connection = Result { try Connection(chatty, program: "tests", roundTrips: SharedCount()) }
    dup2(error, STDERR_FILENO)
    for descriptor in [descriptor, error] { close(descriptor) }
    _ = try connection.get()
    #expect(try !String(contentsOfFile: printed, encoding: .utf8).contains("DEBUG"))
  }

  @Test("where a pooler keeps no prepared statements, everything works without them")
  func unprepared() throws {
    let url = try #require(TestServer.shared).url(more: "&prepared=no")
    let store = try ServerStore.open(url, creates: true)
    try store.change { transaction throws(StorageError) in
      try transaction.createTree(TreeName([1]), kind: .records)
      try transaction.set([1], [2], in: TreeName([1]))
    }
    #expect(try ServerStore.open(url).newest.served(TreeName([1]))?.look(for: [1])?.payload == .bytes([2]))
  }
}
