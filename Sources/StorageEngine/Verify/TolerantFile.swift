/// A file as those read it who look for damage: what its disk cannot read is zeros, which no check takes for what was written there.
///
/// It is never mapped: to touch a page of a mapping that cannot be read, or that another program has cut off, ends the process.
final class TolerantFile: DiskFile {
  private let base: any DiskFile
  /// The least that a disk reads.
  private static let sector = 4096

  init(_ base: any DiskFile) { self.base = base }

  var status: FileStatus { get throws(DiskError) { try base.status } }

  func reopened() throws(DiskError) -> (any DiskFile)? { try base.reopened().map(TolerantFile.init) }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(DiskError) -> Int {
    do throws(DiskError) {
      return try base.read(into: buffer, at: offset)
    } catch {
      guard error.isUnreadable else { throw error }
    }
    // Sector by sector, so that no more is lost than has to be.
    var done = 0
    while done < buffer.count {
      let place = offset &+ UInt64(done)
      let count = min(Self.sector - Int(place % UInt64(Self.sector)), buffer.count - done)
      let part = UnsafeMutableRawBufferPointer(rebasing: buffer[done..<(done + count)])
      do throws(DiskError) {
        let found = try base.read(into: part, at: place)
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

  func map(capacity: Int) -> (any DiskMapping)? { nil }
  func writtenParts(of range: Range<UInt64>) throws(DiskError) -> [Range<UInt64>] { try base.writtenParts(of: range) }
  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(DiskError) { try base.write(bytes, at: offset) }
  func zero(_ range: Range<UInt64>) throws(DiskError) { try base.zero(range) }
  func writeBack(_ range: Range<UInt64>) throws(DiskError) { try base.writeBack(range) }
  func sync() throws(DiskError) { try base.sync() }
  func tryLock() throws(DiskError) -> Bool { try base.tryLock() }
  func unlock() throws(DiskError) { try base.unlock() }
  func isLockedElsewhere() throws(DiskError) -> Bool { try base.isLockedElsewhere() }
}
