/// The fresh nodes among the children of a fresh inner node, by the places of their cells.
///
/// A small transaction changes one child of a node, a large one soon most of them: one is kept in place, more in an array.
struct FreshChildren {
  private var position = 0
  private var one: FreshNode?
  /// Empty as long as there is at most one; ends with the last one's place or later.
  private var all: [FreshNode?] = []

  subscript(index: Int) -> FreshNode? {
    get {
      if all.isEmpty { return index == position ? one : nil }
      return index < all.count ? all[index] : nil
    }
    set {
      if all.isEmpty, one == nil || index == position {
        position = index
        one = newValue
      } else {
        reach(index)
        all[index] = newValue
      }
    }
  }

  /// The one at a place, if there is one, to be changed: where something else holds it too, a copy takes its place.
  mutating func own(at index: Int) -> Unmanaged<FreshNode>? {
    if all.isEmpty { return index == position ? Self.own(&one) : nil }
    return index < all.count ? Self.own(&all[index]) : nil
  }

  @inline(__always)
  private static func own(_ node: inout FreshNode?) -> Unmanaged<FreshNode>? {
    if !isKnownUniquelyReferenced(&node) { node = node.map { FreshNode(copying: $0) } }
    return node.map { .passUnretained($0) }
  }

  /// The first child at a place or behind it, and its place.
  func first(from index: Int) -> (index: Int, child: FreshNode)? {
    if all.isEmpty { return position >= index ? one.map { (position, $0) } : nil }
    for position in max(0, index)..<max(0, index, all.count) {
      if let child = all[position] { return (position, child) }
    }
    return nil
  }

  /// A cell comes in at a place, and the later ones move up.
  mutating func insert(_ child: FreshNode?, at index: Int) {
    if all.isEmpty {
      if position >= index { position += 1 }
    } else if index < all.count {
      all.insert(nil, at: index)
    }
    if let child { self[index] = child }
  }

  /// A cell goes away, and the later ones move down.
  mutating func remove(at index: Int) {
    if all.isEmpty {
      if position == index { one = nil }
      if position > index { position -= 1 }
    } else if index < all.count {
      all.remove(at: index)
    }
  }

  /// Those of some of the cells, counted from the first of them.
  func part(_ range: Range<Int>) -> FreshChildren {
    var part = FreshChildren()
    for index in range {
      if let child = self[index] { part[index - range.lowerBound] = child }
    }
    return part
  }

  private mutating func reach(_ index: Int) {
    if all.isEmpty {
      all = [FreshNode?](repeating: nil, count: max(position, index) + 1)
      all[position] = one
      one = nil
    }
    while all.count <= index { all.append(nil) }
  }
}
