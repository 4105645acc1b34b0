/// The declaration of a datastore: its instances, their versions, and the indexes by which they are found.
///
/// A conformer is a `struct`; its *stored* properties are the indexes.
///
/// ```swift
/// struct BookFormat: DatastoreFormat {
///   enum Version: Int, CaseIterable { case first = 1 }
///   typealias Instance = Book
///   static let defaultKey: DatastoreKey = "Books"
///   static let currentVersion = Version.first
///
///   let title = Index(\.title)
///   let authors = ManyToManyIndex(\.authors)
/// }
/// ```
public protocol DatastoreFormat<Version, Instance, Identifier>: Sendable {
  /// The versions that instances have been written under. They are ordered by their raw values.
  associatedtype Version: RawRepresentable & Hashable & CaseIterable & Sendable
  where Version.RawValue: Indexable & Comparable
  /// The type of the instances.
  associatedtype Instance: Codable & Sendable
  /// The type of the identifiers, each of which names one instance: the `ID` of an `Identifiable` instance.
  associatedtype Identifier: Indexable & DiscreteIndexable & Sendable

  /// Makes the declaration.
  init()
  /// The name of the datastore in a store, if no other is given.
  static var defaultKey: DatastoreKey { get }
  /// The version that is written today.
  static var currentVersion: Version { get }

  /// Many instances for each value of a property: the common index.
  typealias Index<Value: Indexable> = OneToManyIndexRepresentation<Instance, Value>
  /// One instance for each value of a property.
  typealias OneToOneIndex<Value: Indexable & DiscreteIndexable> = OneToOneIndexRepresentation<Instance, Value>
  /// Many instances for each of the values that a property holds.
  typealias ManyToManyIndex<S: Sequence<Value>, Value: Indexable> =
    ManyToManyIndexRepresentation<Instance, S, Value>
  /// One instance for each of the values that a property holds.
  typealias ManyToOneIndex<S: Sequence<Value>, Value: Indexable & DiscreteIndexable> =
    ManyToOneIndexRepresentation<Instance, S, Value>

  /// Properties that were renamed: the old name as code spelled it, and the new one, as `["name": "title"]`. An index whose property was
  /// only renamed is then kept instead of being rebuilt, even if its own name changed too.
  static var renamedProperties: [String: String] { get }

  /// Whether a query may test a condition on the stored text of a record, without making an instance of it. By default it may if the
  /// library's own coder reads the records.
  static var testsStoredText: Bool { get }

  /// The rules for merging properties that two copies of a store both changed, if they are not merged as one value.
  static var mergeRules: [MergeRule<Instance>] { get }

  /// Whether the values are compressed. Nil by default: as ``StoreConfiguration/compression`` says, and as the store has it.
  static var compression: ValueCompression? { get }

  /// The indexes of the declaration. By default they are found among the stored properties.
  func generateIndexRepresentations(
    assertIdentifiable: Bool
  ) -> [AnyIndexRepresentation<Instance>: GeneratedIndexRepresentation<Instance>]
}

extension DatastoreFormat where Instance: Identifiable, Instance.ID: Indexable & DiscreteIndexable {
  /// The identifier of an `Identifiable` instance is its `ID`.
  public typealias Identifier = Instance.ID
}

extension DatastoreFormat {
  /// None.
  public static var renamedProperties: [String: String] { [:] }

  /// True.
  public static var testsStoredText: Bool { true }

  /// None.
  public static var mergeRules: [MergeRule<Instance>] { [] }

  /// As the store has it.
  public static var compression: ValueCompression? { nil }

  /// A datastore of this format that reads and writes.
  public typealias Datastore = CodableDatastore.Datastore<Self, ReadWrite>
  /// A datastore of this format that only reads.
  public typealias ReadOnlyDatastore = CodableDatastore.Datastore<Self, ReadOnly>
}
