import StrataLocks

/// A file as readers see it that look for damage: bytes that its disk cannot read are zeros, which no check takes for written data.
///
/// It is never mapped: to touch a page of a mapping that cannot be read, or that another program has cut off, ends the process. Instead
/// small pieces are read in blocks, of which the last few are kept, so that a walk through a file takes one call a block. A block is not
/// read again while it is kept: use it only for bytes that are not written any more.
final class TolerantFile: ReadOnlyFile {
  private let base: any DiskFile
  private let blocks = Mutex([Block?](repeating: nil, count: TolerantFile.blockCount))

  /// The smallest unit that a disk reads.
  private static let sector = 4096
  private static let blockSize = 1 << 20
  /// Each block has one place among these, by its number. Trees and changes are walked in about the order of the file.
  private static let blockCount = 16
  /// Longer pieces are read by themselves.
  private static let longestPiece = 1 << 16

  private struct Block {
    var number: UInt64
    var bytes: MemoryBlock
    /// The number of bytes before the file's end.
    var count: Int
  }

  init(_ base: any DiskFile) { self.base = base }

  var status: FileStatus { get throws(DiskError) { try base.status } }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(DiskError) -> Int {
    guard buffer.count <= Self.longestPiece else { return try readTolerantly(into: buffer, at: offset) }
    var done = 0
    while done < buffer.count {
      let position = offset &+ UInt64(done)
      let start = Int(position % UInt64(Self.blockSize))
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
      let count = min(rest.count, Self.blockSize - start)
      let block = try block(position / UInt64(Self.blockSize))
      let found = max(0, min(count, block.count - start))
      rest.copyMemory(from: UnsafeRawBufferPointer(rebasing: block.bytes.bytes[start..<(start + found)]))
      // The file may have grown since its last block was read.
      guard found == count else { return done + (try readTolerantly(into: rest, at: position)) }
      done += count
    }
    return done
  }

  private func block(_ number: UInt64) throws(DiskError) -> Block {
    let index = Int(number % UInt64(Self.blockCount))
    if let kept = blocks.withLock({ $0[index] }), kept.number == number { return kept }
    let bytes = MemoryBlock(count: Self.blockSize)
    let count = try readTolerantly(into: bytes.bytes, at: number * UInt64(Self.blockSize))
    let block = Block(number: number, bytes: bytes, count: count)
    blocks.withLock { $0[index] = block }
    return block
  }

  private func readTolerantly(
    into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
  ) throws(DiskError) -> Int {
    do throws(DiskError) {
      return try base.read(into: buffer, at: offset)
    } catch {
      guard error.isUnreadable else { throw error }
    }
    // Sector by sector, so that no more is lost than necessary.
    var done = 0
    while done < buffer.count {
      let position = offset &+ UInt64(done)
      let count = min(Self.sector - Int(position % UInt64(Self.sector)), buffer.count - done)
      let part = UnsafeMutableRawBufferPointer(rebasing: buffer[done..<(done + count)])
      do throws(DiskError) {
        let found = try base.read(into: part, at: position)
        done += found
        if found < count { break }
      } catch {
        guard error.isUnreadable else { throw error }
        part.initializeMemory(as: UInt8.self, repeating: 0)
        done += count
      }
    }
    return done
  }

  func writtenParts(of range: Range<UInt64>) throws(DiskError) -> [Range<UInt64>] { try base.writtenParts(of: range) }
}

/// A file that is only read, by calls. It is never locked.
package protocol ReadOnlyFile: DiskFile {}

extension ReadOnlyFile {
  package func reopened() throws(DiskError) -> (any DiskFile)? { nil }
  package func map(capacity: Int) throws(DiskError) -> (any DiskMapping)? { nil }
  package func isLockedElsewhere() throws(DiskError) -> Bool { false }
  package func tryLock() throws(DiskError) -> Bool { false }
  package func unlock() throws(DiskError) {}
  package func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(DiskError) { throw .readOnly("") }
  package func zero(_ range: Range<UInt64>) throws(DiskError) { throw .readOnly("") }
  package func writeBack(_ range: Range<UInt64>) throws(DiskError) { throw .readOnly("") }
  package func sync() throws(DiskError) { throw .readOnly("") }
}
