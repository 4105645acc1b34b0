import StrataDocuments
import StrataEngine
import Testing

@testable import StrataModel

@Suite("Writing records with their index entries")
struct DatastoreWriterTests {
  @Test("puts, changes and deletes keep every index right")
  func keepsIndexes() throws {
    let store = try Cities.store(4)
    try Cities.write(
      [Cities.document(2, name: "Bern", country: "CH", population: 7, tags: [])], deleting: [3], to: store)
    #expect(try store.entries("population") == ["7 2", "100 1", "400 4"])
    #expect(try store.entries("name") == [#""Bern" 2"#, #""City 1" 1"#, #""City 4" 4"#])
    #expect(try store.entries("tags") == [#""t1" 1"#, #""t4" 4"#])
    #expect(try store.verifyModel(at: store.head.commit).isClean)
  }

  @Test("persisting an unchanged value writes nothing, also with its members in another order")
  func unchanged() throws {
    let store = try Cities.store(4)
    let head = store.head.commit
    let bytes = try store.byteCount
    #expect(try Cities.write([Cities.document(2)], to: store) == head)
    guard case .object(let members) = Cities.document(2) else { return }
    #expect(try Cities.write([.object(members.reversed())], to: store) == head)
    #expect(store.head.commit == head)
    #expect(try store.byteCount == bytes)
  }

  @Test("an index that holds its entries back remembers nothing of the empty tree: a later mend finds what was written")
  func mendAfterGathering() throws {
    let store = EngineStore.memory()
    let descriptor = IndexDescriptor(
      name: "name", kind: .oneToMany, storage: .direct, encoding: .string, valueType: "String")
    let (old, new) = (try KeyEncoding.string.encode(.string("old")), try KeyEncoding.string.encode(.string("new")))
    _ = try store.transact(CommitInfo(action: "gather")) { transaction throws(ModelError) in
      try onStorage {
        var writer = IndexWriter(descriptor, of: "City")
        try writer.create(in: transaction)
        try writer.gather(in: transaction, sharing: 1)
        for id in 1...3 {
          try writer.insert([old], of: Cities.key(id).bytes, .none, in: transaction)
          try writer.replace([old], by: [old], of: Cities.key(id).bytes, .none, in: transaction)
        }
        try writer.mend([new], of: Cities.key(1).bytes, .none, in: transaction)
        let tree = try #require(try transaction.tree(.index("name", of: "City")))
        #expect(try tree.count == 3)
        #expect(try tree.identifiers(of: old, .bytes, limit: 4) == [Cities.key(2).bytes, Cities.key(3).bytes])
      }
    }
  }

