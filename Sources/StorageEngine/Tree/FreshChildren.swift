/// The fresh nodes among the children of a fresh inner node, by the places of their cells.
///
/// A small transaction changes one child of a node, a large one soon most of them: one is kept in place, more in an array.
struct FreshChildren {
  private var place = 0
  private var one: FreshNode?
  /// Empty as long as there is at most one; ends with the last one's place or later.
  private var all: [FreshNode?] = []

  subscript(index: Int) -> FreshNode? {
    get {
      if all.isEmpty { return index == place ? one : nil }
      return index < all.count ? all[index] : nil
    }
    set {
      if all.isEmpty, one == nil || index == place {
        place = index
        one = newValue
      } else {
        reach(index)
        all[index] = newValue
      }
    }
  }

  /// Takes out the one at a place, if there is one, so that it can be changed: a copy of it where something else holds it
  /// too. It must be put back.
  mutating func take(at index: Int) -> FreshNode? {
    var taken: FreshNode?
    if all.isEmpty {
      if index == place { swap(&taken, &one) }
    } else if index < all.count {
      swap(&taken, &all[index])
    }
    return isKnownUniquelyReferenced(&taken) ? taken : taken.map { FreshNode(copying: $0) }
  }

  /// A cell comes in at a place, and the later ones move up.
  mutating func insert(_ child: FreshNode?, at index: Int) {
    if all.isEmpty {
      if place >= index { place += 1 }
    } else if index < all.count {
      all.insert(nil, at: index)
    }
    if let child { self[index] = child }
  }

  /// A cell goes away, and the later ones move down.
  mutating func remove(at index: Int) {
    if all.isEmpty {
      if place == index { one = nil }
      if place > index { place -= 1 }
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
      all = [FreshNode?](repeating: nil, count: max(place, index) + 1)
      all[place] = one
      one = nil
    }
    while all.count <= index { all.append(nil) }
  }
}
