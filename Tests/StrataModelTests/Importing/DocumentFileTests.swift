import StrataDocuments
import StrataModel
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

  private static func rewritten(_ file: DocumentFile, _ store: EngineStore) throws -> String {
    guard case .bytes(let bytes, _) = try file.rewritten(from: store) else { throw CancellationError() }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Sets fields of a row, or with nil deletes it; a number that no row has is a new one.
  private static func edit(_ store: EngineStore, _ file: DocumentFile, _ number: Int, _ fields: [String: Document]?)
    throws
  {
    let datastore = try #require(try store.head.datastore(file.datastore))
    let descriptor = datastore.descriptor
    let key = descriptor.storedKey(try descriptor.identifierEncoding.encode(.integer(Int64(number))))
    let old = try datastore.record(key)
    var new: RecordContent?
    if let fields {
      var document = try old?.document() ?? ["row": .number(NumberText(number))]
      for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
        document = try document.setting(DocumentPath(parsing: name), to: value)
      }
      new = RecordContent(version: "1", bytes: document.json(.compact))
    }
    _ = try store.commit(
      ChangeSet(changes: [
        RecordEdit(datastore: file.datastore, identifier: key, old: old?.stored, new: new)
      ]), named: "edit", options: EditOptions())
  }

  private static let same: [(String, String)] = [
    ("cities.csv", "id,name,pop\n1,Bern,120\n2,Ōsaka,3000000\n3,\"a,b\",\n"),
    ("cities.tsv", "id\tname\n1\tBern, Switzerland\n2\tKobe\n"),
    ("semi.csv", "id;name\n1;Bern, CH\n2;Kobe\n"),
    ("noid.csv", "name,pop\nBern,1\nBern,1\nKobe,2\n"),
    ("odd.csv", "\u{FEFF}id,\"name\",ok\r\n30,x,TRUE\r\n\r\n4,y\r\n5,\"z\",1.50"),
    ("cities.jsonl", "{\"id\":1,\"name\":\"Bern\"}\n{\"id\":2,\"name\":\"Kobe\",\"dims\":{\"w\":1.50}}\n"),
    ("noid.jsonl", "{\"name\":\"Bern\"}\nnonsense\n{ \"name\" : \"Bern\"}\n"),
    ("list.json", "[\n{\"id\":1,\"name\":\"Bern\"},\n{\"id\":2,\"name\":\"Kobe\"}\n]\n"),
    ("keyed.json", "{\n  \"a\": {\"name\":\"Bern\"},\n  \"b\": {\"name\":\"Kobe\"}\n}\n"),
  ]

  @Test("the digest of a file, read in chunks, is that of its bytes", arguments: [0, 1, 1 << 18, 1 << 18 + 1, 700_001])
  func digest(_ count: Int) throws {
    let path = "/tmp/strata-digest-\(UInt64.random(in: 0 ... .max))"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    #expect(FileManager.default.createFile(atPath: path, contents: Data(bytes)))
    #expect(try FileBytes.digest(of: path) == FileBytes.digest(of: bytes) && FileBytes.read(path) == bytes)
  }

  @Test("what was read and not changed is written back as it was", arguments: same)
  func unchanged(name: String, text: String) throws {
    try Self.withFile(name, text) { path in
      #expect(DocumentFile.isNamed(path))
      let (store, file) = try DocumentFile.open(path)
      #expect(store.path == path)
      #expect(try Self.rewritten(file, store) == text)
      // Changed and changed back, through the rewriting of the row.
      let name = try #require(try store.head.datastore(file.datastore)?.primary.entries(at: 0..<1).first?.identifier)
      let before = try #require(try store.head.datastore(file.datastore)?.record(name)).document()[member: "name"]
      try Self.edit(store, file, 1, ["name": "?"])
      #expect(try Self.rewritten(file, store) != text)
      try Self.edit(store, file, 1, ["name": try #require(before)])
      #expect(try Self.rewritten(file, store) == text)
    }
  }

  private struct Change: Sendable {
    var name: String
    var before: String
    var number: Int
    var fields: [String: Document]?
    var after: String

    init(_ name: String, _ before: String, _ number: Int, _ fields: [String: Document]?, _ after: String) {
      (self.name, self.before, self.number, self.fields, self.after) = (name, before, number, fields, after)
    }
  }

  private static let changes: [Change] = [
    Change("short.csv", "name,qty\nbolt,5\nscrew\nnut,7\n", 1, ["qty": 6], "name,qty\nbolt,6\nscrew\nnut,7\n"),
    Change("short.csv", "name,qty\nbolt,5\nscrew\nnut,7\n", 3, nil, "name,qty\nbolt,5\nscrew\n"),
    Change(
      "marked.csv", "\u{FEFF}id,ok\r\n30,TRUE\r\n4,FALSE\r\n", 2, ["ok": true], "\u{FEFF}id,ok\r\n30,TRUE\r\n4,TRUE\r\n"
    ),
    Change("id.csv", "id,a\n2,x\n1,y", 1, ["id": 1], "id,a\n1,x\n1,y"),
    Change("quoted.csv", "\"a\";\"b\"\n\"1,5\";\"x\"\n", 1, ["b": "y;\"z\""], "\"a\";\"b\"\n\"1,5\";\"y;\"\"z\"\"\"\n"),
    Change("one.csv", "name\na\nb\nc\n", 2, ["name": nil], "name\na\n\"\"\nc\n"),
    Change("new.csv", "id,ok\n1,\"x\"", 9, ["id": 2, "ok": "y"], "id,ok\n1,\"x\"\n2,\"y\""),
    Change("column.csv", "id\n1\noops,2\n3\n", 3, ["more.w": 1], "id,more.w\n1,\noops,2\n3,1\n"),
    Change("last.csv", "id,a\n1,x\n2,y", 2, nil, "id,a\n1,x"),
    Change("all.csv", "id,a\n1,x\n", 1, nil, "id,a\n"),
    Change("open.csv", "id,a\n1,x\n\"2,y\n", 9, ["id": 3, "a": "z"], "id,a\n1,x\n3,z\n\"2,y\n"),
    Change("declared.csv", "sep=;\nid;a\n1;x\n", 1, ["a": "z"], "sep=;\nid;a\n1;z\n"),
    Change("plain.tsv", "id\ta\n1\t\"x\n2\ty\n", 2, ["a": "z"], "id\ta\n1\t\"x\n2\tz\n"),
    Change("plain.tsv", "id\ta\n1\t\"x\n2\ty\n", 1, ["id": 3], "id\ta\n3\t\"x\n2\ty\n"),
    Change("cr.csv", "id,a\r1,x\r2,y\r", 1, ["a": "z"], "id,a\r1,z\r2,y\r"),
    Change(
      "a.jsonl", "{\"a\": 1.50, \"b\":2}\n\nnonsense\n{\"b\":3}\n", 1, ["b": 4],
      "{\"a\": 1.50, \"b\":4}\n\nnonsense\n{\"b\":3}\n"),
    Change("a.jsonl", "{\"a\":1}\n{\"a\":2}\n", 1, nil, "{\"a\":2}\n"),
    Change("a.jsonl", "{\"a\":1}", 5, ["a": 2], "{\"a\":1}\n{\"a\":2}"),
    Change("twice.jsonl", "{\"a\":1,\"a\":2}\n", 1, ["a": 9], "{\"a\":1,\"a\":9}\n"),
    Change("list.json", "[ {\"a\":1},\n  {\"a\":2} ]", 2, ["a": 3], "[ {\"a\":1},\n  {\"a\":3} ]"),
    Change("list.json", "[ {\"a\":1},\n  {\"a\":2} ]", 1, nil, "[ {\"a\":2} ]"),
    Change("list.json", "[ {\"a\":1},\n  {\"a\":2} ]", 2, nil, "[ {\"a\":1} ]"),
    Change("list.json", "[ {\"a\":1},\n  {\"a\":2} ]", 9, ["a": 3], "[ {\"a\":1},\n  {\"a\":2},\n  {\"a\":3} ]"),
    Change("list.json", "[{\"a\":1}, 7, {\"a\":}]", 1, ["a": 2], "[{\"a\":2}, 7, {\"a\":}]"),
    Change(
      "keyed.json", "{\"x\" : {\"a\":1}, \"y\":{\"a\":2}}", 1, ["id": "z"], "{\"z\" : {\"a\":1}, \"y\":{\"a\":2}}"),
    Change("keyed.json", "{\"x\" : {\"a\":1}, \"y\":{\"a\":2}}", 2, ["a": 3], "{\"x\" : {\"a\":1}, \"y\":{\"a\":3}}"),
  ]

  @Test(
    "only what was edited has other bytes, and a row that could not be read keeps its own", arguments: changes.indices)
  func edited(index: Int) throws {
    let change = Self.changes[index]
    try Self.withFile(change.name, change.before) { path in
      let (store, file) = try DocumentFile.open(path)
      try Self.edit(store, file, change.number, change.fields)
      #expect(try Self.rewritten(file, store) == change.after)
    }
  }

  @Test("a JSON object of documents is not written with a key twice or without one")
  func keys() throws {
    let text = "{\"x\": {\"a\":1},\n\"y\": {\"a\":2},\n\"z\": {\"a\":3}}\n"
    func result(_ edits: [(Int, [String: Document]?)]) throws -> Result<String, ModelError> {
      try Self.withFile("keyed.json", text) { path in
        let (store, file) = try DocumentFile.open(path)
        for (number, fields) in edits { try Self.edit(store, file, number, fields) }
        do { return .success(try Self.rewritten(file, store)) } catch let error as ModelError { return .failure(error) }
      }
    }
    let refused: [([(Int, [String: Document]?)], String)] = [
      ([(1, ["id": "y"])], "“y”"), ([(1, ["id": "y"]), (2, ["a": 5])], "“y”"), ([(3, ["id": "x"])], "“x”"),
      ([(1, ["id": "w"]), (2, ["id": "w"])], "“w”"), ([(9, ["id": "x", "a": 4])], "“x”"), ([(9, ["a": 4])], "no id"),
      ([(2, ["id": nil])], "no id"), ([(1, ["id": 5]), (2, ["id": "5"])], "“5”"),
    ]
    for (edits, reason) in refused {
      guard case .failure(let error) = try result(edits) else {
        Issue.record("\(edits) was written: \(try result(edits))")
        continue
      }
      #expect("\(error)".contains(reason), "\(error)")
    }
    let written: [([(Int, [String: Document]?)], [String])] = [
      ([(1, ["id": "y"]), (2, ["id": "x"])], ["y", "x", "z"]), ([(1, ["id": "y"]), (2, nil)], ["y", "z"]),
      ([(1, ["id": "y"]), (2, ["id": "w"])], ["y", "w", "z"]), ([(9, ["id": "w", "a": 4])], ["x", "y", "z", "w"]),
    ]
    for (edits, keys) in written {
      let document = try JSONParser.parse(try result(edits).get())
      guard case .object(let members) = document else { throw CancellationError() }
      #expect(members.map(\.name) == keys)
    }
  }

  @Test("a file in UTF-16 or Latin-1 is written in it, and a character that it cannot hold is refused")
  func encodings() throws {
    for (encoding, mark): (TextEncoding, [UInt8]) in [
      (.utf16LittleEndian, [0xFF, 0xFE]), (.utf16BigEndian, [0xFE, 0xFF]), (.latin1, []),
    ] {
      func bytes(_ text: String) -> [UInt8] {
        if encoding == .latin1 { return text.unicodeScalars.map { UInt8($0.value) } }
        return mark
          + text.utf16.flatMap { unit in
            encoding == .utf16LittleEndian
              ? [UInt8(unit & 0xFF), UInt8(unit >> 8)] : [UInt8(unit >> 8), UInt8(unit & 0xFF)]
          }
      }
      try Self.withFile("é.csv", "") { path in
        try Data(bytes("id,é\r\n1,ü\r\n2,ö\r\n")).write(to: URL(filePath: path))
        let (store, file) = try DocumentFile.open(path, encoding: encoding == .latin1 ? encoding : nil)
        try Self.edit(store, file, 2, ["é": "ä"])
        guard case .bytes(let written, _) = try file.rewritten(from: store) else { throw CancellationError() }
        #expect(written == bytes("id,é\r\n1,ü\r\n2,ä\r\n"))
        try Self.edit(store, file, 2, ["é": "Ō"])
        if encoding == .latin1 { #expect(throws: ModelError.self) { try file.rewritten(from: store) } }
      }
    }
  }

  @Test("the identifier is a unique field of one of the known names, or the number of the row")
  func identifiers() throws {
    let cases: [(String, String, String?)] = [
      ("a.csv", "countryid,id,name\n1,5,x\n2,6,y\n", "id"), ("b.csv", "name,geonameid\nx,5\ny,6\n", nil),
      ("c.csv", "id,name\n1,x\n1,y\n", nil), ("d.csv", "paid,email\n1,x\n2,y\n", nil),
      ("e.csv", "id,name\n1,x\n,y\n", nil), ("city.csv", "x,City_ID\n1,2\n1,3\n", "City_ID"),
      ("cities.csv", "x,cityid\n1,2\n1,3\n", "cityid"), ("f.csv", "Code,GUID\na,b\nc,d\n", "GUID"),
      ("keyed.json", "{\"a\":{\"id\":1},\"b\":{\"id\":2}}", "key"),
    ]
    for (name, text, identifier) in cases {
      try Self.withFile(name, text) { path in
        let (store, file) = try DocumentFile.open(path)
        #expect(file.identifier?.shortText == identifier, "\(name)")
        #expect(file.rowNumber?.shortText == "row")
        #expect(try store.head.datastore(file.datastore)?.count == 2)
        let (read, keyed) = try DocumentFile.open(path, isEditable: false)
        #expect(keyed.rowNumber == nil || identifier == nil)
        #expect(try read.head.datastore(file.datastore)?.descriptor.identifierPath == ".\(identifier ?? "row")")
        let chosen = text.contains("name") ? "name" : nil
        if let chosen { #expect(try DocumentFile.open(path, identifier: chosen).file.identifier?.shortText == chosen) }
      }
    }
  }

  @Test(
    "a file that another program changed is not written over: three sides are told, and the edits go into it as it is")
  func changedMeanwhile() throws {
    let before = "id,a,b\n1,x,1\n2,y,2\n3,z,3\n4,w,4\n"
    try Self.withFile("f.csv", before) { path in
      let (store, file) = try DocumentFile.open(path)
      try Self.edit(store, file, 1, ["a": "mine"])
      try Self.edit(store, file, 2, ["a": "mine"])
      try Self.edit(store, file, 3, ["a": "mine"])
      try Self.edit(store, file, 9, ["id": 9, "a": "new", "b": 9])
      let theirs = "id,a,b\n0,their,0\n2,y,7\n3,their,3\n4,w,4\n1,x,1\n"
      try Data(theirs.utf8).write(to: URL(filePath: path))
      guard case .changed(let comparison) = try file.rewritten(from: store) else { throw CancellationError() }
      #expect((comparison.mine, comparison.theirs, comparison.overlaps) == (4, 3, 1))
      #expect(
        String(decoding: comparison.merged, as: UTF8.self)
          == "id,a,b\n0,their,0\n2,mine,7\n3,mine,3\n4,w,4\n1,mine,1\n9,new,9\n")
      #expect(comparison.lines.contains { $0.contains("was z") && $0.contains("their") && $0.hasPrefix("⚠") })
      #expect(
        String(decoding: try file.bytes(from: store), as: UTF8.self)
          == "id,a,b\n1,mine,1\n2,mine,2\n3,mine,3\n4,w,4\n9,new,9\n")
    }
  }

  @Test("rows that cannot be read, and rows that share the chosen identifier, are compared as they stand in the file")
  func comparedAsTheyStand() throws {
    try Self.withFile("f.csv", "id,a\n1,x\n1,y\noops\n") { path in
      let (store, file) = try DocumentFile.open(path, identifier: "id")
      try Self.edit(store, file, 1, ["a": "mine"])
      try Data("id,a\n1,x\n1,y\noops\n2,z\n".utf8).write(to: URL(filePath: path))
      guard case .changed(let comparison) = try file.rewritten(from: store) else { throw CancellationError() }
      #expect((comparison.mine, comparison.theirs, comparison.overlaps) == (1, 1, 0))
      #expect(String(decoding: comparison.merged, as: UTF8.self) == "id,a\n1,mine\n1,y\noops\n2,z\n")
    }
  }

  @Test("a store in memory is saved as one on the disk, with its history")
  func saved() throws {
    try Self.withFile("cities.csv", "id,name\n1,Bern\n2,Kobe\n") { path in
      let (store, file) = try DocumentFile.open(path)
      try Self.edit(store, file, 1, ["id": 7, "name": "Berne"])
      try Self.edit(store, file, 2, ["id": 1])
      #expect(try file.save(store, as: path + ".strata", progress: nil) == (3, false))
      let again = try EngineStore.open(path: path + ".strata")
      let records = try #require(try again.head.datastore("cities"))
      #expect(records.descriptor.identifierPath == ".id")
      #expect(try records.primary.entries(at: 0..<9).map(\.identifier.description) == ["1", "7"])
      #expect(
        try again.commits(from: again.head.commit, limit: 9, folded: true).map(\.action)
          == ["edit", "edit", "open cities.csv"])
      #expect(throws: ModelError.self) { try file.save(store, as: path + ".strata", progress: nil) }
      #expect(throws: ModelError.cancelled) { try file.save(store, as: path + "-0.strata") { _, _ in false } }
      #expect(!FileManager.default.fileExists(atPath: path + "-0.strata"))
      // Where the field does not tell them apart any more, the numbers of the rows do.
      try Self.edit(store, file, 1, ["id": 1])
      #expect(try file.save(store, as: path + "-2.strata", progress: nil) == (4, true))
      #expect(
        try EngineStore.open(path: path + "-2.strata").head.datastore("cities")?.descriptor.identifierPath == ".row")
    }
  }

  @Test(
    "a file that has a header alone, and one of numbers, is saved under the field that identifies its rows, whatever rows were added",
    arguments: [
      ("sku,name\n", ["b7", "n2"] as [Document], "String"), ("sku,name\n", [4, 9], "Int"),
      ("sku,name\n", [4, 2.5], "Double"), ("sku,name\n1,a\n", [2.5], "Double"), ("sku,name\nb1,a\n", ["c"], "String"),
      ("sku,name\n", [], "String"),
    ])
  func savedFromHeader(_ text: String, _ added: [Document], _ type: String) throws {
    try Self.withFile("parts.csv", text) { path in
      let (store, file) = try DocumentFile.open(path, identifier: "sku")
      for (number, value) in added.enumerated() { try Self.edit(store, file, number + 2, ["sku": value, "name": "x"]) }
      #expect(try file.save(store, as: path + ".strata", progress: nil) == (added.count + 1, false))
      let records = try #require(try EngineStore.open(path: path + ".strata").head.datastore("parts"))
      #expect(records.descriptor.identifierPath == ".sku" && records.descriptor.identifierType == type)
      #expect(try records.count == added.count + (text.hasSuffix("a\n") ? 1 : 0))
    }
  }

  @Test(
    "an identifier that no document has is refused with the nearest names, before rows are edited",
    arguments: ["a.csv": "id,name\n1,Bern\n", "a.json": "[{\"id\":1,\"name\":\"Bern\"}]", "h.csv": "id,name\n"])
  func unknownIdentifier(_ name: String, _ text: String) throws {
    try Self.withFile(name, text) { path in
      let error = #expect(throws: ModelError.self) { try DocumentFile.open(path, identifier: "nmae") }
      #expect(error?.description == "no field nmae; did you mean name?")
      let file = try DocumentFile.open(path, identifier: "name").file
      #expect(file.identifier?.shortText == "name")
    }
    try Self.withFile("keyed.json", "{\"a\":{\"n\":1},\"b\":{\"n\":2}}") { path in
      let file = try DocumentFile.open(path, identifier: "id").file
      #expect(file.identifier?.shortText == "id")
    }
    try Self.withFile("empty.json", "[]") { path in
      let file = try DocumentFile.open(path, identifier: "sku").file
      #expect(file.identifier?.shortText == "sku")
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
    try Self.withFile("small.csv", "id\n1\n") { path in
      let (store, _) = try DocumentFile.open(path)
      #expect(try store.byteCount == 5)
    }
    try Self.withFile("empty.csv", "") { path in
      let (store, _) = try DocumentFile.open(path)
      #expect(try store.head.datastore("empty")?.count == 0)
    }
  }
}
