import StrataDocuments
import StrataEngine
import Testing

@testable import StrataModel

/// An app's type whose order only the app knows: S before M before L before XL.
private struct Shirts: CompiledFormat {
  static let sizes = ["S", "M", "L", "XL"]
  static let descriptor = DatastoreDescriptor(
    key: "Shirt", instanceType: "Shirt", identifierType: "Size", identifierEncoding: .comparator("Size"),
    indexes: [
      IndexDescriptor(name: "next", kind: .oneToMany, encoding: .comparator("Size"), valueType: "Size")
    ])

  let datastore = "Shirt"
  let version = "1"

  static func place(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard case .string(let size)? = try? JSONParser.parse(bytes) else { return -1 }
    return sizes.firstIndex(of: size) ?? -1
  }

  var recordOrder: KeyOrder { .comparator(Sizes()) }

  func order(ofIndex name: String) -> EntryOrder { EntryOrder(value: recordOrder, identifier: recordOrder) }

  private final class Sizes: KeyComparator {
    func comparison(to key: [UInt8]) -> KeyComparison {
      let wanted = key.withUnsafeBytes { Shirts.place($0) }
      return KeyComparison { Shirts.place($0) - wanted }
    }
  }

  func keys(of content: RecordContent) throws(ModelError) -> (identifier: [UInt8], values: [String: [[UInt8]]]) {
    let document = try onDocument(RecordCoding.json.document(of: content.bytes))
    guard case .string(let size)? = document[member: "size"], case .string(let next)? = document[member: "next"] else {
      throw .refused(reason: "keyNotFound(size) at .size")
    }
    return (Self.key(size).bytes, ["next": [Self.key(next).bytes]])
  }

  func lifted(_ content: RecordContent) -> RecordContent { RecordContent(version: version, bytes: content.bytes) }

  func createTrees(for content: RecordContent, in transaction: any WriteTransaction) throws(ModelError) {
    try DatastoreWriter.create(Self.descriptor, in: transaction)
  }

  static func key(_ size: String) -> StoredKey {
    descriptor.storedKey(Document.string(size).canonicalBytes)
  }

  static func edit(_ size: String, from old: String?, to new: String?) -> RecordEdit {
    func content(_ next: String) -> RecordContent {
      let document: Document = ["size": .string(size), "next": .string(next)]
      return RecordContent(version: "1", bytes: document.json(.compact))
    }
    return RecordEdit(
      datastore: "Shirt", identifier: key(size), old: old.map(content), new: new.map(content))
  }
}

/// An app's type that has renamed a member in its second version.
private struct Rows: CompiledFormat {
  static let descriptor = DatastoreDescriptor(
    key: "Row", version: "2", identifierType: "Int", identifierEncoding: .integer, identifierPath: ".id",
    indexes: [IndexDescriptor(name: "size", kind: .oneToMany, encoding: .integer, valueType: "Int")])

  let datastore = "Row"
  let version = "2"
  var recordOrder: KeyOrder { .bytes }

  func order(ofIndex name: String) -> EntryOrder { .bytes }

  func keys(of content: RecordContent) throws(ModelError) -> (identifier: [UInt8], values: [String: [[UInt8]]]) {
    let document = try onDocument(RecordCoding.json.document(of: content.bytes))
    guard let id = KeyEncoding.integer.keyValue(of: document[member: "id"]),
      let size = KeyEncoding.integer.keyValue(of: document[member: content.version == "1" ? "length" : "size"])
    else { throw .refused(reason: "keyNotFound") }
    return (try KeyEncoding.integer.encode(id), ["size": [try KeyEncoding.integer.encode(size)]])
  }

  func lifted(_ content: RecordContent) -> RecordContent { content }

  func createTrees(for content: RecordContent, in transaction: any WriteTransaction) throws(ModelError) {
    try DatastoreWriter.create(Self.descriptor, in: transaction)
  }
}

@Suite("Stores with the app's own types")
struct CompiledFormatTests {
  private func store() throws -> (typed: EngineStore, untyped: EngineStore) {
    let typed = EngineStore.memory(program: "App", formats: [Shirts()])
    _ = try typed.transact(CommitInfo(action: "register")) { transaction throws(ModelError) in
      try DatastoreWriter.create(Shirts.descriptor, in: transaction)
    }
    let edits = [("XL", "XL"), ("S", "M"), ("L", "XL"), ("M", "L")].map { Shirts.edit($0, from: nil, to: $1) }
    _ = try typed.commit(ChangeSet(changes: edits), named: "sizes", options: EditOptions())
    return (typed, EngineStore(typed.engine, path: ""))
  }

