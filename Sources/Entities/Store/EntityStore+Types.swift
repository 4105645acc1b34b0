public import CodableDatastore

// What conforms to what is said by entities too: one of the type `type` for each type that conforms to others, whose
// identifier is `type:NAME` and whose property `conforms` lists references to those of the others.

extension EntityStore {
  static var typeOfTypes: String { "type" }
  static func identifier(ofType type: String) -> String { "type:\(type)" }

  /// A type, and all that conform to it, by however many steps. Cycles are survived: their members conform to each other.
  ///
  /// The cost is one range of the index of references for each type found.
  ///
  /// - Throws: ``StoreError`` where the store cannot be read.
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

  /// Whether entities of one type are of another too.
  ///
  /// - Throws: ``StoreError`` where the store cannot be read.
  public func conforms(_ type: String, to other: String) async throws -> Bool {
    try await types(conformingTo: other).contains(type)
  }
}

extension EntityStore where AccessMode == ReadWrite {
  /// Says that entities of a type are of others too, besides what was said of it before. Types that nothing was said of yet come
  /// to be.
  ///
  /// - Throws: ``StoreError`` where the store cannot be written; then nothing is.
  public func declare(_ type: String, conformsTo others: String...) async throws {
    let id = Self.identifier(ofType: type)
    try await persistence.perform(actionName: "declare \(type)") {
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
