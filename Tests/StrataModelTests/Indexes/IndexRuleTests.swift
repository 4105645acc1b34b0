import StrataDocuments
import StrataLocks
import StrataEngine
import Testing

@testable import StrataModel

@Suite("Rules of indexes")
struct IndexRuleTests {
  private func descriptor(_ change: (inout IndexDescriptor) -> Void) -> DatastoreDescriptor {
    var descriptor = Cities.descriptor
    for index in descriptor.indexes {
      var index = index
      change(&index)
      descriptor.setIndex(index.name, to: index)
    }
    return descriptor
  }

  private func rules(_ store: EngineStore) throws -> [String: RuleOutcome] {
    try store.proofs.rules(of: store.headView.requiredDatastore("City"))
  }

  private func path(_ outcome: RuleOutcome?) -> String? {
    if case .proven(let rule)? = outcome { rule.text } else { nil }
  }

  @Test("a stored key-path name that reproduces the index is its rule, whatever the number of values")
  func keyPathNames() throws {
    let rules = try rules(Cities.store(6))
    #expect(path(rules["country"]) == ".country")
    #expect(path(rules["name"]) == ".name")
    #expect(path(rules["population"]) == ".population")
    #expect(path(rules["tags"]) == ".tags")
  }

  @Test("a key path through optionals leads to the field that records have, as a reference too")
  func optionalKeyPaths() {
    let field = DocumentPath([.member("place"), .member("city")])
    for name in [".place?.city?", "\\Book.place?.city", ".place!.city"] {
      let index = IndexDescriptor(
        name: "city", kind: .oneToMany, encoding: .optional(.string), valueType: "Optional<String>", keyPathName: name,
        target: "City")
      #expect(index.documentPath == field, "\(name)")
      let books = DatastoreDescriptor(
        key: "Book", instanceType: "Book", identifierType: "Int", identifierEncoding: .integer, indexes: [index])
      #expect(ReferenceFields(books).target(of: field) == "City", "\(name)")
    }
  }

