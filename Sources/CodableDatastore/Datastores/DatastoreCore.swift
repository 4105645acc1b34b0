import StrataDocuments
import StrataEngine
import StrataFoundation
import StrataLocks
import StrataModel

private let datastoreCount = Atomic<UInt64>(0)

/// A datastore without its access mode: its evaluated declaration, and its place in a store. Everything about it is fixed when it is made,
/// so it can be read from anywhere without waiting.
final class DatastoreCore<Format: DatastoreFormat>: DeclaredDatastore {
  typealias Instance = Format.Instance
  typealias Identifier = Format.Identifier

  /// A number that no other datastore of the process ever has.
  let number = datastoreCount.add(1, ordering: .relaxed).newValue
  let store: _StoreHandle
  let key: String
  let coder: RecordCoder<Format>
  let identifiers: KeyCoder<Identifier>
  /// The indexes in the order of their names.
  let indexes: [IndexPlan<Instance>]
  /// Two datastores that write to one key must declare the same.
  let declaration: DatastoreDescriptor
  let recordsTree: TreeName
  let isReadOnly: Bool
  let isIdentifiable: Bool
  let ownIdentifier: (any KeyPath<Instance, Identifier> & Sendable)?
  /// The one state that is read, if this is a view of the past.
  let view: View?
  let listeners = WarmUpListeners()
  let recent = RecentTrees()

  private let agreed = Atomic(-1)
  let format = Format()
  /// The positions of the indexes, by kind and key path.
  private let places: [AnyIndexRepresentation<Instance>: Int]
  /// The error of the declaration, if any, whatever the store.
  private let fault: (any Error)?
  /// Attributes of the records' tree that fit the declaration. A use only has to compare these bytes.
  let fitting = Mutex<Bytes?>(nil)
  /// Such attributes that also carry the declaration's version, as after a write.
  let written = Mutex<Bytes?>(nil)
  /// Which properties are written in any order, as the first written instance shows; nil before.
  let unordered = Mutex<UnorderedProperties?>(nil)
  let stored = Mutex(StoredKnowledge())
  /// The stored descriptor that was read last, and the attributes that it was read of.
  let described = Mutex<(attributes: Bytes, descriptor: DatastoreDescriptor)?>(nil)
  /// The instance because of which indexes cannot be built, with its record.
  let unreadable = Mutex<(error: UnreadableInstanceError, record: Bytes)?>(nil)

  init(
    store: _StoreHandle, key: DatastoreKey, coder: RecordCoder<Format>, isReadOnly: Bool, isIdentifiable: Bool,
    view: View? = nil
  ) {
    self.store = store
    self.key = key.rawValue
    self.coder = coder
    self.isReadOnly = isReadOnly
    self.isIdentifiable = isIdentifiable
    ownIdentifier = isIdentifiable ? Self.ownIdentifier : nil
    self.view = view
    let identifiers = KeyCoder<Identifier>.make()
    self.identifiers = identifiers
    recordsTree = .records(of: key.rawValue)

    // By kind and key path: of two equal indexes one is kept, possibly the one without `@Unique`.
    let unique = Mirror(reflecting: format).children.compactMap { DeclaredIndex<Instance>($0.value) }
      .filter(\.isUnique).map { AnyIndexRepresentation(indexRepresentation: $0.index) }
    let declared = format.generateIndexRepresentations(assertIdentifiable: true)
      .sorted { $0.value.indexName < $1.value.indexName }
    indexes = declared.map { entry in
      IndexPlan.plan(
        entry.value, isUnique: unique.contains(entry.key), version: coder.tag, datastore: key.rawValue,
        format: Format.self, identifiers: identifiers.order)
    }
    places = Dictionary(uniqueKeysWithValues: zip(declared.map(\.key), 0...))
    let names = declared.map(\.value.indexName.rawValue)
    fault = Self.fault(
      of: format, key: key, coder: coder, clash: zip(names, names.dropFirst()).first { $0 == $1 }?.0,
      isReadOnly: isReadOnly)
    declaration = DatastoreDescriptor(
      key: key.rawValue, version: coder.tag, instanceType: String(describing: Instance.self),
      identifierType: String(describing: Identifier.self), identifierEncoding: identifiers.encoding,
      coding: coder.coding ?? .opaque, indexes: indexes.map(\.descriptor))
    guard !isReadOnly else { return }
    store.registry.add(self, key: self.key)
    // Letters for it may wait.
    store.inbox.ask(for: store)
  }

