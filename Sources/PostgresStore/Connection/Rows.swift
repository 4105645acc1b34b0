import CLibPQ

/// What one statement answered, in binary form. It is read by one thread at a time.
final class Rows {
  private let result: OpaquePointer

  /// Takes over a result.
  init(_ result: OpaquePointer) { self.result = result }

  deinit { PQclear(result) }

  var count: Int { Int(PQntuples(result)) }

  /// How many rows the statement changed.
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

  /// A whole number of two, four or eight bytes; 0 where it is null.
  func int(_ row: Int, _ column: Int) -> Int64 { raw(row, column).flatMap(Self.int) ?? 0 }

  /// A number of ours that is never negative.
  func number(_ row: Int, _ column: Int) -> UInt64 { UInt64(bitPattern: int(row, column)) }

  /// An array of whole numbers.
  func ints(_ row: Int, _ column: Int) -> [Int64] {
    guard let bytes = raw(row, column), bytes.count >= 20 else { return [] }
    var values: [Int64] = []
    var position = 20
    while position + 4 <= bytes.count {
      let length = Int(
        Int32(truncatingIfNeeded: Self.int(UnsafeRawBufferPointer(rebasing: bytes[position..<position + 4])) ?? 0))
      position += 4
      guard length > 0, position + length <= bytes.count else { continue }
      values.append(Self.int(UnsafeRawBufferPointer(rebasing: bytes[position..<position + length])) ?? 0)
      position += length
    }
    return values
  }

  private static func int(_ bytes: UnsafeRawBufferPointer) -> Int64? {
    var value: UInt64 = 0
    for byte in bytes { value = value << 8 | UInt64(byte) }
    switch bytes.count {
    case 2: return Int64(Int16(truncatingIfNeeded: value))
    case 4: return Int64(Int32(truncatingIfNeeded: value))
    case 8: return Int64(bitPattern: value)
    default: return nil
    }
  }
}
