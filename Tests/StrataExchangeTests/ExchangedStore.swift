import StrataModel
import StrataDocuments
import StrataExpressions
import StrataEngine
import Testing

@testable import StrataExchange

/// A store in memory with cities, as the tests of exchange use it.
struct ExchangedStore {
  let own: EngineStore
  static let descriptor = DatastoreDescriptor(
    key: "City", identifierType: "Int", identifierEncoding: .integer, coding: .json, identifierPath: ".id",
    indexes: [
      IndexDescriptor(name: "name", kind: .oneToMany, encoding: .string, valueType: "String", rule: ".name"),
      IndexDescriptor(
        name: "population", kind: .oneToMany, storage: .direct, encoding: .optional(.integer), valueType: "Int?",
        rule: ".population"),
    ])

  init(_ own: EngineStore) { self.own = own }

  /// `isEmpty`: without the datastore.
  init(_ name: String, isEmpty: Bool = false) throws {
    own = EngineStore.memory(path: name, program: "test", author: name)
    guard !isEmpty else { return }
    try own.engine.change { try DatastoreWriter.create(Self.descriptor, in: $0) }
  }

  @discardableResult
  func put(_ documents: String..., named action: String = "put") throws -> CommitNumber {
    let parsed = try documents.map { try JSONParser.parse($0) }
    return try own.commit(own.changes(putting: parsed, into: "City"), named: action, options: EditOptions())
  }

  /// Puts a record with exactly these bytes.
  @discardableResult
  func put(_ identifier: Int64, version: String = "1", bytes text: String) throws -> CommitNumber {
    let datastore = try #require(try own.head.datastore("City"))
    let key = try datastore.identifier(parsing: "\(identifier)")
    let edit = RecordEdit(
      datastore: "City", identifier: key, old: try datastore.record(key)?.stored,
      new: RecordContent(version: version, bytes: Array(text.utf8)))
    return try own.commit(ChangeSet(changes: [edit]), named: "put", options: EditOptions())
  }

  @discardableResult
  func delete(_ identifier: Int64) throws -> CommitNumber {
    let datastore = try #require(try own.head.datastore("City"))
    let key = try datastore.identifier(parsing: "\(identifier)")
    let record = try #require(try datastore.record(key))
    return try own.commit(
      ChangeSet(changes: [RecordEdit(datastore: "City", identifier: key, old: record.stored, new: nil)]),
      named: "delete \(identifier)", options: EditOptions())
  }

  func text(_ identifier: Int64) throws -> String? { try Self.text(identifier, in: own.head) }

  static func text(_ identifier: Int64, in view: any ReadableView) throws -> String? {
    guard let datastore = try view.datastore("City"),
      let record = try datastore.record(datastore.identifier(parsing: "\(identifier)"))
    else { return nil }
    return String(decoding: record.content, as: UTF8.self)
  }

  /// All records, by identifier, as text; equal for stores that are equal.
  func contents() throws -> [String] {
    guard let datastore = try own.head.datastore("City") else { return [] }
    var lines: [String] = []
    var records = try datastore.records()
    while try records.next() {
      if let record = try records.record() {
        lines.append("\(record.identifier) \(record.version) \(try record.document().json(.canonical).text)")
      }
    }
    return lines
  }

  var graph: CommitGraph { get throws { try CommitGraph(own.engine) } }

  var head: CommitIdentity { own.engine.head.commit.identity }

  /// Lines of all commits of `head` that one who has `haves` lacks.
  func stream(since haves: [CommitIdentity] = []) throws -> [[UInt8]] {
    let graph = try graph
    var bytes: [UInt8] = []
    try CommitSender(own, graph) { bytes += $0 }.send(
      graph.numbers(in: [head], butNotIn: haves), since: haves)
    return bytes.split(separator: UInt8(ascii: "\n")).map(Array.init)
  }

  /// Takes lines, and ends well.
  @discardableResult
  func receive(_ lines: [[UInt8]]) throws -> [UInt64] {
    let receiver = try CommitReceiver(own, graph, now: LocalTime.now)
    for line in lines { try receiver.receive(line) }
    try receiver.finish()
    return receiver.received
  }

  func expectSound(_ place: SourceLocation = #_sourceLocation) throws {
    for number in Set(try graph.numbers + [own.engine.head.commit.number]) where number > 0 {
      let report = try own.verifyModel(at: CommitNumber(number))
      #expect(report.isClean, "\(own.path) #\(number): \(report.allFindings)", sourceLocation: place)
    }
  }
}

extension [UInt8] {
  var text: String { String(decoding: self, as: UTF8.self) }
}

extension Engine {
  func change(_ info: CommitInfo = CommitInfo(), _ body: (any WriteTransaction) throws -> Void) throws {
    let transaction = try beginBlocking()
    try body(transaction)
    try transaction.commit(info)?.wait()
  }
}
