import StrataEngine

/// The state that a power cut left of a disk.
package struct CrashImage: Sendable {
  /// How the cut treated the operations that were not yet synced.
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    case nothingUnsynced = "nothing unsynced"
    case everything = "everything"
    case writeDropped = "one write dropped"
    case writeAlone = "one write alone"
    case nameDropped = "one name change dropped"
    case nameAlone = "one name change alone"
    case subset = "random subset"
    case tornAtSector = "torn at a sector"
    case tornAtByte = "torn at a byte"
    case tornBackwards = "torn, later sectors first"
    case tornWithGarbage = "torn, garbage behind"
    case tornPage = "torn in a page of 4 KiB, with all that lies there"
    case sizeWithoutData = "new size, old data"
    case dataWithoutSize = "new data, old size"
  }

  package var kind: Kind
  /// The number of recorded operations before the cut.
  package var position: Int
  /// The notes that the store had made before the cut: its promises.
  package var notes: [UInt64]
  package var image: DiskImage

  package init(kind: Kind, position: Int, notes: [UInt64], image: DiskImage) {
    self.kind = kind
    self.position = position
    self.notes = notes
    self.image = image
  }
}

/// Every state that a power cut could leave behind, for every moment of a record.
///
/// A disk promises only synced bytes. Of the rest any part may have arrived, in any order: single writes, single sectors of a write, a
/// file's size without its bytes, a name without the contents it names. At each moment each unsynced operation is dropped once and kept
/// alone once (if there are very many, some of them), a few random sets are tried, and the last write is torn.
package struct CrashImages {
  /// An operation that the disk has not promised to keep.
  private struct Pending {
    var operation: DiskOperation
    /// A sync promised it, but it lies on top of one that a failed sync left uncertain.
    var isCertain = false
    /// A failed sync has marked it clean in the page cache: no later sync writes it.
    var isLost = false
    var serial: Int
  }

  private var random: RandomSource
  private var durable: DiskImage
  private var pending: [Pending] = []
  private var notes: [UInt64] = []
  private var position = 0
  private var serial = 0
  /// The images made since the last change of `durable` or `notes`, so that no image is made twice.
  private var made: Set<[Int]> = []

  /// At one moment at most this number of single writes is dropped, and kept alone.
  private static let singleLimit = 8
  private static let sectorLimit = 4
  /// Media that write 4 KiB at a time spoil all of them if the power fails meanwhile. Before this offset, files hold blocks that are
  /// rewritten in place. Behind it they grow, and a write beside older bytes is assumed to leave these alone (FORMAT.md, "What is assumed
  /// of media").
  private static let blocksEnd: UInt64 = 16_384
  private static let pageSize: UInt64 = 4096

  private init(start: DiskImage, seed: UInt64) {
    durable = start
    random = RandomSource(seed: seed)
  }

  /// Calls `body` for each image of a record that began on `start`. The same seed gives the same images.
  package static func forEach(
    of record: [DiskOperation], on start: DiskImage, seed: UInt64, _ body: (CrashImage) throws -> Void
  ) rethrows {
    var images = CrashImages(start: start, seed: seed)
    for operation in record {
      if case .note(let promise) = operation {
        images.notes.append(promise)
        images.made = []
      } else {
        try images.cut(body)
        images.add(operation)
      }
      images.position += 1
    }
    try images.cut(body)
  }

  // MARK: Following the record

  private mutating func add(_ operation: DiskOperation) {
    switch operation {
    case .make(let number, let isDirectory, _):
      let made = durable.make(directory: isDirectory)
      precondition(made == number, "the record does not belong to this start")
      wait(operation)
    case .move, .remove, .zero: wait(operation)
    case .write:
      retireOldest(like: operation)
      wait(operation)
    case .sync(let number): promise(number)
    case .syncFailed(let number):
      for index in pending.indices where pending[index].operation.concerns(number) { pending[index].isLost = true }
    case .note: break
    }
  }

  private mutating func wait(_ operation: DiskOperation) {
    serial += 1
    pending.append(Pending(operation: operation, serial: serial))
  }

  /// A block that is written again and again without a sync would soon be the only pending write. Two of its versions may stay pending;
  /// earlier ones count as arrived.
  private mutating func retireOldest(like operation: DiskOperation) {
    let alike = pending.indices.filter { !pending[$0].isCertain && pending[$0].operation.covers(operation) }
    guard alike.count > 1 else { return }
    pending.remove(at: alike[0]).operation.apply(to: &durable)
  }

  private mutating func promise(_ number: DiskImage.Number) {
    let liesOnLost = pending.contains { $0.isLost && $0.operation.concerns(number) }
    if liesOnLost {
      for index in pending.indices where pending[index].operation.concerns(number) && !pending[index].isLost {
        pending[index].isCertain = true
      }
    } else {
      for waiting in pending where waiting.operation.concerns(number) { waiting.operation.apply(to: &durable) }
      pending.removeAll { $0.operation.concerns(number) }
    }
    made = []
  }

  // MARK: Cutting

  private mutating func cut(_ body: (CrashImage) throws -> Void) rethrows {
    let uncertain = pending.indices.filter { !pending[$0].isCertain }
    try emit(.nothingUnsynced, keeping: [], body)
    try emit(.everything, keeping: uncertain, body)
    for index in some(of: uncertain) {
      let isName = pending[index].operation.changesNames
      try emit(isName ? .nameDropped : .writeDropped, keeping: uncertain.filter { $0 != index }, body)
      try emit(isName ? .nameAlone : .writeAlone, keeping: [index], body)
    }
    if uncertain.count > 2 {
      for _ in 0..<min(4, uncertain.count) {
        try emit(.subset, keeping: uncertain.filter { _ in Bool.random(using: &random) }, body)
      }
    }
    try tear(uncertain, body)
    try separateSizes(uncertain, body)
  }

  /// All of a few; of many, the newest and some others.
  private mutating func some(of indices: [Int]) -> [Int] {
    guard indices.count > CrashImages.singleLimit else { return indices }
    var chosen = Array(indices.dropLast(2).shuffled(using: &random).prefix(CrashImages.singleLimit - 2))
    chosen += indices.suffix(2)
    return chosen.sorted()
  }

  /// Makes the image in which exactly these of the uncertain operations have arrived.
  private mutating func emit(
    _ kind: CrashImage.Kind, keeping kept: [Int], variant: [Int] = [], _ body: (CrashImage) throws -> Void,
    then change: (inout DiskImage) -> Void = { _ in }
  ) rethrows {
    guard made.insert(kept.map { pending[$0].serial } + [-1] + variant).inserted else { return }
    var image = durable
    let kept = Set(kept)
    for index in pending.indices where pending[index].isCertain || kept.contains(index) {
      pending[index].operation.apply(to: &image)
    }
    change(&image)
    try body(CrashImage(kind: kind, position: position, notes: notes, image: image))
  }

  /// Makes the images in which the last write arrives in part, with all or none of the operations before it.
  private mutating func tear(_ uncertain: [Int], _ body: (CrashImage) throws -> Void) rethrows {
    guard let last = uncertain.last, case .write(let file, let offset, let bytes) = pending[last].operation,
      bytes.count > 1
    else { return }
    let others = uncertain.dropLast()
    for rest in others.isEmpty ? [[]] : [Array(others), []] {
      for page in pages(of: bytes, at: offset, of: file) {
        let garbage = (0..<Int(CrashImages.pageSize)).map { _ in UInt8.random(in: 0 ... .max, using: &random) }
        try emitTear(.tornPage, rest, last, file, page, garbage, [7, Int(page)], body)
      }
      for cut in sectorCuts(offset, bytes.count) {
        try emitTear(.tornAtSector, rest, last, file, offset, Array(bytes[..<cut]), [1, cut], body)
        try emitTear(
          .tornBackwards, rest, last, file, offset + UInt64(cut), Array(bytes[cut...]), [2, cut], body)
        try emitTear(
          .tornWithGarbage, rest, last, file, offset, garbled(bytes, from: cut, at: offset, of: file), [3, cut], body)
      }
      for _ in 0..<2 {
        let cut = Int.random(in: 1..<bytes.count, using: &random)
        try emitTear(.tornAtByte, rest, last, file, offset, Array(bytes[..<cut]), [4, cut], body)
      }
    }
  }

  private mutating func emitTear(
    _ kind: CrashImage.Kind, _ kept: [Int], _ torn: Int, _ file: DiskImage.Number, _ offset: UInt64, _ bytes: [UInt8],
    _ variant: [Int], _ body: (CrashImage) throws -> Void
  ) rethrows {
    let variant = [pending[torn].serial] + variant
    try emit(kind, keeping: kept, variant: variant, body) { image in
      DiskOperation.write(file, at: offset, bytes).apply(to: &image)
    }
  }

  /// The bytes with garbage in the sectors from `cut` on that were to change. A sector that is written again with the bytes it holds keeps
  /// them: every store that writes anything twice must assume that.
  private mutating func garbled(_ bytes: [UInt8], from cut: Int, at offset: UInt64, of file: DiskImage.Number)
    -> [UInt8]
  {
    var before = [UInt8](repeating: 0, count: bytes.count)
    _ = before.withUnsafeMutableBytes { durable.contents(of: file)?.read(into: $0, at: offset) }
    var garbled = bytes
    for start in stride(from: cut, to: bytes.count, by: 512) {
      let sector = start..<min(start + 512, bytes.count)
      guard bytes[sector] != before[sector] else { continue }
      for word in stride(from: sector.lowerBound, to: sector.upperBound, by: 8) {
        withUnsafeBytes(of: random.next()) { garbage in
          for index in word..<min(word + 8, sector.upperBound) { garbled[index] = garbage[index - word] }
        }
      }
    }
    return garbled
  }

  /// The pages that a write may spoil if the power fails. Of pages in which a file grows, only those that held nothing before; and, as with
  /// sectors, none that is written again with the bytes it holds.
  private mutating func pages(of bytes: [UInt8], at offset: UInt64, of file: DiskImage.Number) -> [UInt64] {
    let size = CrashImages.pageSize
    let range = offset..<offset + UInt64(bytes.count)
    var before = [UInt8](repeating: 0, count: bytes.count)
    _ = before.withUnsafeMutableBytes { durable.contents(of: file)?.read(into: $0, at: offset) }
    let pages = stride(from: offset / size * size, to: range.upperBound, by: Int(size)).filter { page in
      let part = Int(max(page, offset) - offset)..<Int(min(page + size, range.upperBound) - offset)
      guard page >= CrashImages.blocksEnd else { return bytes[part] != before[part] }
      return page >= offset && before[part].allSatisfy { $0 == 0 } && bytes[part] != before[part]
    }
    guard pages.count > CrashImages.sectorLimit else { return pages }
    return [pages[0], pages[pages.count - 1]] + pages.shuffled(using: &random).prefix(CrashImages.sectorLimit - 2)
  }

  /// The boundaries of 512-byte sectors in a write, as counts of its bytes.
  private mutating func sectorCuts(_ offset: UInt64, _ count: Int) -> [Int] {
    let first = 512 - Int(offset % 512)
    let cuts = Array(stride(from: first, to: count, by: 512))
    guard cuts.count > CrashImages.sectorLimit else { return cuts }
    return ([cuts[0], cuts[cuts.count - 1]] + cuts.shuffled(using: &random).prefix(CrashImages.sectorLimit - 2))
      .sorted()
  }

  /// Makes images in which a file's size and its bytes have reached the disk separately.
  private mutating func separateSizes(_ uncertain: [Int], _ body: (CrashImage) throws -> Void) rethrows {
    var promised: [DiskImage.Number: UInt64] = [:]
    for waiting in pending where waiting.isCertain {
      if let (file, end) = waiting.operation.end { promised[file] = max(promised[file] ?? 0, end) }
    }
    func promisedSize(_ file: DiskImage.Number) -> UInt64 {
      max(promised[file] ?? 0, durable.contents(of: file)?.size ?? 0)
    }
    var sizes: [DiskImage.Number: UInt64] = [:]
    for index in uncertain {
      guard let (file, end) = pending[index].operation.end, end > promisedSize(file) else { continue }
      sizes[file] = max(sizes[file] ?? 0, end)
    }
    guard !sizes.isEmpty else { return }
    let names = uncertain.filter { pending[$0].operation.changesNames }
    let durableSizes = sizes.map { ($0.key, promisedSize($0.key)) }
    try emit(.sizeWithoutData, keeping: names, variant: [5], body) { image in
      for (file, size) in sizes { image.change(file) { $0.extend(to: size) } }
    }
    try emit(.dataWithoutSize, keeping: uncertain, variant: [6], body) { image in
      for (file, size) in durableSizes { image.change(file) { $0.truncate(to: size) } }
    }
  }
}

