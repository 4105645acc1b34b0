import CLMDB
import Glibc

/// LMDB 0.9 with its ordinary durability: every commit is synced.
final class LMDBContender: Contender {
  static let name = "LMDB"

  private let environment: OpaquePointer
  private let folder: String
  private var primary: MDB_dbi = 0
  private var authors: MDB_dbi = 0
  private var years: MDB_dbi = 0
  private var reader: OpaquePointer?

  init(folder: String) throws {
    self.folder = folder
    var environment: OpaquePointer?
    try check(mdb_env_create(&environment))
    guard let environment else { throw ContenderError(description: "LMDB made no environment") }
    self.environment = environment
    try check(mdb_env_set_mapsize(environment, 8 << 30))
    try check(mdb_env_set_maxdbs(environment, 3))
    try check(mdb_env_open(environment, folder, 0, 0o644))
    let transaction = try begin()
    try check(mdb_dbi_open(transaction, "primary", UInt32(MDB_CREATE), &primary))
    try check(mdb_dbi_open(transaction, "authors", UInt32(MDB_CREATE), &authors))
    try check(mdb_dbi_open(transaction, "years", UInt32(MDB_CREATE), &years))
    try check(mdb_txn_commit(transaction))
  }

  deinit {
    if let reader { mdb_txn_abort(reader) }
    mdb_env_close(environment)
  }

  func insertAll(_ records: [BenchRecord]) throws {
    let transaction = try begin()
    // The identifiers ascend, so that LMDB may fill one page after the other.
    for record in records { try put(record, in: transaction, recordFlags: UInt32(MDB_APPEND)) }
    try check(mdb_txn_commit(transaction))
  }

  func insert(_ record: BenchRecord) throws {
    let transaction = try begin()
    try put(record, in: transaction)
    try check(mdb_txn_commit(transaction))
  }

  func read(_ identifier: UInt64) throws -> Int {
    try withReader { transaction in try length(of: identifier.bigEndianBytes, in: transaction) }
  }

  func scan() throws -> Int {
    try withReader { transaction in
      var cursor: OpaquePointer?
      try check(mdb_cursor_open(transaction, primary, &cursor))
      defer { mdb_cursor_close(cursor) }
      var (key, value) = (MDB_val(), MDB_val())
      var sum = 0
      while mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0 { sum &+= touched(value) }
      return sum
    }
  }

  func range(from author: [UInt8], limit: Int) throws -> Int {
    try withReader { transaction in
      var cursor: OpaquePointer?
      try check(mdb_cursor_open(transaction, authors, &cursor))
      defer { mdb_cursor_close(cursor) }
      var start = author
      return try start.withUnsafeMutableBytes { bytes in
        var key = MDB_val(mv_size: bytes.count, mv_data: bytes.baseAddress)
        var value = MDB_val()
        var (sum, count) = (0, 0)
        var result = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE)
        while result == 0, count < limit {
          let identifier = UnsafeRawBufferPointer(start: key.mv_data, count: key.mv_size).suffix(8)
          sum &+= try length(of: UnsafeRawBufferPointer(rebasing: identifier), in: transaction)
          count += 1
          result = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
        }
        return sum
      }
    }
  }

  func fileBytes() throws -> Int { try sizeOfFiles(in: folder) }

  private func begin() throws -> OpaquePointer {
    var transaction: OpaquePointer?
    try check(mdb_txn_begin(environment, nil, 0, &transaction))
    guard let transaction else { throw ContenderError(description: "LMDB began no transaction") }
    return transaction
  }

  /// A read transaction that is kept and renewed, as LMDB's manual advises.
  private func withReader<Result>(_ body: (OpaquePointer) throws -> Result) throws -> Result {
    if let reader {
      try check(mdb_txn_renew(reader))
    } else {
      try check(mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &reader))
    }
    guard let reader else { throw ContenderError(description: "LMDB began no reader") }
    defer { mdb_txn_reset(reader) }
    return try body(reader)
  }

  private func put(_ record: BenchRecord, in transaction: OpaquePointer, recordFlags: UInt32 = 0) throws {
    try put(record.identifierKey, record.value, into: primary, in: transaction, recordFlags)
    try put(record.authorKey, [], into: authors, in: transaction)
    try put(record.yearKey, [], into: years, in: transaction)
  }

  private func put(
    _ key: [UInt8], _ value: [UInt8], into database: MDB_dbi, in transaction: OpaquePointer, _ flags: UInt32 = 0
  ) throws {
    try key.withUnsafeBytes { key in
      try value.withUnsafeBytes { value in
        // LMDB only reads what they point at; its C types do not say so.
        var keyValue = MDB_val(mv_size: key.count, mv_data: UnsafeMutableRawPointer(mutating: key.baseAddress))
        var dataValue = MDB_val(mv_size: value.count, mv_data: UnsafeMutableRawPointer(mutating: value.baseAddress))
        try check(mdb_put(transaction, database, &keyValue, &dataValue, flags))
      }
    }
  }

  private func length(of identifier: [UInt8], in transaction: OpaquePointer) throws -> Int {
    try identifier.withUnsafeBytes { try length(of: $0, in: transaction) }
  }

  private func length(of identifier: UnsafeRawBufferPointer, in transaction: OpaquePointer) throws -> Int {
    var key = MDB_val(mv_size: identifier.count, mv_data: UnsafeMutableRawPointer(mutating: identifier.baseAddress))
    var value = MDB_val()
    try check(mdb_get(transaction, primary, &key, &value))
    return touched(value)
  }

  private func touched(_ value: MDB_val) -> Int {
    value.mv_size &+ Int(UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size).last ?? 0)
  }
}

/// Throws what LMDB says of a code that is not success.
private func check(_ code: Int32) throws {
  if code != 0 { throw ContenderError(description: "LMDB: \(String(cString: mdb_strerror(code)))") }
}

/// The sum of the sizes of a folder's files.
func sizeOfFiles(in folder: String) throws -> Int {
  guard let directory = opendir(folder) else { throw ContenderError(description: "\(folder) cannot be listed") }
  defer { closedir(directory) }
  var sum = 0
  while let entry = readdir(directory) {
    let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
      pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
    }
    var status = stat()
    if stat("\(folder)/\(name)", &status) == 0, status.st_mode & S_IFMT == S_IFREG {
      sum += Int(status.st_blocks) * 512
    }
  }
  return sum
}
