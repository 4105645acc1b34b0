import StrataLocks
import StrataModel

struct QuerySortKey<Instance: Sendable>: Sendable {
  let path: any PartialKeyPath<Instance> & Sendable
  let isDescending: Bool
  let name: String
  let order: KeyOrder
  let column: Column<Instance, [UInt8]>

  /// A sort by a value that turns the order of another around is the sort by that one the other way.
  init<Value: Indexable>(_ path: any KeyPath<Instance, Value> & Sendable, isDescending: Bool, in datastore: String) {
    func turned<Turned: DescendingValue>(_ type: Turned.Type) -> Self? {
      (path as? KeyPath<Instance, Turned>).map { path in
        Self(path as any KeyPath<Instance, Turned> & Sendable, isDescending: !isDescending, in: datastore) { $0.value }
      }
    }
    if let type = Value.self as? any DescendingValue.Type, let sort = turned(type) {
      self = sort
    } else {
      self.init(path, isDescending: isDescending, in: datastore) { $0 }
    }
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

/// The order of a property that only the app orders, as bytes: a value has as its rank how many entries of an index come before it.
final class SortRank: Sendable {
  private let rank: @Sendable ([UInt8]) throws -> UInt64
  private let known = Mutex(BoundedCache<[UInt8], UInt64>(half: 8_192))

  /// - Parameter index: an index of which the property is the first tier, with one entry for each record.
  init(_ index: QueryIndex) {
    let encoding = index.encodings[0]
    rank = { key in
      var value = try KeyEncoding.comparator("").decode(key)
      if index.isCompound { value = .compound([value]) }
      // A value that no record has lies between its neighbours, at both of whose entries it is counted once.
      let rank = UInt64(try index.rank(.before(value))) + UInt64(try index.rank(.after(value)))
      return encoding.isDescending ? ~rank : rank
    }
  }

  func bytes(of key: [UInt8]) throws -> [UInt8] {
    let rank = try known.value(of: key) { try throwingStoreErrors { try self.rank(key) } }
    // A value must not begin with 00 or FF: see `KeyEncoder`.
    return [1] + (0..<8).map { UInt8(truncatingIfNeeded: rank >> (56 - 8 * $0)) }
  }
}

/// The order of a query's answer: by its sorts, then by identifier.
struct QueryOrder<Instance: Sendable>: Sendable {
  let sorts: [QuerySortKey<Instance>]
  let identifiers: KeyOrder
  /// Whether each sort is descending, and the ranks of its values if these are in no byte order.
  private let directions: [(isDescending: Bool, rank: SortRank?)]

  init(sorts: [QuerySortKey<Instance>], identifiers: KeyOrder, ranks: [SortRank?] = []) {
    (self.sorts, self.identifiers) = (sorts, identifiers)
    directions = sorts.enumerated().map { ($1.isDescending, $0 < ranks.count ? ranks[$0] : nil) }
  }

  func place(of instance: Instance, key: [UInt8]) throws -> QueryPlace {
    QueryPlace(sortKeys: try sorts.map { try $0.column.value(instance) }, identifier: key)
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

  /// Bytes whose order is that of the sorts, if each sort is in byte order or has ranks.
  func sortBytes(of keys: [[UInt8]]) throws -> [UInt8] {
    var bytes: [UInt8] = []
    for (direction, key) in zip(directions, keys) {
      let key = try direction.rank?.bytes(of: key) ?? key
      guard direction.isDescending else {
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
