enum FileLayout {
  static let pageSize = 4096
  /// The session block lies in a page of its own: if a disk writes 4 KiB at a time, a write that is cut off spoils nothing else.
  static let sessionOffset: FileOffset = 12800
  /// The place where older programs wrote it, beside the identity. It is read there, and never written.
  static let oldSessionOffset: FileOffset = 512
  static let slotOffsets: [FileOffset] = [4096, 8192]
  static let firstFrame: FileOffset = 16384
}

/// The features that a program must know to read a store: bits of page 0.
package enum StoreFeature: UInt64, Sendable, CaseIterable {
  /// The values of some trees are compressed with dictionaries, which lie before the first frame (`DictionaryArea`).
  case compressedValues = 1
  /// Reserved for later programs, so that this one can say what it lacks.
  case encryptedFrames = 2
  /// Nodes that are patches of the nodes that they replace (`NodeDelta`).
  case nodeDeltas = 4
  /// Commits that were made in other stores, with the part of their descent that their links do not record (`Pedigree`).
  case commitsOfOthers = 8

  /// The names of the bits of a set, as a list of words; bits without a name as a number.
  static func words(_ bits: UInt64) -> String {
    let named = allCases.filter { bits & $0.rawValue != 0 }
    let rest = named.reduce(bits) { $0 & ~$1.rawValue }
    return (named.map(\.words) + (rest == 0 ? [] : ["0x" + String(rest, radix: 16)])).joined(separator: ", ")
  }

  private var words: String {
    switch self {
    case .compressedValues: "compressed values"
    case .encryptedFrames: "encrypted frames"
    case .nodeDeltas: "node deltas"
    case .commitsOfOthers: "commits of other stores"
    }
  }
}

/// The identity of a data file: the first 512 bytes, written once.
struct FileHeader: Hashable, Sendable {
  static let size = 512
  static let magic: [UInt8] = [0x53, 0x74, 0x72, 0x61, 0x74, 0x61, 0x0D, 0x0A]
  static let currentVersion: UInt32 = 1
  /// Features that this program knows and can read.
  static let knownFeatures = [StoreFeature.compressedValues, .nodeDeltas, .commitsOfOthers].reduce(0) {
    $0 | $1.rawValue
  }

  var requiredFeatures: UInt64 = 0
  var optionalFeatures: UInt64 = 0
  var identity: StoreIdentity
  /// The initial value of every check in a frame.
  var seed: UInt32
  /// The other half of the eight bytes that are reserved for the seed.
  var seedReserve: UInt32 = 0
  var firstNumber: UInt64 = 1
  /// Set if and only if the file has compressed values.
  var dictionaryArea: DictionaryArea?

  func encoded() -> [UInt8] {
    StoredBlock.encoded(FileHeader.magic, seed: 0) { buffer in
      buffer.append(FileHeader.currentVersion)
      buffer.append(UInt32(FileLayout.pageSize))
      buffer.append(requiredFeatures)
      buffer.append(optionalFeatures)
      buffer.append(identity.high)
      buffer.append(identity.low)
      buffer.append(identity.generation)
      buffer.append(identity.created)
      buffer.append(seed)
      buffer.append(seedReserve)
      buffer.append(firstNumber)
      dictionaryArea?.append(to: buffer)
    }
  }

  init(reading file: any DiskFile, path: String) throws(StorageError) {
    let page = MemoryBlock(count: FileHeader.size)
    let count: Int
    do {
      count = try file.read(into: page.bytes, at: 0)
    } catch {
      throw error.isUnreadable ? .damaged(what: "identity page", offset: 0) : StorageError(error)
    }
    let bytes = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(page.bytes)[..<count])
    guard bytes.starts(with: FileHeader.magic) else { throw .notAStore(path: path) }
    guard let block = StoredBlock(bytes, magic: FileHeader.magic, seed: 0) else {
      throw .damaged(what: "identity page", offset: 0)
    }
    var reader = block.reader(at: FileHeader.magic.count, what: "identity page")
    let version: UInt32 = try reader.fixed()
    try reader.skip(4)
    requiredFeatures = try reader.fixed()
    optionalFeatures = try reader.fixed()
    guard version == FileHeader.currentVersion, requiredFeatures & ~FileHeader.knownFeatures == 0 else {
      throw .newerFormat(
        version: version,
        requiredFeatures: version == FileHeader.currentVersion ? requiredFeatures & ~FileHeader.knownFeatures : 0)
    }
    identity = StoreIdentity(
      high: try reader.fixed(), low: try reader.fixed(), generation: try reader.fixed(), created: try reader.fixed())
    seed = try reader.fixed()
    seedReserve = try reader.fixed()
    firstNumber = try reader.fixed()
    guard firstNumber > 0 else { throw .damaged(what: "identity page", offset: 0) }
    if has(.compressedValues) { dictionaryArea = try DictionaryArea(&reader) }
  }

  /// Reads the header of the data in a folder. If nothing of it is left, and the files beside it show that there was a store, the page is
  /// damaged.
  init(reading file: any DiskFile, of folder: String, on disk: any Disk) throws(StorageError) {
    do {
      try self.init(reading: file, path: folder)
    } catch {
      guard case .notAStore = error, FileStore.trace(at: folder, disk: disk) != nil else { throw error }
      throw .damaged(what: "identity page", offset: 0)
    }
  }

  init(identity: StoreIdentity, seed: UInt64, firstNumber: UInt64 = 1) {
    self.identity = identity
    self.seed = UInt32(truncatingIfNeeded: seed)
    seedReserve = UInt32(truncatingIfNeeded: seed >> 32)
    self.firstNumber = firstNumber
  }

  func has(_ feature: StoreFeature) -> Bool { requiredFeatures & feature.rawValue != 0 }

  func check(_ bytes: UnsafeRawBufferPointer) -> UInt32 { checksum(seed, bytes) }

  @inline(__always)
  func nodeCheck(_ bytes: UnsafeRawBufferPointer, at offset: FileOffset) -> UInt32 {
    var position = offset.bytes.littleEndian
    return withUnsafeBytes(of: &position) { checksum(checksum(seed, bytes), $0) }
  }
}

