import CSQLite

/// SQLite with a write-ahead log and `synchronous=FULL`: every commit is synced.
final class SQLiteContender: Contender {
  static let name = "SQLite"

  private var database: OpaquePointer?
  private let folder: String
  private var begin: OpaquePointer?
  private var commit: OpaquePointer?
  private var insertion: OpaquePointer?
  private var selection: OpaquePointer?
  private var scanning: OpaquePointer?
  private var ranging: OpaquePointer?

  init(folder: String) throws {
    self.folder = folder
    try check(sqlite3_open(folder + "/sqlite", &database))
    for statement in [
      "PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "PRAGMA mmap_size=8589934592",
      // All of work A, so that no page of a bulk transaction is written twice.
      "PRAGMA cache_size=-262144",
      "CREATE TABLE records(id INTEGER PRIMARY KEY, author BLOB, year INTEGER, body BLOB)",
      "CREATE INDEX authors ON records(author)", "CREATE INDEX years ON records(year)",
    ] { try check(sqlite3_exec(database, statement, nil, nil, nil)) }
    begin = try prepare("BEGIN IMMEDIATE")
    commit = try prepare("COMMIT")
    insertion = try prepare("INSERT OR REPLACE INTO records VALUES(?,?,?,?)")
    selection = try prepare("SELECT author, year, body FROM records WHERE id=?")
    scanning = try prepare("SELECT author, year, body FROM records ORDER BY id")
    ranging = try prepare("SELECT author, year, body FROM records WHERE author>=? ORDER BY author, id LIMIT ?")
  }

  deinit {
    for statement in [begin, commit, insertion, selection, scanning, ranging] { sqlite3_finalize(statement) }
    sqlite3_close(database)
  }

  func insertAll(_ records: [BenchRecord]) throws {
    try step(begin)
    for record in records { try put(record) }
    try step(commit)
  }

  func insert(_ record: BenchRecord) throws { try put(record) }

  func read(_ identifier: UInt64) throws -> Int {
    sqlite3_bind_int64(selection, 1, Int64(bitPattern: identifier))
    defer { sqlite3_reset(selection) }
    guard sqlite3_step(selection) == SQLITE_ROW else {
      throw ContenderError(description: "SQLite found no \(identifier)")
    }
    return rowLength(selection)
  }

  func scan() throws -> Int {
    defer { sqlite3_reset(scanning) }
    var sum = 0
    while sqlite3_step(scanning) == SQLITE_ROW { sum &+= rowLength(scanning) }
    return sum
  }

  func range(from author: [UInt8], limit: Int) throws -> Int {
    bind(author, to: ranging, at: 1)
    sqlite3_bind_int(ranging, 2, Int32(limit))
    defer { sqlite3_reset(ranging) }
    var sum = 0
    while sqlite3_step(ranging) == SQLITE_ROW { sum &+= rowLength(ranging) }
    return sum
  }

  func fileBytes() throws -> Int {
    try check(sqlite3_wal_checkpoint_v2(database, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil))
    return try sizeOfFiles(in: folder)
  }

  private func put(_ record: BenchRecord) throws {
    sqlite3_bind_int64(insertion, 1, Int64(bitPattern: record.identifier))
    bind(record.author, to: insertion, at: 2)
    sqlite3_bind_int(insertion, 3, Int32(record.year))
    bind(record.body, to: insertion, at: 4)
    try step(insertion)
  }

  private func bind(_ bytes: [UInt8], to statement: OpaquePointer?, at place: Int32) {
    let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    bytes.withUnsafeBytes { _ = sqlite3_bind_blob(statement, place, $0.baseAddress, Int32($0.count), transient) }
  }

  private func rowLength(_ statement: OpaquePointer?) -> Int {
    let (author, body) = (sqlite3_column_bytes(statement, 0), sqlite3_column_bytes(statement, 2))
    let last = sqlite3_column_blob(statement, 2)?.load(fromByteOffset: Int(body) - 1, as: UInt8.self) ?? 0
    return Int(author) &+ Int(body) &+ Int(last) &+ Int(sqlite3_column_int(statement, 1)) & 1
  }

  private func prepare(_ text: String) throws -> OpaquePointer? {
    var statement: OpaquePointer?
    try check(sqlite3_prepare_v3(database, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil))
    return statement
  }

  private func step(_ statement: OpaquePointer?) throws {
    defer { sqlite3_reset(statement) }
    guard sqlite3_step(statement) == SQLITE_DONE else { throw ContenderError(description: message) }
  }

  private func check(_ code: Int32) throws {
    if code != SQLITE_OK { throw ContenderError(description: message) }
  }

  private var message: String { "SQLite: \(String(cString: sqlite3_errmsg(database)))" }
}