  func index<Index: IndexRepresentation<Instance>>(at path: KeyPath<Format, Index>) throws -> IndexPlan<Instance> {
    guard let place = places[format[keyPath: path].key] else { throw DatastoreError.missingIndex }
    return indexes[place]
  }

  func requireSoundDeclaration() throws {
    if let fault { throw fault }
    if !isReadOnly { try store.registry.requireAgreement(self, key: key, agreed: agreed) }
  }

  /// The key of an identifier. Throws ``InvalidKeyError`` if there is none.
  func key(of identifier: Identifier) throws -> [UInt8] {
    let key = try ordering(index: nil) { try identifiers.key(of: identifier) }
    try requireLength(key.count, index: nil)
    return key
  }

  /// The keys of an instance by index. Throws ``InvalidKeyError`` if an entry would be too long.
  func values(
    of instance: Instance, in indexes: [IndexPlan<Instance>], identifier: [UInt8]
  ) throws -> [[[UInt8]]] {
    // A loop: `map` of a generic class's array would look up the types of its closure for each instance.
    var values: [[[UInt8]]] = []
    values.reserveCapacity(indexes.count)
    for index in indexes {
      let keys = try ordering(index: index.name) { try index.values(instance) }
      for key in keys { try requireLength(key.count + identifier.count + 2, index: index.name) }
      values.append(keys)
    }
    return values
  }

  /// Runs a closure that makes keys; throws ``InvalidKeyError`` for a value that has no order.
  @inline(__always)
  func ordering<R>(index: @autoclosure () -> String?, _ body: () throws -> R) throws -> R {
    do {
      return try body()
    } catch let error as NotOrdered {
      throw InvalidKeyError(datastore: key, index: index(), reason: error.description)
    }
  }

  func requireLength(_ count: Int, index: @autoclosure () -> String?) throws {
    let limit = store.connection.isServed ? Limits.servedKey : Limits.key
    guard count > limit else { return }
    throw InvalidKeyError(
      datastore: key, index: index(), reason: "a key of \(count) bytes is longer than the \(limit) that are allowed")
  }

  /// The error of a declaration. In debug builds it is printed at once: the first use, which throws it, may come late.
  private static func fault(
    of format: Format, key: DatastoreKey, coder: RecordCoder<Format>, clash: String?, isReadOnly: Bool
  ) -> (any Error)? {
    let fault: (any LocalizedError)? =
      if let clash {
        IndexDeclarationError(datastore: key, index: IndexName(clash))
      } else if format.declaresIdentifierIndex {
        IndexDeclarationError(datastore: key, index: "id", reason: .namedLikeIdentifier)
      } else if !isReadOnly, !coder.hasDecoder(for: coder.tag) {
        // Written instances could not be read back.
        DatastoreError.missingDecoder(version: coder.tag)
      } else {
        nil
      }
    #if DEBUG
      if let fault { print("The declaration of \(key) is at fault: \(fault.errorDescription ?? "\(fault)")") }
    #endif
    return fault
  }

  private static var ownIdentifier: (any KeyPath<Instance, Identifier> & Sendable)? {
    func path<Own: Identifiable>(of type: Own.Type) -> AnyKeyPath { \Own.id }
    guard let type = Instance.self as? any Identifiable.Type else { return nil }
    // A key path between `Sendable` types is immutable and may be sent, see `Indexable.swift`.
    return path(of: type) as? KeyPath<Instance, Identifier>
  }
}
