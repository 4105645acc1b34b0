import CStrataBlock
import StrataLocks

/// The dictionary of a tree: sample records, of which its values repeat much. Safe from any thread.
final class ValueDictionary: Sendable {
  let number: UInt8
  let tree: TreeName
  let bytes: [UInt8]
  /// Made when the first value is compressed: readers do not need it. Not written after that.
  private let index = Mutex<MemoryBlock?>(nil)

  /// Marks the number in a value that was compressed with little effort: a compaction compresses it again.
  static let quick: UInt8 = 0x80

  static let longest = Int(STRATA_BLOCK_DICTIONARY)
  /// Shorter values are not compressed.
  private static let shortestValue = 24

  /// How long to look for repetitions.
  enum Effort: UInt32 {
    case fast = 1
    case strong = 8
  }

  init(_ number: UInt8, of tree: TreeName, _ bytes: [UInt8]) {
    self.number = number
    self.tree = tree
    self.bytes = bytes
  }

  /// Calls `body` with the stored form of a value, or with nil if that saves less than an eighth.
  func withCompressed<R, E: Error>(
    _ value: UnsafeRawBufferPointer, _ effort: Effort, _ body: (UnsafeRawBufferPointer?) throws(E) -> R
  ) throws(E) -> R {
    guard value.count >= Self.shortestValue, value.count <= ChangeEntry.largeValue else { return try body(nil) }
    return try withUnsafeTemporaryAllocation(byteCount: value.count, alignment: 1) { target throws(E) in
      let head = putHead(into: target, count: value.count, effort)
      let room = UnsafeMutableRawBufferPointer(rebasing: target[head..<value.count - value.count / 8])
      let count = compress(value, into: room, effort)
      return try body(count == 0 ? nil : UnsafeRawBufferPointer(rebasing: target[..<(head + count)]))
    }
  }

  /// Begins a stored form: with the dictionary's number, and the value's length as a varint. Returns the number of bytes.
  private func putHead(into target: UnsafeMutableRawBufferPointer, count: Int, _ effort: Effort) -> Int {
    target[0] = effort == .fast ? number | Self.quick : number
    var (rest, end) = (count, 1)
    while rest >= 0x80 {
      target[end] = UInt8(truncatingIfNeeded: rest) | 0x80
      (rest, end) = (rest >> 7, end + 1)
    }
    target[end] = UInt8(truncatingIfNeeded: rest)
    return end + 1
  }

  private func compress(
    _ value: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, _ effort: Effort
  ) -> Int {
    let index = index.withLock { index in
      let made = index ?? makeIndex()
      index = made
      return made
    }
    defer { withExtendedLifetime(index) {} }
    return bytes.withUnsafeBufferPointer { dictionary in
      strata_block_compress(
        OpaquePointer(index.bytes.baseAddress), dictionary.baseAddress, dictionary.count,
        value.baseAddress?.assumingMemoryBound(to: UInt8.self), value.count,
        target.baseAddress?.assumingMemoryBound(to: UInt8.self), target.count, effort.rawValue)
    }
  }

  private func makeIndex() -> MemoryBlock {
    let made = MemoryBlock(count: strata_block_index_size())
    bytes.withUnsafeBufferPointer {
      strata_block_index_make(OpaquePointer(made.bytes.baseAddress), $0.baseAddress, $0.count)
    }
    return made
  }
}

/// Decompresses a block that must fill the target. Returns whether it did.
func decompress(
  _ block: UnsafeRawBufferPointer, with dictionary: [UInt8], into target: UnsafeMutableRawBufferPointer
) -> Bool {
  dictionary.withUnsafeBufferPointer { dictionary in
    strata_block_decompress(
      dictionary.baseAddress, dictionary.count, block.baseAddress?.assumingMemoryBound(to: UInt8.self), block.count,
      target.baseAddress?.assumingMemoryBound(to: UInt8.self), target.count) == 1
  }
}
