package import StrataDocuments

/// The reference fields of a datastore's records, and their targets: declared by indexes, set by the user in a tool, or, for entities,
/// given by the kind of their values.
package struct ReferenceFields: Sendable, Hashable {
  /// The target datastore of a field, by its path without positions.
  package let targets: [String: String]
  /// The target of all references of entities: the datastore itself.
  private let entities: String?

  /// - Parameters:
  ///   - descriptor: The datastore whose records refer.
  ///   - told: The targets of fields that no index declares, by their paths.
  package init(_ descriptor: DatastoreDescriptor, told: [String: String] = [:]) {
    var targets = told
    for index in descriptor.indexes {
      guard let target = index.target, let path = index.documentPath else { continue }
      targets[path.withoutPositions] = target
    }
    self.targets = targets
    entities = descriptor.keepsEntities ? descriptor.key : nil
  }

  package var isEmpty: Bool { targets.isEmpty && entities == nil }

  /// Returns the key of the datastore that a value at a path refers to, or nil if it is not a reference.
  package func target(of path: DocumentPath) -> String? {
    if let entities, case .member("properties")? = path.components.first, case .member("entity")? = path.components.last
    {
      return entities
    }
    return targets[path.withoutPositions]
  }

  /// Returns the references of a record, with their paths, up to a limit.
  package func values(in document: Document, limit: Int) -> [(path: DocumentPath, value: Document, target: String)] {
    guard !isEmpty else { return [] }
    var found: [(path: DocumentPath, value: Document, target: String)] = []
    for (path, value) in document.fields {
      if found.count == limit { break }
      guard value != .null, value != [], value != [:], let target = target(of: path) else { continue }
      found.append((path, value, target))
    }
    return found
  }
}

extension DocumentPath {
  /// The path as text; for an element of a list the path of the list: `.authors` for `.authors[0]`.
  package var withoutPositions: String {
    DocumentPath(components.filter { if case .member = $0 { true } else { false } }).description
  }
}

extension ReadableDatastore {
  /// Returns the record's key that a value of another record names, or nil if it cannot be an identifier here.
  package func identifier(namedBy value: Document) -> StoredKey? {
    switch value {
    case .string(let text): try? identifier(parsing: JSONWriter.literal(text))
    case .number(let number): try? identifier(parsing: number.text)
    default: nil
    }
  }
}
