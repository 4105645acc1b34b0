import StrataModel

/// How the values of one property become keys.
struct KeyMaking {
  var encoding: KeyEncoding
  /// The key of nil, before all others; nil if nil has no key.
  var null: KeyValue?
  /// Nil for a value of another type; throws for one that has no place in the order.
  var key: (Any) throws -> KeyValue?
}

extension KeyMaking {
  /// The keys of the values that compare with a constant; none if it is NaN, and nil if it is of another type. If `absent` stands for nil
  /// and meets the comparison, the key of nil is one of them.
  func intervals(_ symbol: String, _ constant: Any, absent: Any? = nil) throws -> [KeyInterval]? {
    if let absent {
      guard let null, (try? key(constant)) != null, (try? key(absent)) != null,
        let isMet = Self.compare(absent, symbol, constant), let present = try intervals(symbol, constant)
      else { return nil }
      return (isMet ? [.one(null)] : []) + present.map { $0.excluding(null) }
    }
    if (constant as? any BinaryFloatingPoint)?.isNaN == true { return [] }
    return try key(constant).map { bound in
      switch symbol {
      case "<": [KeyInterval(upper: .excluding(bound))]
      case "<=": [KeyInterval(upper: .including(bound))]
      case ">": [KeyInterval(lower: .excluding(bound))]
      case ">=": [KeyInterval(lower: .including(bound))]
      default: [.one(bound)]
      }
    }
  }

  private static func compare(_ value: Any, _ symbol: String, _ other: Any) -> Bool? {
    func equals<Value: Equatable>(_ value: Value) -> Bool? { (other as? Value).map { value == $0 } }
    func isOrdered<Value: Comparable>(_ value: Value) -> Bool? {
      (other as? Value).map { symbol.hasPrefix("<") ? value < $0 : value > $0 }
    }
    let isEqual = symbol.hasSuffix("=") ? (value as? any Equatable).flatMap { equals($0) } : false
    return isEqual == true || symbol == "==" ? isEqual : (value as? any Comparable).flatMap { isOrdered($0) }
  }

  /// The keys of Booleans, which have no order of their own: see ``IndexedBool``. Nil of another type.
  init?(ofBooleans type: Any.Type) {
    guard type == Bool.self || type == Bool?.self else { return nil }
    let null: KeyValue? = type == Bool.self ? nil : .null
    self.init(encoding: type == Bool.self ? .bool : .optional(.bool), null: null) { value in
      (value as? Bool?).flatMap { $0.map { .bool($0) } ?? null }
    }
  }
}

/// How a predicate leads to a property.
enum PropertyPlace {
  case path(AnyKeyPath)
  /// Through optionals, by name and with the type of the last step: `.place?.city`.
  case chain(String, Any.Type)

  /// `.place?.city`, from wherever it begins; nil if the path leads through a computed property.
  var name: String? {
    switch self {
    case .path(let path): KeyPathName.path(of: path, from: type(of: path).rootType)
    case .chain(let chain, _): chain
    }
  }

  /// The place of a property of what the optional at this place holds; nil if it has no name.
  func unwrapped(_ path: AnyKeyPath) -> Self? {
    guard let name, let inner = Self.path(path).name else { return nil }
    return .chain("\(name)?\(inner)", type(of: path).valueType)
  }

  /// The declaration of an index, which is never called `id`, on a property that has a name; nil if values of its type have no order.
  func declaration(as name: String) -> String? {
    func hasKeys<List: Sequence>(_ list: List.Type) -> Bool { List.Element.self is any Indexable.Type }
    let type =
      switch self {
      case .path(let path): Swift.type(of: path).valueType
      case .chain(_, let type): type
      }
    let isOrdered = type is any Indexable.Type || type == Bool.self || type == Bool?.self
    if !isOrdered {
      guard case .path = self, let list = type as? any Sequence.Type, hasKeys(list) else { return nil }
    }
    let label = name.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.last { $0 != "id" } ?? "identifier"
    return "let \(label) = \(isOrdered ? "Index" : "ManyToManyIndex")(\\\(name))"
  }
}

/// The properties that the indexes of a format are over, by number.
struct IndexedProperties {
  private var numbers: [AnyKeyPath: Int] = [:]
  /// The keys of the elements, if a property is a list.
  private var elementKeys: [Int: KeyMaking] = [:]
  /// Those that are the first tier of an index, or the identifier: conditions on them alone are served.
  private(set) var leading: Set<Int> = []
  private let name: (AnyKeyPath) -> String?
  /// The property that holds the identifier by which records lie, and how that is keyed.
  private var identifier: (number: Int, keys: KeyMaking, type: Any.Type, path: AnyKeyPath?)?

  init<Instance>(_ type: Instance.Type) {
    name = { path in
      // The key path of a declaration ends in a question mark if its last step is the only optional one left.
      KeyPathName.path(of: path, from: type).map { $0.last == "?" ? String($0.dropLast()) : $0 }
    }
  }

