import StrataDocuments
import StrataEngine
import StrataTerminal
import Testing

@testable import StrataModel
@testable import StoreBrowser

@Suite("The finder")
struct FinderTests {
  private func driver(_ store: EngineStore, _ typed: String, in datastore: String = "City") -> Driver {
    let driver = Driver(store, start: .init(datastore: datastore))
    driver.press("^p")
    driver.type(typed)
    return driver
  }

  private func found(_ driver: Driver, _ kind: String) throws -> [String] {
    try #require(driver.browser.overlays.last as? FinderOverlay).items.filter { $0.kind == kind }.map(\.words.name)
  }

  @Test(
    "a few letters find a datastore, an index of another datastore, a field, a view, a pin, a bookmark and a command")
  func kinds() throws {
    let store = try Sample.store()
    let datastore = driver(store, "count")
    #expect(datastore.shows("Country"))
    datastore.press("Enter")
    #expect(datastore.browser.session.datastore == "Country")
    let index = driver(store, "contin")
    #expect(index.shows("index of Country") && index.shows("Country in the order of continent"))
    index.press("Enter")
    #expect(index.browser.table.source?.index == "continent" && index.browser.session.datastore == "Country")
    let field = driver(store, "tzn")
    field.press("^u")
    field.type("timez")
    field.press("Enter")
    #expect(field.browser.table.selectedPath(field.browser.session) == ".timezone")
    let command = driver(store, "freq")
    command.press("Enter")
    #expect(command.shows("Frequency") || command.shows("nulls 0"), "\(command.screen)")

    let kept = Driver(store, start: .init(datastore: "City"))
    for step in [":filter countrycode = \"GE\"", ":view georgian", ":bookmark x", ":pin golden"] {
      try kept.play(step)
    }
    kept.press("Esc")
    #expect(kept.browser.table.source?.filter == nil)
    for (typed, kind) in [("georg", "view of City"), ("golden", "pin"), ("x", "bookmark")] {
      kept.press("^p")
      kept.type(typed)
      #expect(try found(kept, kind).count == 1, "\(kept.screen)")
      kept.press("Esc")
    }
    kept.press("^p")
    kept.type("georg")
    kept.press("Enter")
    #expect(kept.browser.table.source?.filter == "countrycode = \"GE\"")
  }

  @Test("identifiers are found by their beginning, as a loop over the records finds them, through the tree alone")
  func identifiers() throws {
    let store = try Sample.large(20_000)
    let datastore = try #require(try store.head.datastore("Item"))
    let all = try datastore.primary.entries(at: 0..<datastore.count)
    for text in ["0", "7", "12", "199", "1999", "19999", "20000", "-1", "x"] {
      let expected = all.map(\.identifier.value.description).filter { $0.hasPrefix(text) }
      let entries = try datastore.primary.entries(beginningWith: text, limit: .max / 2)
      #expect(entries.map(\.identifier.value.description).sorted() == expected.sorted(), "\(text)")
      #expect(try datastore.primary.entries(beginningWith: text, limit: 8).count == min(8, expected.count))
    }
    let driver = Driver(store, start: .init(datastore: "Item"))
    driver.press("^p")
    driver.type("1999")
    #expect(try found(driver, "Item").prefix(3) == ["1999 Record 1999", "19990 Record 19990", "19991 Record 19991"])
    #expect(driver.shows("name: Record 1999"), "the preview")
    driver.press("Down Enter")
    #expect(driver.selectedIdentifier == "19990")
  }

  @Test("identifiers beyond the signed integers are found by their beginning, too")
  func greatIdentifiers() throws {
    let identifiers: [UInt64] = [5, 184, UInt64(Int64.max), UInt64(Int64.max) + 1, 12_345_678_901_234_567_890, .max]
    let store = try Sample.documents(identifiers.map { Document.object([.init("id", .number(NumberText($0)))]) })
    let primary = try #require(try store.head.datastore("T")).primary
    for text in ["1844", "184", "1", "9223372036854775807", "9223372036854775808", "922", "18446744073709551616"] {
      let found = try primary.entries(beginningWith: text, limit: 10).map(\.identifier.value.description)
      let expected = identifiers.map { String($0) }.filter { $0.hasPrefix(text) }
      #expect(found.sorted() == expected.sorted(), "\(text)")
    }
  }

  @Test("negative identifiers are found by their beginning, too")
  func negativeIdentifiers() throws {
    let identifiers: [Int64] = [.min, .min + 1, -1_234, -123, -12, -10, -1, 0, 1, 12]
    let store = try Sample.documents(identifiers.map { Document.object([.init("id", .number(NumberText($0)))]) })
    let primary = try #require(try store.head.datastore("T")).primary
    for text in ["-1", "-12", "-123", "-9", "-9223372036854775808", "-9223372036854775809", "-0", "--1", "-+1", "-"] {
      let found = try primary.entries(beginningWith: text, limit: 10).map(\.identifier.value.description)
      let expected = text == "-" ? [] : identifiers.map { String($0) }.filter { $0.hasPrefix(text) }
      #expect(found.sorted() == expected.sorted(), "\(text)")
    }
  }

  @Test("no unsigned identifier begins with a negative number, and the search for one finds what else there is")
  func negativeOfUnsigned() throws {
    let descriptor = DatastoreDescriptor(
      key: "T", identifierType: "UInt64", identifierEncoding: .unsigned, identifierPath: ".id")
    let store = EngineStore(FileStore.memory(options: StoreOptions()), path: "/tmp/T.strata", program: "tests")
    _ = try store.engine.write(CommitInfo(action: "create")) { transaction throws(ModelError) in
      try DatastoreWriter.create(descriptor, in: transaction)
    }.get()
    try Sample.add([["id": 1], ["id": 12]], to: store, Sample.plan("T", "id", []), "fill")
    let primary = try #require(try store.head.datastore("T")).primary
    #expect(try primary.entries(beginningWith: "-1", limit: 10).isEmpty)
    #expect(try primary.entries(beginningWith: "1", limit: 10).count == 2)
  }

