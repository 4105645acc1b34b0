public import CodableDatastore

// Entities also declare conformance: for each type that conforms to others there is an entity of type `type`, whose identifier is
// `type:NAME` and whose property `conforms` lists references to the entities of those others.

extension EntityStore {
  static var typeOfTypes: String { "type" }
  static func identifier(ofType type: String) -> String { "type:\(type)" }

  /// A type, and all types that conform to it, directly or not. The members of a cycle conform to each other.
  ///
  /// The cost is one range of the index of references for each type found.
  ///
  /// - Throws: ``StoreError`` if the store cannot be read.
  public func types(conformingTo type: String) async throws -> Set<String> {
    var found: Set<String> = [type]
    var open = [type]
    while let next = open.popLast() {
      for try await declared in load(referringTo: Self.identifier(ofType: next))
      where declared.type == Self.typeOfTypes && declared.id.hasPrefix("type:") {
        let name = String(declared.id.dropFirst("type:".count))
        if found.insert(name).inserted { open.append(name) }
      }
    }
    return found
  }

  /// Whether a type conforms to another.
  ///
  /// - Throws: ``StoreError`` if the store cannot be read.
  public func conforms(_ type: String, to other: String) async throws -> Bool {
    try await types(conformingTo: other).contains(type)
  }
}

extension EntityStore where AccessMode == ReadWrite {
  /// Declares that a type conforms to others, in addition to earlier declarations. Types that are not declared yet are created.
  ///
  /// - Throws: ``StoreError`` if the store cannot be written; then nothing is written.
  public func declare(_ type: String, conformsTo others: String...) async throws {
    let id = Self.identifier(ofType: type)
    try await persistence.perform(actionName: "declare \(type)", options: .retriesConflicts) {
      let known = try await load(id)
      var declared = known ?? Entity(id, type: Self.typeOfTypes, properties: ["name": .string(type)])
      var targets = declared["conforms", as: [String].self] ?? []
      for other in others {
        let target = Self.identifier(ofType: other)
        if !targets.contains(target) { targets.append(target) }
        if target != id, try await load(target) == nil {
          try await datastore.persist(Entity(target, type: Self.typeOfTypes, properties: ["name": .string(other)]))
        }
      }
      let list = EntityValue.list(targets.map { EntityProperty(.entity($0), label: "type", date: declared.created) })
      if declared.set("conforms", list, label: "type") || known == nil { try await datastore.persist(declared) }
    }
  }
}
