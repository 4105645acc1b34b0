import StrataDocuments
import StrataEngine
import StrataModel
import StrataTerminal
import Testing

@testable import StoreBrowser

/// A browser, and what its screen must show.
struct TableWalk {
  struct Item: Equatable { var name: String, group: String, n: Int?, tags: [String] }
  struct Filter { var text: String, keeps: (Item) -> Bool }

  let seed: UInt64
  var random: MonkeyTests.Seeded
  let store: EngineStore
  let driver: Driver
  /// What is stored, by identifier.
  var stored: [String: Item] = [:]
  /// What is staged: a value of `n`, or nil for a deletion; and what was staged before each step.
  var staged: [String: Int?] = [:]
  var before: [[String: Int?]] = []
  var filter: Filter?
  var order = (path: "id", isDescending: false)
  /// Whether there is a column `d`, which is twice `n`.
  var hasComputed = false
  var log: [String] = []
  var hasFailed = false
  /// What is stored as of each commit.
  var states: [CommitNumber: [String: Item]] = [:]
  /// The new records that are staged.
  var new: [String: Item] = [:]
  var newBefore: [[String: Item]] = []
  var range: Range<Int>?

  init(seed: UInt64) throws {
    self.seed = seed
    random = MonkeyTests.Seeded(state: seed)
    for number in 0..<Int.random(in: 5...60, using: &random) {
      let tags = (0..<Int.random(in: 0..<4, using: &random)).map { "t_\((number + $0 * 3) % 5)" }
      stored["k\(100 + number)"] = Item(
        name: "nm_\(number % 7)", group: "gr_\(number * 5 % 4)",
        n: number % 9 == 8 ? nil : 100 + number * 37 % 50, tags: tags)
    }
    store = try Sample.documents(
      stored.sorted { $0.key < $1.key }.map { TableWalk.document($0.key, $0.value) },
      [try Sample.index("n"), try Sample.index("group"), try Sample.index("tags", .manyToMany)])
    driver = Driver(store, size: Size(columns: 100, rows: 30), start: .init(datastore: "T"))
    keepState()
  }

  mutating func keepState() { states[store.head.commit] = stored }

  static func document(_ id: String, _ item: Item) -> Document {
    var members: [Document.Member] = [
      .init("id", .string(id)), .init("name", .string(item.name)), .init("group", .string(item.group)),
    ]
    if let n = item.n { members.append(.init("n", .number(NumberText(n)))) }
    return .object(members + [.init("tags", .array(item.tags.map { .string($0) }))])
  }

