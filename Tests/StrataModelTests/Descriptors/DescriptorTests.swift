import StrataDocuments
import StrataEngine
import Testing

@testable import StrataModel

@Suite("Descriptors")
struct DescriptorTests {
  private let cities = DatastoreDescriptor(
    key: "City", version: "2024-04-09", versionIsString: true, instanceType: "City", identifierType: "Int",
    identifierEncoding: .integer, coding: .json, identifierPath: ".geonameid",
    indexes: [
      IndexDescriptor(
        name: "population", kind: .oneToMany, encoding: .integer, valueType: "Int", keyPathName: "population",
        isUnique: false, version: "2024-04-09"),
      IndexDescriptor(
        name: "alternateNames", kind: .manyToMany, storage: .direct, encoding: .string, valueType: "String",
        rule: ".alternatenames", isUnique: true, isStale: true),
      IndexDescriptor(
        name: "place", kind: .oneToMany, encoding: .compound([.string, .descending(.integer)]), valueType: "Compound",
        tiers: [
          IndexTier(valueType: "String", keyPathName: "country"),
          IndexTier(valueType: "Int", keyPathName: "population", isDescending: true),
        ]),
    ])

  @Test("a descriptor comes back from its bytes as it was, indexes by name")
  func roundTrip() throws {
    let read = try DatastoreDescriptor(bytes: cities.bytes)
    #expect(read == cities)
    #expect(read.indexes.map(\.name) == ["alternateNames", "place", "population"])
    #expect(read.index("population")?.type == "OneToManyIndex(Int)")
  }

  @Test("equal descriptors have equal bytes, in sorted members")
  func stableBytes() throws {
    var again = cities
    again.setIndex("place", to: nil)
    again.setIndex("place", to: cities.index("place"))
    #expect(try again.bytes == cities.bytes)
    let text = String(decoding: try cities.bytes, as: UTF8.self)
    #expect(text.hasPrefix(#"{"coding":"json","identifierEncoding":"integer","identifierPath":".geonameid","#))
  }

  @Test("members of a later version are kept and written back, in the datastore and in its indexes")
  func unknownMembers() throws {
    let text = """
      {"coding":"json","future":{"a":[1,2.5,null,true]},"identifierEncoding":"integer","identifierType":"Int",\
      "indexes":[{"bloom":"yes","encoding":"string","kind":"one-to-many","name":"n","type":"OneToManyIndex(String)",\
      "valueType":"String","version":"1"}],"key":"K","version":"1"}
      """
    let read = try DatastoreDescriptor(bytes: Array(text.utf8))
    #expect(String(decoding: try read.bytes, as: UTF8.self) == text)
  }

  @Test(
    "an index of an unknown kind makes its datastore read-only, and the message names it; the others are as they were")
  func unknownKind() throws {
    let store = try Cities.store(4)
    let text = String(decoding: try Cities.descriptor.bytes, as: UTF8.self)
    let later = text.replacing(
      #""indexes":["#,
      with:
        #""indexes":[{"encoding":"string","kind":"spatial","name":"place","type":"T","valueType":"S","version":"1"},"#)
    let other = text.replacing(#""key":"City""#, with: #""key":"Town""#)
    _ = try store.transact(CommitInfo(action: "by a later program")) { transaction throws(ModelError) in
      try onStorage {
        try transaction.setAttributes(Array(later.utf8), of: .records(of: "City"))
        try transaction.createTree(.records(of: "Town"), kind: .records, attributes: Array(other.utf8))
        for index in Cities.descriptor.indexes {
          try transaction.createTree(.index(index.name, of: "Town"), kind: .entries, attributes: [])
        }
      }
    }
    #expect(try store.head.datastores.map(\.descriptor.key) == ["City", "Town"])
    #expect(try store.city(2) == Cities.document(2))
    #expect(try store.verifyModel(at: store.head.commit).isClean)
    let reason =
      "index place of City is of a kind that this program does not know (spatial), so City can only be read"
    let city = try #require(try store.head.datastore("City")).descriptor
    let refusal = ModelError.readOnly(reason: reason)
    #expect(throws: refusal) { try Cities.write([Cities.document(9)], to: store, as: city) }
    #expect(throws: refusal) { try Cities.write([], deleting: [2], to: store, as: city) }
    let town = try #require(try store.head.datastore("Town")).descriptor
    _ = try store.transact(CommitInfo(action: "in another")) { transaction throws(ModelError) in
      try onStorage {
        let writer = DatastoreWriter(town, in: transaction)
        let values = try Cities.values(Cities.document(1))
        _ = try writer.insertIfNew(Cities.key(1).bytes, [0], values: values)
        try writer.finish()
      }
    }
  }

  @Test("bytes that are not a descriptor are an error that says so")
  func garbage() throws {
    #expect(throws: ModelError.self) { try DatastoreDescriptor(bytes: Array("{}".utf8)) }
    #expect(throws: ModelError.self) { try DatastoreDescriptor(bytes: [0xFF, 0x00]) }
    var twice = cities
    twice.indexes.append(twice.indexes[0])
    #expect(throws: ModelError.self) { try DatastoreDescriptor(bytes: twice.bytes) }
  }

  @Test("tree names tell datastore and index apart again")
  func catalogNames() {
    #expect(TreeName.records(of: "City").datastoreKey == "City")
    #expect(TreeName.records(of: "City").indexName == nil)
    let index = TreeName.index("name", of: "City").indexName
    #expect(index?.datastore == "City")
    #expect(index?.index == "name")
    #expect(TreeName.leftOut(of: "City").datastoreKey == nil)
  }

  @Test("a record's bytes give version and content back, for versions of every length")
  func recordBytes() throws {
    for length in [0, 1, 127, 128, 300, 20_000] {
      let version = String(repeating: "v", count: length)
      let bytes = RecordBytes.make(version: version, content: [1, 2, 3])
      let (tag, content) = try RecordBytes.split(Bytes(bytes))
      #expect(tag == version)
      #expect(content.array == [1, 2, 3])
    }
  }

  @Test("hostile record bytes throw and never trap", arguments: [[], [0x80], [5, 1, 2], [0xFF, 0xFF, 0xFF, 0xFF, 1]])
  func hostileRecords(bytes: [UInt8]) {
    #expect(throws: ModelError.self) { try RecordBytes.split(Bytes(bytes)) }
  }

  @Test("an entry key comes apart into value and identifier")
  func entryKeys() {
    for identifier in [[], [7], Array(repeating: UInt8(9), count: 300)] {
      let key = EntryKey.make(value: [1, 2], identifier: identifier)
      let parts = key.withUnsafeBytes { EntryKey.split($0) }
      #expect(parts?.value == [1, 2])
      #expect(parts?.identifier == identifier)
      #expect(key.withUnsafeBytes { EntryKey.isEntry($0, of: identifier) })
    }
    #expect([UInt8]([0xFF, 0xFF]).withUnsafeBytes { EntryKey.split($0) } == nil)
    #expect([UInt8]([1]).withUnsafeBytes { EntryKey.split($0) } == nil)
  }
}
