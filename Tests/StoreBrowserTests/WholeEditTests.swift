import StrataDocuments
import StrataEngine
import StrataModel
import StrataTerminal
import Testing

@testable import StoreBrowser

/// Restored fields, several records in the user's editor, and datastores that disappear: no other edit may be lost.
@Suite("Restored fields, records in $EDITOR, and datastores that are removed")
struct WholeEditTests {
  private static let items: [Document] = (1...6).map {
    ["id": .number(NumberText($0)), "name": .string("n\($0)"), "n": 1]
  }

  private func staged(_ driver: Driver) throws -> [String: Document] {
    let descriptor = try #require(driver.browser.session.outline?.datastore("T")?.descriptor)
    var found: [String: Document] = [:]
    for (place, edit) in driver.browser.session.staged.edits {
      found["\(place.identifier)"] = try edit.new.map { try descriptor.document(of: $0) }
    }
    return found
  }

  // MARK: Other line ends

  @Test("an editor may end lines as on other systems: the record is read behind its comment")
  func otherLineEnds() throws {
    let driver = Driver(try Sample.documents(Self.items), start: .init(datastore: "T", identifier: "2"))
    driver.press("E")
    let text = try #require(driver.editorRequest?.text)
    try #require(text.hasPrefix("//"), "\(text)")
    driver.tell(.editorClosed(EditorOutcome(text: text.replacing("n2", with: "new").replacing("\n", with: "\r\n"))))
    #expect(try staged(driver) == ["2": ["id": 2, "name": "new", "n": 1]], "\(driver.screen)")
    driver.press("3 j E")
    driver.tell(.editorClosed(EditorOutcome(text: "newer\r\n")))
    #expect(try staged(driver) == ["2": ["id": 2, "name": "newer", "n": 1]], "\(driver.screen)")
  }

  @Test("several records may come back with the line ends of other systems")
  func otherLineEndsOfRecords() throws {
    let driver = Driver(try Sample.documents(Self.items), start: .init(datastore: "T", identifier: "2"))
    driver.press("Space Space E")
    let text = try #require(driver.editorRequest?.text)
    driver.tell(.editorClosed(EditorOutcome(text: text.replacing("n3", with: "new").replacing("\n", with: "\r\n"))))
    #expect(try staged(driver) == ["3": ["id": 3, "name": "new", "n": 1]], "\(driver.screen)")
  }

  // MARK: Restored fields

  @Test("c restores one field and keeps what is staged for the others")
  func restoredFieldKeepsEdits() throws {
    let store = try Sample.documents(Self.items)
    try Sample.change(store, "T", "2", ".n", to: 7)
    let driver = Driver(store, start: .init(datastore: "T", identifier: "2"))
    driver.press("3 j e ^u")
    driver.type("mine")
    driver.press("Enter j H G c")
    let item: Document = ["id": 2, "name": "mine", "n": 1]
    #expect(try staged(driver) == ["2": item], "\(driver.screen)")
    driver.press("w Enter Enter")
    let datastore = try #require(try store.refresh().datastore("T"))
    #expect(try datastore.record(datastore.identifier(parsing: "2"))?.document() == item, "\(driver.screen)")
  }

