import StrataModel
import StrataDocuments
import StrataTerminal
import Testing

@testable import StoreBrowser

@Suite("What is drawn")
struct DrawingTests {
  private static func driver() throws -> Driver {
    Driver(try Sample.store(), size: Size(columns: 160, rows: 48), start: .init(datastore: "City"))
  }

  @Test("a size has one digit after the point below ten, none that is 0, and never a thousand of its unit")
  func sizes() {
    let sizes = [
      0: "0 B", 999: "999 B", 1_000: "1 KB", 1_940: "1.9 KB", 9_949: "9.9 KB", 9_960: "10 KB", 999_499: "999 KB",
      999_500: "1 MB", 1_000_000: "1 MB", 79_000_000: "79 MB", 999_950_000: "1 GB", -1_234_567: "-1.2 MB",
    ]
    for (size, text) in sizes { #expect(NumberFormat.bytes(size) == text) }
  }

  @Test("a text is wrapped within wide words, and is no trap if there is no room at all", arguments: [-2, 0, 1])
  func wrapping(columns: Int) {
    #expect("ab c".wrapped(to: columns) == ["a", "b", "c"])
    #expect("abcd ef".wrapped(to: 3) == ["abc", "d", "ef"])
  }

  @Test("a pane that did not change is not drawn again")
  func unchanged() throws {
    let driver = try Self.driver()
    _ = driver.grid
    let all = driver.browser.drawings.count
    #expect(all == 6)
    // Nothing happened.
    _ = driver.grid
    #expect(driver.browser.drawings.count == all)
    // A step in the table is seen in two of its rows and in the record; the index, the history and the sidebar stay.
    driver.press("j")
    _ = driver.grid
    #expect(driver.browser.drawings.count <= all + 1)
    // Another commit is seen everywhere.
    let before = driver.browser.drawings.count
    driver.press(",")
    _ = driver.grid
    #expect(driver.browser.drawings.count >= before + 6)
  }

  @Test("a step to a row that has been read asks the store for nothing, and shows its record")
  func atHand() throws {
    let driver = Driver(
      try Sample.large(400), size: Size(columns: 160, rows: 48), start: .init(datastore: "Item"))
    let asked = driver.works.count
    for position in 1...10 {
      driver.press("j")
      #expect(driver.shows("Record · \(position) Record \(position)"), "\(driver.screen)")
    }
    #expect(driver.works.count == asked)
  }

  @Test("a record that is too large to be kept with its row is read when it is selected")
  func largeRecord() throws {
    let store = try Sample.large(40)
    let long = String(repeating: "long ", count: 2_000)
    try Sample.change(store, "Item", "3", ".name", to: .string(long))
    let driver = Driver(store, size: Size(columns: 160, rows: 48), start: .init(datastore: "Item"))
    driver.press("j j")
    let asked = driver.works.count
    driver.press("j")
    #expect(driver.works.count == asked + 1 && driver.shows("long long"), "\(driver.screen)")
    driver.press("j")
    #expect(driver.works.count == asked + 1 && driver.shows("Record · 4"))
  }

  @Test("rows are asked for before they come into sight, those only that are not there, and no picture waits for them")
  func rowsAhead() throws {
    let driver = Driver(try Sample.large(400), size: Size(columns: 100, rows: 24), start: .init(datastore: "Item"))
    driver.isHolding = true
    driver.press("PageDown PageDown")
    #expect(driver.held.map(\.0.slot) == [.rowsAhead])
    let request = try #require(driver.held.first?.1 as? RowsRequest)
    #expect(request.ranks.allSatisfy { driver.browser.table.rows[$0] == nil })
    #expect(!request.ranks.isEmpty && WorkSlot.rowsAhead.isPrefetch)
    driver.press("G")
    #expect(driver.held.contains { $0.0.slot == .rows } && !WorkSlot.rows.isPrefetch)
    driver.release()
    #expect(driver.shows("Record 399"))
  }

  @Test("steps that scroll, marks, ranges and searches leave what a picture drawn anew shows")
  func steps() throws {
    let driver = Driver(try Sample.large(400), size: Size(columns: 100, rows: 14), start: .init(datastore: "Item"))
    // The driver compares each picture with one that is drawn anew.
    for keys in [
      "j", "j", "k", "PageDown", "j", "j", "j", "j", "j", "j", "j", "j", "j", "k", "k", "k", "k", "k", "k", "k", "k",
      "k", "k",
      "k", "G", "k", "k", "Space", "k", "v", "k", "k", "Esc", "g g", "j", "/", "9", "Esc", "j", "l", "j", "o", "j", "+",
      "j",
      "Tab", "j", "j", "S-Tab", "d d", "j", "k", "i", "Esc",
    ] {
      driver.press(keys)
      _ = driver.grid
    }
    #expect(driver.browser.table.count(driver.browser.session) == 400)
  }

  @Test("the sidebar shows the spread of the chosen index as a loop over the records counts it")
  func smallHistogram() throws {
    let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 48), start: .init(datastore: "City"))
    driver.press("l l l o")
    let histogram = try #require(driver.browser.panes[StoresPane.self].histogram.current(driver.browser.session))
    let populations = Sample.cities.flatMap { $0 }.compactMap { $0[member: "population"]?.number }
    #expect(histogram.count == populations.count && driver.shows("POPULATION"))
    for (position, bin) in histogram.bins.enumerated() {
      guard case .integer(let lower) = bin.lower else {
        Issue.record("\(bin.lower)")
        return
      }
      var upper = Double.infinity
      if position + 1 < histogram.bins.count, case .integer(let next) = histogram.bins[position + 1].lower {
        upper = Double(next)
      }
      #expect(bin.count == populations.count { $0 >= Double(lower) && $0 < upper })
    }
    driver.press(",")
    #expect(driver.browser.panes[StoresPane.self].histogram.current(driver.browser.session)?.count == 6)
  }

  @Test("the cockpit tells memory, temporary files and the growth of the log as they were measured, and keeps them")
  func figures() throws {
    let driver = try Self.driver()
    driver.isHolding = true
    driver.press(":")
    driver.type("add-index timezone=timezone")
    driver.press("Enter")
    driver.tell(.tick(WorkFigures(memory: 61_000_000, temporary: 0, store: 1_000_000)))
    #expect(driver.shows("memory 61 MB") && !driver.shows("temporary"), "\(driver.screen)")
    driver.tell(.tick(WorkFigures(memory: 62_000_000, temporary: 12_000_000, store: 9_100_000)))
    let id = try #require(driver.browser.session.running[.warmUp]?.id)
    driver.tell(.work(id, .failed(.cancelled)))
    driver.press("6")
    #expect(driver.shows("memory 62 MB · temporary 12 MB · log +8.1 MB"), "\(driver.screen)")
  }
}

