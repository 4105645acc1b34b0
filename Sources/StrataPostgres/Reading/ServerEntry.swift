import StrataEngine

/// The payload of an entry beside its key.
package enum ServerPayload: Hashable, Sendable {
  case none
  case bytes([UInt8])
  /// The record whose identifier ends the key, as this commit wrote it.
  case record(writtenBy: UInt64)
}

/// One entry of a tree.
package struct ServerEntry: Hashable, Sendable {
  package var key: [UInt8]
  package var payload: ServerPayload
  /// The commit that gave the entry this state.
  package var born: UInt64
  /// The commit that wrote the value: an older one if a restore brought it back.
  package var written: UInt64
}

extension ServerEntry {
  /// The columns of an entry alias, from its kind on.
  static func columns(_ alias: String) -> String {
    "\(alias).key, \(alias).kind, \(payload(alias)), \(alias).born, \(alias).written"
  }

  /// The payload of an entry alias, from whichever table has it.
  static func payload(_ alias: String) -> String {
    "case when \(alias).value is null then \(alias).payload else (select v.bytes from {value} v where v.number = \(alias).value) end"
  }

  static let columnCount = 5

  /// Returns nil if the columns are null.
  init?(_ rows: Rows, _ row: Int, at column: Int = 0, key: [UInt8]? = nil) throws(StorageError) {
    guard !rows.isNull(row, column + 1) else { return nil }
    self.key = key ?? rows.bytes(row, column) ?? []
    born = try Rows.number(rows.int(row, column + 3), from: 1)
    written = try rows.number(row, column + 4)
    switch rows.int(row, column + 1) {
    case 0: payload = .none
    case 2: payload = .record(writtenBy: written)
    default: payload = .bytes(rows.bytes(row, column + 2) ?? [])
    }
  }
}

/// A key of an index with the record that its end names, without the columns that are not needed.
struct KeyWithRecord: Sendable {
  var key: [UInt8]
  /// Nil if there is none.
  var record: (value: Bytes, written: UInt64)?

  static func columns(_ entry: String, _ record: String) -> String {
    "\(entry).key, \(record).written, \(ServerEntry.payload(record))"
  }

  init(key: [UInt8], record: (value: Bytes, written: UInt64)?) { (self.key, self.record) = (key, record) }

  /// Returns nil if the columns are null.
  init?(_ rows: Rows, _ row: Int, at column: Int) throws(StorageError) {
    guard let key = rows.bytes(row, column) else { return nil }
    self.key = key
    if let value = rows.bytes(row, column + 2) { record = (Bytes(value), try rows.number(row, column + 1)) }
  }
}

/// A range of keys, from the lower bound up to the upper one, which is not part of it.
package struct KeyRange: Hashable, Sendable {
  package var lower: [UInt8] = []
  /// Nil means the end.
  package var upper: [UInt8]?

  package func contains(_ key: [UInt8]) -> Bool {
    !key.precedes(lower) && (upper.map { key.precedes($0) } ?? true)
  }

  /// Greater than every key of a store.
  static let beyond = [UInt8](repeating: 0xFF, count: ServerLimits.key + 1)

  var parameters: [SQLValue] { [.bytes(lower), .bytes(upper ?? Self.beyond)] }
}

extension [UInt8] {
  /// Whether it comes before another key in byte order. Compares whole words, unlike `lexicographicallyPrecedes`.
  func precedes(_ other: [UInt8]) -> Bool {
    withUnsafeBytes { own in other.withUnsafeBytes { compareKeys(own, $0) < 0 } }
  }
}