  @Test("r takes out what is staged of a record that is stored as it was then", arguments: ["d d", "l e ^u x Enter"])
  func restoredOverStaged(keys: String) throws {
    let store = try Sample.documents(Self.items)
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "T", identifier: "2"))
    driver.press(keys)
    try #require(driver.browser.session.staged.count == 1, "\(driver.screen)")
    driver.press("H r")
    #expect(driver.browser.session.staged.isEmpty, "\(driver.screen)")
    #expect(driver.status.contains("restored 2 from #1"), "\(driver.screen)")
    driver.press("r")
    #expect(driver.status.contains("it is as it was at #1 already"), "\(driver.screen)")
  }

  @Test("c removes a field that the record did not have before the commit")
  func restoredAbsence() throws {
    let store = try Sample.documents(Self.items)
    try Sample.change(store, "T", "2", ".extra", to: 5)
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "T", identifier: "2"))
    driver.press("g H Enter G")
    try #require(driver.shows("extra  + 5"), "\(driver.screen)")
    driver.press("c")
    #expect(try staged(driver) == ["2": Self.items[1]], "\(driver.screen)")
  }

  @Test("c stages nothing for a record that does not exist before the commit, and says so")
  func restoredFieldOfNewRecord() throws {
    let store = try Sample.documents(Self.items)
    try Sample.add([["id": 9, "name": "n9", "n": 1]], to: store, Sample.plan("T", "id", []), "nine")
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "T", identifier: "9"))
    driver.press("g H Enter G c")
    #expect(driver.browser.session.staged.isEmpty)
    #expect(driver.status.contains("the record does not exist at #1"), "\(driver.screen)")
  }

  // MARK: Several records in the user's editor

  /// Marks records 2, 3 and 4, and gives back what a change makes of their lines.
  private func edited(_ change: (inout [String]) -> Void) throws -> Driver {
    let driver = Driver(try Sample.documents(Self.items), start: .init(datastore: "T", identifier: "2"))
    driver.press("Space")
    while driver.browser.table.marks.count < 3 {
      if driver.browser.table.selectedRow.map({ driver.browser.table.isMarked($0.entry.identifier) }) == true {
        driver.press("j")
      } else {
        driver.press("Space")
      }
    }
    driver.press("E")
    let text = try #require(driver.editorRequest?.text)
    var lines = text.split(separator: "\n").map(String.init).filter { !$0.hasPrefix("//") }
    try #require(lines.count == 3, "\(text)")
    change(&lines)
    driver.tell(.editorClosed(EditorOutcome(text: lines.joined(separator: "\n"))))
    return driver
  }

  @Test("lines in another order are the records of their identifiers")
  func reordered() throws {
    let driver = try edited { lines in
      lines[0].replace("\"n2\"", with: "\"two\"")
      lines.reverse()
    }
    #expect(try staged(driver) == ["2": ["id": 2, "name": "two", "n": 1]], "\(driver.screen)")
  }

  @Test("a record whose line was deleted stays as before, which the browser says, and the others are edited")
  func deletedLine() throws {
    let driver = try edited { lines in
      lines.removeFirst()
      lines[1].replace("\"n4\"", with: "\"four\"")
    }
    #expect(try staged(driver) == ["4": ["id": 4, "name": "four", "n": 1]], "\(driver.screen)")
    #expect(driver.status.contains("records without a line stay as they were"), "\(driver.screen)")
    let untouched = try edited { $0.removeLast() }
    let status = untouched.status
    #expect(status.contains("nothing changed; records without a line stay as they were"), "\(status)")
  }

  @Test("a line with a new identifier is a new record, wherever it stands")
  func addedLine() throws {
    let driver = try edited { lines in
      lines.insert(#"{"id":77,"name":"new","n":0}"#, at: 0)
      lines[3].replace("\"n4\"", with: "\"four\"")
    }
    #expect(
      try staged(driver) == ["77": ["id": 77, "name": "new", "n": 0], "4": ["id": 4, "name": "four", "n": 1]],
      "\(driver.screen)")
  }

  @Test(
    "an identifier that was changed, removed, or is there twice is refused in the editor",
    arguments: [
      (#""id":3"#, #""id":33"#, "the identifier stays 3"), (#""id":3,"#, "", "the identifier stays 3"),
      (#""id":3"#, #""id":2"#, "2 is a staged record, or twice in this text"),
    ])
  func wrongIdentifier(old: String, new: String, reason: String) throws {
    let driver = try edited { $0[1].replace(old, with: new) }
    #expect(driver.browser.session.staged.isEmpty)
    #expect(driver.editorRequest?.text.hasPrefix("// \(reason)") == true, "\(driver.editorRequest?.text ?? "")")
  }

  @Test(
    "a new record whose identifier is of another type is refused in the editor, because no commit could take it",
    arguments: [
      (["id": "a"], "5", "the identifier .id is 5, which is not a valid text"),
      (["id": "a"], "null", ".id is null, which is the identifier"),
      (["id": 1], "\"x\"", "the identifier .id is \"x\", which is not a valid integer"),
    ] as [(Document, String, String)])
  func otherType(stored: Document, identifier: String, reason: String) throws {
    let driver = Driver(try Sample.documents([stored]), start: .init(datastore: "T"))
    driver.press("i")
    driver.tell(.editorClosed(EditorOutcome(text: "{\"id\":\(identifier)}")))
    #expect(driver.browser.session.staged.isEmpty)
    #expect(driver.editorRequest?.text.hasPrefix("// \(reason)") == true, "\(driver.editorRequest?.text ?? "")")
  }

  @Test("two copies do not get one identifier")
  func copiesOfOneIdentifier() throws {
    let driver = Driver(try Sample.documents(Self.items), start: .init(datastore: "T", identifier: "2"))
    driver.press("Space j Space D")
    let text = try #require(driver.editorRequest?.text)
    driver.tell(.editorClosed(EditorOutcome(text: text.replacing(/"id":\d+/, with: #""id":50"#))))
    #expect(driver.browser.session.staged.isEmpty)
    #expect(driver.editorRequest?.text.hasPrefix("// 50 is a staged record, or twice in this text") == true)
  }

  // MARK: Removed datastores

  /// A browser of a datastore that another program removes.
  private func removing(_ keys: String) throws -> (EngineStore, Driver) {
    let store = try Sample.documents(Self.items)
    try Sample.add(Sample.countries, to: store, Sample.plan("Country", "iso", []), "countries")
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "Country"))
    if keys.hasPrefix(":") { try driver.play(keys) } else { driver.press(keys) }
    _ = try store.restore(CommitNumber(1), datastore: nil, named: "remove")
    driver.tell(.storeStirred)
    return (store, driver)
  }

  @Test(
    "the browser says that a datastore was removed, and shows no list of its rows any more",
    arguments: ["", ": group continent", "I", ": frequency continent", ": plot population population", "g t"])
  func removedDatastore(keys: String) throws {
    let (_, driver) = try removing(keys)
    #expect(driver.status.contains("#3 has no datastore Country: this is T"), "\(driver.screen)")
    #expect(driver.browser.view.kind == .main, "\(driver.screen)")
    #expect(driver.browser.table.source == RowSource(datastore: "T"), "\(driver.screen)")
    driver.press("Enter")
    #expect(driver.browser.table.source == RowSource(datastore: "T"), "\(driver.screen)")
  }

  @Test("a store without datastores shows no rows, and a datastore that comes back is shown")
  func emptied() throws {
    let store = try Sample.documents(Self.items)
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "T"))
    try #require(driver.shows("n6"))
    _ = try store.restore(CommitNumber(0), datastore: nil, named: "remove")
    driver.tell(.storeStirred)
    #expect(!driver.shows("n6") && driver.shows("nothing is stored here yet"), "\(driver.screen)")
    _ = try store.restore(CommitNumber(1), datastore: nil, named: "again")
    driver.tell(.storeStirred)
    #expect(driver.shows("n6") && !driver.shows("the store has none"), "\(driver.screen)")
  }

  @Test("records side by side tell an empty text from a missing field")
  func emptyBesideMissing() throws {
    let store = try Sample.documents([["id": 1, "note": ""], ["id": 2]])
    let driver = Driver(store, size: Size(columns: 100, rows: 24), start: .init(datastore: "T", identifier: "1"))
    driver.press("Space j Space g t")
    let line = try #require(driver.lines.first { $0.contains("note") })
    #expect(line.contains("note") && line.firstRange(of: "\"\"") != nil, "\(driver.screen)")
  }

  // MARK: Conditions that are made of values

  @Test(
    "a value's condition keeps as many records as a loop, from its frequency and by & on its cell",
    arguments: [false, true])
  func conditionsOfValues(isIndexed: Bool) throws {
    let indexes = isIndexed ? [try Sample.index("tags", .manyToMany)] : []
    let long = String(repeating: "long ", count: 200)
    let documents: [Document] = [
      ["id": 1, "tags": ["a", "b"], "note": "one\ntwo", "place": ["x": 1], "parts": [["y": "p"], ["y": "q"]]],
      ["id": 2, "tags": [], "note": .string(long), "place": ["x": 2], "parts": []],
      ["id": 3, "tags": ["b", "b"], "note": "", "place": ["x": 1]], ["id": 4, "tags": ["a,"], "note": .null],
      ["id": 5, "tags": ["\"", "b"], "note": "one\ntwo"],
      ["id": 6, "tags": ["a"], "parts": [["y": "p"], ["y": "p"], .object([])]],
    ]
    func values(_ document: Document, _ field: String) -> [Document] {
      var found = [document]
      for name in field.split(separator: ".") {
        found = found.flatMap { value -> [Document] in
          guard case .array(let elements) = value else { return [value] }
          return elements
        }.compactMap { $0[member: String(name)] }
      }
      if found.count == 1, case .array(let elements) = found[0] { return elements }
      return found.isEmpty ? [.null] : found
    }
    func matching(_ keeps: (Document) -> Bool) -> [String] {
      documents.filter(keeps).compactMap { $0[member: "id"]?.compactJSON }
    }
    let driver = Driver(
      try Sample.documents(documents, indexes), size: Size(columns: 140, rows: 30), start: .init(datastore: "T"))
    func shown() -> [String] {
      (0..<driver.browser.table.storedCount).compactMap {
        driver.browser.table.row(at: $0)?.entry.identifier.description
      }
    }
    for field in ["tags", "note", "place.x", "parts.y"] {
      let path = try DocumentPath(parsing: ".\(field)")
      try driver.play(":frequency \(field)")
      let counted = try #require(driver.browser.panes[FrequencyPane.self].reply?.values)
      #expect(Set(counted.map(\.document)) == Set(documents.flatMap { values($0, field) }), "\(field)")
      driver.press("q")
      for (line, value) in counted.enumerated() {
        try driver.play(":frequency \(field)")
        for _ in 0..<line { driver.press("j") }
        driver.press("Enter")
        let expected = matching { values($0, field).contains(value.document) }
        let filter = driver.browser.table.source?.filter ?? ""
        #expect(shown() == expected && value.count == expected.count, "\(filter): \(value.count)")
        driver.press("U")
      }
      for (row, document) in documents.enumerated() where field != "parts.y" {
        driver.press("g g")
        for _ in 0..<row { driver.press("j") }
        let columns = driver.browser.table.visibleColumns(driver.browser.session)
        driver.browser.table.column = try #require(columns.firstIndex { $0.path == ".\(field)" })
        driver.press("&")
        let expected = matching { ($0[path] ?? .null) == (document[path] ?? .null) }
        #expect(shown() == expected, "\(field) of \(row + 1): \(driver.browser.table.source?.filter ?? driver.screen)")
        driver.press("U")
        try #require(driver.browser.table.source?.filter == nil)
      }
    }
  }

  @Test("& on the key of an index over list elements keeps the records with that element")
  func elementCondition() throws {
    let documents: [Document] = [["id": 1, "tags": ["a", "b"]], ["id": 2, "tags": ["b"]], ["id": 3, "tags": ["c"]]]
    let driver = Driver(
      try Sample.documents(documents, [try Sample.index("tags", .manyToMany)]), start: .init(datastore: "T"))
    driver.press("1 j j Enter 2")
    try #require(driver.browser.table.source?.index == "tags", "\(driver.screen)")
    driver.press("j")
    driver.browser.table.column = 1
    driver.press("&")
    #expect(driver.browser.table.source?.filter == #"tags has "b""#, "\(driver.screen)")
  }

  @Test(
    "an unknown command leads to the one that is spelt alike, otherwise to one whose help has the word",
    arguments: [("write x.csv", "export"), ("bookmarks", "bookmark"), ("serach x", "search")])
  func unknownCommand(typed: String, name: String) throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.press(":")
    driver.type(typed)
    driver.press("Enter")
    #expect(driver.shows("perhaps :\(name)"), "\(driver.screen)")
  }
}
