import StrataEngine

/// Checks that a key that was just inserted lies between its neighbours by the current order of the app's types, compared both ways
/// round. If `<` contradicts itself or has changed, keys could otherwise be stored at places where no search finds them.
struct NeighbourCheck {
  let datastore: String
  /// Nil for the records.
  let index: String?
  let place: ([UInt8]) throws -> SoughtPlace
  let shown: (Bytes) -> String

  func check(_ key: [UInt8], at place: SoughtPlace, in tree: Tree?) throws {
    guard let tree else { return }
    let (before, own, after) = try place.withProbe { probe in
      var next = tree.cursor()
      try next.seek(to: probe)
      let own = next.current?.key
      var previous = next
      try previous.previous()
      try next.next()
      return (previous.current?.key, own, next.current?.key)
    }
    guard let own, own.array == key else {
      throw ModelError.disorder(datastore: datastore, index: index, keys: [shown(Bytes(key))])
    }
    for (left, right) in [(before, own), (own, after)] {
      guard let left, let right else { continue }
      guard try self.place(right.array).compares(left) < 0, try self.place(left.array).compares(right) > 0 else {
        throw ModelError.disorder(datastore: datastore, index: index, keys: [shown(left), shown(right)])
      }
    }
  }
}