  @Test("an entry that is too long is refused, also where entries are held back")
  func longEntry() throws {
    let store = EngineStore.memory()
    let descriptor = IndexDescriptor(name: "name", kind: .oneToMany, encoding: .string, valueType: "String")
    #expect(throws: ModelError.self) {
      _ = try store.transact(CommitInfo(action: "gather")) { transaction throws(ModelError) in
        try onStorage {
          var writer = IndexWriter(descriptor, of: "City")
          try writer.create(in: transaction)
          try writer.gather(in: transaction, sharing: 1)
          try writer.insert([[UInt8](repeating: 1, count: 70_000)], of: [1], .none, in: transaction)
        }
      }
    }
  }

  @Test("a stored key that cannot be read is never taken for the one that is sought")
  func unreadableKey() throws {
    let store = EngineStore.memory()
    let name = TreeName([1])
    let place = SoughtPlace.compare { stored in
      guard stored.first != 2 else { throw ModelError.unreadable(what: "a key", where: "2") }
      return Int(stored.first ?? 0) - 9
    }
    _ = try store.transact(CommitInfo(action: "three keys")) { transaction throws(ModelError) in
      try onStorage {
        try transaction.createTree(name, kind: .records, order: .caller, attributes: [])
        for key: UInt8 in 1...3 {
          try transaction.put([key], [key], in: name, probe: .compare { Int($0.first ?? 0) - Int(key) })
        }
        #expect(try transaction.tree(name)?.find(place.keptProbe) == nil)
      }
      _ = try onStorage {
        #expect(throws: ModelError.self) { try place.withProbe { try transaction.tree(name)?.find($0) } }
      }
    }
  }

  @Test("an unchanged value whose index entry is missing is written, and the index mended")
  func unchangedButMissing() throws {
    let store = try Cities.store(4)
    _ = try store.transact(CommitInfo(action: "damage")) { transaction throws(ModelError) in
      let key = EntryKey.make(value: try KeyEncoding.string.encode(.string("City 2")), identifier: Cities.key(2).bytes)
      try onStorage { _ = try transaction.remove(key, in: .index("name", of: "City")) }
    }
    #expect(try !store.verifyModel(at: store.head.commit).isClean)
    try Cities.write([Cities.document(2)], to: store)
    #expect(try store.verifyModel(at: store.head.commit).isClean)
  }

  @Test("an old entry that stands elsewhere than the old record says is found by its identifier and removed")
  func mends() throws {
    let store = try Cities.store(30)
    _ = try store.transact(CommitInfo(action: "as under an older key path")) { transaction throws(ModelError) in
      for id in [5, 6, 7] {
        let identifier = Cities.key(id).bytes
        let right = EntryKey.make(value: try KeyEncoding.string.encode(.string("City \(id)")), identifier: identifier)
        let wrong = EntryKey.make(value: try KeyEncoding.string.encode(.string("city \(id)")), identifier: identifier)
        try onStorage {
          _ = try transaction.remove(right, in: .index("name", of: "City"))
          _ = try transaction.insert(wrong, .none, in: .index("name", of: "City"))
        }
      }
    }
    try Cities.write([5, 6].map { Cities.document($0, name: "new \($0)") }, deleting: [7], to: store)
    let names = try store.entries("name").filter { !$0.hasPrefix(#""City "#) }
    #expect(names == [#""new 5" 5"#, #""new 6" 6"#])
    #expect(try store.verifyModel(at: store.head.commit).isClean)
  }

  @Test("entries of a direct index refer to the newest version of their record")
  func directPayloads() throws {
    let store = try Cities.store(6)
    try Cities.write([Cities.document(3, name: "changed in another field")], to: store)
    let datastore = try store.headView.requiredDatastore("City")
    let tree = try #require(try store.index("population").tree())
    let key = EntryKey.make(value: try KeyEncoding.integer.encode(.integer(300)), identifier: Cities.key(3).bytes)
    let payload = try tree.find(.bytes(key))?.payload.record
    #expect(payload != nil)
    #expect(try payload == datastore.entry(Cities.key(3).bytes)?.payload.record)
  }

  @Test("with uniqueness switched on a duplicate is refused, and a swap within a transaction passes")
  func uniqueness() throws {
    var descriptor = Cities.descriptor
    var index = try #require(descriptor.index("name"))
    index.isUnique = true
    descriptor.setIndex("name", to: index)
    let store = EngineStore.memory()
    try Cities.write([Cities.document(1, name: "A"), Cities.document(2, name: "B")], to: store, as: descriptor)
    let head = store.head.commit
    #expect {
      try Cities.write([Cities.document(2, name: "A")], to: store, as: descriptor)
    } throws: { error in
      guard case .notUnique(let conflicts)? = error as? ModelError else { return false }
      return conflicts.map(\.identifiers) == [[Cities.key(1), Cities.key(2)]]
    }
    #expect(store.head.commit == head)
    try Cities.write([Cities.document(1, name: "B"), Cities.document(2, name: "A")], to: store, as: descriptor)
    #expect(try store.entries("name") == [#""A" 2"#, #""B" 1"#])
  }

  @Test("a record that was left out is taken from the list when it is written again")
  func leftOut() throws {
    let store = try Cities.store(3)
    _ = try store.transact(CommitInfo(action: "leave out")) { transaction throws(ModelError) in
      try onStorage {
        try transaction.createTree(.leftOut(of: "City"), kind: .entries)
        for id in [1, 2] {
          _ = try transaction.insert(
            Cities.key(id).bytes, .bytes(Bytes(Array("no population".utf8))), in: .leftOut(of: "City"))
        }
      }
    }
    let datastore = try store.headView.requiredDatastore("City")
    #expect(try datastore.leftOutCount == 2)
    #expect(try datastore.leftOut(limit: 1) == [LeftOutRecord(identifier: Cities.key(1), reason: "no population")])
    try Cities.write([Cities.document(1, population: 5)], deleting: [2], to: store)
    #expect(try store.headView.requiredDatastore("City").leftOutCount == 0)
    #expect(try store.headView.tree(.leftOut(of: "City")) == nil)
  }

  @Test("a comparison that is not an order throws, naming index and keys")
  func disorder() throws {
    let store = EngineStore.memory()
    /// Takes every key for the one that comes after all others, whichever is asked.
    final class Disorder: KeyComparator {
      func comparison(to key: [UInt8]) -> KeyComparison { KeyComparison { _ in -1 } }
    }
    var descriptor = Cities.descriptor
    var index = try #require(descriptor.index("population"))
    index.encoding = .comparator("Population")
    descriptor.setIndex("population", to: index)
    #expect {
      _ = try store.transact(CommitInfo(action: "disorder")) { transaction throws(ModelError) in
        try DatastoreWriter.create(descriptor, in: transaction)
        let writer = DatastoreWriter(descriptor, in: transaction, identifiers: .bytes) { name in
          name == "population" ? EntryOrder(value: .comparator(Disorder()), identifier: .bytes) : .bytes
        }
        for id in 1...2 {
          let values = try? Cities.values(Cities.document(id))
          _ = try onStorage {
            try writer.put(
              Cities.key(id).bytes, RecordBytes.make(version: "1", content: []), values: values ?? [], replacing: nil)
          }
        }
      }
    } throws: { error in
      guard case .disorder("City", index: "population", let keys)? = error as? ModelError else { return false }
      return !keys.isEmpty
    }
  }
}
