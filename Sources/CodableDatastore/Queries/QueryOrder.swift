import DatastoreModel

/// A property that a query is sorted by.
struct QuerySortKey<Instance>: Sendable {
  let path: any PartialKeyPath<Instance> & Sendable
  let isDescending: Bool
  let name: String
  let order: KeyOrder
  let key: @Sendable (Instance) throws -> [UInt8]

  init<Value: Indexable>(_ path: any KeyPath<Instance, Value> & Sendable, isDescending: Bool) {
    let coder = KeyCoder<Value>.make()
    self.path = path
    self.isDescending = isDescending
    order = coder.order
    name = KeyPathName.path(of: path, from: Instance.self).map { String($0.dropFirst()) } ?? "a computed property"
    key = { try coder.key(of: $0[keyPath: path]) }
  }
}

/// Where an instance stands in the order of a query.
struct QueryPlace: Codable, Hashable, Sendable {
  /// The key of each property that the query is sorted by.
  var sortKeys: [[UInt8]]
  var identifier: [UInt8]
}

/// The order in which a query answers: by its sorts, then by identifier.
struct QueryOrder<Instance>: Sendable {
  let sorts: [QuerySortKey<Instance>]
  let identifiers: KeyOrder

  func isBefore(_ left: QueryPlace, _ right: QueryPlace) throws -> Bool {
    for (sort, (one, other)) in zip(sorts, zip(left.sortKeys, right.sortKeys)) where one != other {
      let comparison = try sort.order.comparison(to: other)
      let place = try one.withUnsafeBytes { try comparison.place($0) }
      if place != 0 { return (place < 0) != sort.isDescending }
    }
    let comparison = try identifiers.comparison(to: right.identifier)
    return try left.identifier.withUnsafeBytes { try comparison.place($0) } < 0
  }

  /// Bytes whose order is that of the sorts, where each is in byte order.
  func sortBytes(of place: QueryPlace) -> [UInt8] {
    zip(sorts, place.sortKeys).flatMap { sort, key in sort.isDescending ? key.map { ~$0 } + [0xFF] : key }
  }
}
