public import StrataFoundation

/// A record without a Swift type: its type's name, and properties that can be added and removed.
///
/// ```swift
/// var dune = Entity("book-7", type: "book", properties: ["name": "Dune"])
/// dune[\.name, as: String.self]                // "Dune"
/// dune.set("author", .entity("person-3"))
/// ```
///
/// An entity is a value; ``EntityStore`` keeps it.
public struct Entity: Identifiable, Hashable, Sendable {
  /// The identifier, which is unique in its datastore.
  public var id: String
  /// The name of its type.
  public var type: String
  /// The time of its creation.
  public var created: Date
  /// Its properties by name.
  public internal(set) var properties: [EntityKey: EntityProperty]
  /// Earlier values of properties, newest first, as far as they were imported or removed; the versions of the store have the rest
  /// (``EntityStore/past(of:_:)``).
  public internal(set) var past: [EntityKey: [EntityPast]] = [:]

  /// Makes an entity.
  ///
  /// - Parameters:
  ///   - id: Its identifier; by default a new one.
  ///   - type: The name of its type.
  ///   - created: The time of its creation, and the date of its properties; now by default.
  ///   - properties: Its properties. The date of each is `created`.
  public init(
    _ id: String = UUID().uuidString, type: String, created: Date = .now,
    properties: [EntityKey: EntityValue] = [:]
  ) {
    self.id = id
    self.type = type
    self.created = created
    self.properties = properties.mapValues { EntityProperty($0, date: created) }
  }

  /// A property with its label and date; nil if there is none.
  public subscript(_ key: EntityKey) -> EntityProperty? { properties[key] }

  /// The value of a property as a Swift type; nil if there is none, or if it is of another kind.
  public subscript<Value: EntityRepresentable>(
    _ key: KeyPath<EntityKeys, EntityKey>, as type: Value.Type
  ) -> Value? {
    self[EntityKeys()[keyPath: key], as: type]
  }

  /// The value of a property as a Swift type; nil if there is none, or if it is of another kind.
  public subscript<Value: EntityRepresentable>(_ key: EntityKey, as type: Value.Type) -> Value? {
    properties[key].flatMap { Value($0.value) }
  }

  /// Sets a property.
  ///
  /// - Parameters:
  ///   - key: The property.
  ///   - value: Its value.
  ///   - label: The meaning of the value; nil for the name of its kind.
  ///   - date: When it was given; now by default.
  /// - Returns: Whether the property changed; an equal value and label keep their date.
  @discardableResult
  public mutating func set(
    _ key: EntityKey, _ value: EntityValue, label: String? = nil, date: Date = .now
  ) -> Bool {
    set(key, EntityProperty(value, label: label, date: date))
  }

  /// Sets a property; an equal value and label stay, with their date.
  @discardableResult
  mutating func set(_ key: EntityKey, _ property: EntityProperty) -> Bool {
    if let known = properties[key], known.saysTheSame(as: property) { return false }
    properties[key] = property
    return true
  }

  /// Removes a property. The store keeps its values in its versions.
  ///
  /// - Returns: Whether there was one.
  @discardableResult
  public mutating func remove(_ key: EntityKey, date: Date = .now) -> Bool {
    guard properties.removeValue(forKey: key) != nil else { return false }
    past[key, default: []].insert(EntityPast(removed: date), at: 0)
    return true
  }

  /// The name to show to people: its name, title or label, its first text, or its identifier.
  public var label: String {
    for key in ["name", "title", "label"] as [EntityKey] {
      if let text = self[key, as: String.self] { return text }
    }
    for key in properties.keys.sorted() {
      if case .string(let text) = properties[key]?.value { return text }
    }
    return id
  }

  /// The entities that it refers to, also in lists, each once.
  public var targets: Set<String> {
    leaves { _, value in if case .entity(let id) = value { id } else { nil } }
  }

  /// The keys of the entity in the index of properties: `name=Dune`, for each text, number and truth.
  var searchable: Set<String> {
    leaves { key, value in value.searchText.map { Self.searchable(key, $0) } }
  }

  /// The entry of a value in the index of properties. Long texts are cut: a search by them compares the rest.
  static func searchable(_ key: EntityKey, _ text: String) -> String {
    "\(key.rawValue.prefix(64))=\(text.prefix(192))"
  }

  /// The dates that its properties hold.
  var dates: Set<Date> {
    leaves { _, value in if case .date(let date) = value { date } else { nil } }
  }

  private func leaves<Part>(_ part: (EntityKey, EntityValue) -> Part?) -> Set<Part> {
    var parts: Set<Part> = []
    for (key, property) in properties {
      property.value.forEachLeaf { if let part = part(key, $0) { parts.insert(part) } }
    }
    return parts
  }
}

extension EntityValue {
  /// Calls a closure with the value, or with each value of a list, however deep.
  func forEachLeaf(_ body: (EntityValue) -> Void) {
    guard case .list(let elements) = self else { return body(self) }
    for element in elements { element.value.forEachLeaf(body) }
  }

  /// The spelling in the index of properties; nil for kinds that the index does not have.
  var searchText: String? {
    switch self {
    case .string(let text): text
    case .integer(let number): String(number)
    case .double(let number): "\(number)"
    case .boolean(let truth): truth ? "true" : "false"
    case .date, .data, .entity, .list: nil
    }
  }

  /// Whether it equals the value, or is a list that contains it.
  func has(_ wanted: EntityValue) -> Bool {
    var isThere = self == wanted
    forEachLeaf { if $0 == wanted { isThere = true } }
    return isThere
  }
}
