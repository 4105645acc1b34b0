import StrataDocuments
import StrataEngine
import StrataModel
import StrataTerminal
import Testing

@testable import StoreBrowser

@Suite("/ in a record and in the history")
struct SearchTests {
  private func search(_ text: String, in driver: Driver) {
    driver.press("/ ^u")
    driver.type(text)
    driver.press("Enter")
  }

  @Test("in a record: names and values, in folded branches and behind the end of what is shown of a long value")
  func record() throws {
    let store = try Sample.store()
    let document: Document = [
      "id": 1, "text": .string(String(repeating: "x", count: 5_000) + " needle"),
      "list": .array((0..<40).map { .string("element \($0)") }), "deep": ["a": ["b": ["c": ["needle": "pin"]]]],
    ]
    try Sample.add([document], to: store, Sample.plan("Item", "id", [Sample.index("id")]), "one item")
    let driver = Driver(store, start: .init(datastore: "Item"))
    driver.press("3")
    let path = { driver.browser.record.selectedLine?.path.description }
    search("needle", in: driver)
    #expect(path() == ".text")
    driver.press("n")
    #expect(path() == ".deep.a.b.c.needle")
    driver.press("N")
    #expect(path() == ".text")
    search("element 33", in: driver)
    #expect(path() == ".list[33]")
    search("no such thing", in: driver)
    #expect(driver.status.contains("no field with “no such thing”") && path() == ".list[33]")
    driver.press("t")
    search("element 7", in: driver)
    #expect(driver.browser.record.text[driver.browser.record.list.selection].contains("element 7"))
    driver.press("t")
    search("pin", in: driver)
    #expect(driver.browser.record.list.selection > 300)
  }

  @Test("in the bytes of a record case counts as in its tree, and a pattern is one")
  func bytes() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City", identifier: "2657896"))
    driver.press("3 t t")
    let text = String(decoding: try #require(driver.browser.record.answer?.record?.content), as: UTF8.self)
    for (typed, found) in [("zürich", "Zürich"), ("/zü.ICH/i", "Zürich"), ("/34[0-9]+/", "341730"), ("취", "취리히")] {
      driver.press("g g")
      search(typed, in: driver)
      let place = try #require(text.firstRange(of: found)).lowerBound
      #expect(driver.browser.record.list.selection == text.utf8.distance(from: text.startIndex, to: place) / 16)
      #expect(!driver.status.contains("no field"), "\(driver.status)")
    }
    search("ZÜRICH", in: driver)
    #expect(driver.status.contains("no field with “ZÜRICH”"), "\(driver.status)")
  }

  @Test(
    "in the bytes of a long record each hit is found once, wherever it lies",
    arguments: [65_510, 65_518, 65_522, 65_526, 65_536, 65_541])
  func longBytes(place: Int) throws {
    let beginning = String(repeating: "ü", count: (place - 16) / 2)
    let text = "\(beginning)Zürich\(String(repeating: "x", count: 70_000))Zürich"
    let driver = Driver(try Sample.documents([["id": 1, "text": .string(text)]]), start: .init(datastore: "T"))
    driver.press("3 t t")
    let bytes = try #require(driver.browser.record.answer?.record?.content)
    let hits = bytes.indices.filter { bytes[$0...].starts(with: "Zürich".utf8) }.map { $0 / 16 }
    try #require(hits.count == 2)
    search("zürich", in: driver)
    for hit in [hits[0], hits[1], hits[0]] {
      #expect(driver.browser.record.list.selection == hit)
      driver.press("n")
    }
  }

