import StrataLocks

/// The nodes of one file that were made whole from patches lately, so that the way from the root is not patched again with every search.
///
/// A node is known by its place and its check. A place alone would not do: after a transaction that failed, another one writes other nodes
/// at the same places. Bounded in bytes, by CLOCK: the hand takes out a node that was not read since it last came by. Each of the parts has
/// a lock, a table and a hand of its own, so that readers seldom wait for each other. Safe from any thread.
struct NodeCache: ~Copyable, Sendable {
  static let usualSize = 8 << 20
  private static let partCount = 16
  /// How many places a node may have in the table.
  private static let ways = 4

  // The pointer and what it points to are set once. An array would be retained for each node that is read.
  nonisolated(unsafe) private let parts: UnsafeMutablePointer<Mutex<Table>>?

  private struct Table {
    /// None before the first node comes.
    var slots: [Slot] = []
    var bytes = 0
    var hand = 0

    /// Takes the node under the hand out, unless it was read since the hand came by.
    mutating func moveHand() {
      if slots[hand].isUsed {
        slots[hand].isUsed = false
      } else {
        bytes -= slots[hand].cost
        slots[hand] = Slot()
      }
      hand = (hand + 1) & (slots.count - 1)
    }
  }

  /// In 32 bytes, so that most slots lie in one line of the processor's cache.
  private struct Slot: @unchecked Sendable {
    // `@unchecked`: the bytes lie in the node's memory, which is not written any more.
    /// The pointer's offset, and its length in the upper 16 bits.
    private var place: UInt64 = 0
    private var check: UInt32 = 0
    private var count: UInt16 = 0
    /// Read since the hand came by.
    var isUsed = false
    private(set) var node: MemoryBlock?
    private var start: UnsafeRawPointer?

    init() {}

    init(_ pointer: NodePointer, _ node: MemoryBlock) {
      place = Self.place(of: pointer)
      check = pointer.check
      count = UInt16(truncatingIfNeeded: node.bytes.count)
      isUsed = true
      self.node = node
      start = UnsafeRawPointer(node.bytes.baseAddress)
    }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: Int(count)) }

    /// The node's memory, with about what the system and the slot take for it.
    var cost: Int { node == nil ? 0 : Int(count) + 96 }

    @inline(__always)
    private static func place(of pointer: NodePointer) -> UInt64 {
      pointer.offset.bytes | UInt64(pointer.length) << 48
    }

    @inline(__always)
    func holds(_ pointer: NodePointer) -> Bool { place == Self.place(of: pointer) && check == pointer.check }
  }

  private let partSize: Int

  /// - Parameter size: the most bytes that nodes may take in memory; with 0 none is kept.
  init(size: Int) {
    partSize = size / NodeCache.partCount
    guard size > 0 else {
      parts = nil
      return
    }
    let parts = UnsafeMutablePointer<Mutex<Table>>.allocate(capacity: NodeCache.partCount)
    for part in 0..<NodeCache.partCount { (parts + part).initialize(to: Mutex(Table())) }
    self.parts = parts
  }

  deinit {
    parts?.deinitialize(count: NodeCache.partCount)
    parts?.deallocate()
  }

  /// A power of two, and more than the nodes that a part has room for, so that a node mostly finds one of its places free.
  private var slotCount: Int { 1 << max(3, Int.bitWidth - (partSize / 512).leadingZeroBitCount) }

  /// Spreads places over parts and slots. Never negative, also where `Int` has 32 bits.
  @inline(__always)
  private func hash(_ pointer: NodePointer) -> Int {
    Int(truncatingIfNeeded: (pointer.offset.bytes &* 0x9E37_79B9_7F4A_7C15) >> 33)
  }

  /// The bytes of the node that a pointer leads to, valid as long as `owner`. Returns nil if the node is not known.
  @inline(__always)
  func find(_ pointer: NodePointer, keeping owner: inout MemoryBlock?) -> UnsafeRawBufferPointer? {
    guard let parts else { return nil }
    let hash = hash(pointer)
    let found = parts[hash % NodeCache.partCount].withLock { table in
      table.slots.withUnsafeMutableBufferPointer { slots -> Slot? in
        let mask = slots.count - 1
        guard mask > 0 else { return nil }
        for way in 0..<NodeCache.ways {
          let place = (hash / NodeCache.partCount + way) & mask
          guard slots[place].holds(pointer) else { continue }
          if !slots[place].isUsed { slots[place].isUsed = true }
          return slots[place]
        }
        return nil
      }
    }
    guard let found else { return nil }
    owner = found.node
    return found.bytes
  }

  func insert(_ node: MemoryBlock, at pointer: NodePointer) {
    let new = Slot(pointer, node)
    guard let parts, new.cost <= partSize else { return }
    let hash = hash(pointer)
    parts[hash % NodeCache.partCount].withLock { table in
      if table.slots.isEmpty { table.slots = Array(repeating: Slot(), count: slotCount) }
      let places = (0..<NodeCache.ways).map { (hash / NodeCache.partCount + $0) & (table.slots.count - 1) }
      let place = places.first { table.slots[$0].node == nil } ?? places.first { !table.slots[$0].isUsed } ?? places[0]
      table.bytes += new.cost - table.slots[place].cost
      table.slots[place] = new
      while table.bytes > partSize { table.moveHand() }
    }
  }
}
