import DatastoreModel

/// How the values of one property become keys.
struct KeyMaking {
  var encoding: KeyEncoding
  /// Nil for a value of another type; throws for one that has no place in the order.
  var key: (Any) throws -> KeyValue?
}

/// The properties that the indexes of a format are over, by number.
struct IndexedProperties {
  private var numbers: [AnyKeyPath: Int] = [:]
  /// The keys of the elements, where a property is a list.
  private var elementKeys: [Int: KeyMaking] = [:]
  private let name: (AnyKeyPath) -> String?

  init<Instance>(_ type: Instance.Type) { name = { KeyPathName.path(of: $0, from: type) } }

  /// Adds what an index is over; nil where it does not say.
  mutating func subjects(of index: Any, coder: any Sendable) -> [QuerySubject]? {
    guard let paths = (index as? any IndexValues)?.keyPaths else { return nil }
    return paths.map { path in
      let number = known(path) ?? numbers.count
      numbers[path] = number
      if let coder = coder as? any AnyKeyCoder, paths.count == 1 { elementKeys[number] = coder.making }
      return .property(number)
    }
  }

  /// The number of a property, also where an index turns its order around; and how it is keyed.
  func property(at path: AnyKeyPath) -> (number: Int, keys: KeyMaking)? {
    guard let type = type(of: path).valueType as? any Indexable.Type else { return nil }
    return property(at: path, type)
  }

  private func property<Value: Indexable>(
    at path: AnyKeyPath, _ type: Value.Type
  ) -> (number: Int, keys: KeyMaking)? {
    known(path).map { ($0, KeyCoder<Value>.make().making) }
  }

  /// The number that a property has: a tier that turns its order around is the same property.
  private func known(_ path: AnyKeyPath) -> Int? {
    if let number = numbers[path] { return number }
    if let number = Self.descending(path).flatMap({ numbers[$0] }) { return number }
    guard type(of: path).valueType is any DescendingValue.Type else { return nil }
    return numbers.first { Self.descending($0.key) == path }?.value
  }

  private static func descending(_ path: AnyKeyPath) -> AnyKeyPath? {
    func turned<Value: Indexable>(_ type: Value.Type) -> AnyKeyPath? { path.appending(path: \Value.descending) }
    guard let type = type(of: path).valueType as? any Indexable.Type else { return nil }
    return turned(type)
  }

  /// The number of a property that is a list, and how its elements are keyed.
  func elements(at path: AnyKeyPath) -> (number: Int, keys: KeyMaking)? {
    guard let number = numbers[path], let keys = elementKeys[number] else { return nil }
    return (number, keys)
  }

  /// `population`, as messages and plans call a property.
  func name(of path: AnyKeyPath) -> String { name(path).map { String($0.dropFirst()) } ?? "a computed property" }
}

private protocol AnyKeyCoder {
  var making: KeyMaking { get }
}

extension KeyCoder: AnyKeyCoder {
  var making: KeyMaking {
    KeyMaking(encoding: encoding) { value in
      guard let value = value as? Value else { return nil }
      return try encoding.decode(key(of: value))
    }
  }
}
