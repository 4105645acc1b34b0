extension DatastoreFormat {
  /// The indexes among the stored properties, by kind and key path. Of two indexes of one kind on one key path, the one whose name comes
  /// first in the alphabet wins.
  ///
  /// - Parameter assertIdentifiable: Accepted for source compatibility. An index that is called `id` on an `Identifiable` instance is left
  ///   out either way, because the primary order is that index; the datastore reports this at its first use.
  public func generateIndexRepresentations(
    assertIdentifiable: Bool = false
  ) -> [AnyIndexRepresentation<Instance>: GeneratedIndexRepresentation<Instance>] {
    var generated: [AnyIndexRepresentation<Instance>: GeneratedIndexRepresentation<Instance>] = [:]
    for child in Mirror(reflecting: self).children {
      let found = generateIndexRepresentation(child: child, assertIdentifiable: assertIdentifiable)
      guard let index = found else { continue }
      let key = AnyIndexRepresentation(indexRepresentation: index.index)
      if let other = generated[key], other.indexName < index.indexName { continue }
      generated[key] = index
    }
    return generated
  }

  /// The index that a stored property declares, or nil if it is something else.
  ///
  /// Its name is the property's label, without the underscore that a property wrapper puts before it.
  public func generateIndexRepresentation(
    child: Mirror.Child, assertIdentifiable: Bool = false
  ) -> GeneratedIndexRepresentation<Instance>? {
    guard let label = child.label else { return nil }
    let name = IndexName(label.hasPrefix("_") ? String(label.dropFirst()) : label)
    if name == "id", Instance.self is any Identifiable.Type { return nil }
    guard let declared = DeclaredIndex<Instance>(child.value) else { return nil }
    return GeneratedIndexRepresentation(indexName: name, index: declared.index, storage: declared.storage)
  }

  /// Whether a stored property declares an index that is left out because of its name.
  var declaresIdentifierIndex: Bool {
    Mirror(reflecting: self).children.contains { child in
      DeclaredIndex<Instance>(child.value) != nil && generateIndexRepresentation(child: child) == nil
    }
  }
}

/// An index as a stored property holds it: plain, or in its wrappers.
struct DeclaredIndex<Instance: Sendable> {
  var index: any IndexRepresentation<Instance>
  var storage = IndexStorage.reference
  var isUnique = false

  /// Returns nil if the value is not an index of this type of instance.
  init?(_ value: Any) {
    switch value {
    case let wrapper as any IndexWrapper:
      guard var inner = Self(wrapper.wrappedValue) else { return nil }
      if wrapper.isUnique { inner.isUnique = true } else { inner.storage = .direct }
      self = inner
    case let index as any IndexRepresentation:
      guard let matching = index.matches(Instance.self) else { return nil }
      self.index = matching
    default:
      return nil
    }
  }
}

protocol IndexWrapper {
  associatedtype Index
  var wrappedValue: Index { get }
  /// Whether it makes an index unique; otherwise it makes it direct.
  var isUnique: Bool { get }
}

extension Direct: IndexWrapper {
  var isUnique: Bool { false }
}

extension Unique: IndexWrapper {
  var isUnique: Bool { true }
}
