package import Documents

/// Which fields of a datastore's records are references, and where they lead: by the indexes that say so, by what a person told
/// a tool, and of entities by the kind of their values.
package struct ReferenceFields: Sendable, Hashable {
  /// The datastore that a field leads to, by its path without positions.
  package let targets: [String: String]
  /// Where all references of entities lead: to the datastore itself.
  private let entities: String?

  /// - Parameters:
  ///   - descriptor: The datastore whose records refer.
  ///   - told: Where fields lead that no index declares, by their paths.
  package init(_ descriptor: DatastoreDescriptor, told: [String: String] = [:]) {
    var targets = told
    for index in descriptor.indexes {
      guard let target = index.target, let path = index.rule ?? index.keyPathName,
        let parsed = try? DocumentPath(parsing: path)
      else { continue }
      targets[parsed.withoutPositions] = target
    }
    self.targets = targets
    entities = descriptor.keepsEntities ? descriptor.key : nil
  }

  package var isEmpty: Bool { targets.isEmpty && entities == nil }

  /// The key of the datastore that a value at a path leads to; nil where it is no reference.
  package func target(of path: DocumentPath) -> String? {
    if let entities, case .member("properties")? = path.components.first, case .member("entity")? = path.components.last
    {
      return entities
    }
    return targets[path.withoutPositions]
  }

  /// The values of a record that refer, with their places, up to a number of them.
  package func values(in document: Document, limit: Int) -> [(path: DocumentPath, value: Document, target: String)] {
    guard !isEmpty else { return [] }
    var found: [(path: DocumentPath, value: Document, target: String)] = []
    for (path, value) in document.leaves {
      if found.count == limit { break }
      guard value != .null, let target = target(of: path) else { continue }
      found.append((path, value, target))
    }
    return found
  }
}

extension DocumentPath {
  /// The path as text, of any element of a list that of the list: of `.authors[0]` it is `.authors`.
  package var withoutPositions: String {
    DocumentPath(components.filter { if case .member = $0 { true } else { false } }).description
  }
}

extension Document {
  /// The values that are neither lists nor objects, with their places, in the order of the document.
  fileprivate var leaves: [(path: DocumentPath, value: Document)] {
    var leaves: [(path: DocumentPath, value: Document)] = []
    func walk(_ value: Document, _ path: DocumentPath) {
      switch value {
      case .object(let members): for member in members { walk(member.value, path.appending(member.name)) }
      case .array(let elements):
        for (position, element) in elements.enumerated() { walk(element, path.appending(position)) }
      default: leaves.append((path, value))
      }
    }
    walk(self, .root)
    return leaves
  }
}

extension ReadableDatastore {
  /// The record's key that a value of another record names; nil where it can be no identifier here.
  package func identifier(namedBy value: Document) -> StoredKey? {
    switch value {
    case .string(let text): try? identifier(parsing: JSONWriter.literal(text))
    case .number(let number): try? identifier(parsing: number.text)
    default: nil
    }
  }
}
