import CStrataLibPQ
import StrataEngine
import StrataSystem

/// One connection to a server, in libpq's pipeline mode and never blocking in it: statements go out together, and the answers are read
/// while the rest is still being sent.
///
/// One thread at a time uses it; `ConnectionPool` and the owners of a connection see to that.
final class Connection: @unchecked Sendable {
  // `@unchecked`: the thread that took it from the pool, or made it, is its only user until it gives it back under the pool's lock.
  private let handle: OpaquePointer
  private let url: ServerURL
  private let roundTrips: SharedCount
  private var prepared: Set<String> = []
  private(set) var isLost = false
  /// The server's error in the last exchange, if the server refused that.
  var refusal: SQLError?
  /// The most bytes of a copy that libpq holds.
  private var unsent = 0
  private static let mostUnsent = 1 << 20
  /// The way to find out what was written, if a loss of the connection leaves that open.
  var remedyOfLoss: String?

  /// Connects; takes at most as long as `connect_timeout` says for each host.
  init(_ url: ServerURL, program: String, roundTrips: SharedCount) throws(StorageError) {
    self.url = url
    self.roundTrips = roundTrips
    guard let opened = Self.connect(url.words(program: program)) else {
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
    guard PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else {
      throw .noConnection(to: url, Self.message(of: handle, url))
    }
    // Plans each statement once for a connection. To plan it for each set of parameters was three fifths of the server's work for a load.
    // Such a plan must stay good as tables grow, and each statement has indexes that serve it: it is one nested loop along them. If a table
    // is read without them, the price would make the server compile the plan. Behind a pooler that keeps no statements, every statement is
    // planned each time. A default of the role must not make commits fail that come one after the other.
    guard url.prepares else { return }
    try exchange(
      Statement(
        """
        select set_config(w.name, w.value, false)
        from (values ('plan_cache_mode', 'force_generic_plan'), ('enable_seqscan', 'off'), ('enable_bitmapscan', 'off'),
          ('enable_hashjoin', 'off'), ('enable_mergejoin', 'off'), ('jit', 'off'),
          ('default_transaction_isolation', 'read committed')) w (name, value)
        where exists (select from pg_catalog.pg_settings s where s.name = w.name)
        """))
  }

  deinit { PQfinish(handle) }

  /// Whether a server is there and refuses the connection for good. A standby is not refused if a primary is wanted: it may become one.
  static func isRefused(_ url: ServerURL, program: String) -> Bool {
    var words = url.words(program: program)
    words.removeAll { $0.name == "target_session_attrs" }
    words.append(("target_session_attrs", "any"))
    // A server without TLS answers only clients that do not require TLS.
    let plain = words.filter { $0.name != "sslmode" } + [("sslmode", "prefer")]
    guard withWords(plain, { PQpingParams($0, $1, 0) }) == PQPING_OK else { return false }
    let handle = connect(words)
    defer { PQfinish(handle) }
    return PQstatus(handle) != CONNECTION_OK
  }

  /// Connects, and waits until that is done or has failed. Returns nil if libpq cannot be used.
  ///
  /// The server's notices are dropped, because libpq would print them, and the terminal is not its own. They begin while it connects, for
  /// example with the warning that the collations of a database have another version. So the connection is only begun first, which sends
  /// nothing, and is made after the notices have another receiver: libpq's waiting functions alone go on to the next host after a timeout.
  private static func connect(_ words: [(name: String, value: String)]) -> OpaquePointer? {
    guard let handle = withWords(words, { PQconnectStartParams($0, $1, 0) }) else { return nil }
    PQsetNoticeProcessor(handle, { _, _ in }, nil)
    if PQstatus(handle) != CONNECTION_BAD { PQreset(handle) }
    return handle
  }

  // MARK: Exchanges

  /// Sends statements in one flush and returns the rows of each: one round trip.
  ///
  /// - Throws: The server's error for the first statement that failed (`refusal`); the server runs none of the statements after it. If the
  ///   connection `isLost`, it is unknown which were run, and the connection is of no more use.
  ///
  /// - Parameter isCounted: False if no caller waits for the answers.
  @discardableResult
  func exchange(_ statements: [Statement], isCounted: Bool = true) throws(StorageError) -> [Rows] {
    if isCounted { roundTrips.add(1) }
    return try receive(send(statements))
  }

  @discardableResult
  func exchange(_ statement: Statement) throws(StorageError) -> Rows { try exchange([statement])[0] }

  /// Runs exchanges of this connection as one transaction of the server: all of it is done, or nothing.
  func inTransaction<R>(_ body: () throws(StorageError) -> R) throws(StorageError) -> R {
    do throws(StorageError) {
      try exchange(Statement("begin"))
      let result = try body()
      let outer = remedyOfLoss
      remedyOfLoss = outer ?? "look whether it is there before you try again"
      defer { remedyOfLoss = outer }
      try exchange(Statement("commit"))
      return result
    } catch {
      if !isLost { _ = try? exchange(Statement("rollback")) }
      throw error
    }
  }

  /// Sends statements in one flush, without waiting for their answers.
  func begin(_ statements: [Statement]) throws(StorageError) -> [Expected] {
    roundTrips.add(1)
    let expected = try send(statements)
    _ = try flush()
    return expected
  }

  /// Waits for an answer, and returns whether it begins to come in time.
  func isAnswered(within milliseconds: Int32 = 1) -> Bool {
    if isLost || PQisBusy(handle) == 0 { return true }
    var poller = pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0)
    return poll(&poller, 1, milliseconds) > 0
  }

