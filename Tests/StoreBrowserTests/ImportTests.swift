import StrataModel
import StrataDocuments
import StrataTerminal
import Testing

@testable import StoreBrowser

@Suite("Importing from the browser")
struct ImportTests {
  private func withFile(_ text: String, ending: String = "csv", _ body: (String) throws -> Void) throws {
    let file = "/tmp/strata-import-\(UInt64.random(in: 0 ... .max)).\(ending)"
    defer { TestFile.remove(file) }
    try TestFile.write(text, to: file)
    try body(file)
  }

  @Test("fields, identifier, indexes and a preview come before anything is written; then it is one commit")
  func steps() throws {
    try withFile("id,name,height\n1,Dom,4545\n2,Rigi,n/a\n3,Säntis,2502\n2,Rigi Kulm,1798\n4\n") { file in
      let store = try Sample.store()
      let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
      try driver.play(":import \(file)")
      #expect(driver.shows("values separated by “,”"))
      #expect(driver.shows("height is String"), "\(driver.screen)")
      #expect(driver.shows(":3 “n/a”"))
      #expect(driver.shows("1 row cannot be read") && driver.shows(":6"))
      // No field of a fitting name tells all rows apart, as one identifier is there twice.
      #expect(driver.shows("identifier  id"))
      driver.press("g g Enter ^u")
      driver.type("Mountain")
      driver.press("Enter")
      #expect(driver.shows("into        Mountain"))
      driver.press("j j j Space")
      #expect(driver.shows("[x] index"))
      driver.press("Enter")
      #expect(driver.shows("3 new, 1 row replaced by later ones, 1 row left out"), "\(driver.screen)")
      #expect(driver.shows("identifier 2 is in 2 rows"))
      #expect(store.head.commit.rawValue == 4, "nothing is written by a preview")
      driver.press("Enter")
      #expect(store.head.commit.rawValue == 5)
      #expect(driver.browser.view.kind == .migration)
      #expect(driver.shows("complete: commit #5, 3 new"))
      #expect(driver.lines.contains { $0.contains("write index name") && $0.contains("✓") })
      driver.press("Enter")
      #expect(driver.shows("Rigi Kulm") && driver.shows("Säntis"))
      let mountains = try #require(try store.head.datastore("Mountain"))
      #expect(try mountains.count == 3)
      #expect(mountains.indexes.map(\.descriptor.name) == ["name"])
      #expect(try store.verifyModel(at: store.head.commit).isClean)
      driver.press("u Enter Enter")
      #expect(try store.head.datastore("Mountain") == nil)
    }
  }

  @Test("the end of an import moves no cursor that the user moved meanwhile")
  func lookingElsewhere() throws {
    try withFile("id,name,height\n1,Dom,4545\n2,Rigi,1798\n") { file in
      let store = try Sample.store()
      let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
      try driver.play(":import \(file)")
      driver.press("j Enter")
      driver.isHolding = true
      driver.press("Enter 2 j")
      #expect(driver.selectedIdentifier == "615532", "\(driver.screen)")
      driver.release()
      #expect(store.head.commit.rawValue == 5 && driver.title.contains("#5"), "\(driver.screen)")
      #expect(driver.browser.table.source?.datastore == "City" && driver.selectedIdentifier == "615532")
      #expect(driver.status.contains("2 new"), "\(driver.status)")
    }
  }

  @Test("a file that is replaced while its import is chosen, and has fewer fields then, keeps no choices of the others")
  func replaced() throws {
    try withFile("id,name,height\n1,Dom,4545\n2,Rigi,1798\n") { file in
      let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
      try driver.play(":import \(file)")
      driver.press("g g j j j j Space l")
      #expect(driver.shows("[x] index"), "\(driver.screen)")
      try TestFile.write("id,name\n1,Dom\n2,Rigi\n", to: file)
      driver.press("g g Enter ^u")
      driver.type("Mountain")
      driver.press("Enter")
      let plan = try #require((driver.browser.overlays.last as? ImportOverlay)?.plan)
      #expect(plan.indexes.isEmpty && plan.types.isEmpty && plan.datastore == "Mountain")
    }
  }

