import CLibPQ
import StorageEngine

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// One connection to a server, in libpq's pipeline mode and never blocking in it: statements go out together, and the answers are read
/// while the rest is still being sent.
///
/// It is used by one thread at a time; `ConnectionPool` and the owners of one see to that.
final class Connection: @unchecked Sendable {
  // `@unchecked`: whoever has taken it from the pool, or made it, is its only user until it is given back under the pool's lock.
  private let handle: OpaquePointer
  private let url: ServerURL
  private let counters: RoundTrips
  private var prepared: Set<String> = []
  private(set) var isLost = false
  /// What the server said in the last exchange, where it refused that.
  var refusal: SQLError?
  /// Bytes of a copy that libpq holds, at most.
  private var unsent = 0
  private static let mostUnsent = 1 << 20

  /// Connects; takes at most as long as `connect_timeout` says for each host.
  init(_ url: ServerURL, program: String, counters: RoundTrips) throws(StorageError) {
    self.url = url
    self.counters = counters
    guard let opened = Self.withWords(url.words(program: program), { PQconnectdbParams($0, $1, 0) }) else {
      let reason = strata_libpq_failure().map { String(cString: $0) }
      throw .noConnection(to: url, reason ?? "no memory")
    }
    handle = opened
    guard PQstatus(handle) == CONNECTION_OK else {
      var reason = Self.message(of: handle, url)
      if PQconnectionNeedsPassword(handle) == 1, let file = url.openPasswordFile {
        reason += "; the password file \(file) is not read, because others may read it: chmod 600 \(file)"
      }
      throw .noConnection(to: url, reason)
    }
    // What libpq would print of notices goes nowhere: the terminal is not its own.
    PQsetNoticeProcessor(handle, { _, _ in }, nil)
    guard PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else {
      throw .noConnection(to: url, Self.message(of: handle, url))
    }
    // A statement is planned once for a connection: to plan it anew for each set of parameters was three fifths of what the server
    // did for a load. Such a plan must stay good when the tables grow, and each statement has indexes that serve it: it is one loop
    // within another along them. Where one is read without, its price would make the server compile the plan. Behind a pooler that
    // keeps no statements every one is planned anew.
    guard url.prepares else { return }
    try exchange([
      Statement(
        """
        select set_config(w.name, w.value, false)
        from (values ('plan_cache_mode', 'force_generic_plan'), ('enable_seqscan', 'off'), ('enable_bitmapscan', 'off'),
          ('enable_hashjoin', 'off'), ('enable_mergejoin', 'off'), ('jit', 'off')) w (name, value)
        where exists (select from pg_catalog.pg_settings s where s.name = w.name)
        """)
    ])
  }

  deinit { PQfinish(handle) }

  /// Whether a server is there and lets nobody in, which no waiting changes. A standby where a primary is wanted is none: it may become one.
  static func isRefused(_ url: ServerURL, program: String) -> Bool {
    var words = url.words(program: program)
    words.removeAll { $0.name == "target_session_attrs" }
    words.append(("target_session_attrs", "any"))
    // One that has no TLS answers those who do not ask for it.
    let plain = words.filter { $0.name != "sslmode" } + [("sslmode", "prefer")]
    guard withWords(plain, { PQpingParams($0, $1, 0) }) == PQPING_OK else { return false }
    let handle = withWords(words) { PQconnectdbParams($0, $1, 0) }
    defer { PQfinish(handle) }
    return PQstatus(handle) != CONNECTION_OK
  }

  // MARK: Exchanges

  /// Sends statements in one flush and answers what each answered: one round trip.
  ///
  /// - Throws: What the server said of the first statement that failed (`refusal`), after which none of the others was run; where the
  ///   connection `isLost`, nobody knows what was, and it is of no use any more.
  ///
  /// - Parameter isCounted: false for what nobody waits for.
  @discardableResult
  func exchange(_ statements: [Statement], isCounted: Bool = true) throws(StorageError) -> [Rows] {
    if isCounted { counters.add() }
    return try receive(send(statements))
  }

