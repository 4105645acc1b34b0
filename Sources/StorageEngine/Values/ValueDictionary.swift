import CBlock
import Locks

/// The dictionary of a tree: sample records, of which its values repeat much.
///
/// Safe from any thread. A thread that compresses waits for another one that does; a file has one writer.
final class ValueDictionary: @unchecked Sendable {
  // `@unchecked`: `index` and `buffer` are only touched while `mutex` is held.
  let number: UInt8
  let tree: TreeName
  let bytes: [UInt8]
  private let mutex = Mutex(())
  /// Made when the first value is compressed: readers do not need it.
  private var index: MemoryBlock?
  private let buffer = ByteBuffer(capacity: 1024)

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
  func withCompressed<R>(
    _ value: UnsafeRawBufferPointer, _ effort: Effort, _ body: (UnsafeRawBufferPointer?) throws(StorageError) -> R
  ) throws(StorageError) -> R {
    guard value.count >= Self.shortestValue, value.count <= ChangeEntry.largeValue else { return try body(nil) }
    return try mutex.withLock { _ throws(StorageError) in
      buffer.removeAll()
      buffer.append(byte: effort == .fast ? number | Self.quick : number)
      buffer.append(varint: UInt64(value.count))
      let capacity = value.count - value.count / 8 - buffer.count
      let count = compress(value, into: buffer.reserve(capacity), capacity, effort)
      guard count > 0 else { return try body(nil) }
      return try body(UnsafeRawBufferPointer(start: buffer.bytes.baseAddress, count: buffer.count + count))
    }
  }

  private func compress(
    _ value: UnsafeRawBufferPointer, into target: UnsafeMutableRawPointer, _ capacity: Int, _ effort: Effort
  ) -> Int {
    let index = index ?? makeIndex()
    return bytes.withUnsafeBufferPointer { dictionary in
      strata_block_compress(
        OpaquePointer(index.bytes.baseAddress), dictionary.baseAddress, dictionary.count,
        value.baseAddress?.assumingMemoryBound(to: UInt8.self), value.count,
        target.assumingMemoryBound(to: UInt8.self), capacity, effort.rawValue)
    }
  }

  private func makeIndex() -> MemoryBlock {
    let made = MemoryBlock(count: strata_block_index_size())
    bytes.withUnsafeBufferPointer {
      strata_block_index_make(OpaquePointer(made.bytes.baseAddress), $0.baseAddress, $0.count)
    }
    index = made
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
