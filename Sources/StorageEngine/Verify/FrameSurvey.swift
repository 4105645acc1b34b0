/// Every frame of a data file that can be made out, also behind damage.
///
/// A reader stops at the first frame that is not whole. The survey goes on: where a header is damaged it looks for the
/// next place, in steps of eight bytes, at which a header's own check is right. A header of another store, or of another
/// generation, never is, because checks begin from the file's seed.
struct FrameSurvey: Sendable {
  struct Frame: Sendable {
    var offset: UInt64
    var header: FrameHeader
    /// What the trailer names; nil where the trailer is damaged.
    var hash: UInt32?
    /// Whether the bytes between header and trailer are what the trailer says.
    var isWhole: Bool

    var end: UInt64 { offset + header.length }
    var changesStart: UInt64 { offset + UInt64(FrameHeader.size) }
    var nodesStart: UInt64 { changesStart + header.changesLength }
    var recordStart: UInt64 { offset + header.recordOffset }
  }

  /// In the order of the file.
  private(set) var frames: [Frame] = []
  /// Bytes between frames in which none could be made out.
  private(set) var gaps: [Range<UInt64>] = []
  /// Where the last frame, or the last gap before a frame, ends.
  private(set) var end = FileLayout.firstFrame
  /// Bytes behind `end` that are not zero: an unfinished commit, most often.
  private(set) var leftover: Range<UInt64>?

  private let scanner: FrameScanner
  private let limit: UInt64

  /// Looks at all bytes before `limit`. `progress` gets the bytes done, and ends the survey by returning false.
  init(of file: DataFile, limit: UInt64, progress: (UInt64) -> Bool) throws(StorageError) {
    scanner = FrameScanner(file: file)
    self.limit = limit
    var place = FileLayout.firstFrame
    while let found = try frame(near: place) {
      if found.offset > place { gaps.append(place..<found.offset) }
      frames.append(found)
      place = found.end
      end = place
      guard progress(place) else { return }
    }
    if let last = try scanner.file.lastNonzero(in: place..<max(place, limit)) { leftover = place..<(last + 1) }
  }

  /// The frame whose number is this, where it was made out. Frames are in ascending order of their numbers.
  func frame(number: UInt64) -> Frame? {
    let index = frames.partitionIndex { $0.header.number >= number }
    return index < frames.count && frames[index].header.number == number ? frames[index] : nil
  }

  /// The frame in which an offset lies.
  func frame(containing offset: UInt64) -> Frame? {
    let index = frames.partitionIndex { $0.end > offset }
    return index < frames.count && frames[index].offset <= offset ? frames[index] : nil
  }

  // MARK: Looking for frames

  private func frame(near place: UInt64) throws(StorageError) -> Frame? {
    if let found = try frame(at: place) { return found }
    // The rest may be the tail: what is zero to the end holds no frame.
    guard let last = try scanner.file.lastNonzero(in: place..<max(place, limit)) else { return nil }
    let window = 1 << 20
    var start = place + 8
    while start < last {
      let count = Int(min(UInt64(window), limit - start))
      let bytes = try scanner.file.bytes(at: start, count: count, what: "frames")
      for candidate in places(in: bytes) {
        if let found = try frame(at: start + UInt64(candidate)), found.fits(after: frames.last, place) { return found }
      }
      start += UInt64(window - FrameHeader.size)
    }
    return nil
  }

  /// Where a frame's magic lies, at multiples of eight.
  private func places(in bytes: Bytes) -> [Int] {
    bytes.withUnsafeBytes { bytes in
      let magic = FrameHeader.magic.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
      return stride(from: 0, to: max(0, bytes.count - 3), by: 8).filter {
        bytes.loadUnaligned(fromByteOffset: $0, as: UInt32.self) == magic
      }
    }
  }

  private func frame(at offset: UInt64) throws(StorageError) -> Frame? {
    let least = UInt64(FrameHeader.size + FrameHeader.trailerSize)
    guard offset <= limit, limit - offset >= least else { return nil }
    let seed = scanner.file.header.seed
    let bytes = try scanner.file.bytes(at: offset, count: FrameHeader.size, what: "frame header")
    guard let header = bytes.withUnsafeBytes({ FrameHeader($0, seed: seed) }), header.length >= least,
      header.length <= limit - offset
    else { return nil }
    let hash = try scanner.trailerHash(of: header, at: offset)
    var isWhole = false
    if let hash { isWhole = try scanner.hash(of: header, bytes, at: offset) == hash }
    return Frame(offset: offset, header: header, hash: hash, isWhole: isWhole)
  }
}

extension FrameSurvey.Frame {
  /// Whether a frame found behind damage can be of this chain: a stale one, left over in a tail, has a number that
  /// was given anew, or refers to a frame before the damage that is not the last.
  fileprivate func fits(after last: FrameSurvey.Frame?, _ gap: UInt64) -> Bool {
    guard let last else { return true }
    return header.number > last.header.number && header.previousOffset >= gap
  }
}
