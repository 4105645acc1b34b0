import CStrataLibPQ

/// The answer to one statement, in binary form. One thread at a time reads it.
final class Rows {
  private let result: OpaquePointer

  /// Takes over a result.
  init(_ result: OpaquePointer) { self.result = result }

  deinit { PQclear(result) }

  var count: Int { Int(PQntuples(result)) }

  var changed: Int {
    guard let text = PQcmdTuples(result) else { return 0 }
    return Int(String(cString: text)) ?? 0
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

  /// A number of ours that is never negative.
  func number(_ row: Int, _ column: Int) -> UInt64 { UInt64(bitPattern: int(row, column)) }

  func numbers(_ row: Int, _ column: Int) -> [UInt64] {
    array(row, column) { UInt64(bitPattern: Self.int($0) ?? 0) }
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
