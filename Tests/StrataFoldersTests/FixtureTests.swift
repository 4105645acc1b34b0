import StrataDocuments
@testable import StrataModel
import Foundation
import Testing

@testable import StrataFolders

@Suite("Stores that the original library wrote", .enabled(if: Fixture.areThere, Fixture.absence))
struct FixtureTests {
  @Test("SHA-256 gives the published value of “abc”")
  func hashOfABC() {
    var hash = SHA256()
    hash.update(Array("abc".utf8))
    #expect(hash.hexDigest == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
  }

  @Test("datastores, types and records are those of the expected file, in its order", arguments: Fixture.names)
  func records(of name: String) throws {
    let fixture = try Fixture(name)
    let view = try fixture.open().head
    #expect(try view.datastores.map(\.descriptor.key) == fixture.datastores.map { $0["key"].text ?? "" }.sorted())
    for expected in fixture.datastores {
      let datastore = try #require(try view.datastore(expected["key"].text ?? ""))
      #expect(try datastore.count == expected["count"].integer)
      guard !expected["root"].isNull else { continue }
      #expect(datastore.descriptor.instanceType == expected["instanceType"].text)
      #expect(datastore.descriptor.identifierType == expected["identifierType"].text)
      #expect(datastore.descriptor.version == expected["version"].text ?? expected["version"].hashedText)
      try compareRecords(datastore, with: expected)
    }
  }