  @Test("edits are checked and placed by the app's types, in an order that bytes do not have")
  func order() throws {
    let (typed, untyped) = try store()
    for store in [typed, untyped] {
      let datastore = try #require(try store.head.datastore("Shirt"))
      #expect(try datastore.primary.entries(at: 0..<9).map(\.identifier) == Shirts.sizes.map { Shirts.key($0) })
      let next = try datastore.indexes[0].entries(at: 0..<9).map(\.identifier)
      #expect(next == ["S", "M", "L", "XL"].map { Shirts.key($0) })
    }
    #expect(try typed.verifyModel(at: typed.head.commit).isClean)
    _ = try typed.commit(
      ChangeSet(changes: [Shirts.edit("M", from: "L", to: "S"), Shirts.edit("XL", from: "XL", to: nil)]),
      named: "change", options: EditOptions())
    let next = try #require(try typed.head.datastore("Shirt")).indexes[0]
    #expect(try next.entries(at: 0..<9).map(\.identifier) == ["M", "S", "L"].map { Shirts.key($0) })
    #expect(try typed.verifyModel(at: typed.head.commit).isClean)
    #expect(try untyped.verifyModel(at: typed.head.commit).isClean)
  }

  @Test("a tool without the types walks such trees, finds records and versions in them, and changes nothing")
  func untyped() throws {
    let (typed, untyped) = try store()
    _ = try typed.commit(
      ChangeSet(changes: [Shirts.edit("M", from: "L", to: "S"), Shirts.edit("L", from: "XL", to: nil)]),
      named: "change", options: EditOptions())
    let datastore = try #require(try untyped.head.datastore("Shirt"))
    #expect(try datastore.record(Shirts.key("M"))?.document()[member: "next"] == "S")
    #expect(try datastore.record(Shirts.key("L")) == nil)
    #expect(try datastore.primary.rank(of: Shirts.key("XL"), value: nil) == 2)
    #expect(try datastore.primary.rank(of: .before(Shirts.key("M").value)) == 1)
    #expect(throws: ModelError.self) { try datastore.primary.rank(of: .before(.document("XXL"))) }
    for (size, count) in [("M", 2), ("L", 2), ("S", 1)] {
      let versions = try untyped.versions(of: Shirts.key(size), in: "Shirt", from: untyped.head.commit, limit: 9)
      #expect(versions.count == count)
      let same = try typed.versions(of: Shirts.key(size), in: "Shirt", from: typed.head.commit, limit: 9)
      #expect(same.map(\.commit.number) == versions.map(\.commit.number))
    }
    let edit = ChangeSet(changes: [Shirts.edit("S", from: "M", to: "L")])
    #expect(throws: ModelError.self) {
      try untyped.commit(edit, named: "x", options: EditOptions(marksIndexesStale: true))
    }
    #expect(try !untyped.preview(edit, options: EditOptions()).isPossible)
    let candidate = try #require(try untyped.undoCandidate())
    _ = try untyped.undo(candidate, named: "undo needs no types")
    #expect(try #require(try untyped.head.datastore("Shirt")).record(Shirts.key("L")) != nil)
  }

  @Test("content that the app's types do not decode is refused with the decoding path")
  func decoding() throws {
    let (typed, _) = try store()
    let edit = RecordEdit(
      datastore: "Shirt", identifier: Shirts.key("S"), old: Shirts.edit("S", from: "M", to: nil).old,
      new: RecordContent(version: "1", bytes: Array("{}".utf8)))
    #expect {
      try typed.commit(ChangeSet(changes: [edit]), named: "x", options: EditOptions())
    } throws: { error in
      (error as? ModelError)?.description.contains("keyNotFound(size) at .size") ?? false
    }
    let preview = try typed.preview(ChangeSet(changes: [edit]), options: EditOptions())
    #expect(preview.refusals.map(\.reason) == ["Shirt \(Shirts.key("S")): keyNotFound(size) at .size"])
  }
  @Test("an imported row is read as the version under which it is written")
  func versionsOfRows() throws {
    let store = EngineStore.memory(program: "App", formats: [Rows()])
    _ = try store.transact(CommitInfo(action: "register")) { transaction throws(ModelError) in
      try DatastoreWriter.create(Rows.descriptor, in: transaction)
    }
    func sizes(after document: Document) throws -> [KeyValue] {
      var source = DocumentList([document])
      let plan = ImportPlan(datastore: "Row", identifier: DocumentPath([.member("id")]))
      #expect(try Importer(store, plan).run(&source).rejections.isEmpty)
      return try #require(try store.head.datastore("Row")).indexes[0].entries(at: 0..<9).map(\.value)
    }
    #expect(try sizes(after: ["id": 1, "version": 1, "value": ["id": 1, "length": 5]]) == [.integer(5)])
    #expect(try sizes(after: ["id": 1, "length": 6]) == [.integer(6)])
    #expect(try sizes(after: ["id": 2, "version": 2, "value": ["id": 2, "size": 7]]) == [.integer(6), .integer(7)])
    #expect(try store.verifyModel(at: store.head.commit).isClean)
  }
}
