/// Makes an index lead straight to the instances: reading by it skips the primary order, and every change of an
/// instance rewrites its entries.
///
/// ```swift
/// @Direct var iso3 = OneToOneIndex(\.iso3)
/// ```
@propertyWrapper
public struct Direct<Index: IndexRepresentation>: Sendable {
  /// The index.
  public let wrappedValue: Index

  /// Wraps an index.
  public init(wrappedValue: Index) { self.wrappedValue = wrappedValue }
}

/// Keeps the values of an index unique: a transaction that would leave a value with two instances fails with
/// ``UniquenessError`` when it ends, so that two instances may swap their values within one. Any number of instances may have nil.
///
/// ```swift
/// @Unique var email = OneToOneIndex(\.email)
/// @Direct @Unique var iso3 = OneToOneIndex(\.iso3)
/// ```
///
/// Over a store that holds duplicates already, opening throws the same error with the list of them.
@propertyWrapper
public struct Unique<Index: SingleInstanceIndexRepresentation>: Sendable {
  /// The index.
  public let wrappedValue: Index

  /// Wraps an index.
  public init(wrappedValue: Index) { self.wrappedValue = wrappedValue }
}
