import Documents
import DatastoreModel
import FoundationEssentials
import Testing

/// Files of documents that are opened as stores in memory.
@Suite struct DocumentFileTests {
  private static func withFile<Value>(_ name: String, _ text: String, _ body: (String) throws -> Value) throws -> Value
  {
    let folder = FileManager.default.temporaryDirectory.appending(path: "strata-file-\(UInt64.random(in: 0...(.max)))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: name)
    try Data(text.utf8).write(to: file)
    return try body(file.path)
  }

  private static func rewritten(_ file: DocumentFile, _ store: OwnStore) throws -> String {
    var bytes: [UInt8] = []
    try file.write(store.head) { bytes += $0 }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static let same: [(String, String)] = [
    ("cities.csv", "id,name,pop\n1,Bern,120\n2,Ōsaka,3000000\n3,\"a,b\",\n"),
    ("cities.tsv", "id\tname\n1\tBern, Switzerland\n2\tKobe\n"),
    ("semi.csv", "id;name\n1;Bern, CH\n2;Kobe\n"),
    ("noid.csv", "name,pop\nBern,1\nBern,1\nKobe,2\n"),
    ("cities.jsonl", "{\"id\":1,\"name\":\"Bern\"}\n{\"id\":2,\"name\":\"Kobe\",\"dims\":{\"w\":1.50}}\n"),
    ("noid.jsonl", "{\"name\":\"Bern\"}\n{\"name\":\"Bern\"}\n"),
    ("list.json", "[\n{\"id\":1,\"name\":\"Bern\"},\n{\"id\":2,\"name\":\"Kobe\"}\n]\n"),
    ("keyed.json", "{\n  \"a\": {\"name\":\"Bern\"},\n  \"b\": {\"name\":\"Kobe\"}\n}\n"),
  ]

  @Test("what was read and not changed is written back as it was", arguments: same)
  func unchanged(name: String, text: String) throws {
    try Self.withFile(name, text) { path in
      #expect(DocumentFile.isNamed(path))
      let (store, file) = try DocumentFile.open(path)
      #expect(file.report.rejected == 0)
      #expect(store.path == path)
      #expect(try Self.rewritten(file, store) == text)
    }
  }

  @Test("the identifier is a field that tells all rows apart, or the number of the row")
  func identifiers() throws {
    let cases = [
      ("a.csv", "countryid,id,name\n1,5,x\n1,6,y\n", "id", false),
      ("b.csv", "name,geonameid\nx,5\ny,6\n", "geonameid", false),
      ("c.csv", "id,name\n1,x\n1,y\n", "row", true), ("d.csv", "row,name\n1,x\n1,y\n", "row_number", true),
      ("e.csv", "id,name\n1,x\n,y\n", "row", true),
    ]
    for (name, text, identifier, isNumbered) in cases {
      try Self.withFile(name, text) { path in
        let (store, file) = try DocumentFile.open(path)
        #expect(file.identifier.shortText == identifier && file.isNumbered == isNumbered, "\(name)")
        #expect(try store.head.datastore(file.datastore)?.count == 2)
      }
    }
  }

  @Test("edits are commits, indexes can be added, and the file is written with what changed")
  func edits() throws {
    try Self.withFile("cities.csv", "id,name,pop\n1,Bern,120\n2,Kobe,1500\n") { path in
      let (store, file) = try DocumentFile.open(path)
      let changes = try store.changes(
        putting: [["id": 2, "name": "Kōbe", "pop": 1_600, "port": true]], into: "cities")
      _ = try store.commit(changes, named: "mend", options: EditOptions())
      _ = try store.addIndex(
        IndexDescriptor(
          name: "pop", kind: .oneToMany, encoding: .integer, valueType: "Int", rule: ".pop"), to: "cities",
        options: EditOptions())
      #expect(try store.head.datastore("cities")?.indexes.first?.count == 2)
      #expect(try Self.rewritten(file, store) == "id,name,pop,port\n1,Bern,120,\n2,Kōbe,1600,true\n")
      #expect(String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self).hasPrefix("id,name,pop\n1"))
    }
  }

  @Test("a store in memory is saved as one on the disk, with its history")
  func saved() throws {
    try Self.withFile("cities.csv", "id,name\n1,Bern\n2,Kobe\n") { path in
      let (store, _) = try DocumentFile.open(path)
      _ = try store.commit(
        try store.changes(putting: [["id": 1, "name": "Berne"]], into: "cities"), named: "mend", options: EditOptions())
      let saved = path + ".strata"
      _ = try store.copy(to: saved, at: nil, progress: nil)
      let again = try OwnStore.open(path: saved)
      #expect(try again.head.datastore("cities")?.count == 2)
      #expect(
        try again.commits(from: again.head.commit, limit: 9, folded: true).map(\.action) == ["mend", "open cities.csv"])
    }
  }

  @Test("rows that cannot be read are told with their place; a file of nothing else is refused")
  func badRows() throws {
    try Self.withFile("a.jsonl", "{\"id\":1}\nnonsense\n{\"id\":2}\n") { path in
      let (_, file) = try DocumentFile.open(path)
      #expect(file.report.new == 2 && file.report.rejected == 1)
      #expect(file.report.rejections.first?.place.contains("a.jsonl:2") == true)
    }
    try Self.withFile("b.jsonl", "nonsense\n") { path in
      _ = #expect(throws: ModelError.self) { try DocumentFile.open(path) }
    }
    #expect(throws: ModelError.self) { try DocumentFile.open("/nowhere/at/all.csv") }
    try Self.withFile("empty.csv", "") { path in
      let (store, _) = try DocumentFile.open(path)
      #expect(try store.head.datastore("empty")?.count == 0)
    }
  }
}
