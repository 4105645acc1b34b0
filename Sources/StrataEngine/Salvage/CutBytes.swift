/// The bytes that a recovery has cut off behind the last whole commit, in a file beside the data.
///
/// Most often they are the part of a commit that a power cut interrupted, and of no use. But they may contain whole commits, behind one
/// that did not reach the disk, or, if an older program cut them, behind damage.
struct CutBytes {
  static let prefix = "cut-after-"

  let name: String
  /// The commit behind which it was cut off.
  let number: UInt64
  let file: any DiskFile
  let size: UInt64

  /// The path at which recovery puts the bytes that it cuts off behind a commit.
  static func newPath(in folder: String, after number: UInt64, on disk: any Disk) -> String {
    "\(folder)/\(prefix)\(number)-\(String(disk.randomNumber(), radix: 16))"
  }

  /// All such files beside the data of the store at a path, by their names. A file that cannot be opened is left out.
  static func all(at path: String, on disk: any Disk) throws(StorageError) -> [CutBytes] {
    try engineCall { () throws(DiskError) in try disk.list(path) }.sorted().compactMap {
      CutBytes($0, at: path, on: disk)
    }
  }

  /// Returns nil if the name is not one of such a file, or if the file cannot be opened.
  init?(_ name: String, at path: String, on disk: any Disk) {
    guard name.hasPrefix(Self.prefix) else { return nil }
    let digits = name.dropFirst(Self.prefix.count).prefix { $0.isASCII && $0.isNumber }
    guard let number = UInt64(digits), let file = try? disk.open(path + "/" + name, .read),
      let status = try? file.status, !status.isDirectory
    else { return nil }
    self.name = name
    self.number = number
    // A file that an older program has kept ends with the last byte that is not zero.
    size = (status.size + 7) / 8 * 8
    self.file = MendedFile(file, with: TolerantFile(file), at: 0, size: size)
  }

  /// The whole frames in it, by its own offsets, with the seed of their checks. A compaction gives a store another seed, so bytes cut off
  /// before one are read by the seed from which their own headers began.
  func wholeFrames() throws(StorageError) -> (frames: [FrameSurvey.Frame], seed: UInt32) {
    let identity = StoreIdentity(high: 0, low: 0, generation: 0, created: 0)
    let end = FileOffset(size)
    let plain = try DataFile(reading: file, FileHeader(identity: identity, seed: 0), to: end)
    var seen: Set<UInt32> = []
    var found: (frames: [FrameSurvey.Frame], seed: UInt32) = ([], 0)
    try FrameSurvey.forEachPlace(of: plain, in: 0..<end) { place throws(StorageError) in
      guard end - place >= UInt64(FrameHeader.size), seen.count < Self.mostSeeds else { return false }
      let header = try plain.bytes(at: place, count: FrameHeader.size, what: "frame header").array
      let check = header.withUnsafeBytes { loadInteger(UInt32.self, $0, at: 60) }
      let seed = HeaderRecovery.seed(before: Array(header[..<60]), givingCheck: check)
      guard seen.insert(seed).inserted else { return true }
      let file = try DataFile(reading: file, FileHeader(identity: identity, seed: UInt64(seed)), to: end)
      found = (try FrameSurvey.wholeFrames(of: file, in: 0..<end), seed)
      return found.frames.isEmpty
    }
    return found
  }

  /// The number of seeds to try: each damaged header gives a seed of its own.
  private static let mostSeeds = 64
}

/// The data of a store with the cut bytes in their old place again.
final class MendedFile: ReadOnlyFile {
  private let base: any DiskFile
  private let cut: any DiskFile
  private let start: UInt64
  private let end: UInt64

  /// `start`: the old place of the cut bytes in the data; `size`: their count. Bytes that `cut` does not hold were zeros.
  init(_ base: any DiskFile, with cut: any DiskFile, at start: FileOffset, size: UInt64) {
    self.base = base
    self.cut = cut
    self.start = start.bytes
    end = start.bytes + size
  }

  var status: FileStatus {
    get throws(DiskError) {
      var status = try base.status
      status.size = end
      return status
    }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(DiskError) -> Int {
    guard offset < end else { return 0 }
    let count = Int(min(UInt64(buffer.count), end - offset))
    let before = offset < start ? Int(min(UInt64(count), start - offset)) : 0
    if before > 0 {
      let done = try base.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<before]), at: offset)
      guard done == before else { return done }
    }
    guard count > before else { return before }
    let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[before..<count])
    let read = try cut.read(into: rest, at: offset + UInt64(before) - start)
    UnsafeMutableRawBufferPointer(rebasing: rest[read...]).initializeMemory(as: UInt8.self, repeating: 0)
    return count
  }

  func writtenParts(of range: Range<UInt64>) throws(DiskError) -> [Range<UInt64>] {
    var parts: [Range<UInt64>] = []
    if range.lowerBound < start {
      parts = try base.writtenParts(of: range.lowerBound..<min(range.upperBound, start))
    }
    let (first, last) = (max(range.lowerBound, start), min(range.upperBound, end))
    guard first < last else { return parts }
    return parts
      + (try cut.writtenParts(of: first - start..<last - start).map { $0.lowerBound + start..<$0.upperBound + start })
  }
}
