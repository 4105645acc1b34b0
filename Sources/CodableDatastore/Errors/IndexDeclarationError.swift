public import StrataFoundation

/// A format whose declaration contradicts itself. The first use of the datastore throws it, and a debug build prints it when the datastore
/// is made.
public struct IndexDeclarationError: LocalizedError, Hashable, Sendable {
  /// The datastore.
  public var datastore: DatastoreKey
  /// The name that is at fault.
  public var index: IndexName
  /// The reason for the error.
  public var reason = Reason.nameTakenTwice

  /// A reason why a declaration is wrong.
  public enum Reason: Hashable, Sendable {
    /// Two properties give an index this name.
    case nameTakenTwice
    /// An index is called `id`, though the instances are `Identifiable`: they are found by their identifiers without one, with
    /// `load(id:)` and `load(range:)`.
    case namedLikeIdentifier
  }

  /// One sentence for a person.
  public var errorDescription: String? {
    switch reason {
    case .nameTakenTwice: "Two indexes of \(datastore) are called \(index)."
    case .namedLikeIdentifier:
      "An index of \(datastore) is called \(index), the name of the identifiers, which need no index; give it another name or leave it out."
    }
  }
}

/// Several instances have the same value of an index that is declared ``Unique``. Nothing was written.
public struct UniquenessError: LocalizedError, Hashable, Sendable {
  /// The datastore.
  public var datastore: DatastoreKey
  /// The index.
  public var index: IndexName
  /// The values that several instances have, as a person writes them.
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