  private func send(_ statements: [Statement]) throws(StorageError) -> [Expected] {
    guard !isLost else { throw lost("it was lost before") }
    refusal = nil
    var expected: [Expected] = []
    for (place, statement) in statements.enumerated() {
      var types = statement.parameters.map { Oid($0.type.rawValue) }
      let name = url.prepares ? statement.name : nil
      // Noted at once, so that a statement that occurs twice is prepared once; taken back if preparing fails.
      if let name, prepared.insert(name).inserted {
        guard PQsendPrepare(handle, name, statement.sql, Int32(types.count), &types) == 1 else { throw lost() }
        expected.append(Expected(statement: place, prepares: name))
      }
      let sent = Self.withParameters(statement.parameters) { values, lengths, formats, count in
        if let name {
          PQsendQueryPrepared(handle, name, count, values, lengths, formats, 1)
        } else {
          PQsendQueryParams(handle, statement.sql, count, types, values, lengths, formats, 1)
        }
      }
      guard sent == 1 else { throw lost() }
      expected.append(Expected(statement: place))
    }
    guard PQpipelineSync(handle) == 1 else { throw lost() }
    return expected
  }

  /// The part of an exchange that an answer belongs to.
  struct Expected {
    var statement: Int
    /// The name under which the statement is prepared; nil if it is run at once.
    var prepares: String?
  }

  /// Reads the answers up to the mark that ends the exchange.
  func receive(_ expected: [Expected]) throws(StorageError) -> [Rows] {
    var rows: [Rows] = []
    var failure: SQLError?
    for answer in expected {
      guard let result = try nextResult() else { throw lost("an answer is missing") }
      switch result.status {
      case PGRES_TUPLES_OK, PGRES_COMMAND_OK: if answer.prepares == nil { rows.append(result) }
      case let status:
        if let name = answer.prepares { prepared.remove(name) }
        if status != PGRES_PIPELINE_ABORTED, failure == nil {
          failure = error(result, statement: answer.statement)
        }
        if PQstatus(handle) != CONNECTION_OK { throw lost(failure?.message) }
      }
      // A null ends the answer of each statement.
      while try nextResult() != nil {}
    }
    guard let sync = try nextResult() else { throw lost("the end of an exchange is missing") }
    guard sync.status == PGRES_PIPELINE_SYNC else {
      throw lost((failure ?? error(sync, statement: expected.count)).message)
    }
    if let failure { throw translate(failure) }
    return rows
  }

  /// The next result, or nil at the end of an answer; sends meanwhile what has not been sent.
  private func nextResult() throws(StorageError) -> Rows? {
    while PQisBusy(handle) == 1 {
      try wait(forWriting: !flush(), milliseconds: -1)
      guard PQconsumeInput(handle) == 1 else { throw lost() }
    }
    return PQgetResult(handle).map { Rows($0) }
  }

  /// Sends what can be sent at once, and returns whether that is all.
  private func flush() throws(StorageError) -> Bool {
    let rest = PQflush(handle)
    guard rest >= 0 else { throw lost() }
    return rest == 0
  }

