import StrataLocks

/// The mappings of one file. Each lives as long as the file or any bytes that were read from them.
struct FileMappings: ~Copyable, Sendable {
  /// The newest mapping's first byte and its count of bytes. The count is stored after the address and loaded before it, so the address
  /// is that of a mapping of at least that size.
  private let base: Atomic<UInt>
  private let count: Atomic<UInt64>
  private let all: Mappings
  /// Whether the file is mapped. Bytes behind the mapping's end are read by calls.
  let isMapped: Bool
  /// One per lane. The pointer and what it points to are set once. An array would be retained for each read.
  nonisolated(unsafe) private let holds: UnsafeMutablePointer<Hold>

  private final class Mappings: Sendable {
    let state: Mutex<(mappings: [any DiskMapping], sizes: MappingSizes)>

    init(_ mappings: [any DiskMapping], _ sizes: MappingSizes) { state = Mutex((mappings, sizes)) }
  }

  /// Keeps the mappings for the bytes that the threads of a lane read.
  private final class Hold: Sendable {
    private let mappings: Mappings
    private let distance = CacheLineDistance()

    init(_ mappings: Mappings) { self.mappings = mappings }
  }

  /// No mappings.
  init() { self.init(nil, .platform) }

  /// Maps a file of a size, if the system has addresses for it.
  init(of file: any DiskFile, size: UInt64, _ sizes: MappingSizes) throws(StorageError) {
    var mapping: (any DiskMapping)?
    for capacity in sizes.capacities(for: size) where mapping == nil {
      mapping = try engineCall { () throws(DiskError) in try file.map(capacity: capacity) }
    }
    self.init(mapping, sizes)
  }

  private init(_ mapping: (any DiskMapping)?, _ sizes: MappingSizes) {
    base = Atomic(UInt(bitPattern: mapping?.bytes.baseAddress))
    count = Atomic(UInt64(mapping?.bytes.count ?? 0))
    let all = Mappings(mapping.map { [$0] } ?? [], sizes)
    self.all = all
    isMapped = mapping != nil
    holds = .allocate(capacity: ThreadLane.count)
    for lane in 0..<ThreadLane.count { (holds + lane).initialize(to: Hold(all)) }
  }

  deinit {
    holds.deinitialize(count: ThreadLane.count)
    holds.deallocate()
  }

  /// The object that keeps the mapped bytes in place, one per lane of threads, because its references are counted with each
  /// record that is read.
  var owner: any AnyObject & Sendable {
    @inline(__always) get { holds[ThreadLane.current] }
  }

  /// Maps more of a file that has outgrown its mapping. If the system has no addresses for it, the rest is read by calls from now on.
  func extend(to end: FileOffset, of file: any DiskFile) {
    guard isMapped, end.bytes > count.load(ordering: .relaxed) else { return }
    all.state.withLock { all in
      let mapped = all.mappings.last?.bytes.count ?? 0
      guard let capacity = all.sizes.larger(than: mapped, for: end.bytes) else { return }
      guard let mapping = try? file.map(capacity: capacity) else {
        all.sizes.most = mapped
        return
      }
      all.mappings.append(mapping)
      base.store(UInt(bitPattern: mapping.bytes.baseAddress), ordering: .relaxed)
      count.store(UInt64(mapping.bytes.count), ordering: .releasing)
    }
  }

  /// The address of bytes before the file's end. Returns nil if they are not mapped. Valid as long as the file or `owner` is.
  @inline(__always)
  func address(of offset: FileOffset, _ bytes: Int) -> UnsafeRawPointer? {
    guard offset.bytes + UInt64(bytes) <= count.load(ordering: .acquiring),
      let base = UnsafeRawPointer(bitPattern: base.load(ordering: .relaxed))
    else { return nil }
    return base + Int(offset.bytes)
  }

  /// Releases the memory of the pages that were read; they stay readable.
  func release() { all.state.withLock { for mapping in $0.mappings { mapping.release() } } }
}
