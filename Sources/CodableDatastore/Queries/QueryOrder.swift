import StrataModel

struct QuerySortKey<Instance: Sendable>: Sendable {
  let path: any PartialKeyPath<Instance> & Sendable
  let isDescending: Bool
  let name: String
  let order: KeyOrder
  let column: Column<Instance, [UInt8]>

  init<Value: Indexable>(_ path: any KeyPath<Instance, Value> & Sendable, isDescending: Bool, in datastore: String) {
    self.init(path, isDescending: isDescending, in: datastore) { $0 }
  }

  /// - Parameter indexed: The value that an index has of the property.
  init<Value: Sendable, Indexed: Indexable>(
    _ path: any KeyPath<Instance, Value> & Sendable, isDescending: Bool, in datastore: String,
    indexed: @escaping @Sendable (Value) -> Indexed
  ) {
    let coder = KeyCoder<Indexed>.make()
    self.path = path
    self.isDescending = isDescending
    order = coder.order
    name = KeyPathName.path(of: path, from: Instance.self).map { String($0.dropFirst()) } ?? "a computed property"
    column = Column(path).map { [name] value in
      do {
        return try coder.key(of: indexed(value))
      } catch let error as NotOrdered {
        throw InvalidQueryError(
          reason: "The property \(name) of an instance of \(datastore) has no place in an order: \(error.description).")
      }
    }
  }
}

struct QueryPlace: Codable, Hashable, Sendable {
  /// The key of each property that the query is sorted by.
  var sortKeys: [[UInt8]]
  var identifier: [UInt8]
}

/// The order of a query's answer: by its sorts, then by identifier.
struct QueryOrder<Instance: Sendable>: Sendable {
  let sorts: [QuerySortKey<Instance>]
  let identifiers: KeyOrder
  /// Whether each sort is descending.
  private let directions: [Bool]

  init(sorts: [QuerySortKey<Instance>], identifiers: KeyOrder) {
    (self.sorts, self.identifiers) = (sorts, identifiers)
    directions = sorts.map(\.isDescending)
  }

  func isBefore(_ left: QueryPlace, _ right: QueryPlace) throws -> Bool {
    for (sort, (one, other)) in zip(sorts, zip(left.sortKeys, right.sortKeys)) where one != other {
      let comparison = try sort.order.comparison(to: other)
      let place = try one.withUnsafeBytes { try comparison.place($0) }
      if place != 0 { return (place < 0) != sort.isDescending }
    }
    let comparison = try identifiers.comparison(to: right.identifier)
    return try left.identifier.withUnsafeBytes { try comparison.place($0) } < 0
  }

  /// Bytes whose order is that of the sorts, if each sort is in byte order.
  func sortBytes(of keys: [[UInt8]]) -> [UInt8] {
    var bytes: [UInt8] = []
    for (isDescending, key) in zip(directions, keys) {
      guard isDescending else {
        bytes += key
        continue
      }
      bytes.reserveCapacity(bytes.count + key.count + 1)
      for byte in key { bytes.append(~byte) }
      bytes.append(0xFF)
    }
    return bytes
  }
}
