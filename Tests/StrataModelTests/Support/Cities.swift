import StrataDocuments
import StrataEngine
import Testing

@testable import StrataModel

/// A small store of cities for tests, written as an app would write it: the indexes have key-path names and no declared
/// rules.
enum Cities {
  static let descriptor = DatastoreDescriptor(
    key: "City", instanceType: "City", identifierType: "Int", identifierEncoding: .integer,
    identifierPath: ".id",
    indexes: [
      IndexDescriptor(
        name: "country", kind: .oneToMany, encoding: .string, valueType: "String", keyPathName: "country"),
      IndexDescriptor(
        name: "name", kind: .oneToOne, encoding: .string, valueType: "String", keyPathName: "\\City.name"),
      IndexDescriptor(
        name: "population", kind: .oneToMany, storage: .direct, encoding: .integer, valueType: "Int",
        keyPathName: "population"),
      IndexDescriptor(
        name: "tags", kind: .manyToMany, encoding: .string, valueType: "String", keyPathName: "tags"),
    ])

  /// The same with an index of names for which no rule can be proven, because its key path has no name.
  static var descriptorWithUnprovenName: DatastoreDescriptor {
    var unproven = descriptor
    unproven.indexes = unproven.indexes.map { index in
      var index = index
      if index.name == "name" { index.keyPathName = nil }
      return index
    }
    return unproven
  }

  static func document(
    _ id: Int, name: String? = nil, country: String? = nil, population: Int? = nil, tags: [String]? = nil
  ) -> Document {
    [
      "country": .string(country ?? ["CH", "FR", "IR"][id % 3]),
      "id": .number(NumberText(id)),
      "name": .string(name ?? "City \(id)"),
      "population": .number(NumberText(population ?? id * 100)),
      "tags": .array((tags ?? ["t\(id % 5)", "t\(id % 7)"]).map { .string($0) }),
    ]
  }

  static func key(_ id: Int) -> StoredKey {
    descriptor.storedKey((try? KeyEncoding.integer.encode(.integer(Int64(id)))) ?? [])
  }

  static func content(_ document: Document) -> RecordContent {
    RecordContent(version: "1", bytes: document.json(.compact))
  }

  /// The values that an app would compute from its own type, in the order of the descriptor's indexes.
  static func values(_ document: Document, _ descriptor: DatastoreDescriptor = descriptor) throws -> [[[UInt8]]] {
    try descriptor.indexes.map { index in
      let path = DocumentPath([.member(index.name)])
      let rule = IndexRule(index, paths: [path], origin: .declared)
      return try rule.encodedValues(of: document)
    }
  }

  static func edit(_ id: Int, from old: Document?, to new: Document?) -> RecordEdit {
    RecordEdit(datastore: "City", identifier: key(id), old: old.map(content), new: new.map(content))
  }

  /// Writes documents as the app would.
  @discardableResult
  static func write(
    _ documents: [Document], deleting: [Int] = [], to store: EngineStore, named action: String = "write",
    as descriptor: DatastoreDescriptor = descriptor
  ) throws -> CommitNumber {
    var failure: (any Error)?
    let number = try store.transact(CommitInfo(action: action, program: "App")) { transaction throws(ModelError) in
      do {
        if try transaction.tree(.records(of: descriptor.key)) == nil {
          try DatastoreWriter.create(descriptor, in: transaction)
        }
        let writer = DatastoreWriter(descriptor, in: transaction)
        for document in documents {
          let identifier = try KeyEncoding.integer.encode(
            KeyEncoding.integer.keyValue(of: document[member: "id"]) ?? .null)
          let current = try writer.current(identifier)
          let old = try current.map { try Self.values(Self.stored($0), descriptor) }
          _ = try writer.put(
            identifier, RecordBytes.make(version: "1", content: document.json(.compact)),
            values: Self.values(document, descriptor), replacing: current, oldValues: old)
        }
        for id in deleting {
          let current = try writer.current(key(id).bytes)
          let old = try current.map { try Self.values(Self.stored($0), descriptor) }
          _ = try writer.delete(key(id).bytes, oldValues: old)
        }
        try writer.finish()
      } catch let error as ModelError {
        throw error
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return number
  }

  static func stored(_ current: DatastoreWriter.Current) throws -> Document {
    try RecordCoding.json.document(of: RecordBytes.split(current.bytes).content.array)
  }

  /// A store in memory with cities 1 to `count`.
  static func store(_ count: Int = 60, program: String = "Tests") throws -> EngineStore {
    let store = EngineStore.memory(program: program, author: "Žofie")
    try write((1...max(1, count)).map { document($0) }, to: store, named: "import")
    return store
  }
}

extension EngineStore {
  var headView: EngineView { view(engine.head) }

  func city(_ id: Int, at commit: CommitNumber? = nil) throws -> Document? {
    let view = try commit.map { try engineView(at: $0) } ?? headView
    return try view.requiredDatastore("City").record(Cities.key(id))?.document()
  }

  func index(_ name: String) throws -> EngineIndex {
    let datastore = try headView.requiredDatastore("City")
    return EngineIndex(datastore: datastore, descriptor: try #require(datastore.descriptor.index(name)))
  }

  /// The values and identifiers of an index, in order.
  func entries(_ name: String) throws -> [String] {
    let index = try index(name)
    return try index.entries(at: 0..<index.count).map { "\($0.value) \($0.identifier)" }
  }
}
