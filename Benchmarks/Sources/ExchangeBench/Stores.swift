import StrataModel
import StrataDocuments
import StrataExpressions
import StrataEngine

/// Stores of the bench, made by the engine.
enum Stores {
  static let descriptor = DatastoreDescriptor(
    key: "City", identifierType: "Int", identifierEncoding: .integer, coding: .json, identifierPath: ".id",
    indexes: [IndexDescriptor(name: "name", kind: .oneToMany, encoding: .string, valueType: "String", rule: ".name")])

  /// A new store with so many records, made in one commit.
  static func make(at path: String, records: Int) throws -> EngineStore {
    let store = try EngineStore.open(path: path, program: "bench", author: "bench", creates: true)
    try change(store, durably: true) { try DatastoreWriter.create(descriptor, in: $0) }
    if records > 0 { try put(Array(0..<records), edit: 0, field: 0, in: store) }
    return store
  }

  static func change(_ store: EngineStore, durably: Bool, _ body: (any WriteTransaction) throws -> Void) throws {
    let transaction = try store.engine.beginBlocking()
    try body(transaction)
    let pending = try transaction.commit(CommitInfo(action: "edit", durability: durably ? .durable : .collated))
    if durably { try pending?.wait() }
  }

  /// Puts records in one commit.
  static func put(_ numbers: [Int], edit: Int, field: Int, in store: EngineStore) throws {
    let parsed = try numbers.map { try JSONParser.parse(document($0, edit: edit, field: field)) }
    _ = try store.commit(store.changes(putting: parsed, into: "City"), named: "edit", options: EditOptions())
  }

  /// Puts one record a commit, not waiting for the disk at each.
  static func putEach(_ edits: Range<Int>, of numbers: Range<Int>, in store: EngineStore) throws {
    for edit in edits {
      let number = numbers.lowerBound + edit % numbers.count
      try change(store, durably: edit == edits.upperBound - 1 || edit % 1_000 == 999) { transaction in
        let writer = DatastoreWriter(descriptor, in: transaction, format: nil)
        let key = try KeyEncoding.integer.encode(.integer(Int64(number)))
        _ = try writer.putRecord(key, RecordBytes.make(version: "1", content: Array(document(number, edit: edit).utf8)))
        try writer.finish()
      }
    }
  }
}
