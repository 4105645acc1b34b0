import Locks

/// The nodes of one file that were made whole from patches lately, so that the way from the root is not patched again with every search.
///
/// A node is known by its place and its check. A place alone would not do: after a transaction that failed, another one writes other nodes at
/// the same places. Bounded in bytes, by CLOCK: the hand takes out a node that was not read since it last came by. Each of the parts has a
/// lock, a table and a hand of its own, so that readers seldom wait for each other. Safe from any thread.
struct NodeCache: Sendable {
  static let usualSize = 8 << 20
  private static let partCount = 16
  /// How many places a node may have in the table.
  private static let ways = 4

  private let parts: [Part]

  private final class Part: Sendable {
    let table = Mutex(Table())
  }

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

  private struct Slot {
    var pointer = NodePointer.none
    var node: MemoryBlock?
    /// Read since the hand came by.
    var isUsed = false

    /// The node's memory, with about what the system and the slot take for it.
    var cost: Int { node.map { $0.bytes.count + 96 } ?? 0 }

    @inline(__always)
    func holds(_ other: NodePointer) -> Bool {
      pointer.offset == other.offset && pointer.check == other.check && pointer.length == other.length
    }
  }

  private let partSize: Int

  /// - Parameter size: the most bytes that nodes may take in memory; with 0 none is kept.
  init(size: Int) {
    partSize = size / NodeCache.partCount
    parts = size > 0 ? (0..<NodeCache.partCount).map { _ in Part() } : []
  }

  /// A power of two, and more than the nodes that a part has room for, so that a node mostly finds one of its places free.
  private var slotCount: Int { 1 << max(3, Int.bitWidth - (partSize / 512).leadingZeroBitCount) }

  /// Spreads places over parts and slots.
  @inline(__always)
  private func hash(_ pointer: NodePointer) -> Int {
    Int(truncatingIfNeeded: (pointer.offset.bytes &* 0x9E37_79B9_7F4A_7C15) >> 32)
  }

  /// The node that a pointer leads to; nil if it is not known.
  subscript(pointer: NodePointer) -> MemoryBlock? {
    guard !parts.isEmpty else { return nil }
    let hash = hash(pointer)
    return parts[hash % NodeCache.partCount].table.withLock { table in
      let mask = table.slots.count - 1
      guard mask > 0 else { return nil }
      for way in 0..<NodeCache.ways {
        let place = (hash / NodeCache.partCount + way) & mask
        guard table.slots[place].holds(pointer) else { continue }
        table.slots[place].isUsed = true
        return table.slots[place].node
      }
      return nil
    }
  }

  func insert(_ node: MemoryBlock, at pointer: NodePointer) {
    let new = Slot(pointer: pointer, node: node, isUsed: true)
    guard new.cost <= partSize else { return }
    let hash = hash(pointer)
    parts[hash % NodeCache.partCount].table.withLock { table in
      if table.slots.isEmpty { table.slots = Array(repeating: Slot(), count: slotCount) }
      let places = (0..<NodeCache.ways).map { (hash / NodeCache.partCount + $0) & (table.slots.count - 1) }
      let place = places.first { table.slots[$0].node == nil } ?? places.first { !table.slots[$0].isUsed } ?? places[0]
      table.bytes += new.cost - table.slots[place].cost
      table.slots[place] = new
      while table.bytes > partSize { table.moveHand() }
    }
  }
}
