#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A record without a Swift type: what it is, and properties that come and go.
///
/// ```swift
/// var dune = Entity("book-7", type: "book", properties: ["name": "Dune"])
/// dune[\.name, as: String.self]                // "Dune"
/// dune.set("author", .entity("person-3"))
/// ```
///
/// An entity is a value; ``EntityStore`` keeps it.
public struct Entity: Identifiable, Hashable, Sendable {
  /// What tells it from all others in its datastore.
  public var id: String
  /// What it is.
  public var type: String
  /// When it came to be.
  public var created: Date
  /// What is said of it.
  public internal(set) var properties: [EntityKey: EntityProperty]
  /// What properties were before, newest first, as far as it was imported or removed; the versions of the store have the
  /// rest (``EntityStore/past(of:_:)``).
  public internal(set) var past: [EntityKey: [EntityPast]] = [:]

  /// An entity.
  ///
  /// - Parameters:
  ///   - id: What tells it from all others; one is made up where none is given.
  ///   - type: What it is.
  ///   - created: When it came to be, and its properties were given; now, where nothing is said.
  ///   - properties: What is said of it. The date of each is `created`.
  public init(
    _ id: String = UUID().uuidString, type: String, created: Date = .now,
    properties: [EntityKey: EntityValue] = [:]
  ) {
    self.id = id
    self.type = type
    self.created = created
    self.properties = properties.mapValues { EntityProperty($0, date: created) }
  }

  /// What is said by a property, with its label and date; nil where nothing is.
  public subscript(_ key: EntityKey) -> EntityProperty? { properties[key] }

  /// The value of a property as a Swift type; nil where there is none, or one of another kind.
  public subscript<Value: EntityRepresentable>(
    _ key: KeyPath<EntityKeys, EntityKey>, as type: Value.Type
  ) -> Value? {
    self[EntityKeys()[keyPath: key], as: type]
  }

  /// The value of a property as a Swift type; nil where there is none, or one of another kind.
  public subscript<Value: EntityRepresentable>(_ key: EntityKey, as type: Value.Type) -> Value? {
    properties[key].flatMap { Value($0.value) }
  }

  /// Says something by a property.
  ///
  /// - Parameters:
  ///   - key: The property.
  ///   - value: Its value.
  ///   - label: What the value means; nil for the name of its kind.
  ///   - date: When it was given; now, where nothing is said.
  /// - Returns: Whether anything is said now that was not before; what said the same keeps its date.
  @discardableResult
  public mutating func set(
    _ key: EntityKey, _ value: EntityValue, label: String? = nil, date: Date = .now
  ) -> Bool {
    set(key, EntityProperty(value, label: label, date: date))
  }

  /// Says something by a property; what says the same already stays, with its date.
  @discardableResult
  mutating func set(_ key: EntityKey, _ property: EntityProperty) -> Bool {
    if let known = properties[key], known.saysTheSame(as: property) { return false }
    properties[key] = property
    return true
  }

  /// Takes a property away. The store keeps what it was in its versions.
  ///
  /// - Returns: Whether there was one.
  @discardableResult
  public mutating func remove(_ key: EntityKey, date: Date = .now) -> Bool {
    guard properties.removeValue(forKey: key) != nil else { return false }
    past[key, default: []].insert(EntityPast(removed: date), at: 0)
    return true
  }

  /// Leaves a property out whose removal is told of already.
  mutating func drop(_ key: EntityKey) { properties[key] = nil }

  /// What a person knows it by: its name, title or label, its first text, or its identifier.
  public var label: String {
    for key in ["name", "title", "label"] as [EntityKey] {
      if let text = self[key, as: String.self] { return text }
    }
    for key in properties.keys.sorted() {
      if case .string(let text) = properties[key]?.value { return text }
    }
    return id
  }

  /// The entities that it refers to, in lists too, each once.
  public var targets: Set<String> {
    var targets: Set<String> = []
    for property in properties.values {
      property.value.forEachLeaf { if case .entity(let id) = $0 { targets.insert(id) } }
    }
    return targets
  }
}

extension Entity {
  /// What the index of properties finds it by: `name=Dune`, for each text, number and truth.
  var searchable: Set<String> {
    var found: Set<String> = []
    for (key, property) in properties {
      property.value.forEachLeaf { if let text = $0.searchText { found.insert(Self.searchable(key, text)) } }
    }
    return found
  }

  /// The entry of a value in the index of properties. Long texts are cut: who finds by them compares the rest.
  static func searchable(_ key: EntityKey, _ text: String) -> String {
    "\(key.rawValue.prefix(64))=\(text.prefix(192))"
  }

  /// The moments that its properties hold.
  var dates: Set<Date> {
    var dates: Set<Date> = []
    for property in properties.values {
      property.value.forEachLeaf { if case .date(let date) = $0 { dates.insert(date) } }
    }
    return dates
  }
}

extension EntityValue {
  /// Calls a closure with the value, or with each value of a list, however deep.
  func forEachLeaf(_ body: (EntityValue) -> Void) {
    guard case .list(let elements) = self else { return body(self) }
    for element in elements { element.value.forEachLeaf(body) }
  }

  /// How the index of properties spells it; nil for what it does not have.
  var searchText: String? {
    switch self {
    case .string(let text): text
    case .integer(let number): String(number)
    case .double(let number): "\(number)"
    case .boolean(let truth): truth ? "true" : "false"
    case .date, .data, .entity, .list: nil
    }
  }

  /// Whether it is the value, or a list that has it.
  func has(_ wanted: EntityValue) -> Bool {
    var isThere = self == wanted
    forEachLeaf { if $0 == wanted { isThere = true } }
    return isThere
  }
}
