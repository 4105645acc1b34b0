/// The places of the trees that a transaction has touched, by their names: the last place where a tree was dropped and another
/// one of its name made.
///
/// Every change looks a name up. Most transactions touch a few trees, and a few names are compared sooner than one is hashed.
struct TreePlaces: Sendable {
  private var names: [TreeName] = []
  /// Empty as long as the names are few.
  private var places: [TreeName: Int] = [:]

  private static let few = 8

  subscript(name: TreeName) -> Int? {
    if names.count > Self.few { return places[name] }
    var treeIndex = names.count - 1
    while treeIndex >= 0 {
      if names[treeIndex] == name { return treeIndex }
      treeIndex -= 1
    }
    return nil
  }

  /// The next place is that of a tree of this name.
  mutating func append(_ name: TreeName) {
    names.append(name)
    guard names.count > Self.few else { return }
    let unnoted = places.isEmpty ? 0 : names.count - 1
    for treeIndex in unnoted..<names.count { places[names[treeIndex]] = treeIndex }
  }
}