@Suite("The first screen, and what a commit lacks")
struct FirstScreenTests {
  @Test("a sample begins on its table with a line of what it is, while the title says what runs")
  func greeting() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"), warmUp: FakeWarmUp()) {
      $0.warmsUpAtStart = true
      $0.startsAtMigration = false
      $0.greeting = "Cities: j k move · ? all keys"
    }
    #expect(driver.browser.view.kind == .main && driver.browser.focus == .table)
    #expect(driver.status.contains("Cities: j k move"))
    driver.press("M")
    #expect(driver.shows("complete: commit #5"))
  }

  @Test("a commit from before an index shows the rows by identifier, and stepping on brings the order back")
  func missingIndex() throws {
    let store = try Sample.store()
    let driver = Driver(store, start: .init(datastore: "City"))
    driver.press(":")
    driver.type("add-index timezone=timezone")
    driver.press("Enter q")
    driver.press("2 l l l l o G")
    #expect(driver.browser.table.source?.index == "timezone", "\(driver.screen)")
    let selected = driver.selectedIdentifier
    driver.press(",")
    #expect(driver.status.contains("has no index timezone"), "\(driver.screen)")
    #expect(driver.browser.table.count(driver.browser.session) == 10 && driver.selectedIdentifier == selected)
    let place = try #require(driver.browser.table.selectedPlace(driver.browser.session))
    driver.press("k")
    driver.browser.select(place)
    driver.press(".")
    #expect(driver.browser.table.source?.index == "timezone")
    #expect(driver.selectedIdentifier == selected)
  }

  @Test("an order that comes back with its index brings no limit that was given up meanwhile")
  func limitOfMissingIndex() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.press(":")
    driver.type("add-index timezone=timezone")
    driver.press("Enter q")
    driver.press("2 l l l l o")
    var source = try #require(driver.browser.table.source)
    source.limit = 2
    driver.browser.table.show(source, anchor: .position(0))
    driver.tell(.tick(nil))
    driver.press(",")
    driver.browser.goTo("2661552", in: "City")
    driver.tell(.tick(nil))
    driver.press(".")
    let shown = driver.browser.table
    #expect(shown.source?.index == "timezone" && shown.source?.limit == nil, "\(driver.screen)")
    #expect(driver.selectedIdentifier == "2661552", "\(driver.screen)")
  }
}

