package import StrataDocuments

// Records of the product `StoreEntities`, as tools without it see them: `{"created":…,"id":…,"properties":{"name":{"string":"Dune",
// "type":"string","datestamp":…}},"type":"book"}`.

extension DatastoreDescriptor {
  /// Whether the records are entities.
  package var keepsEntities: Bool { instanceType == "Entity" && identifierType == "String" }
  /// Whether the records are blobs: plain data by name.
  package var keepsBlobs: Bool { instanceType == "Data" && identifierType == "String" && coding == .opaque }
}

extension Document {
  private static var entityKinds: Set<String> {
    ["string", "integer", "double", "boolean", "date", "data", "entity", "list"]
  }

  /// Whether this is the record of an entity.
  package var isEntity: Bool {
    guard case .object(let properties)? = self[member: "properties"], self[member: "type"] != nil,
      self[member: "created"] != nil
    else { return false }
    return properties.allSatisfy { $0.value.entityValue != nil }
  }

  /// The kind and the value of an entity's property; nil if this is not such a property.
  package var entityValue: (kind: String, value: Document)? {
    guard case .object(let members) = self, members.count == 3 else { return nil }
    var found: (kind: String, value: Document)?
    for member in members where !["type", "datestamp"].contains(member.name) {
      guard found == nil, Self.entityKinds.contains(member.name) else { return nil }
      found = (member.name, member.value)
    }
    return found
  }

  /// The value of an entity's property without labels and dates, in lists too; any other value unchanged.
  package var withoutEntityLabels: Document {
    guard let (_, value) = entityValue else { return self }
    guard case .array(let elements) = value else { return value }
    return .array(elements.map(\.withoutEntityLabels))
  }

  /// The name of the property whose value is at a path of an entity's record (`.properties.name.string`); nil for other paths.
  package static func entityProperty(at path: String) -> String? {
    let start = ".properties."
    guard path.hasPrefix(start), let end = path.lastIndex(of: "."),
      entityKinds.contains(String(path[end...].dropFirst()))
    else { return nil }
    let name = path[..<end].dropFirst(start.count)
    return name.isEmpty ? nil : String(name)
  }
}
