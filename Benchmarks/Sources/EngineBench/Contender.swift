/// A store that does the work: ours, LMDB, SQLite.
protocol Contender: AnyObject {
  static var name: String { get }
  /// Makes an empty store in an empty folder.
  init(folder: String) throws
  /// All records in one durable transaction.
  func insertAll(_ records: [BenchRecord]) throws
  /// One record in a durable transaction of its own.
  func insert(_ record: BenchRecord) throws
  /// The value of an identifier; returns its length.
  func read(_ identifier: UInt64) throws -> Int
  /// Every value in the order of identifiers; returns the sum of their lengths.
  func scan() throws -> Int
  /// The first `limit` records from an author on, along the index, each looked up; returns the sum of their lengths.
  func range(from author: [UInt8], limit: Int) throws -> Int
  /// The bytes of its files.
  func fileBytes() throws -> Int
}

/// An error of a contender's library.
struct ContenderError: Error, CustomStringConvertible {
  var description: String
}
