/// The bytes of a file in memory, in pages.
///
/// A copy shares all pages with its original until one of the two writes, so that a crash test can keep thousands of
/// states of a disk. Pages never written are holes: they read as zeros and occupy nothing.
package struct PagedBytes: Sendable {
  static let pageSize = 4096
  /// Files end here (64 GiB), so that a wild offset is an error and not an allocation.
  package static let sizeLimit: UInt64 = 1 << 36

  /// Bytes from the start to the end of the file, holes included.
  package private(set) var size: UInt64 = 0
  private var pages: [[UInt8]?] = []
  /// Pages that are not holes.
  package private(set) var allocatedPages = 0

  private static let zeroPage = [UInt8](repeating: 0, count: pageSize)

  package init() {}

  /// A file of exactly these bytes.
  package init(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { write($0, at: 0) }
  }

  /// All bytes, for tests that check a whole file.
  package var array: [UInt8] {
    var all = [UInt8](repeating: 0, count: Int(size))
    _ = all.withUnsafeMutableBytes { read(into: $0, at: 0) }
    return all
  }

  /// Fills `buffer` from `offset` on, up to the file's end; returns the bytes read.
  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) -> Int {
    guard offset < size else { return 0 }
    let count = Int(min(UInt64(buffer.count), size - offset))
    forEachPiece(of: count, at: offset) { page, start, done, length in
      let target = UnsafeMutableRawBufferPointer(rebasing: buffer[done..<(done + length)])
      if page < pages.count, let bytes = pages[page] {
        bytes.withUnsafeBytes {
          target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<(start + length)]))
        }
      } else {
        target.initializeMemory(as: UInt8.self, repeating: 0)
      }
    }
    return count
  }

  /// The end of the zeros with which a range begins.
  func endOfZeros(from range: Range<UInt64>) -> UInt64 {
    var bytes = [UInt8](repeating: 1, count: Int(range.upperBound - range.lowerBound))
    let count = bytes.withUnsafeMutableBytes { read(into: $0, at: range.lowerBound) }
    return range.lowerBound + UInt64(bytes[..<count].prefix { $0 == 0 }.count)
  }

  /// Copies all bytes that were ever written to their offsets in `target`, as far as there is room for them.
  func copyWritten(to target: UnsafeMutableRawBufferPointer) {
    for (index, page) in pages.enumerated() {
      let start = index * PagedBytes.pageSize
      guard let page, start < target.count else { continue }
      page.withUnsafeBytes { bytes in
        let count = min(bytes.count, target.count - start)
        UnsafeMutableRawBufferPointer(rebasing: target[start..<start + count])
          .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
      }
    }
  }

  /// Writes `bytes`, and grows the file if they reach beyond its end. The caller has checked `sizeLimit`.
  package mutating func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) {
    guard bytes.count > 0 else { return }
    extend(to: offset + UInt64(bytes.count))
    forEachPiece(of: bytes.count, at: offset) { page, start, done, length in
      allocate(page)
      pages[page]?.withUnsafeMutableBytes {
        UnsafeMutableRawBufferPointer(rebasing: $0[start..<(start + length)])
          .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[done..<(done + length)]))
      }
    }
  }

  /// Writes zeros; whole pages share one.
  package mutating func zero(_ range: Range<UInt64>) {
    guard !range.isEmpty else { return }
    extend(to: range.upperBound)
    forEachPiece(of: Int(range.upperBound - range.lowerBound), at: range.lowerBound) { page, start, _, length in
      allocate(page)
      if length == PagedBytes.pageSize {
        pages[page] = PagedBytes.zeroPage
      } else {
        pages[page]?.withUnsafeMutableBytes {
          _ = UnsafeMutableRawBufferPointer(rebasing: $0[start..<(start + length)])
            .initializeMemory(as: UInt8.self, repeating: 0)
        }
      }
    }
  }

  /// Makes the file at least this long, by a hole.
  package mutating func extend(to newSize: UInt64) {
    guard newSize > size else { return }
    size = newSize
    let count = Int((newSize + UInt64(PagedBytes.pageSize) - 1) / UInt64(PagedBytes.pageSize))
    if count > pages.count { pages.append(contentsOf: repeatElement(nil, count: count - pages.count)) }
  }

  /// Cuts the file to this length.
  package mutating func truncate(to newSize: UInt64) {
    guard newSize < size else { return }
    let end = (newSize + UInt64(PagedBytes.pageSize) - 1) / UInt64(PagedBytes.pageSize) * UInt64(PagedBytes.pageSize)
    // The bytes behind the cut must read as zeros when the file grows again.
    if newSize < end, pages[Int(newSize) / PagedBytes.pageSize] != nil { zero(newSize..<min(end, size)) }
    size = newSize
    for page in pages[Int(end / UInt64(PagedBytes.pageSize))...] where page != nil { allocatedPages -= 1 }
    pages.removeSubrange(Int(end / UInt64(PagedBytes.pageSize))...)
  }

  /// How many holes a write of this range would have to fill.
  func pagesToAllocate(for range: Range<UInt64>) -> Int {
    guard !range.isEmpty else { return 0 }
    let pageSize = UInt64(PagedBytes.pageSize)
    return (range.lowerBound / pageSize...(range.upperBound - 1) / pageSize).count {
      $0 >= UInt64(pages.count) || pages[Int($0)] == nil
    }
  }

  private mutating func allocate(_ page: Int) {
    guard pages[page] == nil else { return }
    pages[page] = PagedBytes.zeroPage
    allocatedPages += 1
  }
}

/// Cuts a range at page boundaries: the page, the piece's start in it, the count of bytes before the piece, and its length.
private func forEachPiece(
  of count: Int, at offset: UInt64, _ body: (_ page: Int, _ start: Int, _ done: Int, _ length: Int) -> Void
) {
  var done = 0
  while done < count {
    let position = Int(offset) + done
    let start = position % PagedBytes.pageSize
    let length = min(PagedBytes.pageSize - start, count - done)
    body(position / PagedBytes.pageSize, start, done, length)
    done += length
  }
}
