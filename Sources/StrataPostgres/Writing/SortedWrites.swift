import StrataEngine

/// The writes of a transaction to keys, in their order.
///
/// A copy shares the pieces that do not change afterwards, of some hundred writes each. So a snapshot of a transaction costs nothing, and
/// the next write after it copies a piece.
struct SortedWrites: Sendable, BidirectionalCollection {
  typealias Element = (key: [UInt8], write: KeyWrite)

  /// None of them empty, in order.
  private var pieces: [[Element]] = []

  private static let mostInPiece = 256

  subscript(key: [UInt8]) -> KeyWrite? {
    let place = lowerBound(key)
    guard place.piece < pieces.count, place.index < pieces[place.piece].count,
      pieces[place.piece][place.index].key == key
    else { return nil }
    return pieces[place.piece][place.index].write
  }

  /// Sets the write of a key and returns the previous one.
  @discardableResult
  mutating func set(_ write: KeyWrite, for key: [UInt8]) -> KeyWrite? {
    guard !pieces.isEmpty else {
      pieces = [[(key, write)]]
      return nil
    }
    var place = lowerBound(key)
    if place.piece == pieces.count {
      // Behind all: at the end of the last piece.
      place = Index(piece: pieces.count - 1, index: pieces[pieces.count - 1].count)
    } else if place.index < pieces[place.piece].count, pieces[place.piece][place.index].key == key {
      let old = pieces[place.piece][place.index].write
      pieces[place.piece][place.index].write = write
      return old
    }
    pieces[place.piece].insert((key, write), at: place.index)
    let size = pieces[place.piece].count
    guard size > Self.mostInPiece else { return nil }
    // Keys that come in order fill their pieces.
    let cut = place.index == size - 1 ? size - 1 : size / 2
    let rest = Array(pieces[place.piece][cut...])
    pieces[place.piece].removeSubrange(cut...)
    pieces.insert(rest, at: place.piece + 1)
    return nil
  }

  mutating func remove(_ key: [UInt8]) {
    let place = lowerBound(key)
    guard place.piece < pieces.count, pieces[place.piece][place.index].key == key else { return }
    pieces[place.piece].remove(at: place.index)
    if pieces[place.piece].isEmpty { pieces.remove(at: place.piece) }
  }

  // MARK: Walking

  struct Index: Comparable {
    var piece: Int
    var index: Int

    static func < (left: Index, right: Index) -> Bool { (left.piece, left.index) < (right.piece, right.index) }
  }

  var startIndex: Index { Index(piece: 0, index: 0) }
  var endIndex: Index { Index(piece: pieces.count, index: 0) }

  subscript(place: Index) -> Element { pieces[place.piece][place.index] }

  func index(after place: Index) -> Index {
    let isLast = place.index == pieces[place.piece].count - 1
    return isLast ? Index(piece: place.piece + 1, index: 0) : Index(piece: place.piece, index: place.index + 1)
  }

  func index(before place: Index) -> Index {
    if place.index > 0 { return Index(piece: place.piece, index: place.index - 1) }
    return Index(piece: place.piece - 1, index: pieces[place.piece - 1].count - 1)
  }

  /// The first place whose key is not less than a key; beyond the last piece if there is none.
  private func lowerBound(_ key: [UInt8]) -> Index {
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
        guard low < pieces.count else { return Index(piece: low, index: 0) }
        var (first, end) = (0, pieces[low].count)
        while first < end {
          let middle = (first + end) / 2
          if isBefore(low, middle) { first = middle + 1 } else { end = middle }
        }
        return Index(piece: low, index: first)
      }
    }
  }

  /// The writes of a range: from its start on, or from its end back.
  func walk(_ range: KeyRange, isReversed: Bool) -> AnyIterator<Element> {
    let lower = lowerBound(range.lower)
    let writes = self[lower..<Swift.max(lower, range.upper.map { lowerBound($0) } ?? endIndex)]
    return isReversed ? AnyIterator(writes.reversed().makeIterator()) : AnyIterator(writes.makeIterator())
  }
}
