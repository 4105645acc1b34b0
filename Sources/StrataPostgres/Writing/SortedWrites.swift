import StrataEngine

/// The writes of a transaction to keys, in their order.
///
/// A copy shares the pieces that do not change afterwards, of some hundred writes each. So a snapshot of a transaction costs nothing, and
/// the next write after it copies a piece.
struct SortedWrites: Sendable, BidirectionalCollection {
  typealias Element = (key: [UInt8], write: KeyWrite)

  private struct Piece: Sendable {
    var keys = SortedKeys()
    var writes: [KeyWrite] = []
  }

  /// In order; none is empty, unless it is the only one.
  private var pieces = [Piece()]
  /// For each piece a key that none of its keys and all keys of the previous pieces are less than; the first one is empty.
  private var bounds = SortedKeys()

  private static let mostInPiece = 128

  init() { bounds.insert(UnsafeRawBufferPointer(start: nil, count: 0), at: 0) }

  subscript(key: [UInt8]) -> KeyWrite? {
    let (place, isThere) = key.withUnsafeBytes { search($0) }
    return isThere ? pieces[place.piece].writes[place.index] : nil
  }

  /// Sets the write of a key and returns the previous one.
  @discardableResult
  mutating func set(_ write: KeyWrite, for key: UnsafeRawBufferPointer) -> KeyWrite? {
    let (place, isThere) = search(key)
    if isThere {
      let old = pieces[place.piece].writes[place.index]
      pieces[place.piece].writes[place.index] = write
      return old
    }
    pieces[place.piece].keys.insert(key, at: place.index)
    pieces[place.piece].writes.insert(write, at: place.index)
    if pieces[place.piece].writes.count > Self.mostInPiece { cut(place) }
    return nil
  }

  /// Cuts a piece in two after an insertion at `place`.
  private mutating func cut(_ place: Index) {
    let size = pieces[place.piece].writes.count
    // Keys that come in order fill their pieces.
    let start = place.index == size - 1 ? size - 1 : size / 2
    let writes = pieces[place.piece].writes[start...]
    let rest = Piece(keys: pieces[place.piece].keys.cut(from: start), writes: Array(writes))
    pieces[place.piece].writes.removeSubrange(start...)
    pieces.insert(rest, at: place.piece + 1)
    rest.keys[0].withUnsafeBytes { bounds.insert($0, at: place.piece + 1) }
  }

  mutating func remove(_ key: [UInt8]) {
    let (place, isThere) = key.withUnsafeBytes { search($0) }
    guard isThere else { return }
    pieces[place.piece].keys.remove(at: place.index)
    pieces[place.piece].writes.remove(at: place.index)
    guard pieces[place.piece].writes.isEmpty, pieces.count > 1 else { return }
    pieces.remove(at: place.piece)
    // The first bound stays, and becomes that of the next piece.
    bounds.remove(at: Swift.max(place.piece, 1))
  }

  /// The place of a key or, if it is not there, the one where it belongs in its piece.
  private func search(_ key: UnsafeRawBufferPointer) -> (place: Index, isThere: Bool) {
    let bound = bounds.search(key)
    let piece = bound.isThere ? bound.index : bound.index - 1
    let found = pieces[piece].keys.search(key)
    return (Index(piece: piece, index: found.index), found.isThere)
  }

  // MARK: Walking

  struct Index: Comparable {
    var piece: Int
    var index: Int

    static func < (left: Index, right: Index) -> Bool { (left.piece, left.index) < (right.piece, right.index) }
  }

  var startIndex: Index { valid(Index(piece: 0, index: 0)) }
  var endIndex: Index { Index(piece: pieces.count, index: 0) }

  subscript(place: Index) -> Element {
    (pieces[place.piece].keys[place.index], pieces[place.piece].writes[place.index])
  }

  func index(after place: Index) -> Index { valid(Index(piece: place.piece, index: place.index + 1)) }

  func index(before place: Index) -> Index {
    if place.index > 0 { return Index(piece: place.piece, index: place.index - 1) }
    return Index(piece: place.piece - 1, index: pieces[place.piece - 1].writes.count - 1)
  }

  /// The start of the next piece instead of the end of one.
  private func valid(_ place: Index) -> Index {
    place.index < pieces[place.piece].writes.count ? place : Index(piece: place.piece + 1, index: 0)
  }

  /// The writes of a range: from its start on, or from its end back.
  func walk(_ range: KeyRange, isReversed: Bool) -> AnyIterator<Element> {
    func place(_ key: [UInt8]) -> Index { valid(key.withUnsafeBytes { search($0).place }) }
    let lower = place(range.lower)
    let writes = self[lower..<Swift.max(lower, range.upper.map(place) ?? endIndex)]
    return isReversed ? AnyIterator(writes.reversed().makeIterator()) : AnyIterator(writes.makeIterator())
  }
}