  /// Waits until something can be read, or also written; returns false if the time is over.
  @discardableResult
  private func wait(forWriting: Bool, milliseconds: Int32) throws(StorageError) -> Bool {
    var poller = pollfd(fd: PQsocket(handle), events: Int16(POLLIN | (forWriting ? POLLOUT : 0)), revents: 0)
    while true {
      let ready = poll(&poller, 1, milliseconds)
      if ready >= 0 { return ready > 0 }
      guard errno == EINTR else { throw lost(String(cString: strerror(errno))) }
    }
  }

  // MARK: Bulk

  /// Begins to copy rows into a table; `sql` has the columns and the table, and ends with `(format binary)`. The rows follow with `put`,
  /// and `endCopy` ends it. No other exchange is possible until then.
  func beginCopy(_ sql: String) throws(StorageError) {
    guard !isLost else { throw lost("it was lost before") }
    roundTrips.add(1)
    // COPY is not for pipelines.
    guard PQexitPipelineMode(handle) == 1, PQsendQuery(handle, sql) == 1 else { throw lost() }
    guard let begun = try nextResult() else { throw lost("an answer is missing") }
    guard begun.status == PGRES_COPY_IN else { return try finishCopy(error(begun, statement: 0)) }
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
      if result.status != PGRES_COMMAND_OK, failure == nil { failure = error(result, statement: 0) }
    }
    unsent = 0
    guard PQenterPipelineMode(handle) == 1 else { throw lost() }
    if let failure { throw translate(failure) }
  }

  /// Sends whole rows: the count of fields, then each field's length and bytes. Waits only if much is under way already.
  func put(_ bytes: [UInt8]) throws(StorageError) {
    while true {
      let put = bytes.withUnsafeBytes { bytes in
        PQputCopyData(handle, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count))
      }
      guard put >= 0 else { throw lost() }
      if put == 1 { break }
      try drain()
    }
    unsent = try flush() ? 0 : unsent + bytes.count
    if unsent > Self.mostUnsent { try drain() }
  }

  /// Sends the bytes that libpq holds and reads the server's messages meanwhile; otherwise each would wait for the other.
  private func drain() throws(StorageError) {
    while try !flush() {
      try wait(forWriting: true, milliseconds: -1)
      guard PQconsumeInput(handle) == 1 else { throw lost() }
    }
    unsent = 0
  }

  // MARK: Notifications

  /// Waits for a notification, and returns whether one came before the time was over.
  func waitForNotification(milliseconds: Int32) throws(StorageError) -> Bool {
    guard !isLost else { throw lost("it was lost before") }
    if consumeNotifications() { return true }
    guard try wait(forWriting: false, milliseconds: milliseconds) else { return false }
    guard PQconsumeInput(handle) == 1 else { throw lost() }
    return consumeNotifications()
  }

  private func consumeNotifications() -> Bool {
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
    return .lostConnection(to: url, reason ?? (said.isEmpty ? "the server is gone" : said), remedyOfLoss)
  }

  private func error(_ answer: Rows, statement: Int) -> SQLError {
    // PG_DIAG_SQLSTATE, PG_DIAG_MESSAGE_PRIMARY, PG_DIAG_TABLE_NAME and PG_DIAG_CONTEXT
    func field(_ code: Character) -> String {
      PQresultErrorField(answer.result, Int32(code.asciiValue ?? 0)).map { String(cString: $0) } ?? ""
    }
    var message = field("M")
    if message.isEmpty { message = PQresultErrorMessage(answer.result).map { String(cString: $0) } ?? "" }
    return SQLError(
      state: field("C"), message: url.redact(Self.oneLine(message)), statement: statement, table: field("t"),
      context: field("W"))
  }

  /// The one place that turns a server's error into an error of the engine.
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
    _ parameters: [SQLValue], _ body: ([UnsafePointer<CChar>?], [Int32], [Int32], Int32) -> Int32
  ) -> Int32 {
    var memory: [UInt8] = []
    // Where each begins, or nil for a null.
    var starts: [Int?] = []
    var lengths: [Int32] = []
    for parameter in parameters {
      starts.append(parameter.binary.map { _ in memory.count })
      memory += parameter.binary ?? []
      lengths.append(Int32(parameter.binary?.count ?? 0))
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

/// Holds the thread before the next try to reach a server that is gone.
func rest(milliseconds: UInt32) { usleep(milliseconds * 1_000) }
