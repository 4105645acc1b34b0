/// Every frame of a data file that can be recognized, also behind damage.
///
/// A reader stops at the first frame that is not whole. The survey goes on: if a header is damaged, it looks for the next place, in steps
/// of eight bytes, at which a header's own check is right. A header of another store, or of another generation, never passes, because
/// checks begin from the file's seed.
struct FrameSurvey: Sendable {
  struct Frame: Sendable {
    var offset: FileOffset
    var header: FrameHeader
    /// The hash that the trailer names; nil if the trailer is damaged.
    var hash: UInt32?
    /// Whether the bytes between header and trailer match the trailer's hash.
    var isWhole: Bool

    var end: FileOffset { offset + header.length }
    var nodesStart: FileOffset { offset + UInt64(FrameHeader.size) + header.changesLength }
    var recordStart: FileOffset { offset + header.recordOffset }
  }

  /// In the order of the file.
  private(set) var frames: [Frame] = []
  /// Bytes between frames in which no frame could be recognized.
  private(set) var gaps: [Range<FileOffset>] = []
  /// The end of the last frame, or of the last gap before a frame.
  private(set) var end: FileOffset
  /// Bytes behind `end` that are not zero: an unfinished commit, most often.
  private(set) var leftover: Range<FileOffset>?

  /// The start of the survey.
  let start: FileOffset
  private let scanner: FrameScanner
  private let limit: FileOffset

  private init(of file: DataFile, from start: FileOffset, limit: FileOffset) {
    scanner = FrameScanner(file: file)
    self.start = start
    self.limit = limit
    end = start
  }

  /// Surveys all bytes from the first frame's place, or another one where a frame must begin, up to `limit`. Bytes that are not whole
  /// frames, behind `promised` and behind the durable end that whole frames record, were about to be written: the survey ends there.
  /// `progress` gets the number of bytes done, and ends the survey by returning false.
  init(
    of file: DataFile, from start: FileOffset? = nil, limit: FileOffset,
    promised: FileOffset = .unreachable,
    progress: (UInt64) -> Bool
  ) throws(StorageError) {
    self.init(of: file, from: start ?? file.header.firstFrame, limit: limit)
    var promised = promised
    while let found = try frame(near: end) {
      if end >= promised && !follows(found) {
        promised = try Self.recordedEnd(of: file, in: end..<limit)
        if end >= promised { break }
      }
      if found.offset > end { gaps.append(end..<found.offset) }
      frames.append(found)
      end = found.end
      guard progress(end.bytes) else { return }
    }
    if let last = try file.lastNonzero(in: end..<max(end, limit)) {
      leftover = end..<min(limit, FrameHeader.end(behind: last))
    }
  }

  /// Whether a frame is whole and the next one of the chain.
  private func follows(_ frame: Frame) -> Bool {
    guard frame.isWhole, frame.offset == end else { return false }
    guard let last = frames.last else { return frame.header.previousOffset == 0 }
    return frame.header.number > last.header.number && frame.header.previousOffset == last.offset
      && (last.hash ?? frame.header.previousHash) == frame.header.previousHash
  }

  /// The whole frames in a range, whether they follow each other or not, of commits after a number. The first of them must follow a frame
  /// that lies at `first` or behind it.
  static func wholeFrames(
    of file: DataFile, in range: Range<FileOffset>, after number: UInt64 = 0, following first: FileOffset = 0
  ) throws(StorageError) -> [Frame] {
    let survey = FrameSurvey(of: file, from: range.lowerBound, limit: range.upperBound)
    var frames: [Frame] = []
    var position = range.lowerBound
    while position < range.upperBound, let found = try survey.frame(near: position) {
      // A frame that follows one from before the range is left over from other writes.
      let follows = frames.isEmpty ? found.header.previousOffset >= first : true
      if found.isWhole, found.header.number > number, follows { frames.append(found) }
      position = found.isWhole ? found.end : found.offset + 8
    }
    return frames
  }