@Suite("Panes follow the selection")
struct FollowingPanesTests {
  @Test("the index pane stands at the key of the selected record, beside the table and when it is opened")
  func index() throws {
    for size in [Size(columns: 160, rows: 48), Size(columns: 80, rows: 24)] {
      let driver = Driver(try Sample.store(), size: size, start: .init(datastore: "City"))
      driver.press("l l l o")
      let populations = Sample.cities.flatMap { $0 }.compactMap { $0[member: "population"]?.number }.sorted()
      for (steps, key) in [("g g", 0), ("j j j", 3), ("G", 9)] {
        driver.press("2 \(steps)")
        if size.columns == 80 { driver.press("5") }
        let pane = try #require(driver.browser.panes[.index] as? IndexPane)
        #expect(pane.selected?.key.description == "\(Int(populations[key]))", "\(size) \(steps)\n\(driver.screen)")
        if size.columns == 80 { driver.press("q") }
      }
    }
  }

  @Test("the history follows the selection as one key says: datastore, record, field, store")
  func history() throws {
    let driver = Driver(try Sample.store(), size: Size(columns: 160, rows: 48), start: .init(datastore: "City"))
    driver.press("4 H")
    #expect(driver.browser.history.scope == .datastore("City"))
    driver.press("H 2 j")
    let second = try #require(driver.browser.session.selections.record)
    #expect(driver.browser.history.scope == .record(second))
    #expect(driver.shows("follows the selection"))
    driver.press("j")
    let third = try #require(driver.browser.session.selections.record)
    #expect(third != second && driver.browser.history.scope == .record(third))
    driver.press("4 H 2 l l l")
    #expect(driver.browser.history.scope == .field(third, path: ".population"), "\(driver.screen)")
    driver.press("4 H")
    #expect(driver.browser.history.scope == .store)
  }

  @Test("every prompt brings back what was typed at it")
  func recall() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.press(":")
    driver.type("pin")
    driver.press("Enter")
    driver.type("good")
    driver.press("Enter :")
    driver.type("pin")
    driver.press("Enter Up")
    #expect((driver.browser.overlays.last as? Prompt)?.field.text == "good")
  }

  @Test("of data that is not shown whole it is said how many bytes follow")
  func longData() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    let bytes = [UInt8](repeating: 7, count: (1 << 20) + 5)
    driver.browser.present(TextOverlay(title: "data", value: .data(bytes)))
    driver.press("j G")
    #expect(driver.shows("… 5 bytes more"), "\(driver.screen)")
  }

  @Test("Enter runs what was brought back, whatever Tab had chosen before")
  func recallAfterTab() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    try driver.play(":conditions")
    driver.press("Esc :")
    driver.type("so")
    driver.press("Tab Tab Up Enter")
    #expect(driver.browser.overlays.last is TextOverlay, "\(driver.screen)")
  }
}