  mutating func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }

  mutating func step() throws {
    let isLate = number(0..<2) == 0
    driver.isHolding = isLate || !driver.held.isEmpty
    switch number(0..<42) {
    case 0..<3: setFilter()
    case 3..<5: try setOrder()
    case 5: press(["G", "g g", "^d", "^u"].randomElement(using: &random) ?? "G")
    case 6..<9: for _ in 0..<number(1..<9) { press(["j", "k", "j", "l", "h"].randomElement(using: &random) ?? "j") }
    case 9..<12: try edit()
    case 12: delete()
    case 13: unstage()
    case 14: try commit()
    case 15..<20: try writeOutside()
    case 20: resize()
    case 21..<24: try travel()
    case 24: setRange()
    case 25: try copy()
    case 26: deleteMarked()
    case 27: try undoCommit()
    case 28: search()
    case 29: try setAll()
    case 30: try compute()
    case 31, 32: try takeBack()
    case 33: press("F")
    case 34: try forget()
    case 35: remember()
    case 36..<39: try figures()
    default: press(["3", "2", "1", "2"][number(0..<4)] + " 2")
    }
    // Several things may be asked before the first of them is answered.
    if isLate, number(0..<2) == 0 { return }
    settle()
    try check()
  }

  mutating func press(_ keys: String) {
    log.append(keys)
    driver.press(keys)
    if driver.isHolding, number(0..<3) == 0 { driver.releaseOne() }
  }

  mutating func settle() {
    while !driver.held.isEmpty {
      let chosen = number(0..<driver.held.count)
      let id = driver.held[chosen].0
      driver.releaseFirst { $0 == id }
    }
    driver.isHolding = false
  }

  mutating func resize() {
    driver.resize(Size(columns: number(70..<140), rows: number(12..<45)))
    log.append("\(driver.size)")
  }

  // MARK: Looking

  /// Adds the computed column, or takes it away with what needs it.
  mutating func compute() throws {
    settle()
    let keys = hasComputed ? ":column d" : ":column d = n * 2"
    log.append(keys)
    try driver.play(keys)
    hasComputed.toggle()
    if hasComputed { return }
    if filter?.text.hasPrefix("d ") == true { filter = nil }
    // The order is that of the index that the rows were found by.
    if order.path == "d" { order = ("?", false) }
  }

  /// Changes the view and takes that back.
  mutating func takeBack() throws {
    settle()
    guard driver.browser.session.asOf == nil, order.path != "?" else { return }
    let before = (filter, order)
    if number(0..<2) == 0 { setFilter() } else { try setOrder() }
    settle()
    try check()
    guard filter?.text != before.0?.text || order != before.1 else { return }
    log.append("U")
    driver.press("U")
    (filter, order) = before
  }

  mutating func setFilter() {
    let (number, letter) = (100 + number(0..<50), number(0..<7))
    let filters: [Filter?] = [
      nil, Filter(text: "n > \(number)") { ($0.n ?? 0) > number },
      Filter(text: "name = \"nm_\(letter)\"") { $0.name == "nm_\(letter)" },
      Filter(text: "group = \"gr_\(letter % 4)\" and n < \(number)") {
        $0.group == "gr_\(letter % 4)" && ($0.n ?? 999) < number
      },
      Filter(text: "tags has \"t_\(letter % 5)\"") { $0.tags.contains("t_\(letter % 5)") },
      Filter(text: "n is null or n > \(number)") { ($0.n ?? 999) > number },
      Filter(text: "not name = \"nm_\(letter)\"") { $0.name != "nm_\(letter)" },
    ]
    filter = filters.randomElement(using: &random) ?? nil
    if hasComputed, letter < 2 { filter = Filter(text: "d > \(number * 2)") { ($0.n ?? 0) > number } }
    log.append("filter \(filter?.text ?? "none")")
    driver.press("f ^u")
    driver.type(filter?.text ?? "")
    driver.press("Enter")
  }

  mutating func setOrder() throws {
    let orders: [(String, Bool)] = ["id", "n", "group", "tags", hasComputed ? "d" : "name"].flatMap {
      [($0, false), ($0, true)]
    }
    let chosen = orders[number(0..<orders.count)]
    order = chosen
    log.append("sort \(chosen)")
    try driver.play(":sort \(chosen.0)\(chosen.1 ? " desc" : "")")
  }

  mutating func travel() throws {
    let keys = number(0..<3) == 0 ? ":travel head" : [":older", ":older 3", ":newer", ":travel 1"][number(0..<4)]
    log.append(keys)
    try driver.play(keys)
  }

  /// Another program forgets old commits; a browser that shows one of them goes to the head.
  mutating func forget() throws {
    guard number(0..<3) == 0 else { return }
    log.append("outside forgets commits")
    _ = try store.compact(.last(number(1..<4)), progress: nil)
    driver.tell(.storeStirred)
  }

  /// Sets a bookmark on the record, looks elsewhere, and goes back to it.
  mutating func remember() {
    settle()
    guard let id = driver.selectedIdentifier, new[id] == nil else { return }
    log.append("bookmark \(id)")
    driver.press("m a")
    driver.press(["G", "g g", "j j j"][number(0..<3)])
    if number(0..<2) == 0 { try? writeOutside(but: id) }
    settle()
    driver.press("' a")
    settle()
    // A bookmark shows all rows in the order of an index, so that its record is among them.
    (filter, range, order) = (nil, nil, ("?", false))
    if driver.selectedIdentifier != id { fail("the bookmark of \(id) led to \(driver.selectedIdentifier ?? "none")") }
  }

  mutating func setRange() {
    settle()
    guard order.path == "n", driver.browser.table.source?.index == "n" else { return }
    let low = 100 + number(0..<50)
    range = number(0..<3) == 0 ? nil : low..<low + number(1..<40)
    log.append("range \(range.map { "\($0)" } ?? "none")")
    driver.press("f ^u")
    driver.type(range.map { "= \($0.lowerBound) ..< \($0.upperBound)" } ?? "=")
    driver.press("Enter")
  }

  mutating func search() {
    settle()
    driver.go(to: ".name")
    let name = "nm_\(number(0..<7))"
    log.append("search \(name)")
    driver.press("/ ^u")
    driver.type(name)
    driver.press("Enter")
    settle()
    let ids = Set(((states[driver.browser.session.shown] ?? [:]).filter { $0.value.name == name }).keys)
    if let id = driver.selectedIdentifier, driver.status.contains("hit "), !ids.contains(id), new[id]?.name != name {
      fail("\(id) is no hit of \(name): \(ids)")
    }
  }
}