  private func compareRecords(_ datastore: any ReadableDatastore, with expected: Document) throws {
    let records = try datastore.allRecords()
    if let hash = expected["sha256"].text { #expect(try datastore.hash() == hash) }
    guard expected[member: "records"] != nil else { return }
    try #require(records.count == expected["records"].elements.count)
    for (record, expected) in zip(records, expected["records"].elements) {
      let identifier = datastore.descriptor.identifierEncoding.keyValue(from: expected["id"])
      #expect(record.identifier.value == identifier)
      if let version = expected[member: "version"] { #expect(record.version == version.text ?? version.hashedText) }
      if let value = expected[member: "value"] { #expect(try record.document().plain == value) }
      if let size = expected["bodyUTF8Bytes"].integer {
        #expect(try record.document()["body"].text?.utf8.count == size)
      }
    }
  }

  @Test("every index has the expected kind, and its entries in the expected order", arguments: Fixture.names)
  func indexes(of name: String) throws {
    let fixture = try Fixture(name)
    let view = try fixture.open().head
    for expected in fixture.datastores {
      let datastore = try #require(try view.datastore(expected["key"].text ?? ""))
      let names = expected["indexes"].elements.compactMap(\.["name"].text)
      #expect(datastore.indexes.map(\.descriptor.name) == names.sorted())
      for expected in expected["indexes"].elements {
        let index = try #require(datastore.indexes.first { $0.descriptor.name == expected["name"].text })
        #expect(index.descriptor.type == expected["type"].text)
        #expect((index.descriptor.storage == .direct) == (expected["storage"].text == "direct"))
        #expect(index.descriptor.version == expected["version"].text ?? expected["version"].hashedText)
        #expect(try index.count == expected["entryCount"].integer)
        let entries = try index.entries(at: 0..<(try index.count))
        #expect(
          entries.map(\.value)
            == expected["entries"].elements.map { index.descriptor.encoding.keyValue(from: $0["value"]) })
        #expect(
          entries.map(\.identifier.value)
            == expected["entries"].elements.map { datastore.descriptor.identifierEncoding.keyValue(from: $0["id"]) })
        for (rank, entry) in entries.enumerated() {
          #expect(try index.rank(of: entry.identifier, value: entry.value) == rank)
        }
      }
    }
  }

  @Test("range queries find what the original library finds", arguments: Fixture.names)
  func queries(of name: String) throws {
    let fixture = try Fixture(name)
    let view = try fixture.open().head
    for expected in fixture.datastores {
      let datastore = try #require(try view.datastore(expected["key"].text ?? ""))
      for query in expected["queries"].elements {
        let named = query["index"].text.map { name in datastore.indexes.first { $0.descriptor.name == name } }
        let index = try #require(named ?? datastore.primary)
        let lower = try bound(query, "lower", of: index)
        let upper = try bound(query, "upper", of: index)
        var found = try index.entries(at: index.rank(of: lower)..<index.rank(of: upper)).map(\.identifier.value)
        if query["order"].text == "descending" { found.reverse() }
        let identifiers = query["ids"].elements.map { datastore.descriptor.identifierEncoding.keyValue(from: $0) }
        #expect(found == identifiers, "\(query.hashedText)")
      }
    }
  }

  private func bound(_ query: Document, _ side: String, of index: any ReadableIndex) throws -> KeyBound {
    if query[side]["extent"].isTrue { return side == "lower" ? .start : .end }
    let value = try #require(index.descriptor.encoding.keyValue(from: query[side]))
    return (side == "lower") == query["\(side)Inclusive"].isTrue ? .before(value) : .after(value)
  }

  @Test("the history has the expected rows, and every iteration its expected records", arguments: Fixture.names)
  func history(of name: String) throws {
    let fixture = try Fixture(name)
    let store = try fixture.open()
    let rows = try store.commits(from: store.head.commit, limit: .max, folded: true)
    let expectedRows = fixture.history.filter { !$0["registrationOnly"].isTrue }
    #expect(rows.reversed().map(\.action) == expectedRows.map { $0["actionName"].text ?? "" })
    #expect(rows.reversed().map(\.date) == expectedRows.map { MomentText.nanoseconds($0["creationDate"].text ?? "") })
    #expect(Int(store.head.commit.rawValue) == fixture.history.count)
    #expect(try store.commits(from: store.head.commit, limit: .max, folded: false).count == fixture.history.count)
    for (place, expected) in fixture.history.enumerated() {
      let view = try store.view(at: CommitNumber(UInt64(place + 1)))
      #expect(try view.datastores.map(\.descriptor.key) == expected["datastores"].members.map(\.name).sorted())
      for member in expected["datastores"].members {
        let datastore = try #require(try view.datastore(member.name))
        #expect(try datastore.count == member.value["count"].integer)
        if let hash = member.value["sha256"].text { #expect(try datastore.hash() == hash) }
        guard let records = member.value[member: "records"] else { continue }
        #expect(try datastore.allRecords().map { try $0.document() } == records.elements.map { $0["value"] })
      }
    }
  }

  @Test("what each commit is said to change leads from one state to the next", arguments: Fixture.names)
  func changes(of name: String) throws {
    let fixture = try Fixture(name)
    defer { withExtendedLifetime(fixture) {} }
    let store = try fixture.open()
    var state: [String: [Data: RecordContent]] = [:]
    for number in 1...max(1, store.head.commit.rawValue) where store.head.commit.rawValue > 0 {
      let commit = CommitNumber(number)
      let reader = try store.changes(of: commit)
      var counts: [String: ChangeCount] = [:]
      while case let changes = try reader.next(7), !changes.isEmpty {
        for change in changes {
          let key = Data(change.identifier.bytes)
          #expect(state[change.datastore]?[key] == change.old?.stored)
          state[change.datastore, default: [:]][key] = change.new?.stored
          var count = counts[change.datastore] ?? ChangeCount(datastore: change.datastore)
          if change.old == nil {
            count.inserted += 1
          } else if change.new == nil {
            count.deleted += 1
          } else {
            count.updated += 1
          }
          counts[change.datastore] = count
        }
      }
      #expect(try store.commit(commit).changes == counts.values.sorted { $0.datastore < $1.datastore })
      for datastore in try store.view(at: commit).datastores {
        let records = try datastore.allRecords().map { (Data($0.identifier.bytes), $0.stored) }
        #expect(state[datastore.descriptor.key] ?? [:] == Dictionary(uniqueKeysWithValues: records))
      }
    }
  }

  @Test(
    "a record's versions are the states that the iterations show",
    arguments: ["history", "legacy", "snapshots", "books"])
  func versions(of name: String) throws {
    let fixture = try Fixture(name)
    defer { withExtendedLifetime(fixture) {} }
    let store = try fixture.open()
    let datastore = try #require(try store.head.datastores.first?.descriptor.key)
    var identifiers: [StoredKey] = []
    var states: [Data: [(CommitNumber, RecordContent?)]] = [:]
    for number in 1...store.head.commit.rawValue {
      let commit = CommitNumber(number)
      let records = try store.view(at: commit).datastore(datastore)?.allRecords() ?? []
      for record in records where states[Data(record.identifier.bytes)] == nil {
        identifiers.append(record.identifier)
        states[Data(record.identifier.bytes)] = []
      }
      for identifier in identifiers {
        let content = records.first { $0.identifier == identifier }?.stored
        if states[Data(identifier.bytes)]?.last?.1 != content {
          states[Data(identifier.bytes)]?.append((commit, content))
        }
      }
    }
    for identifier in identifiers {
      let versions = try store.versions(of: identifier, in: datastore, from: store.head.commit, limit: .max)
      let expected = try #require(states[Data(identifier.bytes)]).reversed()
      #expect(versions.map(\.commit.number) == expected.map(\.0))
      #expect(try versions.map { try $0.record?.stored } == expected.map(\.1))
    }
  }

  @Test("nothing in a folder is touched by reading it", arguments: Fixture.names)
  func readingWritesNothing(in name: String) throws {
    let fixture = try Fixture(name)
    let before = try FolderState(of: fixture.path)
    let store = try fixture.open()
    let token = try store.follow {}
    for commit in try store.commits(from: store.head.commit, limit: .max, folded: false) {
      for datastore in try store.view(at: commit.number).datastores { _ = try datastore.allRecords() }
    }
    _ = try store.byteCount
    _ = try store.refresh()
    withExtendedLifetime(token) {}
    #expect(try FolderState(of: fixture.path) == before)
  }
}

/// Names, sizes, times and bytes of all files of a folder.
struct FolderState: Equatable {
  private var files: [String: [UInt8]] = [:]

  init(of path: String) throws {
    let enumerator = try #require(FileManager.default.enumerator(atPath: path))
    for case let file as String in enumerator {
      let attributes = try FileManager.default.attributesOfItem(atPath: "\(path)/\(file)")
      let changed = (attributes[.modificationDate] as? Date)?.timeIntervalSince1970 ?? 0
      let content = FileManager.default.contents(atPath: "\(path)/\(file)").map { [UInt8]($0) } ?? []
      files[file] = Array("\(changed)".utf8) + content
    }
  }
}