  /// Ends a transaction that failed.
  func rollBack() {
    if !isLost { _ = try? exchange([Statement("rollback")]) }
  }

  /// Sends statements in one flush, for whose answers nobody waits yet.
  func begin(_ statements: [Statement]) throws(StorageError) -> [Expected] {
    counters.add()
    let expected = try send(statements)
    guard PQflush(handle) >= 0 else { throw lost() }
    return expected
  }

  /// Waits for an answer, a millisecond at most; whether it begins to come.
  func isAnswered() -> Bool {
    if isLost || PQisBusy(handle) == 0 { return true }
    var poller = pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0)
    return poll(&poller, 1, 1) > 0
  }

  private func send(_ statements: [Statement]) throws(StorageError) -> [Expected] {
    guard !isLost else { throw lost("it was lost before") }
    refusal = nil
    var expected: [Expected] = []
    for (place, statement) in statements.enumerated() {
      if let name = statement.name, url.prepares {
        if !prepared.contains(name) {
          try sendPrepare(statement, name)
          expected.append(.prepare(name, place))
          // Said at once, so that a statement that is there twice is prepared once; taken back where preparing fails.
          prepared.insert(name)
        }
        try sendPrepared(statement, name)
      } else {
        try send(statement)
      }
      expected.append(.rows(place))
    }
    guard PQpipelineSync(handle) == 1 else { throw lost() }
    return expected
  }

  /// What the answers to an exchange are about.
  enum Expected {
    case prepare(String, Int)
    case rows(Int)
  }

  /// Reads the answers up to the mark that ends the exchange.
  func receive(_ expected: [Expected]) throws(StorageError) -> [Rows] {
    var rows: [Rows] = []
    var failure: SQLError?
    for answer in expected {
      guard let result = try nextResult() else { throw lost("an answer is missing") }
      let status = PQresultStatus(result)
      switch status {
      case PGRES_TUPLES_OK, PGRES_COMMAND_OK:
        if case .rows = answer { rows.append(Rows(result)) } else { PQclear(result) }
      case PGRES_PIPELINE_ABORTED:
        if case .prepare(let name, _) = answer { prepared.remove(name) }
        PQclear(result)
      default:
        let place: Int
        switch answer {
        case .prepare(let name, let statement):
          prepared.remove(name)
          place = statement
        case .rows(let statement): place = statement
        }
        if failure == nil { failure = error(result, statement: place) }
        PQclear(result)
        if PQstatus(handle) != CONNECTION_OK { throw lost(failure?.message) }
      }
      // A null ends the answer of each statement.
      while let extra = try nextResult() { PQclear(extra) }
    }
    guard let sync = try nextResult() else { throw lost("the end of an exchange is missing") }
    let status = PQresultStatus(sync)
    if status != PGRES_PIPELINE_SYNC, failure == nil { failure = error(sync, statement: expected.count) }
    PQclear(sync)
    guard status == PGRES_PIPELINE_SYNC else { throw lost(failure?.message) }
    if let failure { throw translate(failure) }
    return rows
  }

  /// The next result, or nil at the end of an answer; sends meanwhile what has not been sent.
  private func nextResult() throws(StorageError) -> OpaquePointer? {
    while PQisBusy(handle) == 1 {
      let unsent = PQflush(handle)
      guard unsent >= 0 else { throw lost() }
      try wait(forWriting: unsent == 1, milliseconds: -1)
      guard PQconsumeInput(handle) == 1 else { throw lost() }
    }
    return PQgetResult(handle)
  }

  /// Waits until something can be read, or also written; false when the time is over.
  @discardableResult
  private func wait(forWriting: Bool, milliseconds: Int32) throws(StorageError) -> Bool {
    var poller = pollfd(fd: PQsocket(handle), events: Int16(POLLIN | (forWriting ? POLLOUT : 0)), revents: 0)
    while true {
      let ready = poll(&poller, 1, milliseconds)
      if ready >= 0 { return ready > 0 }
      guard errno == EINTR else { throw lost(String(cString: strerror(errno))) }
    }
  }

  private func sendPrepare(_ statement: Statement, _ name: String) throws(StorageError) {
    var types = statement.parameters.map { Oid($0.type.rawValue) }
    guard PQsendPrepare(handle, name, statement.sql, Int32(types.count), &types) == 1 else { throw lost() }
  }

  private func sendPrepared(_ statement: Statement, _ name: String) throws(StorageError) {
    let sent = Self.withParameters(statement.parameters) { values, lengths, formats, count in
      PQsendQueryPrepared(handle, name, count, values, lengths, formats, 1)
    }
    guard sent == 1 else { throw lost() }
  }

  private func send(_ statement: Statement) throws(StorageError) {
    let types = statement.parameters.map { Oid($0.type.rawValue) }
    let sent = Self.withParameters(statement.parameters) { values, lengths, formats, count in
      PQsendQueryParams(handle, statement.sql, count, types, values, lengths, formats, 1)
    }
    guard sent == 1 else { throw lost() }
  }

  // MARK: Bulk

  /// Begins to copy rows into a table; the columns and the table stand in `sql`, which ends with `(format binary)`. The rows follow with
  /// `put`, and `endCopy` ends it. Nothing else may be asked meanwhile.
  func beginCopy(_ sql: String) throws(StorageError) {
    guard !isLost else { throw lost("it was lost before") }
    counters.add()
    // COPY is not for pipelines.
    guard PQexitPipelineMode(handle) == 1, PQsendQuery(handle, sql) == 1 else { throw lost() }
    guard let begun = try nextResult() else { throw lost("an answer is missing") }
    let status = PQresultStatus(begun)
    guard status == PGRES_COPY_IN else {
      let failure = error(begun, statement: 0)
      PQclear(begun)
      try finishCopy(failure)
      return
    }
    PQclear(begun)
    try put(Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0x00] + [UInt8](repeating: 0, count: 8))
  }

  /// Ends a copy, and waits until all of it is there.
  func endCopy() throws(StorageError) {
    try put([0xFF, 0xFF])
    while true {
      let ended = PQputCopyEnd(handle, nil)
      if ended == 1 { break }
      guard ended == 0 else { throw lost() }
      try drain()
    }
    try drain()
    try finishCopy(nil)
  }

  private func finishCopy(_ failure: SQLError?) throws(StorageError) {
    var failure = failure
    while let result = try nextResult() {
      if PQresultStatus(result) != PGRES_COMMAND_OK, failure == nil { failure = error(result, statement: 0) }
      PQclear(result)
    }
    unsent = 0
    guard PQenterPipelineMode(handle) == 1 else { throw lost() }
    if let failure { throw translate(failure) }
  }

  /// Sends whole rows: the count of fields, then each field's length and bytes. Waits only where much is under way already.
  func put(_ bytes: [UInt8]) throws(StorageError) {
    while true {
      let put = bytes.withUnsafeBytes { bytes in
        PQputCopyData(handle, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count))
      }
      guard put >= 0 else { throw lost() }
      if put == 1 { break }
      try drain()
    }
    let rest = PQflush(handle)
    guard rest >= 0 else { throw lost() }
    unsent = rest == 0 ? 0 : unsent + bytes.count
    if unsent > Self.mostUnsent { try drain() }
  }

  /// Sends what libpq holds, and takes in what the server says meanwhile, or both would wait for each other.
  private func drain() throws(StorageError) {
    while true {
      let unsent = PQflush(handle)
      guard unsent >= 0 else { throw lost() }
      if unsent == 0 {
        self.unsent = 0
        return
      }
      try wait(forWriting: true, milliseconds: -1)
      guard PQconsumeInput(handle) == 1 else { throw lost() }
    }
  }

  // MARK: Notifications

  /// Waits for a notification; whether one came before the time was over.
  func waitForNotification(milliseconds: Int32) throws(StorageError) -> Bool {
    guard !isLost else { throw lost("it was lost before") }
    if takeNotifications() { return true }
    guard try wait(forWriting: false, milliseconds: milliseconds) else { return false }
    guard PQconsumeInput(handle) == 1 else { throw lost() }
    return takeNotifications()
  }

  private func takeNotifications() -> Bool {
    var came = false
    while let notification = PQnotifies(handle) {
      came = true
      PQfreemem(notification)
    }
    return came
  }

  // MARK: Errors

  private func lost(_ reason: String? = nil) -> StorageError {
    isLost = true
    let said = Self.message(of: handle, url)
    return .lostConnection(to: url, reason ?? (said.isEmpty ? "the server is gone" : said))
  }

  private func error(_ result: OpaquePointer, statement: Int) -> SQLError {
    // PG_DIAG_SQLSTATE, PG_DIAG_MESSAGE_PRIMARY, PG_DIAG_TABLE_NAME and PG_DIAG_CONTEXT
    func field(_ code: Character) -> String {
      PQresultErrorField(result, Int32(code.asciiValue ?? 0)).map { String(cString: $0) } ?? ""
    }
    var message = field("M")
    if message.isEmpty { message = PQresultErrorMessage(result).map { String(cString: $0) } ?? "" }
    return SQLError(
      state: field("C"), message: url.redact(Self.oneLine(message)), statement: statement, table: field("t"),
      context: field("W"))
  }

  /// The one place where what a server says becomes an error of the engine.
  private func translate(_ error: SQLError) -> StorageError {
    refusal = error
    switch error.state {
    case "42501": return .refused("the role lacks a right: \(error.message)")
    case "25006": return .readOnly(reason: error.message)
    case SQLError.full: return .refused("there is no room on the server (\(error.message)); nothing was written")
    case SQLError.held: return error.heldRow(by: nil)
    case "26000", "42P05":
      let remedy = "behind a pooler that hands connections on between transactions, add prepared=no to the URL"
      return .refused("the server says: \(error.message) (\(error.state)); \(remedy)")
    case let state where state.hasPrefix("08") || state.hasPrefix("57P"): return lost(error.message)
    default: return .refused("the server says: \(error.message) (\(error.state))")
    }
  }

  private static func message(of handle: OpaquePointer, _ url: ServerURL) -> String {
    url.redact(oneLine(PQerrorMessage(handle).map { String(cString: $0) } ?? ""))
  }

  private static func oneLine(_ text: String) -> String {
    text.split(whereSeparator: \.isNewline).map { line in
      String(line.drop(while: \.isWhitespace))
    }.joined(separator: "; ")
  }

  // MARK: C

  private static func withWords<R>(
    _ words: [(name: String, value: String)], _ body: ([UnsafePointer<CChar>?], [UnsafePointer<CChar>?]) -> R
  ) -> R {
    withCStrings(words.map(\.name)) { names in withCStrings(words.map(\.value)) { body(names, $0) } }
  }

  private static func withCStrings<R>(_ texts: [String], _ body: ([UnsafePointer<CChar>?]) -> R) -> R {
    let copies = texts.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return body(copies.map { $0.map { UnsafePointer($0) } } + [nil])
  }

  private static func withParameters(
    _ parameters: [SQLValue],
    _ body: ([UnsafePointer<CChar>?], [Int32], [Int32], Int32) -> Int32
  ) -> Int32 {
    var memory: [UInt8] = []
    // Where each begins, and nil for the null.
    var starts: [Int?] = []
    var lengths: [Int32] = []
    for parameter in parameters {
      let start = memory.count
      starts.append(parameter.append(to: &memory) ? start : nil)
      lengths.append(Int32(memory.count - start))
    }
    // An empty value is not the null: it needs an address.
    if memory.isEmpty { memory.append(0) }
    return memory.withUnsafeBytes { memory in
      let base = memory.baseAddress?.assumingMemoryBound(to: CChar.self)
      return body(
        starts.map { start in start.flatMap { start in base.map { $0 + start } } }, lengths,
        [Int32](repeating: 1, count: starts.count), Int32(starts.count))
    }
  }
}

/// Holds the thread before a server that is gone is tried again.
func rest(milliseconds: UInt32) { usleep(milliseconds * 1_000) }