/// The file that a store was last written as, and the session that wrote it.
struct SessionBlock: Hashable, Sendable {
  static let magic: [UInt8] = [0x53, 0x65, 0x73, 0x73, 0x69, 0x6F, 0x6E, 0x0A]

  var session: UInt64
  var file: FileIdentity
  var origin: UInt64
  var date: Int64

  func encoded() -> [UInt8] {
    StoredBlock.encoded(SessionBlock.magic, seed: 0) { buffer in
      buffer.append(session)
      buffer.append(file.device)
      buffer.append(file.inode)
      buffer.append(origin)
      buffer.append(date)
    }
  }
}

extension SessionBlock {
  /// Returns nil if there is no whole block.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard let block = StoredBlock(bytes, magic: SessionBlock.magic, seed: 0) else { return nil }
    self.init(
      session: block.number(8), file: FileIdentity(device: block.number(16), inode: block.number(24)),
      origin: block.number(32), date: block.number(40))
  }
}

extension DataFile {
  /// The session blocks in the file: one, and that of an older program if one has written to it, too. The lock file says which of them is
  /// valid.
  var sessions: [SessionBlock] {
    [FileLayout.sessionOffset, FileLayout.oldSessionOffset].compactMap { offset in
      let bytes = try? bytes(at: offset, count: StoredBlock.size, what: "session block")
      return bytes?.withUnsafeBytes { SessionBlock($0) }
    }
  }
}

/// A hint to the place of the newest commit.
struct Slot: Hashable, Sendable {
  static let magic: [UInt8] = [0x53, 0x6C, 0x6F, 0x74, 0x20, 0x20, 0x20, 0x0A]

  var sequence: UInt64
  var generation: UInt64
  var frameOffset: FileOffset
  var number: UInt64
  var frameHash: UInt32
  var isClean: Bool
  var durableEnd: FileOffset
  var zeroedEnd: FileOffset

  func encoded(seed: UInt32) -> [UInt8] {
    StoredBlock.encoded(Slot.magic, seed: seed) { buffer in
      buffer.append(sequence)
      buffer.append(generation)
      buffer.append(frameOffset)
      buffer.append(number)
      buffer.append(frameHash)
      buffer.append(UInt32(isClean ? 1 : 0))
      buffer.append(durableEnd)
      buffer.append(zeroedEnd)
    }
  }
}

extension Slot {
  init?(_ bytes: UnsafeRawBufferPointer, seed: UInt32) {
    guard let block = StoredBlock(bytes, magic: Slot.magic, seed: seed) else { return nil }
    self.init(
      sequence: block.number(8), generation: block.number(16), frameOffset: block.offset(24), number: block.number(32),
      frameHash: block.number(40), isClean: (block.number(44) as UInt32) & 1 > 0, durableEnd: block.offset(48),
      zeroedEnd: block.offset(56))
  }
}

/// A block of 512 bytes that begins with a magic and ends with a check.
struct StoredBlock {
  static let size = 512

  private let bytes: UnsafeRawBufferPointer

  /// A block with the fields that `append` adds, and zeros behind them.
  static func encoded(_ magic: [UInt8], seed: UInt32, _ append: (ByteBuffer) -> Void) -> [UInt8] {
    let buffer = ByteBuffer(capacity: size)
    buffer.append(magic)
    append(buffer)
    buffer.append(zeros: size - 4 - buffer.count)
    buffer.append(checksum(seed, buffer.bytes))
    return [UInt8](buffer.bytes)
  }

  init?(_ bytes: UnsafeRawBufferPointer, magic: [UInt8], seed: UInt32) {
    let size = Self.size
    guard bytes.count >= size, bytes.starts(with: magic) else { return nil }
    let check = checksum(seed, UnsafeRawBufferPointer(rebasing: bytes[..<(size - 4)]))
    guard loadInteger(UInt32.self, bytes, at: size - 4) == check else { return nil }
    self.bytes = UnsafeRawBufferPointer(rebasing: bytes[..<size])
  }

  /// A number at a place inside the block, which the caller knows to exist.
  func number<T: FixedWidthInteger>(_ position: Int) -> T { loadInteger(T.self, bytes, at: position) }

  /// A position in the file, of eight bytes.
  func offset(_ position: Int) -> FileOffset { FileOffset(number(position) as UInt64) }

  func reader(at position: Int, what: String) -> ByteReader {
    ByteReader(UnsafeRawBufferPointer(rebasing: bytes[position...]), what: what, offset: FileOffset(position))
  }
}
