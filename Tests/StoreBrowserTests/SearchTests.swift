import Documents
import DatastoreModel
import TerminalKit
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
}
