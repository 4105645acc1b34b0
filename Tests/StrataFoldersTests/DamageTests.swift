import StrataModel
import Testing

@testable import StrataFolders

@Suite("Damaged folders: an error names the file, the rest can be read")
struct DamageTests {
  /// Three commits of one datastore with small pages, and a second datastore beside it.
  private func built() throws -> FolderBuilder {
    let builder = try FolderBuilder()
    builder.pageSize = 160
    for commit in 1...3 {
      builder.commit(
        [
          .init(
            key: "things", records: (0..<40).map { .record("\($0)", "{\"id\":\($0),\"c\":\($0 == 20 ? commit : 0)}") },
            indexes: [
              .init(name: "n", type: "OneToManyIndex(Int)", entries: (0..<40).map { .reference("\($0 / 2)", "\($0)") })
            ]),
          .init(key: "others", records: [.record("1", "{}")]),
        ], action: "commit \(commit)")
    }
    return builder
  }

  private func page(of identifier: Int, in builder: FolderBuilder) throws -> String {
    let datastore = try #require(try builder.open().headView.folderDatastore("things"))
    let entries = try datastore.primaryIndex.entries
    let place = try #require(
      try datastore.primaryIndex.place(
        of: StoredKey(bytes: KeyEncoding.integer.encode(.integer(Int64(identifier))), value: .null), value: nil))
    return entries.source.path(of: entries.pages[place.page])
  }

  @Test("a page or a manifest that was repaired is read again after the next look", arguments: [true, false])
  func repaired(isPage: Bool) throws {
    let builder = try built()
    let pageFile = try page(of: 20, in: builder)
    let file = isPage ? pageFile : try manifest(beside: pageFile, in: builder)
    let whole = try FolderFiles(path: builder.path).bytes(of: file)
    builder.write(file, Array(whole.prefix(40)))
    let store = try builder.open()
    let before = try store.commit(store.head.commit).changes
    #expect(throws: ModelError.self) { try Self.values(of: store) }
    builder.write(file, whole)
    _ = try store.refresh()
    #expect(try Self.values(of: store).count == 40)
    #expect(try store.commit(store.head.commit).changes != before)
  }

  /// The newest manifest of the index of a page.
  private func manifest(beside page: String, in builder: FolderBuilder) throws -> String {
    let contents = try builder.open().contents
    let view = try builder.open().headView
    let root = try #require(view.rootFile(of: "things"))
    let manifests = try contents.root(root.file).manifests(in: root.folder)
    return try #require(manifests.first { page.hasPrefix($0.index) }).file
  }

  private static func values(of store: FolderStore) throws -> [KeyValue] {
    let primary = try #require(try store.head.datastore("things")).primary
    return try primary.entries(at: 0..<primary.rank(of: .end)).map(\.value)
  }

  @Test(
    "a page that is cut short or missing takes one row, and what reaches into it; every other row is read",
    arguments: [true, false])
  func page(isMissing: Bool) throws {
    let builder = try built()
    let file = try page(of: 10, in: builder)
    if isMissing {
      remove(file, of: builder)
    } else {
      builder.write(file, Array(try FolderFiles(path: builder.path).bytes(of: file).prefix(40)))
    }
    let store = try builder.open()
    let datastore = try #require(try store.head.datastore("things"))
    let count = try datastore.primary.rank(of: .end)
    var read: [KeyValue] = []
    var errors: [ModelError] = []
    for rank in 0..<count {
      do { read += try datastore.primary.entries(at: rank..<(rank + 1)).map(\.value) } catch { errors.append(error) }
    }
    #expect((1...2).contains(errors.count))
    #expect(errors.allSatisfy { $0.description.contains(file) && $0.exitStatus == 3 })
    #expect(read.count >= 32)
    for value in read {
      let key = StoredKey(bytes: try KeyEncoding.integer.encode(value), value: value)
      #expect(try datastore.record(key) != nil)
    }
    #expect(try datastore.indexes.first?.entries(at: 0..<100).count == 40)
    #expect(try store.head.datastore("others")?.allRecords().count == 1)
    #expect(try store.commits(from: store.head.commit, limit: 9, folded: true).count == 3)
  }

  @Test(
    "a missing manifest or root spoils one datastore's records and nothing else", arguments: ["Manifest/", "Root/"])
  func manifest(_ part: String) throws {
    let builder = try built()
    let store = try builder.open()
    let view = store.headView
    let root = try #require(view.rootFile(of: "things"))
    let file =
      part == "Root/"
      ? root.file : try #require(try store.contents.root(root.file).manifests(in: root.folder).first?.file)
    remove(file, of: builder)
    let damaged = try builder.open()
    let datastore = try #require(try damaged.head.datastore("things"))
    #expect(throws: ModelError.unreadable(what: file, where: "the file is missing")) {
      try datastore.primary.entries(at: 0..<1)
    }
    #expect(try damaged.head.datastores.count == 2)
    #expect(try damaged.head.datastore("others")?.allRecords().count == 1)
    #expect(try damaged.view(at: CommitNumber(2)).datastore("things")?.allRecords().count == 40)
    #expect(
      try damaged.commits(from: damaged.head.commit, limit: 9, folded: true).map(\.action) == [
        "commit 3", "commit 2", "commit 1",
      ])
  }

  @Test("an iteration that is gone ends the history there, as pruning will")
  func prunedHistory() throws {
    let builder = try built()
    remove(try #require(try builder.open().history.link(CommitNumber(1))?.file), of: builder)
    let store = try builder.open()
    #expect(
      try store.commits(from: store.head.commit, limit: 9, folded: true).map(\.action) == ["commit 3", "commit 2"])
    #expect(store.openingReport.isEmpty)
  }

  @Test("an iteration that cannot be read ends the history with a word about its file")
  func brokenHistory() throws {
    let builder = try built()
    let file = try #require(try builder.open().history.link(CommitNumber(1))?.file)
    builder.write(file, "{\"version\":\"alpha\"")
    let store = try builder.open()
    #expect(try store.commits(from: store.head.commit, limit: 9, folded: true).count == 2)
    #expect(store.openingReport.contains { $0.contains(file) })
  }

  @Test("where the newest commit cannot be read the one before is shown, and it is said")
  func brokenHead() throws {
    let builder = try built()
    let file = try #require(try builder.open().history.links.last?.file)
    remove(file, of: builder)
    let store = try builder.open()
    #expect(store.head.commit == CommitNumber(2))
    #expect(store.openingReport.contains { $0.contains(file) && $0.contains("is missing") })
    #expect(store.damage == store.openingReport.first)
  }

  @Test("what a folder lacked is shown as soon as it is there, and what is taken away is reported")
  func comingLater() throws {
    let builder = try built()
    let file = try #require(try builder.open().history.links.last?.file)
    let bytes = try FolderFiles(path: builder.path).bytes(of: file)
    remove(file, of: builder)
    let store = try builder.open()
    #expect(try store.refresh().commit == CommitNumber(2))
    builder.write(file, bytes)
    #expect(try store.refresh().commit == CommitNumber(3))
    #expect(store.damage == nil && store.openingReport.isEmpty)
    let empty = try FolderBuilder()
    let none = try empty.open()
    #expect(none.damage == nil)
    remove("Info.json", of: empty)
    _ = try none.refresh()
    #expect(none.damage?.contains("Info.json") == true)
  }

  @Test("links that lead back to themselves end the history once")
  func loop() throws {
    let builder = try FolderBuilder()
    let first = builder.commit([.init(key: "a", records: [.record("1", "{}")])], action: "one")
    let second = builder.commit([.init(key: "a", records: [.record("2", "{}")])], action: "two")
    let file = FolderHistory.Link(iteration: first, snapshot: builder.snapshot).file
    let text = String(decoding: try FolderFiles(path: builder.path).bytes(of: file), as: UTF8.self)
    builder.write(file, text.replacing("\"successive", with: "\"precedingIteration\":\"\(second)\",\"successive"))
    let store = try builder.open()
    #expect(try store.commits(from: store.head.commit, limit: 9, folded: true).map(\.action) == ["two", "one"])
    #expect(store.openingReport.contains { $0.contains("leads back to itself") })
  }

  @Test(
    "identifiers that cannot be one are refused where they stand",
    arguments: [("\"root\":\"", "\"root\":\"../../../../etc/"), ("\"id\":\"things", "\"id\":\"../things")])
  func impossibleNames(_ found: String, _ replacement: String) throws {
    let builder = try built()
    let file = try #require(try builder.open().history.links.last?.file)
    let text = String(decoding: try FolderFiles(path: builder.path).bytes(of: file), as: UTF8.self)
    #expect(text.contains(found))
    builder.write(file, text.replacing(found, with: replacement))
    let store = try builder.open()
    #expect(store.head.commit == CommitNumber(2))
    #expect(store.openingReport.contains { $0.contains("cannot be a file's name") })
  }

  @Test(
    "pointers: what is missing reads as empty, what is torn is an error that names the file",
    arguments: [
      ("Info.json", nil as String?), ("Info.json", "{"), ("Manifest.json", nil), ("Manifest.json", "[]"),
      ("Info.json", #"{"version":"beta"}"#),
    ])
  func pointers(_ name: String, _ text: String?) throws {
    let builder = try built()
    let file = try #require(builder.files(name).first)
    guard let text else {
      remove(file, of: builder)
      let store = try builder.open()
      #expect(try store.head.datastores.isEmpty)
      #expect(store.openingReport.contains { $0.contains(file) })
      #expect(store.damage?.contains(file) == true)
      return
    }
    builder.write(file, text)
    #expect { try builder.open() } throws: { "\($0)".contains(file) && ($0 as? ModelError)?.exitStatus == 3 }
  }

  @Test("a commit with damage in it is still a row of the history")
  func rowOfDamagedCommit() throws {
    let builder = try built()
    remove(try page(of: 20, in: builder), of: builder)
    let store = try builder.open()
    #expect(
      try store.commits(from: store.head.commit, limit: 9, folded: true).map(\.action) == [
        "commit 3", "commit 2", "commit 1",
      ])
    #expect(throws: ModelError.self) {
      let changes = try store.changes(of: store.head.commit)
      while try !changes.next(1).isEmpty {}
    }
  }
}