  @Test(
    "the foot offers Space and l in the lines in which they choose something",
    arguments: ["csv", "jsonl", "unreadable"])
  func offered(ending: String) throws {
    let rows = "{\"code\":\"Dom\",\"height\":4545}\n{\"code\":\"Rigi\",\"height\":1798}\n"
    let texts = ["csv": "code,height\nDom,4545\nRigi,1798\n", "jsonl": rows]
    try withFile(texts[ending] ?? rows, ending: texts[ending] == nil ? "csv" : ending) { file in
      let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
      try driver.play(":import \(file)")
      driver.press("g g")
      for line in 0..<(texts[ending] == nil ? 1 : 5) {
        for key in texts[ending] == nil ? ["l"] : ["Space", "l"] {
          let (isOffered, before) = (driver.keys.contains(" \(key) "), driver.lines.dropLast())
          driver.press(key)
          #expect(isOffered == (driver.lines.dropLast() != before), "\(key) in line \(line)\n\(driver.screen)")
          driver.browser.session.notice = nil
        }
        driver.press("j")
      }
    }
  }

  @Test("Enter is not said to import if a counted import changes nothing, or would remove fields")
  func obstacles() throws {
    for (text, reason) in [
      ("geonameid,population\n611717,abc\n", "there is nothing to import"),
      ("geonameid,name\n611717,Other\n", "choose at “existing”"),
    ] {
      try withFile(text) { file in
        let store = try Sample.store()
        let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
        let head = store.head.commit
        try driver.play(":import \(file)")
        #expect(driver.shows("into        City"), "\(driver.screen)")
        driver.press("Enter")
        #expect(driver.shows(reason) && !driver.shows("Enter imports"), "\(driver.screen)")
        driver.press("Enter")
        #expect(driver.status.contains(reason) && store.head.commit == head, "\(driver.screen)")
      }
    }
  }

  @Test("the identifier that was chosen stays when another datastore is named and the file is read again")
  func chosenIdentifier() throws {
    try withFile("id,name,height\n1,Dom,4545\n2,Rigi,1798\n") { file in
      let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
      try driver.play(":import \(file)")
      let plan = { (driver.browser.overlays.last as? ImportOverlay)?.plan }
      #expect(plan()?.identifier.description == ".id")
      driver.press("j l k Enter ^u")
      driver.type("Mountain")
      driver.press("Enter")
      #expect(plan()?.datastore == "Mountain" && plan()?.identifier.description == ".name", "\(driver.screen)")
    }
  }

  @Test("what is said of a file's rows holds for the datastore that is named, not for the one named before")
  func renamed() throws {
    try withFile("geonameid,population\n611717,abc\n") { file in
      let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
      try driver.play(":import \(file)")
      #expect(driver.shows("1 row cannot be read"), "\(driver.screen)")
      for (name, isRefused) in [("Other", false), ("City", true)] {
        driver.press("g g Enter ^u")
        driver.type(name)
        driver.press("Enter")
        #expect(driver.shows("into        \(name)") && driver.shows("cannot be read") == isRefused, "\(driver.screen)")
      }
    }
  }

  @Test("the table stays where it is if an import ends while an older commit is shown, which has not its datastore")
  func held() throws {
    try withFile("id,name\n1,Dom\n2,Rigi\n") { file in
      let store = try Sample.store()
      let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
      driver.press("F")
      try driver.play(":import \(file)")
      driver.press("j Enter Enter")
      #expect(store.head.commit.rawValue == 5 && driver.browser.session.shown.rawValue == 4, "\(driver.screen)")
      #expect(driver.browser.session.datastore == "City", "\(driver.screen)")
      #expect(driver.browser.table.source?.datastore == "City" && driver.selectedIdentifier != nil, "\(driver.screen)")
    }
  }

  @Test("an import that runs is not called off by another one")
  func again() throws {
    try withFile("id,name\n1,Dom\n2,Rigi\n") { file in
      let store = try Sample.store()
      let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
      try driver.play(":import \(file)")
      // Enter on the datastore's line would name it.
      driver.press("j Enter")
      driver.isHolding = true
      driver.press("Enter")
      let work = try #require(driver.browser.session.running[.importFile])
      try driver.play(":import \(file)")
      driver.releaseFirst { $0.slot == .survey }
      driver.press("j Enter")
      driver.releaseFirst { $0.slot == .importPreview }
      #expect(driver.shows("2 new"), "\(driver.screen)")
      driver.press("Enter")
      #expect(driver.browser.session.running[.importFile]?.id == work.id)
      #expect(driver.shows("\(work.label) runs; ^c cancels it, 6 shows it"), "\(driver.screen)")
      driver.release()
      #expect(store.head.commit.rawValue == 5)
    }
  }