  @Test(
    "in a table a capital makes case count, quotes mean a whole value and slashes a pattern: a loop over the records finds the same"
  )
  func forms() throws {
    let store = try Sample.store()
    let forms: [(typed: String, isHit: (String) -> Bool)] = [
      ("bern", { $0.lowercased().contains("bern") }), ("Bern", { $0.contains("Bern") }), ("BERN", { $0 == "BERN" }),
      ("\"Bern\"", { $0 == "Bern" }), ("\"Ber", { $0.contains("Ber") }), ("ō", { $0.lowercased().contains("ō") }),
      ("/^[BK].*[io]$/", { "BK".contains($0.prefix(1)) && !$0.isEmpty && "io".contains($0.suffix(1)) }),
      ("/^b/i", { $0.lowercased().hasPrefix("b") }), ("/s/t/", { $0.contains("s/t") }), ("164", { $0.contains("164") }),
    ]
    for form in forms {
      let expected = try Sample.cityList(of: store).filter { city in
        city.1.fields.contains { form.isHit($0.value.searchText) }
      }.map(\.0)
      let driver = Driver(store, start: .init(datastore: "City"))
      search(form.typed, in: driver)
      for step in 0...expected.count where !expected.isEmpty {
        #expect(driver.selectedIdentifier == expected[step % expected.count], "\(form.typed)")
        driver.press("n")
      }
      let words = expected.isEmpty ? "no match for “\(form.typed)” in 10 rows" : "of \(expected.count)"
      #expect(driver.status.contains(words), "\(form.typed): \(driver.status)")
    }
  }

