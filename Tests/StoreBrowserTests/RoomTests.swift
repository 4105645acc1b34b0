import StrataDocuments
import StrataModel
import StrataTerminal
import Testing

@testable import StoreBrowser

@Suite("What is shown where there is little room")
struct RoomTests {
  private static let datastore = "CustomerOrderPositionsOfTheYear"

  /// Records whose identifiers differ at their ends, in a datastore with a long name.
  private static func driver(_ size: Size = Size(columns: 80, rows: 24)) throws -> Driver {
    let store = EngineStore.memory()
    let documents: [Document] = (0..<20).map { number in
      [
        "id": .string("order-2026-11-customer-0001-position-\(1_000 + number)"), "name": "a long label of the record",
        "amount": .number(NumberText(number * 1_000)), "currency": "CHF",
        "comment": .string(String(repeating: "c", count: 40)),
      ]
    }
    try Sample.add(documents, to: store, Sample.plan(datastore, "id", []), "orders")
    return Driver(store, size: size)
  }

  @Test(
    "table, review and sidebar tell staged records apart by their identifiers, however long the datastore's name is")
  func identifiers() throws {
    let driver = try Self.driver()
    driver.press("d d j d d")
    let staged = driver.lines.drop { !$0.contains("STAGED") }.dropFirst().prefix(2)
    #expect(staged.first?.contains("1000") == true && staged.last?.contains("1001") == true, "\(driver.screen)")
    #expect(
      driver.lines.contains { $0.contains("order-") && $0.contains("…") && $0.contains("-1010 ") }, "\(driver.screen)")
    driver.press("w")
    for number in [1000, 1001] {
      #expect(
        driver.lines.contains { $0.contains("/order") && $0.contains("\(number) ") && $0.contains("5 fields") },
        "\(driver.screen)")
    }
  }

  @Test("signs beside the titles say on which sides columns are out of sight")
  func columnsOutOfSight() throws {
    let driver = try Self.driver()
    func titles() -> String { driver.lines.first { $0.contains("id ▲") } ?? "" }
    #expect(titles().contains("▸") && !titles().contains("◂"), "\(driver.screen)")
    driver.press("l l l l")
    #expect(!titles().contains("▸") && titles().contains("◂"), "\(driver.screen)")
    driver.resize(Size(columns: 300, rows: 24))
    #expect(!titles().contains("▸") && !titles().contains("◂"), "\(driver.screen)")
  }

  @Test("the sign for columns out of sight covers no title that has room beside it")
  func titleBesideSign() throws {
    let names = ["a", "b", "c", "d", "e", "f"]
    let document = Document.object([.init("id", 1)] + names.map { .init($0, 12_345_678) })
    for columns in 80..<92 {
      let driver = Driver(try Sample.documents([document]), size: Size(columns: columns, rows: 24))
      let titles = try #require(driver.lines.first { $0.contains("id ▲") })
      let cells = try #require(driver.lines.first { $0.contains("▶") })
      let numbers = cells.count { $0 == "M" } + cells.ranges(of: "678").count
      #expect(titles.contains("▸") && names.count { titles.contains(" \($0)") } == numbers, "\(driver.screen)")
    }
  }

  @Test("a list of suggestions in which nothing matches says so, and goes on when a letter is taken back")
  func noSuggestions() throws {
    let driver = try Self.driver()
    driver.press(":")
    driver.type("zzz")
    #expect(driver.shows("nothing to suggest"), "\(driver.screen)")
    driver.press("^u")
    #expect(!driver.shows("nothing to suggest"), "\(driver.screen)")
    driver.press("Esc Esc f")
    driver.type("curx")
    #expect(driver.shows("nothing to suggest"), "\(driver.screen)")
    driver.press("Backspace")
    #expect(driver.shows("  currency") && !driver.shows("nothing to suggest"), "\(driver.screen)")
  }

  @Test("a reason that is longer than the foot is shown whole above the line", arguments: [40, 60, 80])
  func longReason(columns: Int) throws {
    let driver = try Self.driver(Size(columns: columns, rows: 24))
    driver.press(":")
    driver.type("filter amount > 100 and currency in (\"CHF\", \"EUR\"")
    driver.press("Enter")
    let prompt = try #require(driver.browser.overlays.last as? Prompt)
    let problem = try #require(prompt.problem)
    let words = driver.screen.split { " \n│┃".contains($0) }
    #expect(problem.split(separator: " ").allSatisfy { words.contains($0) }, "\(problem)\n\(driver.screen)")
    driver.press("Backspace")
    #expect(!driver.shows("✗"), "\(driver.screen)")
  }

  @Test("the picker's preview breaks lines between words, and within a word only if it is wider than the pane")
  func preview() throws {
    let item = PickerProgram.Item(title: "Atlas.strata", origin: "here", words: [])
    let path = String(repeating: "p", count: 100)
    let picker = PickerProgram([item], configuration: BrowserConfiguration()) { _ in
      ["the store cannot be opened because another program of a newer version wrote it yesterday", "/\(path)"]
    }
    let size = Size(columns: 80, rows: 24)
    _ = picker.start(TerminalSurroundings(size: size), wake: {})
    while !picker.isIdle { _ = picker.respondToAnswers() }
    let text = picker.draw(size: size).text()
    let words = text.split { " \n│┃".contains($0) }
    for word in ["opened", "because", "another", "program", "newer", "version", "wrote", "yesterday"] {
      #expect(words.contains { $0 == word }, "\(word)\n\(text)")
    }
    #expect(text.count { $0 == "p" } >= 100, "\(text)")
  }
}