  @Test("a file that is not there, is empty or holds nothing to import says so; Esc leaves everything as it was")
  func badFiles() throws {
    let store = try Sample.store()
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    try driver.play(":import /tmp/no-such-file.csv")
    #expect(driver.shows("✗") && driver.shows("no-such-file"))
    driver.press("Enter Space l Esc")
    #expect(driver.browser.overlays.isEmpty)
    try withFile("") { file in
      try driver.play(":import \(file)")
      #expect(driver.shows("no documents were found"))
      driver.press("Enter j Space l Enter Esc")
    }
    try withFile("a,b\n\"x,1\n") { file in
      try driver.play(":import \(file)")
      driver.press("Enter Enter Esc Esc")
    }
    #expect(store.head.commit.rawValue == 4)
    let readOnly = Driver(store, start: .init(datastore: "City")) { $0.isReadOnly = true }
    try readOnly.play(":import /tmp/x.csv")
    #expect(readOnly.status.contains("read-only"))
  }

  @Test("records that are there are replaced or kept, as chosen, and unchanged ones are told apart")
  func existing() throws {
    try withFile("iso,name,continent\nCH,Schweiz,EU\nAT,Austria,EU\n") { file in
      let store = try Sample.store()
      let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "Country"))
      try driver.play(":import \(file)")
      driver.press("g g Enter ^u")
      driver.type("Country")
      driver.press("Enter")
      #expect(driver.shows("has 3 records") && driver.shows("identifier  iso"), "\(driver.screen)")
      driver.press("j j Enter")
      #expect(driver.shows("has nothing for, and so removes: population (1 record)"), "\(driver.screen)")
      driver.press("Enter")
      #expect(driver.shows("choose at “existing”") && store.head.commit.rawValue == 4, "\(driver.screen)")
      driver.press("h Enter")
      #expect(driver.shows("1 new, 1 row left out"), "\(driver.screen)")
      driver.press("h Enter")
      #expect(
        driver.shows("keep the fields that the file lacks") && driver.shows("1 new, 1 changed"), "\(driver.screen)")
      driver.press("h Enter")
      #expect(driver.shows("are replaced, and lose") && driver.shows("population (1 record)"), "\(driver.screen)")
    }
  }

  @Test("the types of the datastore decide, whatever the cells look like, already before the preview")
  func typesOfTheDatastore() throws {
    try withFile("iso,name,continent,population\nFR,Frankreich,EU,n/a\nAT,7,EU,8700000\nBE,8,EU,11000000\nNL,9,EU,?\n")
    { file in
      let driver = Driver(
        try Sample.store(), size: Size(columns: 120, rows: 30), start: .init(datastore: "Country"))
      try driver.play(":import \(file)")
      driver.press("g g Enter ^u")
      driver.type("Country")
      driver.press("Enter")
      #expect(!driver.shows("population is String") && !driver.shows("name is String"), "\(driver.screen)")
      #expect(driver.shows("population is “n/a”, and it is a number in the records of Country"), "\(driver.screen)")
      driver.press("j j Enter")
      #expect(driver.shows("2 rows left out") && driver.shows("population is “?”"), "\(driver.screen)")
    }
  }

  @Test("the type of a column can be chosen in place of that of its cells")
  func types() throws {
    try withFile("id,code\n1,07\n2,8\n3,9\n") { file in
      let store = try Sample.store()
      let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
      try driver.play(":import \(file)")
      driver.press("g g Enter ^u")
      driver.type("Code")
      driver.press("Enter j j j l l l")
      #expect(driver.shows("as Double"), "\(driver.screen)")
      driver.press("Enter")
      #expect(driver.shows("2 new, 1 row left out"), "\(driver.screen)")
    }
  }
}
