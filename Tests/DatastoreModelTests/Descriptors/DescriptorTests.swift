import Documents
import StorageEngine
import Testing

@testable import DatastoreModel

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

  @Test("bytes that are no descriptor are an error that says so")
  func garbage() throws {
    #expect(throws: ModelError.self) { try DatastoreDescriptor(bytes: Array("{}".utf8)) }
    #expect(throws: ModelError.self) { try DatastoreDescriptor(bytes: [0xFF, 0x00]) }
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
