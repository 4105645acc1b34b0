#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A format whose declaration contradicts itself. It is thrown by the first use of the datastore, and printed where one is made
/// in a
/// debug build.
public struct IndexDeclarationError: LocalizedError, Hashable, Sendable {
  /// The datastore.
  public var datastore: DatastoreKey
  /// The name that is at fault.
  public var index: IndexName
  /// What is wrong with it.
  public var reason = Reason.nameTakenTwice

  /// What is wrong with a declaration.
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
      "An index of \(datastore) is called \(index), but instances are found by their identifiers without an index; leave it out."
    }
  }
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