  @Test("texts of an index are found in either case unless a capital letter is typed, as a loop over them finds them")
  func smartCase() throws {
    let names = [
      "Fritz 001", "fritz 002", "FRITZ 003", "fRiTz 00", "Fritzi", "Ärmel", "ärmel", "Straße", "STRASSE", "fry",
    ]
    let documents = names.enumerated().map { place, name -> Document in
      ["id": .number(NumberText(place)), "name": .string(name), "more": .string(String(repeating: "x", count: place))]
    }
    let store = try Sample.documents(documents, [try Sample.index("name")])
    let index = try #require(try store.head.datastore("T")?.indexes.first)
    for text in ["fritz 00", "Fritz 00", "f", "F", "FRITZ", "är", "Är", "stra", "fritz 009", "x"] {
      let expected = names.filter { name in
        text.contains(where: \.isUppercase) ? name.hasPrefix(text) : name.lowercased().hasPrefix(text)
      }
      let found = try index.entries(beginningWith: text, limit: 100).map(\.value.description)
      #expect(found.sorted() == expected.map { KeyValue.string($0).description }.sorted(), "\(text)")
      #expect(try index.entries(beginningWith: text, limit: 2).count == min(2, expected.count))
    }
    let driver = driver(store, "fritz 001", in: "T")
    #expect(driver.shows("name Fritz 001"), "\(driver.screen)")
  }

  @Test("a store on another computer is asked for records in a pause of typing only")
  func pause() throws {
    let store = HeldStore(try Sample.large(20))
    let request = FindRequest(text: "6", commit: store.head.commit, head: store.head.commit)
    var context = WorkContext(store: store)
    context.typingPause = 10
    #expect(try request.reply(in: context).records.count == 1)
    // The next key is typed when the work looks whether the store is far away.
    store.isFar = { [cancellation = context.cancellation] in
      cancellation.cancel()
      return true
    }
    #expect(throws: ModelError.cancelled) { try request.reply(in: context) }
  }

  @Test("Enter that is typed ahead waits for the records that are found, and the keys behind it wait too")
  func enterAhead() throws {
    let driver = Driver(try Sample.large(20), start: .init(datastore: "Item"))
    driver.isHolding = true
    driver.press("^p")
    driver.type("6")
    driver.press("Enter j")
    #expect(driver.browser.overlays.last is FinderOverlay, "a command that has a 6 is listed, the record is not yet")
    driver.release()
    #expect(driver.browser.overlays.isEmpty && driver.selectedIdentifier == "7", "\(driver.screen)")
  }

  @Test("a new record that is only staged is found by its identifier and its label")
  func stagedRecords() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "Country"))
    driver.press("D")
    let text = try #require(driver.editorRequest?.text)
    driver.tell(
      .editorClosed(
        EditorOutcome(text: text.replacing("\"CH\"", with: "\"CX\"").replacing("Switzerland", with: "Helvetia"))))
    for typed in ["cx", "helv"] {
      driver.press("g g ^p")
      driver.type(typed)
      #expect(try found(driver, "Country") == ["CX Helvetia"], "\(driver.screen)")
      driver.press("Enter")
      #expect(driver.lines.contains { $0.contains("▶+") && $0.contains("CX") }, "\(driver.screen)")
    }
  }

  @Test("records are found by an indexed text, commits by number and name")
  func textsAndCommits() throws {
    let store = try Sample.store()
    let byName = driver(store, "Jap", in: "City")
    #expect(try found(byName, "Country") == ["JP Japan"])
    byName.press("Enter")
    #expect(byName.selectedIdentifier == "JP" && byName.browser.session.datastore == "Country")
    let byCommit = driver(store, "import GE")
    #expect(try found(byCommit, "commit") == ["#3 import GE: 2 cities"])
    byCommit.press("Enter")
    #expect(byCommit.browser.session.asOf == CommitNumber(3))
    let nothing = driver(store, "qqqqq")
    #expect(nothing.shows("nothing found by name or index: / reads all"))
    nothing.press("Enter Esc")
    #expect(nothing.browser.overlays.isEmpty)
  }

  @Test("a command is found by any part of what its help says, as in a loop over the commands")
  func helpTexts() throws {
    let all = CommandTable.all.map { (name: $0.name, help: $0.help.lowercased()) }
    for help in all.map(\.help) where help.count > 20 {
      for length in [12, help.count / 2, help.count - 3] {
        let part = String(help.dropFirst(3).prefix(length)).trimmed
        let found = Set(FuzzySearch.entries(matching: part).map(\.name))
        let expected = all.filter { $0.help.contains(part) }.map(\.name)
        #expect(found.isSuperset(of: expected) && found.count < all.count, "\(part)")
      }
    }
    let longest = try #require(all.max { $0.help.count < $1.help.count })
    #expect(FuzzySearch.entries(matching: longest.help).map(\.name) == [longest.name])
    #expect(FuzzySearch.entries(matching: longest.help + "!").isEmpty)
  }

  @Test("in a prompt and in the help ^p keeps its meaning")
  func prompts() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    try driver.play(":filter population > 5")
    driver.press(": ^p")
    #expect(driver.browser.overlays.last is Prompt && driver.keys.count > 0)
    driver.press("Esc Esc ? ? ^n ^p")
    #expect(driver.browser.overlays.last is HelpOverlay)
  }
}
