package import StrataModel
import StrataDocuments
import StrataEngine

/// A store without its history, as one JSON document: datastores with key, version, descriptor and records.
///
///     {"strata":1,"datastores":[
///     {"key":"City","version":"1","descriptor":{…},"records":[
///     {"id":2643743,"version":"1","value":{"name":"London",…}},
///     …
///     ]}
///     ]}
///
/// A document that is read and written again is the same text. A record whose bytes are not JSON, or are nested too deep for a place in the
/// document, is base64, with its coding; an identifier that no JSON value expresses exactly is base64 of its key.
package enum StoreDocument {
  // MARK: Writing

  /// Writes all datastores of a view, in their order.
  package static func write(_ view: any ReadableView, to sink: ([UInt8]) throws -> Void) throws {
    try sink(Array("{\"strata\":1,\"datastores\":[".utf8))
    for (place, datastore) in try view.datastores.enumerated() {
      let descriptor = datastore.descriptor
      try sink(Array((place == 0 ? "\n" : ",\n").utf8))
      var head = Document.object([
        .init("key", .string(descriptor.key)), .init("version", .string(descriptor.version)),
        .init("descriptor", try JSONParser.parse(descriptor.bytes)),
      ]).json(.compact)
      head.removeLast()
      try sink(head + Array(",\"records\":[".utf8))
      var records = try datastore.records()
      var isFirst = true
      while try records.next() {
        guard let record = try records.record() else { continue }
        try sink(Array((isFirst ? "\n" : ",\n").utf8) + Document.object(members(of: record, descriptor)).json(.compact))
        isFirst = false
      }
      try sink(Array("\n]}".utf8))
    }
    try sink(Array("\n]}\n".utf8))
  }

  /// The number of lists and objects around the value of a record.
  private static let depthOfRecord = 5

  private static func members(of record: Record, _ descriptor: DatastoreDescriptor) -> [Document.Member] {
    var members = [StreamKey.member(record.identifier.bytes, descriptor), .init("version", .string(record.version))]
    if record.coding == .json, let document = try? record.document(),
      JSONMembers.isLine(document.json(.compact), inside: depthOfRecord)
    {
      members.append(.init("value", document))
    } else {
      members.append(.init("coding", .string(record.coding.rawValue)))
      members.append(.init("base64", .string(Base64.text(of: record.content))))
    }
    return members
  }

  // MARK: Reading

  /// The datastores and records that were read.
  package struct Taken: Sendable, Hashable {
    package var datastores: [String] = []
    package var records = 0
    /// Indexes that the app fills at its first warm-up, because no rule gives their values, as `DATASTORE/INDEX`.
    package var staleIndexes: [String] = []
    package var commit = CommitNumber(0)
  }

  /// Makes the datastores of a document in a store, in one commit. Holds the document in memory.
  ///
  /// - Throws: `ModelError.refused` with the place if a datastore exists already, or the document is not valid; then nothing is written.
  package static func read(_ bytes: [UInt8], into store: EngineStore, named action: String) throws -> Taken {
    if case .readOnly(let reason) = store.access { throw ModelError.readOnly(reason: reason) }
    let document: Document
    do {
      document = try JSONParser.parse(bytes)
    } catch { throw ModelError.refused(reason: "the document does not parse: \(error)") }
    guard document[member: "strata"] == 1, case .array(let datastores)? = document[member: "datastores"] else {
      throw ModelError.refused(reason: "not what export --interchange writes: {\"strata\":1,\"datastores\":[…]}")
    }
    var taken = Taken()
    let known = Set(try store.refresh().datastoreKeys)
    let read = try datastores.map { try Datastore($0) }
    for datastore in read where known.contains(datastore.descriptor.key) {
      throw ModelError.refused(reason: "there is a datastore \(datastore.descriptor.key) already; nothing was written")
    }
    guard Set(read.map(\.descriptor.key)).count == read.count else {
      throw ModelError.refused(reason: "it has a datastore twice; nothing was written")
    }
    defer { if !store.keepsLock { store.engine.releaseLock() } }
    _ = try store.transactOnce(CommitInfo(action: action)) { transaction in
      for datastore in read { try datastore.write(in: transaction, &taken) }
      return true
    }
    taken.commit = store.head.commit
    return taken
  }

  private struct Datastore {
    var descriptor: DatastoreDescriptor
    private var records: [Document]

    init(_ document: Document) throws {
      guard let given = document[member: "descriptor"], case .array(let records)? = document[member: "records"] else {
        throw ModelError.refused(reason: "a datastore has a “descriptor” and “records”")
      }
      descriptor = try DatastoreDescriptor(bytes: given.json(.compact))
      guard document[member: "key"] == .string(descriptor.key) else {
        throw ModelError.refused(reason: "a datastore has another key than its descriptor, \(descriptor.key)")
      }
      guard descriptor.identifierEncoding.isByteOrdered else {
        throw ModelError.refused(reason: "the identifiers of \(descriptor.key) are ordered as only its app knows")
      }
      self.records = records
    }

    func write(in transaction: any WriteTransaction, _ taken: inout Taken) throws {
      var descriptor = descriptor
      let stale = descriptor.indexes.filter {
        !$0.isStale && !($0.hasDeclaredRule && $0.encoding.isByteOrdered)
      }
      descriptor.markStale(stale.map(\.name))
      taken.staleIndexes += stale.map { "\(descriptor.key)/\($0.name)" }
      try DatastoreWriter.create(descriptor, in: transaction)
      let indexing = RecordIndexing(declared: descriptor)
      let writer = DatastoreWriter(descriptor, in: transaction)
      try writer.gatherEntries()
      for (place, record) in records.enumerated() {
        func wrong(_ reason: String) -> ModelError {
          .refused(reason: "record \(place + 1) of \(descriptor.key): \(reason); nothing was written")
        }
        let line = StreamLine(record.json(.compact))
        guard let line, let key = StreamKey.bytes(line, descriptor) else { throw wrong("its id is not an identifier") }
        guard let version = line.text("version") else { throw wrong("it has no version") }
        guard let content = line.raw("value").map({ Array($0) }) ?? line.base64("base64") else {
          throw wrong("it has no value")
        }
        let values: [[[UInt8]]]
        do {
          values = try indexing.values(of: RecordContent(version: version, bytes: content))
        } catch { throw wrong("\(error)") }
        if try writer.insertIfNew(key, RecordBytes.make(version: version, content: content), values: values) != nil {
          throw wrong("its identifier was there before")
        }
        taken.records += 1
      }
      try writer.finish()
      taken.datastores.append(descriptor.key)
    }
  }
}
