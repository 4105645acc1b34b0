import StorageEngine

/// What a transaction makes of keys, in their order.
///
/// A copy shares what does not change afterwards: pieces of some hundred writes. So a snapshot of a transaction costs nothing, and the next
/// write after it copies a piece.
struct SortedWrites: Sendable {
  typealias Element = (key: [UInt8], write: KeyWrite)

  /// None of them empty, in order.
  private var pieces: [[Element]] = []
  private(set) var count = 0

  private static let mostInPiece = 256

  var isEmpty: Bool { count == 0 }

  subscript(key: [UInt8]) -> KeyWrite? {
    let place = lowerBound(key)
    guard place.piece < pieces.count, place.index < pieces[place.piece].count,
      pieces[place.piece][place.index].key == key
    else { return nil }
    return pieces[place.piece][place.index].write
  }

  /// Sets what is made of a key; answers what was before.
  @discardableResult
  mutating func set(_ write: KeyWrite, for key: [UInt8]) -> KeyWrite? {
    guard !pieces.isEmpty else {
      pieces = [[(key, write)]]
      count = 1
      return nil
    }
    var place = lowerBound(key)
    if place.piece == pieces.count {
      // Behind all: at the end of the last piece.
      place = Place(piece: pieces.count - 1, index: pieces[pieces.count - 1].count)
    } else if place.index < pieces[place.piece].count, pieces[place.piece][place.index].key == key {
      let old = pieces[place.piece][place.index].write
      pieces[place.piece][place.index].write = write
      return old
    }
    pieces[place.piece].insert((key, write), at: place.index)
    count += 1
    let size = pieces[place.piece].count
    guard size > Self.mostInPiece else { return nil }
    // Keys that come in order fill their pieces.
    let cut = place.index == size - 1 ? size - 1 : size / 2
    let rest = Array(pieces[place.piece][cut...])
    pieces[place.piece].removeSubrange(cut...)
    pieces.insert(rest, at: place.piece + 1)
    return nil
  }

  /// Forgets what was made of a key.
  mutating func remove(_ key: [UInt8]) {
    let place = lowerBound(key)
    guard place.piece < pieces.count, pieces[place.piece][place.index].key == key else { return }
    pieces[place.piece].remove(at: place.index)
    if pieces[place.piece].isEmpty { pieces.remove(at: place.piece) }
    count -= 1
  }

  func forEach(_ body: (Element) -> Void) {
    for piece in pieces { for element in piece { body(element) } }
  }

  // MARK: Walking

  struct Place {
    var piece: Int
    var index: Int
  }

  /// The first place whose key is not less than a key; beyond the last piece where there is none.
  private func lowerBound(_ key: [UInt8]) -> Place {
    // By addresses: a key that is only compared is not to be retained.
    key.withUnsafeBytes { key in
      pieces.withUnsafeBufferPointer { pieces in
        func isBefore(_ piece: Int, _ index: Int) -> Bool {
          pieces[piece].withUnsafeBufferPointer { elements in
            elements[index].key.withUnsafeBytes { compareKeys($0, key) < 0 }
          }
        }
        var (low, high) = (0, pieces.count)
        // Keys mostly come in order.
        if high > 0, isBefore(high - 1, pieces[high - 1].count - 1) { low = high }
        while low < high {
          let middle = (low + high) / 2
          if isBefore(middle, pieces[middle].count - 1) { low = middle + 1 } else { high = middle }
        }
        guard low < pieces.count else { return Place(piece: low, index: 0) }
        var (first, end) = (0, pieces[low].count)
        while first < end {
          let middle = (first + end) / 2
          if isBefore(low, middle) { first = middle + 1 } else { end = middle }
        }
        return Place(piece: low, index: first)
      }
    }
  }

  /// A walk over the writes of a range: from its start on, or from its end back.
  func walk(_ range: KeyRange, isReversed: Bool) -> Walk { Walk(self, range, isReversed: isReversed) }

  struct Walk {
    private let writes: SortedWrites
    private let range: KeyRange
    private let isReversed: Bool
    private var place: Place

    fileprivate init(_ writes: SortedWrites, _ range: KeyRange, isReversed: Bool) {
      self.writes = writes
      self.range = range
      self.isReversed = isReversed
      guard isReversed else {
        place = writes.lowerBound(range.lower)
        return
      }
      place = range.upper.map { writes.lowerBound($0) } ?? Place(piece: writes.pieces.count, index: 0)
      goBack()
    }

    /// The write that the walk stands at; nil at the end.
    var current: Element? {
      guard writes.pieces.indices.contains(place.piece), writes.pieces[place.piece].indices.contains(place.index)
      else { return nil }
      let element = writes.pieces[place.piece][place.index]
      return range.contains(element.key) ? element : nil
    }

    mutating func next() {
      guard !isReversed else { return goBack() }
      place.index += 1
      if place.index == writes.pieces[place.piece].count { place = Place(piece: place.piece + 1, index: 0) }
    }

    private mutating func goBack() {
      if place.index > 0 {
        place.index -= 1
      } else {
        let piece = place.piece - 1
        place = Place(piece: piece, index: piece < 0 ? 0 : writes.pieces[piece].count - 1)
      }
    }
  }
}
