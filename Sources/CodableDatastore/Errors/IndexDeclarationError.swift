public import FoundationEssentials

/// A format whose declaration contradicts itself: two of its properties give an index the same name.
public struct IndexDeclarationError: LocalizedError, Hashable, Sendable {
  /// The datastore.
  public var datastore: DatastoreKey
  /// The name that is there twice.
  public var index: IndexName

  /// One sentence for a person.
  public var errorDescription: String? { "Two indexes of \(datastore) are called \(index)." }
}

/// Values of an index that is declared ``Unique`` which more than one instance has. Nothing was written.
public struct UniquenessError: LocalizedError, Hashable, Sendable {
  /// The datastore.
  public var datastore: DatastoreKey
  /// The index.
  public var index: IndexName
  /// The values that are there more than once, as a person writes them.
  public var values: [String]

  /// One sentence for a person.
  public var errorDescription: String? {
    "More than one instance of \(datastore) has \(index) \(values.prefix(10).joined(separator: ", "))."
  }
}

/// Keys whose order disagrees with the order that an index is kept in: the type's `<` contradicts itself, or has changed
/// since the index was built. Nothing was written.
public struct DisorderedKeysError: LocalizedError, Hashable, Sendable {
  /// The datastore.
  public var datastore: DatastoreKey
  /// The index; nil for the identifiers.
  public var index: IndexName?
  /// Two neighbouring keys that disagree, as a person writes them.
  public var keys: [String]

  /// One sentence for a person.
  public var errorDescription: String? {
    let place = index.map { "index \($0) of \(datastore)" } ?? "the identifiers of \(datastore)"
    return "The order of \(place) disagrees with its type's “<” at \(keys.joined(separator: " and "))."
  }
}

/// An encoder that made no bytes of an instance. Nothing was written.
public struct EmptyContentError: LocalizedError, Hashable, Sendable {
  /// The datastore.
  public var datastore: DatastoreKey

  /// One sentence for a person.
  public var errorDescription: String? { "The encoder of \(datastore) made nothing of an instance." }
}