extension DiskOperation {
  /// Whether a sync of the file or directory makes it durable.
  fileprivate func concerns(_ number: DiskImage.Number) -> Bool {
    switch self {
    case .make(_, _, let name), .remove(let name): name.directory == number
    case .move(_, let source, let target): source.directory == number || target.directory == number
    case .write(let file, _, _), .zero(let file, _): file == number
    case .sync, .syncFailed, .note: false
    }
  }

  /// Whether both write the same bytes of the same file.
  fileprivate func covers(_ other: DiskOperation) -> Bool {
    guard case .write(let file, let offset, let bytes) = self,
      case .write(let otherFile, let otherOffset, let otherBytes) = other
    else { return false }
    return file == otherFile && offset == otherOffset && bytes.count == otherBytes.count
  }

  fileprivate var changesNames: Bool {
    switch self {
    case .make, .move, .remove: true
    default: false
    }
  }

  /// The file that a write grows, and where the write ends.
  fileprivate var end: (DiskImage.Number, UInt64)? {
    switch self {
    case .write(let file, let offset, let bytes): (file, offset + UInt64(bytes.count))
    case .zero(let file, let range): (file, range.upperBound)
    default: nil
    }
  }

  fileprivate func apply(to image: inout DiskImage) {
    switch self {
    case .make(let number, _, let name): image.link(number, as: name.name, in: name.directory)
    case .move(let number, let source, let target):
      if image.entries(of: source.directory)?[source.name] == number {
        image.unlink(source.name, in: source.directory)
      }
      image.link(number, as: target.name, in: target.directory)
    case .remove(let name): image.unlink(name.name, in: name.directory)
    case .write(let file, let offset, let bytes):
      image.change(file) { contents in bytes.withUnsafeBytes { contents.write($0, at: offset) } }
    case .zero(let file, let range): image.change(file) { $0.zero(range) }
    case .sync, .syncFailed, .note: break
    }
  }
}
