/// The place of a generation's dictionaries, as page 0 says it: two copies in pages of their own, and then the first frame.
struct DictionaryArea: Hashable, Sendable {
  /// The position of its first field in page 0.
  static let position = 80
  private static let longest: UInt64 = 32 << 20

  /// The first copy.
  var offset: FileOffset
  var length: UInt64
  var check: UInt32
  var firstFrame: FileOffset

  /// The area that lies directly behind the first pages and has these bytes.
  init(of bytes: UnsafeRawBufferPointer, seed: UInt32) {
    offset = FileLayout.firstFrame
    length = UInt64(bytes.count)
    check = checksum(seed, bytes)
    firstFrame = offset
    firstFrame = (second &+ length).aligned(to: UInt64(FileLayout.pageSize))
  }

  init(_ reader: inout ByteReader) throws(StorageError) {
    offset = FileOffset(try reader.fixed(UInt64.self))
    length = try reader.fixed()
    check = try reader.fixed()
    try reader.skip(4)
    firstFrame = FileOffset(try reader.fixed(UInt64.self))
    guard offset >= FileLayout.firstFrame, offset.bytes < Self.longest, length > 0, length <= Self.longest,
      firstFrame >= second &+ length, firstFrame.bytes <= 4 * Self.longest, firstFrame.bytes % 8 == 0
    else { throw .damaged(what: "identity page", offset: 0) }
  }

  func append(to buffer: ByteBuffer) {
    buffer.append(offset)
    buffer.append(length)
    buffer.append(check)
    buffer.append(UInt32(0))
    buffer.append(firstFrame)
  }

  private var second: FileOffset { (offset &+ length).aligned(to: UInt64(FileLayout.pageSize)) }

  /// The offsets of the copies.
  var copies: [FileOffset] { [offset, second] }

  /// A copy, or nil if it is not what was written.
  func copy(at offset: FileOffset, in file: any DiskFile, seed: UInt32) throws(StorageError) -> MemoryBlock? {
    let block = MemoryBlock(count: Int(length))
    do throws(DiskError) {
      guard try file.read(into: block.bytes, at: offset) == block.bytes.count else { return nil }
    } catch {
      guard error.isUnreadable else { throw StorageError(error) }
      return nil
    }
    return checksum(seed, UnsafeRawBufferPointer(block.bytes)) == check ? block : nil
  }

  /// All bytes from the first pages to the first frame: both copies, and zeros.
  func pages(_ bytes: [UInt8]) -> [UInt8] {
    var pages = [UInt8](repeating: 0, count: Int(firstFrame - offset))
    for copy in copies {
      let start = Int(copy - offset)
      pages.replaceSubrange(start..<start + bytes.count, with: bytes)
    }
    return pages
  }

  static let farthestFrame: UInt64 = 2 * longest

  /// The area before the first frame of a file whose page 0 is damaged: the one that the page names, if a copy has its check. Otherwise no
  /// check is known, and both copies must be equal. Returns nil if there is none.
  init?(_ page: [UInt8], of file: any DiskFile, _ firstFrame: FileOffset, _ seed: UInt32) throws(StorageError) {
    if let named = DictionaryArea(page), named.firstFrame == firstFrame {
      for copy in named.copies where try named.copy(at: copy, in: file, seed: seed) != nil {
        self = named
        return
      }
    }
    let block = MemoryBlock(count: Int(firstFrame - FileLayout.firstFrame))
    let count = try engineCall { () throws(DiskError) in try file.read(into: block.bytes, at: FileLayout.firstFrame) }
    let bytes = UnsafeRawBufferPointer(block.bytes)
    guard count == bytes.count, let length = (try? ValueDictionaries(bytes))?.encodedLength else { return nil }
    let first = UnsafeRawBufferPointer(rebasing: bytes[..<length])
    self.init(of: first, seed: seed)
    guard self.firstFrame == firstFrame else { return nil }
    for offset in copies where try copy(at: offset, in: file, seed: seed) == nil { return nil }
  }

  private init?(_ page: [UInt8]) {
    let area = page.withUnsafeBytes { page in
      var reader = ByteReader(page, what: "identity page")
      return (try? reader.skip(Self.position)).flatMap { try? DictionaryArea(&reader) }
    }
    guard let area else { return nil }
    self = area
  }
}

extension FileHeader {
  var firstFrame: FileOffset { dictionaryArea?.firstFrame ?? FileLayout.firstFrame }

  /// The header with an area that was found. Returns nil if there is none.
  func with(_ area: DictionaryArea?) -> FileHeader? {
    var header = self
    header.dictionaryArea = area
    header.requiredFeatures |= StoreFeature.compressedValues.rawValue
    return area == nil ? nil : header
  }

  /// Sets the area for a generation with these dictionaries, and the feature. Returns the bytes from the first pages to the first frame.
  mutating func setArea(for dictionaries: ValueDictionaries?) -> [UInt8] {
    requiredFeatures &= ~StoreFeature.compressedValues.rawValue
    dictionaryArea = nil
    guard let dictionaries else { return [] }
    let bytes = dictionaries.encoded()
    let area = bytes.withUnsafeBytes { DictionaryArea(of: $0, seed: seed) }
    requiredFeatures |= StoreFeature.compressedValues.rawValue
    dictionaryArea = area
    return area.pages(bytes)
  }
}

extension Verifier {
  /// Checks both copies of the dictionaries. One is enough to read all values.
  mutating func checkDictionaries() throws(StorageError) {
    guard let area = file.header.dictionaryArea else { return }
    var damaged: [FileOffset] = []
    for (copy, next) in zip(area.copies, area.copies.dropFirst() + [area.firstFrame]) {
      if try area.copy(at: copy, in: file.file, seed: file.header.seed) == nil { damaged.append(copy) }
      let rest = copy &+ area.length..<next
      if try file.lastNonzero(in: rest) != nil { addUnusedBytes(rest.lowerBound) }
    }
    for copy in damaged {
      damage(
        "dictionaries", copy, "they are not what was written",
        saved: damaged.count == 1
          ? "the other copy is whole, and a compaction writes both again" : "compressed values cannot be read")
    }
  }

  /// Checks that a compressed value can be decompressed, unless the dictionaries are lost, which is reported already.
  mutating func checkValue(_ entry: ChangeEntry, _ reference: EntryReference, commit: UInt64) {
    guard entry.isCompressed, file.dictionaries != nil, let (entry, bytes) = try? file.entry(reference),
      (try? file.rawValue(of: entry, bytes, at: reference.offset)) == nil
    else { return }
    damage(
      "compressed value", reference.offset, commit: commit, "it cannot be decompressed",
      saved: "this version of the record is lost; its other versions can be read")
  }
}
