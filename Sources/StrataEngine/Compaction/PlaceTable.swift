/// The places of parts of one file in another one, by their offsets in the first.
///
/// A hash table of millions stands still for half a second each time it grows, and scatters neighbours. This one holds a sorted array for
/// each 64 KiB of the file. So no insertion takes long, and parts that were written together are found together. Cost: a search in one such
/// array; setting in the order of the file appends.
struct PlaceTable<Place: Sendable>: Sendable {
  private var pieces: [Piece] = []

  /// Nil if the offset is not in it. Only offsets in the file may be set: the table is as long as the file up to there.
  subscript(offset: FileOffset) -> Place? {
    get {
      guard offset.bytes >> 16 < UInt64(pieces.count) else { return nil }
      return pieces[Int(offset.bytes >> 16)].place(at: UInt16(truncatingIfNeeded: offset.bytes))
    }
    set {
      guard let newValue else { return }
      let number = Int(offset.bytes >> 16)
      while pieces.count <= number { pieces.append(Piece()) }
      pieces[number].set(UInt16(truncatingIfNeeded: offset.bytes), newValue)
    }
  }

  /// The items in 64 KiB of the file, by their offsets there.
  private struct Piece: Sendable {
    private var items: [(offset: UInt16, place: Place)] = []

    func place(at offset: UInt16) -> Place? {
      let index = items.partitionIndex { $0.offset >= offset }
      return index < items.count && items[index].offset == offset ? items[index].place : nil
    }

    mutating func set(_ offset: UInt16, _ place: Place) {
      guard let last = items.last, last.offset >= offset else {
        items.append((offset, place))
        return
      }
      let index = items.partitionIndex { $0.offset >= offset }
      if items[index].offset == offset {
        items[index].place = place
      } else {
        items.insert((offset, place), at: index)
      }
    }
  }
}
