import CStrataLibPQ
import StrataEngine

/// The answer to one statement, in binary form. One thread at a time reads it.
final class Rows {
  let result: OpaquePointer

  /// Takes over a result.
  init(_ result: OpaquePointer) { self.result = result }

  deinit { PQclear(result) }

  var status: ExecStatusType { PQresultStatus(result) }

  var count: Int { Int(PQntuples(result)) }

  /// The number of rows that a statement has changed. A server that names an impossible number counts as one that names the greatest.
  var changed: Int {
    guard let text = PQcmdTuples(result) else { return 0 }
    return min(Int(String(cString: text)) ?? 0, Int(Int32.max))
  }

  /// Makes a value of each row, if the row has one.
  func map<Value>(_ body: (Int) throws(StorageError) -> Value?) throws(StorageError) -> [Value] {
    var values: [Value] = []
    values.reserveCapacity(count)
    for row in 0..<count { if let value = try body(row) { values.append(value) } }
    return values
  }

  private func raw(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer? {
    let (row, column) = (Int32(row), Int32(column))
    guard PQgetisnull(result, row, column) == 0, let start = PQgetvalue(result, row, column) else { return nil }
    return UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(result, row, column)))
  }

  func isNull(_ row: Int, _ column: Int) -> Bool { PQgetisnull(result, Int32(row), Int32(column)) != 0 }

  func bytes(_ row: Int, _ column: Int) -> [UInt8]? { raw(row, column).map { Array($0) } }

  func text(_ row: Int, _ column: Int) -> String { raw(row, column).map { String(decoding: $0, as: UTF8.self) } ?? "" }

  func bool(_ row: Int, _ column: Int) -> Bool { raw(row, column)?.first == 1 }

  /// A whole number of two, four or eight bytes; 0 if it is null.
  func int(_ row: Int, _ column: Int) -> Int64 { raw(row, column).flatMap(Self.int) ?? 0 }

  /// 64 bits that nothing is computed with, such as an origin.
  func bits(_ row: Int, _ column: Int) -> UInt64 { UInt64(bitPattern: int(row, column)) }

  /// The number of a commit, or of entries or bytes.
  func number(_ row: Int, _ column: Int) throws(StorageError) -> UInt64 { try Self.number(int(row, column)) }

  func numbers(_ row: Int, _ column: Int) throws(StorageError) -> [UInt64] {
    try array(row, column) { Self.int($0) ?? 0 }.map { value throws(StorageError) in try Self.number(value) }
  }

  /// The commit at which an entry, a name or a tree ended, or `Tables.never`.
  func end(_ row: Int, _ column: Int) throws(StorageError) -> UInt64 {
    let value = int(row, column)
    return try value == Tables.never ? UInt64(value) : Self.number(value, from: 1)
  }

  /// The lasting number of a tree.
  func tree(_ row: Int, _ column: Int) throws(StorageError) -> Int32 {
    Int32(try Self.number(int(row, column), below: 1 << 30))
  }

  /// A number as a server of ours has it: so small that sums of some of them overflow nothing.
  static func number(
    _ value: Int64, from least: Int64 = 0, below end: Int64 = 1 << 56
  ) throws(StorageError) -> UInt64 {
    guard least <= value, value < end else { throw .damagedOnServer("a commit, a tree or a count is \(value)") }
    return UInt64(value)
  }

  func texts(_ row: Int, _ column: Int) -> [String] { array(row, column) { String(decoding: $0, as: UTF8.self) } }

  /// The elements of an array of one dimension, without its nulls.
  private func array<Element>(_ row: Int, _ column: Int, _ element: (UnsafeRawBufferPointer) -> Element) -> [Element] {
    guard let bytes = raw(row, column), bytes.count >= 20 else { return [] }
    var values: [Element] = []
    var position = 20
    while position + 4 <= bytes.count {
      let length = Int(
        Int32(truncatingIfNeeded: Self.int(UnsafeRawBufferPointer(rebasing: bytes[position..<position + 4])) ?? 0))
      position += 4
      guard length >= 0, position + length <= bytes.count else { continue }
      values.append(element(UnsafeRawBufferPointer(rebasing: bytes[position..<position + length])))
      position += length
    }
    return values
  }

  private static func int(_ bytes: UnsafeRawBufferPointer) -> Int64? {
    switch bytes.count {
    case 2: Int64(Int16(bigEndian: bytes.loadUnaligned(as: Int16.self)))
    case 4: Int64(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self)))
    case 8: Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
    default: nil
    }
  }
}