  @Test("a proof tells how many records it has read, ends when it is told to, and is made once for a state")
  func progress() throws {
    let store = try Cities.store(1_100)
    let heard = Mutex<[Int]>([])
    let datastore = try store.headView.requiredDatastore("City")
    #expect(throws: ModelError.cancelled) {
      try store.proofs.rules(of: datastore) { done, total in
        heard.withLock { $0.append(done) }
        return done < 512
      }
    }
    #expect(heard.withLock { $0 } == [0, 512])
    _ = try store.proofs.rules(of: datastore) { done, total in
      #expect(total == 1_100)
      heard.withLock { $0.append(done) }
      return true
    }
    #expect(heard.withLock { $0 } == [0, 512, 0, 512, 1_024])
    #expect(path(try store.proofs.rules(of: datastore) { _, _ in false }["population"]) == ".population")
  }

  @Test("without a name the only path that reproduces the index is its rule, from 20 distinct values on")
  func onlyCandidate() throws {
    let unnamed = descriptor { $0.keyPathName = nil }
    for (count, expected) in [(19, nil), (20, ".population")] as [(Int, String?)] {
      let store = EngineStore.memory()
      try Cities.write((1...count).map { Cities.document($0) }, to: store, as: unnamed)
      let rules = try rules(store)
      #expect(path(rules["population"]) == expected)
      #expect(path(rules["country"]) == nil)
    }
  }

  @Test("a name that is not the member's name in the document leaves it to the only candidate")
  func renamedMember() throws {
    let store = EngineStore.memory()
    try Cities.write(
      (1...30).map { Cities.document($0) }, to: store, as: descriptor { $0.keyPathName = "\($0.name)InSwift" })
    let rules = try rules(store)
    #expect(path(rules["population"]) == ".population")
    guard case .proven(let rule)? = rules["name"] else {
      Issue.record("name has no rule")
      return
    }
    #expect(rule.origin == .onlyCandidate)
    #expect(path(rules["country"]) == nil)
  }

  @Test("two paths that reproduce an index alike prove nothing")
  func ambiguous() throws {
    let store = EngineStore.memory()
    let twins = (1...30).map { id -> Document in
      (try? Cities.document(id).setting(DocumentPath(parsing: ".twin"), to: .number(NumberText(id * 100)))) ?? .null
    }
    try Cities.write(twins, to: store, as: descriptor { $0.keyPathName = nil })
    guard case .unproven(let reason)? = try rules(store)["population"] else {
      Issue.record("population has a rule")
      return
    }
    #expect(reason == ".population and .twin reproduce it alike")
  }

  @Test("one record that disagrees refutes a path: a missing entry, and one too many")
  func refuted() throws {
    for isMissing in [true, false] {
      let store = try Cities.store(40)
      _ = try store.transact(CommitInfo(action: "damage")) { transaction throws(ModelError) in
        let value = try KeyEncoding.integer.encode(.integer(isMissing ? 700 : 701))
        let key = EntryKey.make(value: value, identifier: Cities.key(7).bytes)
        try onStorage {
          if isMissing {
            _ = try transaction.remove(key, in: .index("population", of: "City"))
          } else {
            _ = try transaction.insert(key, .none, in: .index("population", of: "City"))
          }
        }
      }
      #expect(path(try rules(store)["population"]) == nil)
      #expect(path(try rules(store)["name"]) == ".name")
    }
  }

  @Test("a record that cannot be read refutes no path and ends no planning, before a proof and after it")
  func unreadableRecord() throws {
    for isProvenBefore in [false, true] {
      let store = try Cities.store(40)
      if isProvenBefore { _ = try rules(store) }
      _ = try store.transact(CommitInfo(action: "damage")) { transaction throws(ModelError) in
        try onStorage {
          _ = try transaction.put(
            Cities.key(3).bytes, RecordBytes.make(version: "1", content: [0x7B]), in: .records(of: "City"))
        }
      }
      let found = try rules(store)
      #expect(
        ["country", "name", "population", "tags"].map { path(found[$0]) } == [
          ".country", ".name", ".population", ".tags",
        ])
      _ = try store.commit(
        ChangeSet(changes: [Cities.edit(7, from: Cities.document(7), to: Cities.document(7, name: "Uri"))]),
        named: "edit", options: EditOptions())
      #expect(try store.index("name").count == 40)
    }
  }

  @Test("an index without an entry, or without a value beside null, proves nothing")
  func nothingToProve() throws {
    let optional = descriptor {
      if $0.name == "country" { ($0.encoding, $0.valueType) = (.optional(.string), "Optional<String>") }
    }
    let store = EngineStore.memory()
    let documents = (1...25).map { id -> Document in
      (try? Cities.document(id, tags: []).removing(DocumentPath(parsing: ".country"))) ?? .null
    }
    try Cities.write(documents, to: store, as: optional)
    let rules = try rules(store)
    #expect(path(rules["tags"]) == nil)
    #expect(path(rules["country"]) == nil)
  }

  @Test("a proof is carried over later commits by reading what changed, not all records")
  func carried() throws {
    let store = try Cities.store(3_000)
    _ = try rules(store)
    try Cities.write([Cities.document(7, name: "new"), Cities.document(9_000)], deleting: [8], to: store)
    let before = store.engine.counts.valueReads
    #expect(path(try rules(store)["name"]) == ".name")
    #expect(store.engine.counts.valueReads - before < 200)
  }

  @Test("a carried proof ends where an index was changed behind it")
  func carriedIsRefuted() throws {
    let store = try Cities.store(40)
    _ = try rules(store)
    _ = try store.transact(CommitInfo(action: "damage")) { transaction throws(ModelError) in
      let key = EntryKey.make(value: try KeyEncoding.integer.encode(.integer(1)), identifier: Cities.key(7).bytes)
      try onStorage {
        _ = try transaction.insert(key, .none, in: .index("population", of: "City"))
      }
    }
    #expect(path(try rules(store)["population"]) == nil)
    #expect(path(try rules(store)["name"]) == ".name")
  }

  @Test(
    "fields are read as Swift's coders write them",
    arguments: [
      (.integer, 12, .integer(12)),
      (.integer, 1.5, nil),
      (.integer, "12", nil),
      (.double, 12, .double(12)),
      (.decimal, 0.1, .decimal("0.1")),
      (.string, "a", .string("a")),
      (.bool, true, .bool(true)),
      (.optional(.string), nil, .null),
      (.string, nil, nil),
      (.data, "AQI=", .data([1, 2])),
      (.date, 0.5, .date(0.5)),
      (.duration, [0, 1_500_000_000_000_000_000], .duration(seconds: 1, attoseconds: 500_000_000_000_000_000)),
      (.duration, [-1, 0], nil),
      (
        .uuid, "E621E1F8-C36C-495A-93FC-0C247A3E6E5F",
        .uuid(UUIDBytes(high: 0xE621_E1F8_C36C_495A, low: 0x93FC_0C24_7A3E_6E5F))
      ),
      (.uuid, "E621", nil),
    ] as [(KeyEncoding, Document, KeyValue?)])
  func fields(encoding: KeyEncoding, field: Document, value: KeyValue?) {
    if case .array(let halves) = field, halves.first == -1 {
      #expect(encoding.keyValue(of: field) == .duration(seconds: -18, attoseconds: -446_744_073_709_551_616))
    } else {
      #expect(encoding.keyValue(of: field) == value)
    }
  }
}