  @Test("a pattern that is none keeps the prompt open and says where it is wrong")
  func wrongPattern() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    search("/San(/", in: driver)
    #expect(driver.browser.overlays.last is Prompt && driver.keys.contains("✗"), "\(driver.keys)")
    driver.press("Esc")
    #expect(driver.selectedIdentifier == "611717")
  }

  @Test("g/ looks in the column under the cursor alone, marks there alone, and n stays in it")
  func column() throws {
    let store = try Sample.store()
    let expected = try Sample.cityList(of: store).filter { city in
      city.1[DocumentPath([.member("alternatenames")])]?.fields.contains { $0.value.searchText.contains("i") } == true
    }.map(\.0)
    let driver = Driver(store, size: Size(columns: 140, rows: 30), start: .init(datastore: "City"))
    while driver.browser.table.selectedPath(driver.browser.session) != ".alternatenames" { driver.press("l") }
    driver.press("g/")
    #expect(driver.keys.contains("in alternatenames"), "\(driver.keys)")
    driver.type("i")
    driver.press("Enter")
    #expect(!expected.isEmpty && expected.count < 10)
    for step in 0...expected.count {
      #expect(driver.selectedIdentifier == expected[step % expected.count])
      #expect(driver.browser.table.selectedPath(driver.browser.session) == ".alternatenames")
      driver.press("n")
    }
    #expect(driver.status.contains("of \(expected.count)"), "\(driver.status)")
  }

  @Test(
    "Esc returns to the record of before the search, also if another program committed meanwhile",
    arguments: ["", "population > 1"])
  func abandoned(filter: String) throws {
    let store = try Sample.store()
    let driver = Driver(store, start: .init(datastore: "City", identifier: "1857910"))
    if !filter.isEmpty { try driver.play("keys f\ntype \(filter)\nkeys Enter") }
    #expect(driver.selectedIdentifier == "1857910")
    driver.press("/")
    driver.type("Bern")
    #expect(driver.selectedIdentifier == "2661552", "\(driver.screen)")
    try Sample.delete(store, "City", "611717")
    driver.tell(.storeStirred)
    driver.press("Esc")
    #expect(driver.selectedIdentifier == "1857910" && driver.title.contains("#5"), "\(driver.screen)")
  }

  @Test("if no value has the text, the cursor goes to the column of that name; a hidden one is named")
  func names() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    search("timez", in: driver)
    #expect(driver.browser.table.selectedPath(driver.browser.session) == ".timezone")
    #expect(driver.status.contains("the column timezone has the name"), "\(driver.status)")
    driver.press("- gg n")
    #expect(driver.status.contains("no match for “timez” in 10 rows; the hidden column .timezone"), "\(driver.status)")
  }

  @Test("in the history it reads older commits until one has the text, and says where none has")
  func history() throws {
    let store = try Sample.store()
    for value in 0..<450 {
      try Sample.change(store, "City", "2661552", ".population", to: .number(NumberText(value)))
    }
    let driver = Driver(store, start: .init(datastore: "City"))
    driver.press("g H")
    search("import GE", in: driver)
    #expect(driver.browser.history.selected?.commit.number == CommitNumber(3))
    driver.press("g g")
    search("nobody wrote this", in: driver)
    #expect(driver.status.contains("no commit with “nobody wrote this” among 454"))
  }

  @Test("in a long history n and N find each commit in turn, also forgotten ones, and go round its ends")
  func longHistory() throws {
    let store = try Sample.documents([["id": 1, "n": 0]])
    for number in 2...2_000 { try Sample.change(store, "T", "1", ".n", to: .number(NumberText(number))) }
    let hits = (1...2_000).reversed().filter { "#\($0)".contains("#37") }
    func driver(_ keys: String) -> Driver {
      let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "T"))
      driver.press(keys)
      return driver
    }
    for keys in ["g H", "g H G g g"] {
      let forward = driver(keys)
      search("#37", in: forward)
      for step in 0...hits.count {
        #expect(forward.browser.history.selected?.commit.number.rawValue == UInt64(hits[step % hits.count]))
        #expect(forward.status.contains("from the top again") == (step == hits.count), "\(forward.status)")
        forward.press("n")
      }
      search("no such text", in: forward)
      #expect(forward.status.contains("among \(NumberFormat.count(2_000))"), "\(forward.status)")
    }
    let backward = driver("g H")
    search("#2000", in: backward)
    backward.press("/ ^u")
    backward.type("#37")
    backward.press("Enter g g N")
    for step in 0...hits.count {
      let hit = hits[hits.count - 1 - step % hits.count]
      #expect(backward.browser.history.selected?.commit.number.rawValue == UInt64(hit))
      #expect(backward.status.contains("from the end again") == (step % hits.count == 0), "\(backward.status)")
      backward.press("N")
    }
  }

  @Test("a history that lies beside follows to a commit that was read and forgotten")
  func farCommit() throws {
    let store = try Sample.documents([["id": 1, "n": 0]])
    for number in 2...2_000 { try Sample.change(store, "T", "1", ".n", to: .number(NumberText(number))) }
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "T"))
    driver.press("g H G Enter")
    for commit in [1_900, 5, 1_990, 1_000] {
      try driver.play(":travel \(commit)")
      #expect(driver.browser.history.selected?.commit.number.rawValue == UInt64(commit), "\(driver.screen)")
    }
  }

  @Test("in the order of an index the identifiers are searched, too, which no field may have")
  func identifiers() throws {
    let store = try Sample.documents([["id": 1, "n": 5]], [Sample.index("n")])
    var descriptor = try #require(try store.head.datastore("T")).descriptor
    descriptor.identifierPath = nil
    let transaction = try store.engine.beginBlocking()
    try DatastoreWriter.store(descriptor, in: transaction)
    try transaction.commit(CommitInfo(action: "without the path"))?.wait()
    let edit = RecordEdit(
      datastore: "T", identifier: descriptor.storedKey(try descriptor.identifierEncoding.encode(.integer(77))),
      old: nil, new: RecordContent(version: "1", bytes: Array("{\"n\":9}".utf8)))
    _ = try store.commit(ChangeSet(changes: [edit]), named: "without a field", options: EditOptions())
    let driver = Driver(store, start: .init(datastore: "T"))
    for index in [nil, "n"] {
      driver.browser.openDatastore("T", index: index)
      driver.tell(.tick(nil))
      search("77", in: driver)
      #expect(driver.selectedIdentifier == "77", "\(driver.screen)")
    }
  }

  @Test("the bytes of a record are searched while keys are answered")
  func bytesAreSearchedAside() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City", identifier: "2657896"))
    driver.press("3 t t")
    search("취", in: driver)
    let found = driver.browser.record.list.selection
    driver.isHolding = true
    driver.press("g g n k")
    #expect(driver.browser.record.list.selection == 0)
    driver.release()
    // The next key acts on the line that was found.
    #expect(driver.browser.record.list.selection == found - 1 && found > 1, "\(driver.screen)")
  }
}