  /// Up to where the file was durable according to the whole frames in a range; 0 if none records it.
  static func recordedEnd(of file: DataFile, in range: Range<FileOffset>) throws(StorageError) -> FileOffset {
    try wholeFrames(of: file, in: range).lazy.compactMap { $0.recordedEnd(in: file) }.max() ?? 0
  }

  /// `the whole commit #5`, `the whole commits #5 to #9`; of commits in the order of the file.
  static func describe(_ frames: [Frame]) -> String {
    guard let first = frames.first?.header.number, let last = frames.last?.header.number else {
      return "no whole commit"
    }
    return frames.count == 1 ? "the whole commit #\(first)" : "\(frames.count) whole commits from #\(first) to #\(last)"
  }

  /// The frame with a number, if it was recognized. Frames are in ascending order of their numbers.
  func frame(number: UInt64) -> Frame? {
    let index = frames.partitionIndex { $0.header.number >= number }
    return index < frames.count && frames[index].header.number == number ? frames[index] : nil
  }

  // MARK: Looking for frames

  private func frame(near position: FileOffset) throws(StorageError) -> Frame? {
    if let found = try frame(at: position) { return found }
    guard position + 8 < limit else { return nil }
    var found: Frame?
    try Self.forEachPlace(of: scanner.file, in: (position + 8)..<limit) { candidate throws(StorageError) in
      guard let frame = try frame(at: candidate), frame.fits(after: frames.last, position) else { return true }
      found = frame
      return false
    }
    return found
  }

  /// Calls `body` with each place that has a frame's magic, at multiples of eight, until it returns false. Skips ranges that were never
  /// written, and the zeros at the end.
  static func forEachPlace(
    of file: DataFile, in range: Range<FileOffset>, _ body: (FileOffset) throws(StorageError) -> Bool
  ) throws(StorageError) {
    guard let last = try file.lastNonzero(in: range) else { return }
    let parts = try engineCall { () throws(DiskError) in
      try file.file.writtenParts(of: (range.lowerBound..<(last + 1)).bytes)
    }
    let window: UInt64 = 1 << 20
    for part in parts {
      var start = FileOffset(part.lowerBound).aligned(to: 8)
      while start < FileOffset(part.upperBound) {
        // A magic is never cut in two, because the window is a multiple of eight.
        let bytes = try file.bytes(
          at: start, count: Int(min(window, range.upperBound - start)), what: "frames")
        let positions = bytes.withUnsafeBytes { bytes in
          stride(from: 0, to: max(0, bytes.count - 3), by: 8).filter {
            loadInteger(UInt32.self, bytes, at: $0) == FrameHeader.magicNumber
          }
        }
        for position in positions where try !body(start + UInt64(position)) { return }
        start += window
      }
    }
  }

  private func frame(at offset: FileOffset) throws(StorageError) -> Frame? {
    guard let (header, bytes) = try scanner.header(at: offset, limit: limit) else { return nil }
    let hash = try scanner.trailerHash(of: header, at: offset)
    var isWhole = false
    if let hash { isWhole = try scanner.hash(of: header, bytes, at: offset) == hash }
    return Frame(offset: offset, header: header, hash: hash, isWhole: isWhole)
  }
}

extension FrameSurvey.Frame {
  /// Up to where the file was durable when the frame was written. Returns nil if its record does not say.
  func recordedEnd(in file: DataFile) -> FileOffset? {
    guard let record = try? file.record(at: offset), let undurable = try? file.tail(of: record).undurable,
      undurable <= offset.bytes
    else { return nil }
    return offset - undurable
  }

  /// Whether a frame found behind damage can be of this chain. A stale one, left over in a tail, has a number that was given again, or
  /// refers to a frame before the damage that is not the last.
  fileprivate func fits(after last: FrameSurvey.Frame?, _ gap: FileOffset) -> Bool {
    guard let last else { return true }
    return header.number > last.header.number && header.previousOffset >= gap
  }
}
