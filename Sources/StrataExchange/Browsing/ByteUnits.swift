// The bytes of a file travel and are kept in units of 64, so that 64 of them, with a bit for each, are a page of 4 KiB.

private let unit: UInt64 = 64
private let page: UInt64 = 4096

/// A part of a file's units: the pages, each with the mask of its units.
private func forEachPage(of range: Range<UInt64>, _ body: (_ number: UInt64, _ mask: UInt64) -> Void) {
  guard !range.isEmpty else { return }
  let (first, last) = (range.lowerBound / unit, (range.upperBound - 1) / unit)
  for number in first / unit...last / unit {
    let low = max(first, number * unit) % unit
    let high = min(last, number * unit + unit - 1) % unit
    body(number, (UInt64.max << low) & (UInt64.max >> (unit - 1 - high)))
  }
}

/// The runs of set bits of a page's mask, as ranges of the file.
private func ranges(of mask: UInt64, in number: UInt64) -> [Range<UInt64>] {
  var (rest, found) = (mask, [Range<UInt64>]())
  while rest != 0 {
    let start = UInt64(rest.trailingZeroBitCount)
    let length = UInt64((~(rest >> start)).trailingZeroBitCount)
    rest = length == unit ? 0 : rest & ~((UInt64.max >> (unit - length)) << start)
    found.append((number * page + start * unit)..<(number * page + (start + length) * unit))
  }
  return found
}

/// The units of a file that the other side has.
struct SentUnits {
  private var pages: [UInt64: UInt64] = [:]
  /// The units that were marked since they were last taken, by page.
  private var fresh: [UInt64: UInt64] = [:]
  private(set) var freshBytes: UInt64 = 0

  /// More pages than this are forgotten, on both sides.
  private let mostPages: Int
  static let usualPages = 4_096
  /// The most new bytes of one answer.
  static let mostBytes: UInt64 = 2 << 20

  init(mostPages: Int = usualPages) { self.mostPages = mostPages }

  var isFull: Bool { pages.count > mostPages }

  mutating func removeAll() { self = SentUnits(mostPages: mostPages) }

  /// Marks the units of a range to be sent, except those that were sent, or all if `again` is true.
  mutating func mark(_ range: Range<UInt64>, again: Bool = false) {
    guard UInt64(range.count) + freshBytes <= Self.mostBytes else { return }
    forEachPage(of: range) { number, mask in
      let new = again ? mask & ~fresh[number, default: 0] : mask & ~pages[number, default: 0]
      guard new != 0 else { return }
      pages[number, default: 0] |= new
      fresh[number, default: 0] |= new
      freshBytes += UInt64(new.nonzeroBitCount) * unit
    }
  }

  /// Forgets the unit that the end of the file cuts, because it changes when the file grows.
  mutating func forgetUnit(at end: UInt64) {
    if end % unit != 0 { forEachPage(of: end - 1..<end) { pages[$0, default: 0] &= ~$1 } }
  }

  /// The ranges of the marked units, ascending.
  mutating func removeFresh() -> [Range<UInt64>] {
    var runs: [Range<UInt64>] = []
    for (number, mask) in fresh.sorted(by: { $0.key < $1.key }) {
      for range in ranges(of: mask, in: number) {
        if runs.last?.upperBound == range.lowerBound {
          runs[runs.count - 1] = runs[runs.count - 1].lowerBound..<range.upperBound
        } else {
          runs.append(range)
        }
      }
    }
    (fresh, freshBytes) = ([:], 0)
    return runs
  }
}

/// Bytes of a file that came over a line.
struct KeptUnits {
  private var pages: [UInt64: (mask: UInt64, bytes: [UInt8])] = [:]

  /// The most pages: the other side says earlier that all are to be dropped.
  private static let mostPages = SentUnits.usualPages * 2

  mutating func removeAll() { pages.removeAll() }

  mutating func forgetUnit(at end: UInt64) {
    if end % unit != 0 { forEachPage(of: end - 1..<end) { pages[$0]?.mask &= ~$1 } }
  }

  /// Copies bytes if all of them are here. Otherwise returns the first range of units that is missing.
  func copy(_ range: Range<UInt64>, into buffer: UnsafeMutableRawBufferPointer) -> Range<UInt64>? {
    var missing: Range<UInt64>?
    forEachPage(of: range) { number, mask in
      let lacking = mask & ~(pages[number]?.mask ?? 0)
      for run in ranges(of: lacking, in: number) {
        if missing == nil || missing?.upperBound == run.lowerBound {
          missing = (missing?.lowerBound ?? run.lowerBound)..<run.upperBound
        }
      }
      guard lacking == 0, let bytes = pages[number]?.bytes else { return }
      let part = range.clamped(to: number * page..<(number + 1) * page)
      let start = Int(part.lowerBound - number * page)
      buffer[Int(part.lowerBound - range.lowerBound)...].copyBytes(from: bytes[start..<start + part.count])
    }
    return missing
  }

  /// Keeps bytes that begin with a unit. The last unit may be cut by the end of the file.
  mutating func insert(_ bytes: ArraySlice<UInt8>, at offset: UInt64) {
    let range = offset..<offset + UInt64(bytes.count)
    if pages.count > Self.mostPages { removeAll() }
    forEachPage(of: range) { number, mask in
      let part = range.clamped(to: number * page..<(number + 1) * page)
      let (from, to) = (Int(part.lowerBound - number * page), bytes.startIndex + Int(part.lowerBound - offset))
      var kept = pages.removeValue(forKey: number) ?? (0, [UInt8](repeating: 0, count: Int(page)))
      kept.bytes.replaceSubrange(from..<from + part.count, with: bytes[to..<to + part.count])
      kept.mask |= mask
      pages[number] = kept
    }
  }
}

/// Runs of bytes as they travel: offset and count as eight bytes each, little-endian, then the bytes.
enum ByteRuns {
  static func append(_ bytes: [UInt8], at offset: UInt64, to runs: inout [UInt8]) {
    for number in [offset, UInt64(bytes.count)] {
      withUnsafeBytes(of: number.littleEndian) { runs.append(contentsOf: $0) }
    }
    runs += bytes
  }

  /// Passes each run to `body`. Returns false if the bytes are not runs, or one of them is not in a file of that size.
  static func forEach(in runs: [UInt8], before end: UInt64, _ body: (ArraySlice<UInt8>, UInt64) -> Void) -> Bool {
    var rest = runs[...]
    while !rest.isEmpty {
      guard rest.count >= 16 else { return false }
      let numbers = (0..<2).map { place in
        rest.dropFirst(8 * place).prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      }
      rest = rest.dropFirst(16)
      let (offset, count) = (numbers[0], numbers[1])
      guard offset % unit == 0, offset <= end, count <= UInt64(rest.count), count <= end - offset,
        count % unit == 0 || offset + count == end
      else { return false }
      body(rest.prefix(Int(count)), offset)
      rest = rest.dropFirst(Int(count))
    }
    return true
  }
}