  /// Adds the identifier: records lie in its order.
  ///
  /// - Parameter path: the property that holds it, as generic code reads it.
  mutating func identifier<Identifier: Indexable>(_ coder: KeyCoder<Identifier>, at path: AnyKeyPath?) -> QuerySubject {
    let number = numbers.count
    // Stands for the property, whose own key path is spelled by the program.
    numbers[\Identifier.self] = number
    identifier = (number, coder.making, Identifier.self, path)
    leading.insert(number)
    return .property(number)
  }

  mutating func add(_ path: AnyKeyPath) -> Int {
    let number = numbers[path] ?? numbers.count
    numbers[path] = number
    return number
  }

  /// Adds the properties of an index, by their key paths, and returns them.
  mutating func subjects(of paths: [AnyKeyPath], coder: any Sendable) -> [QuerySubject] {
    paths.map { path in
      let number = known(path) ?? add(path)
      numbers[path] = number
      if path == paths[0] { leading.insert(number) }
      if let coder = coder as? any AnyKeyCoder, paths.count == 1 { elementKeys[number] = coder.making }
      return .property(number)
    }
  }

  /// The number of a property, also if an index reverses its order, and how it is keyed.
  func property(at path: AnyKeyPath) -> (number: Int, keys: KeyMaking)? {
    if let identifier, type(of: path).valueType == identifier.type, path == identifier.path || name(path) == ".id" {
      return (identifier.number, identifier.keys)
    }
    if let keys = KeyMaking(ofBooleans: type(of: path).valueType) { return known(path).map { ($0, keys) } }
    guard let type = type(of: path).valueType as? any Indexable.Type else { return nil }
    func keys<Value: Indexable>(of type: Value.Type) -> KeyMaking { KeyCoder<Value>.make().making }
    return known(path).map { ($0, keys(of: type)) }
  }

  /// The number that a property has: a tier that turns its order around is the same property.
  private func known(_ path: AnyKeyPath) -> Int? {
    if let number = numbers[path] { return number }
    if let number = Self.descending(path).flatMap({ numbers[$0] }) { return number }
    guard type(of: path).valueType is any DescendingValue.Type else { return nil }
    return numbers.first { Self.descending($0.key) == path }?.value
  }

  /// The path of a tier that turns a property's order around.
  static func descending(_ path: AnyKeyPath) -> AnyKeyPath? {
    func turned<Value: Indexable>(_ type: Value.Type) -> AnyKeyPath? { path.appending(path: \Value.descending) }
    guard let type = type(of: path).valueType as? any Indexable.Type else { return nil }
    return turned(type)
  }

  /// The property that a chain through optionals leads to, which two spellings of it name alike.
  func property(at place: PropertyPlace) -> (number: Int, keys: KeyMaking)? {
    switch place {
    case .path(let path): property(at: path)
    case .chain(let chain, _): numbers.keys.first { name($0) == chain }.flatMap { property(at: $0) }
    }
  }

  /// The property whose key is null exactly if an optional is: the optional itself, or a property within it that is not optional.
  func follower(of place: PropertyPlace) -> (number: Int, keys: KeyMaking)? {
    if let own = property(at: place) { return own }
    // The name of a declared path ends in a question mark if its last step is not optional.
    return numbers.sorted { $0.value < $1.value }.lazy.compactMap { path, _ in
      guard let outer = place.name, let inner = PropertyPlace.path(path).name, inner.hasPrefix("\(outer)?."),
        inner.hasSuffix("?") || type(of: path).valueType == FoldedText?.self,
        !inner.dropFirst(outer.count + 1).dropLast().contains("?")
      else { return nil }
      return property(at: path)
    }.first
  }

  /// The numbers of a property that is an optional, and of what is within it.
  func numbers(within place: PropertyPlace) -> Set<Int> {
    guard let outer = place.name else { return [] }
    return Set(numbers.filter { name($0.key).map { $0 == outer || $0.hasPrefix("\(outer)?") } ?? false }.values)
  }

  /// The number of a property that is a list, and how its elements are keyed.
  func elements(at path: AnyKeyPath) -> (number: Int, keys: KeyMaking)? {
    guard let number = numbers[path], let keys = elementKeys[number] else { return nil }
    return (number, keys)
  }

  /// `population`, as messages and plans call a property.
  func name(of place: PropertyPlace) -> String {
    switch place {
    case .path(let path): name(of: path)
    case .chain(let chain, _): String(chain.dropFirst())
    }
  }

  func name(of path: AnyKeyPath) -> String { name(path).map { String($0.dropFirst()) } ?? "a computed property" }
}

protocol AnyKeyCoder {
  var making: KeyMaking { get }
}

extension KeyCoder: AnyKeyCoder {
  var making: KeyMaking {
    let none = (Value.self as? any AnyOptional.Type)?.none as? Value
    return KeyMaking(encoding: encoding, null: none.flatMap { try? encoding.decode(key(of: $0)) }) { value in
      guard let value = value as? Value else { return nil }
      return try encoding.decode(key(of: value))
    }
  }
}
