import StrataDocuments
import StrataModel
@testable import StrataTerminal
import Testing

@testable import StoreBrowser

/// Pictures: what they show is what a loop over the records counts.
@Suite struct PictureTests {
  private static let populations = Sample.cities.flatMap { $0 }.compactMap { $0[member: "population"]?.number }

  private static func driver(_ size: Size = Size(columns: 120, rows: 40)) throws -> Driver {
    Driver(try Sample.store(), size: size, start: .init(datastore: "City"))
  }

  // MARK: Histogram

  @Test("a bin that was stepped to is not taken for one of other keys when a commit widens the histogram")
  func widenedBins() throws {
    let documents = [0, 50, 100].enumerated().map { place, number -> Document in
      ["id": .number(NumberText(place)), "v": .number(NumberText(number))]
    }
    let store = try Sample.documents(documents, [Sample.index("v")])
    let driver = Driver(store, size: Size(columns: 120, rows: 40), start: .init(datastore: "T"))
    try driver.play(":sort v")
    driver.press("5 l")
    func label() -> String? {
      let histogram = (driver.browser.panes[.index] as? IndexPane)?.histogram
      return histogram?.bin.flatMap { histogram?.histogram?.bins[$0].label }
    }
    let before = try #require(label(), "\(driver.screen)")
    try Sample.change(store, "T", "1", ".v", to: 500)
    try Sample.change(store, "T", "2", ".v", to: 1_000)
    driver.tell(.storeStirred)
    #expect(label() ?? before == before, "\(driver.screen)")
  }

  @Test("the bins of the index pane hold the records that a loop counts in them")
  func bins() throws {
    let driver = try Self.driver()
    driver.press("l l l o 5")
    guard let pane = driver.browser.panes[.index] as? IndexPane, let histogram = pane.histogram.histogram else {
      Issue.record("no histogram:\n\(driver.screen)")
      return
    }
    #expect(histogram.count == Self.populations.count)
    for (position, bin) in histogram.bins.enumerated() {
      guard case .integer(let lower) = bin.lower else {
        Issue.record("\(bin.lower)")
        return
      }
      var upper = Double.infinity
      if position + 1 < histogram.bins.count, case .integer(let next) = histogram.bins[position + 1].lower {
        upper = Double(next)
      }
      #expect(bin.count == Self.populations.count { $0 >= Double(lower) && $0 < upper })
    }
    #expect(driver.shows("▲"))
  }

  @Test("a range is set with the brush: bin by bin, from here, to here, and Enter shows a bin in the table")
  func brush() throws {
    let driver = try Self.driver()
    driver.press("l l l o 5")
    driver.press("l (")
    let first = try #require(driver.browser.table.source?.range)
    guard case .including(.integer(let lower)) = first.lower else {
      Issue.record("\(first)")
      return
    }
    let expected = Self.populations.count { $0 >= Double(lower) }
    #expect(driver.browser.table.bounds.count == expected)
    #expect(expected < Self.populations.count)
    driver.press("5 l l )")
    let second = try #require(driver.browser.table.source?.range)
    guard case .excluding(.integer(let upper)) = second.upper else {
      Issue.record("\(second)")
      return
    }
    let within = Self.populations.count { $0 >= Double(lower) && $0 < Double(upper) }
    #expect(driver.browser.table.bounds.count == within)
    driver.press("5 Enter")
    #expect(driver.browser.focus == .table)
    // A bin of the range shows the range in the table, one beside it itself.
    driver.press("5 l h Enter")
    #expect(driver.browser.focus == .table && driver.browser.table.source?.range == second)
    driver.press("5 g g h Enter")
    #expect(driver.browser.focus == .table && driver.browser.table.source?.range != nil)
    #expect(driver.browser.table.source?.range != second)
  }

  @Test("the keys of an index take the room that they need, and their title stands where they do")
  func keyColumn() throws {
    let driver = try Self.driver()
    driver.press("l l l o 5")
    let row = try #require(
      driver.lines.firstIndex { $0.contains("key") && $0.contains("records") && $0.contains("n  ") })
    let (title, line) = (driver.lines[row], driver.lines[row + 1])
    let longest = Self.populations.map { "\(Int($0))".count }.max() ?? 0
    func end(_ text: String, of word: String) -> Int {
      text.firstRange(of: word).map { text.distance(from: text.startIndex, to: $0.upperBound) } ?? 0
    }
    #expect(end(title, of: "key") == 3 + longest, "\(driver.screen)")
    #expect(end(line, of: " 1  ") == end(title, of: "n  "), "\(driver.screen)")
  }

  @Test("the histogram follows the commit that is shown")
  func followsCommit() throws {
    let driver = try Self.driver()
    driver.press("5 ,")
    let pane = try #require(driver.browser.panes[.index] as? IndexPane)
    #expect(pane.histogram.reading.answered?.commit == driver.browser.session.shown)
    #expect(pane.histogram.histogram?.count == 6)
  }

  // MARK: Describe

  @Test("a description shows every field, and Enter counts its values")
  func describe() throws {
    let driver = try Self.driver()
    driver.press("I")
    for name in ["geonameid", "name", "countrycode", "population", "timezone", "alternatenames"] {
      #expect(driver.shows(name))
    }
    let description = try #require((driver.browser.panes[.describe] as? DescribePane)?.reply)
    #expect(description.isComplete && description.total == 10)
    let field = try #require(description.fields.first { $0.name == "population" })
    let sorted = Self.populations.sorted()
    #expect(field.least?.number == sorted.first && field.greatest?.number == sorted.last)
    driver.press("j j Enter")
    #expect(driver.shows("City by countrycode"), "\(driver.screen)")
    #expect(driver.shows("JP"))
    driver.press("q q")
    #expect(driver.browser.focus == .table)
  }

  @Test("a description that is called off keeps what is there and says of how much")
  func describePart() throws {
    let driver = Driver(try Sample.large(3_000), size: Size(columns: 120, rows: 40), start: .init(datastore: "Item"))
    driver.isHolding = true
    driver.press("I")
    let (id, work) = try #require(driver.held.first)
    let question = try #require(work as? DescribeRequest)
    let parts = Locked<[StoreBrowser.Progress]>([])
    let context = WorkContext(store: driver.store, report: { part in parts.with { $0.append(part) } })
    _ = try question.reply(in: context)
    let first = try #require(parts.with { $0 }.first { if case .part = $0.found { true } else { false } })
    driver.tell(.work(id, .progress(first)))
    driver.press("Esc")
    #expect(driver.shows("17.1 % read"), "\(driver.screen)")
    #expect(driver.shows("population") == false && driver.shows("value"))
    #expect(first.done == 512)
    driver.tell(.work(id, .failed(.storage("frame 7 is damaged", kind: .damaged))))
    #expect(driver.shows("17.1 % read, then failed") && driver.shows("value"), "\(driver.screen)")
    #expect(driver.status.contains("frame 7 is damaged"), "\(driver.screen)")
  }

  @Test("a description that is called off has all that was read by then")
  func describeEnded() throws {
    let driver = Driver(try Sample.large(3_000), size: Size(columns: 120, rows: 40), start: .init(datastore: "Item"))
    driver.isHolding = true
    driver.press("I")
    let (id, work) = try #require(driver.held.first)
    driver.press("Esc")
    let cancellation = Cancellation()
    let context = WorkContext(
      store: driver.store, cancellation: cancellation, report: { if $0.done >= 1_536 { cancellation.cancel() } })
    driver.tell(.work(id, work.report(in: context)))
    #expect(driver.shows("51.2 % read, then stopped") && driver.shows("value"), "\(driver.screen)")
    #expect(driver.browser.session.longWork.isEmpty)
  }

  // MARK: Plot

  @Test("each point is in the dot that its values give, the cross-hair names a record, a rectangle is a filter")
  func plot() throws {
    let driver = try Self.driver()
    driver.press(":")
    driver.type("plot population geonameid by countrycode")
    driver.press("Enter")
    let pane = try #require(driver.browser.panes[.plot] as? PlotPane)
    let reply = try #require(pane.reply)
    #expect(reply.count.inside == 10 && reply.count.outside == 0)
    #expect(reply.series.map(\.text) == ["CH", "JP", "GE", "other"])
    for document in Sample.cities.flatMap({ $0 }) {
      let x = try #require(document[member: "population"]?.number)
      let y = try #require(document[member: "geonameid"]?.number)
      let series = try #require(["CH", "JP", "GE"].firstIndex { document[member: "countrycode"] == .string($0) })
      let dot = try #require(reply.count.dot(x, y))
      #expect(reply.count.counts[series][dot.row * reply.count.columns + dot.column] > 0)
    }
    #expect(pane.point != nil)
    #expect(driver.shows("● CH") && driver.shows("● JP"))
    // The whole plane as a rectangle keeps everything; a part of it what a loop keeps.
    driver.press("g g v G Enter")
    let filter = try #require(driver.browser.table.source?.filter)
    #expect(driver.browser.table.count(driver.browser.session) == 10, "\(filter)")
  }

  @Test("a rectangle stands for its whole cells, as it is drawn: that of one cell keeps the points of the cell")
  func cellAsFilter() throws {
    let driver = try Self.driver()
    try driver.play(":plot population geonameid")
    let reply = try #require((driver.browser.panes[.plot] as? PlotPane)?.reply)
    let (frame, form) = (driver.browser.frame(of: .plot, in: driver.browser.layout), driver.browser.session.dotForm)
    let (dots, dot) = (PlotPane.dots(reply, frame, form), try #require(reply.count.dot(121_631, 2_661_552)))
    let point = frame.inside.at(dots.left + dot.column / form.dotsAcross, dots.top + dot.row / form.dotsDown)
    driver.tell(.event(.mouse(MouseEvent(kind: .press(button: 1), point: point))))
    driver.press("v Enter")
    let table = driver.browser.table
    let kept = table.shownRanks.indices.compactMap { table.row(at: $0)?.entry.identifier.description }
    #expect(kept.contains("2661552") && kept.count < 5, "\(table.source?.filter ?? "") \(kept)")
  }

  @Test("Enter on a point that is still being read opens that point, and not the one before it")
  func enterEarly() throws {
    var opened: [String?] = []
    for isHolding in [false, true] {
      let driver = try Self.driver()
      try driver.play(":plot population geonameid")
      driver.press("g g")
      let before = (driver.browser.panes[.plot] as? PlotPane)?.point?.identifier.description
      driver.isHolding = isHolding
      driver.press("G Enter")
      driver.release()
      #expect(driver.selectedIdentifier != nil && driver.selectedIdentifier != before, "\(driver.screen)")
      opened.append(driver.selectedIdentifier)
    }
    #expect(opened[0] == opened[1])
  }

  @Test("a plot of filtered rows keeps the filter when another program commits")
  func filteredPlot() throws {
    let store = try Sample.store()
    let driver = Driver(store, size: Size(columns: 160, rows: 48), start: .init(datastore: "City"))
    try driver.play(":filter countrycode = \"CH\"")
    try driver.play(":plot population geonameid")
    try Sample.change(store, "City", "2661552", ".population", to: 200_000)
    driver.tell(.storeStirred)
    let reply = try #require((driver.browser.panes[.plot] as? PlotPane)?.reply)
    #expect(reply.request.commit == store.head.commit && reply.count.inside == 4, "\(driver.screen)")
  }

  @Test("the cross-hair of a plot names the nearest record, as a look at all dots finds it")
  func nearest() throws {
    let values = (0..<30).map { (number: Int) -> (x: Double, y: Double) in
      (x: Double(number * 7_919 % 101), y: Double(number * 104_729 % 97))
    }
    let documents = values.enumerated().map { place, value -> Document in
      ["id": .number(NumberText(place)), "x": .number(NumberText(value.x)), "y": .number(NumberText(value.y))]
    }
    let driver = Driver(
      try Sample.documents(documents), size: Size(columns: 120, rows: 40), start: .init(datastore: "T"))
    try driver.play(":plot x y")
    let keys = Array(repeating: "h k h", count: 12) + Array(repeating: "l j l", count: 24)
    for keys in keys {
      driver.press(keys)
      let pane = try #require(driver.browser.panes[.plot] as? PlotPane)
      let (reply, cross) = (try #require(pane.reply), try #require(pane.cross))
      let centre = try #require(reply.count.dot(cross.x, cross.y))
      func distance(_ value: (x: Double, y: Double)) -> Int {
        guard let dot = reply.count.dot(value.x, value.y) else { return .max }
        let (down, across) = (dot.row - centre.row, dot.column - centre.column)
        return down * down + across * across
      }
      let number = try #require(pane.point.flatMap { Int($0.identifier.description) })
      #expect(distance(values[number]) == values.map(distance).min(), "\(cross)")
    }
  }

  @Test("the marks of a vertical axis are the numbers at which they stand, also where these need all of its cells")
  func greatMarks() throws {
    let documents = [1.25e308, -1.25e308, 1, 2].enumerated().map { place, number -> Document in
      ["id": .number(NumberText(place)), "x": .number(NumberText(place)), "y": .number(NumberText(number))]
    }
    let driver = Driver(
      try Sample.documents(documents), size: Size(columns: 120, rows: 40), start: .init(datastore: "T"))
    try driver.play(":plot x y")
    for mark in ["-125e306 ", "-100e306 ", "-75e306▏", "125e306▏"] {
      #expect(driver.lines.contains { $0.hasPrefix("┃\(mark)") }, "\(driver.screen)")
    }
  }

  @Test("numbers whose difference is not finite are plotted, and zooming out ends at the greatest numbers")
  func greatNumbers() throws {
    let documents = [1.7e308, -1.7e308, 1, 2].enumerated().map { place, number -> Document in
      ["id": .number(NumberText(place)), "x": .number(NumberText(number)), "y": .number(NumberText(place))]
    }
    let driver = Driver(
      try Sample.documents(documents), size: Size(columns: 120, rows: 24), start: .init(datastore: "T"))
    try driver.play(":plot x y")
    let reply = try #require((driver.browser.panes[.plot] as? PlotPane)?.reply, "\(driver.screen)")
    #expect(reply.count.inside == 4 && reply.withoutNumbers == 0 && reply.count.frame.x == -1.7e308...1.7e308)
    #expect(reply.count.dot(1.7e308, 0)?.column == reply.count.columns - 1 && reply.count.dot(-1.7e308, 1)?.column == 0)
    #expect(reply.count.dot(1, 2)?.column == reply.count.columns / 2)
    let dot = reply.count.values(column: 0, row: 0)
    #expect(dot.x.upperBound < -1.6e308 && dot.x.upperBound > -1.7e308)
    #expect(driver.shows("4 points") && !driver.shows("without numbers"), "\(driver.screen)")
    #expect(
      driver.lines.contains { $0.contains(" -16e307 ") && $0.contains(" 16e307 ") && $0.contains(" 0 ") },
      "\(driver.screen)")
    for keys in ["l l j j G g g", "v l l v", "+ + +"] { driver.press(keys) }
    for _ in 0..<20 { driver.press("-") }
    #expect((driver.browser.panes[.plot] as? PlotPane)?.reply?.count.inside == 4)
    for _ in 0..<20 { driver.press("-") }
    #expect((driver.browser.panes[.plot] as? PlotPane)?.reply?.count.inside == 4)
    driver.browser.session.readsAsLines = true
    #expect(driver.shows("x from -1.80e308"), "\(driver.screen)")
  }

  @Test("a click puts the cross-hair into its cell, also where a map has half a cell of dots at an edge")
  func clicks() throws {
    let documents = (0..<40).map { place -> Document in
      let (x, y) = (Double(place * 37 % 100) / 10, Double(place * 53 % 70) / 10)
      let numbers = [NumberText(place), NumberText(x), NumberText(y)].map(Document.number)
      return ["id": numbers[0], "longitude": numbers[1], "latitude": numbers[2]]
    }
    let store = try Sample.documents(documents)
    var hits = 0
    for columns in 90..<98 {
      for rows in 30..<36 {
        let driver = Driver(store, size: Size(columns: columns, rows: rows), start: .init(datastore: "T"))
        try driver.play(":plot longitude latitude")
        for point in [Point(column: columns / 2, row: rows / 2), Point(column: columns / 2 + 5, row: rows / 2 - 3)] {
          let before = driver.grid.cursor
          driver.tell(.event(.mouse(MouseEvent(kind: .press(button: 1), point: point))))
          #expect(driver.grid.cursor == point || driver.grid.cursor == before, "\(columns)x\(rows)")
          if driver.grid.cursor == point { hits += 1 }
        }
      }
    }
    #expect(hits > 90)
  }

  @Test("zooming shows a part, and the points beside it are counted")
  func zoom() throws {
    let driver = try Self.driver()
    driver.press(":")
    driver.type("plot population geonameid")
    driver.press("Enter + +")
    let reply = try #require((driver.browser.panes[.plot] as? PlotPane)?.reply)
    let frame = reply.count.frame
    let expected = Sample.cities.flatMap { $0 }.count { document in
      guard let x = document[member: "population"]?.number, let y = document[member: "geonameid"]?.number else {
        return false
      }
      return frame.x.contains(x) && frame.y.contains(y)
    }
    #expect(reply.count.inside == expected && reply.count.outside == 10 - expected)
    driver.press("=")
    #expect((driver.browser.panes[.plot] as? PlotPane)?.reply?.count.inside == 10)
  }

  @Test("a plot of what is not a number says so")
  func noNumbers() throws {
    let driver = try Self.driver()
    driver.press(":")
    driver.type("plot name timezone")
    driver.press("Enter")
    #expect(driver.shows("no record has a number in both name and timezone"))
    driver.press("q :")
    driver.type("plot a b c")
    driver.press("Enter")
    #expect(driver.shows("two fields, not 3"))
  }

  // MARK: Time

  @Test("the strip stands above the history, and older commits are stepped to by number")
  func strip() throws {
    let driver = try Self.driver()
    driver.press("g H")
    #expect(driver.shows("4 commits by"))
    driver.press("q :")
    driver.type("older 2")
    driver.press("Enter")
    #expect(driver.shows("AS OF #2"))
    #expect(driver.browser.table.changed.values.count { $0 == .delete } == 6)
    driver.press(":")
    driver.type("newer 2")
    driver.press("Enter")
    #expect(!driver.shows("AS OF"))
    driver.press(":")
    driver.type("older nonsense")
    driver.press("Enter")
    #expect(driver.shows("not “nonsense”"))
  }

  // MARK: Numbers

  @Test("a number is whole, or scaled and marked, and never cut")
  func scaled() {
    #expect(NumberFormat.fitting("1525152", in: 9) == "1525152")
    #expect(NumberFormat.fitting("1525152", in: 6) == "1.53 M")
    #expect(NumberFormat.fitting("-1525152", in: 6) == "-1.5 M")
    #expect(NumberFormat.fitting("1525152", in: 3) == "2 M")
    for width in 1...20 {
      for text in ["0.000012345", "123456789012345678", "-99999.99", "1e-30", "12", "nan"] {
        let fitted = NumberFormat.fitting(text, in: width)
        if text != "nan" { #expect(fitted.utf8.count <= width) }
        guard !fitted.contains("#"), let value = Double(text), value.isFinite else { continue }
        let plain = fitted.replacing("~", with: "")
        let unit = ["k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18].first { plain.hasSuffix($0.key) }
        let digits = plain.filter { !"kMGTPE ".contains($0) }
        let size = (Double(digits) ?? .nan) * (unit?.value ?? 1)
        #expect(abs(size - value) <= max(abs(value) * 0.5, 0.5), "\(text) as \(fitted)")
      }
    }
    #expect(ScaledNumber.axis("2500000") == "2.5 M")
    #expect(ScaledNumber.axis("100000") == "100 000")
    #expect(ScaledNumber.measured(1e14, step: 1e-9) == "100000000000000.0")
  }

  @Test("a column's format is chosen, shown, kept apart from what is stored, and given back")
  func formats() throws {
    func text(_ format: ValueFormat, _ text: String, _ kind: ValueText.Kind = .number) -> String {
      format.text(ValueText(text: text, kind: kind), isASCII: false).text
    }
    #expect(text(.thousands, "-1234567.50") == "-1 234 567.50")
    #expect(
      text(.thousands, "-0.5") == "-0.5" && text(.thousands, "12345678901234567890") == "12 345 678 901 234 567 890")
    #expect(text(.bytes, "1525152") == "1.5 MB")
    #expect(text(.dateFromSeconds, "1795190400") == "2026-11-20 16:00:00")
    #expect(text(.dateFromMilliseconds, "1795190400999") == "2026-11-20 16:00:00.999")
    #expect(text(.dateFromSeconds, "1795190400.25") == "2026-11-20 16:00:00.25")
    #expect(text(.dateFromSeconds, "-0.25") == "1969-12-31 23:59:59.75")
    #expect(text(.dateFromMilliseconds, "1795190400000.5") == "2026-11-20 16:00:00.0005")
    #expect(text(.duration, "3723") == "1:02:03" && text(.duration, "59.75") == "0:59.75")
    #expect(text(.hex, "255") == "0xff")
    #expect(text(.check, "true", .bool) == "✓")
    let there = TimeText { _ in 3_600 }
    func moment(_ format: ValueFormat, _ text: String) -> String {
      format.text(ValueText(text: text, kind: .date), isASCII: false, time: there, now: Sample.now).text
    }
    #expect(moment(.local, "2026-11-20T16:00:00Z") == "2026-11-20 17:00")
    #expect(moment(.local, "2026-11-20") == "2026-11-20", "a day has no hour")
    #expect(moment(.relative, "2026-11-20") == "today" && moment(.relative, "2026-11-19") == "1 d ago")
    #expect(moment(.relative, "2026-11-21") == "in 1 d")
    #expect(moment(.relative, "2026-11-17T15:59:00Z") == "3 d ago")
    #expect(moment(.relative, "2026-11-20T18:00:00Z") == "in 2 h")
    #expect(moment(.relative, "2026-11-20T15:59:30Z") == "just now" && moment(.relative, "2024-11-19") == "2 y ago")
    #expect(moment(.relative, "1685-03-31") == "341 y ago")
    for format in ValueFormat.allCases { #expect(text(format, "nonsense", .string) == "nonsense") }
    for odd in ["1e400", "-1", "nan", "99999999999999999999"] {
      for format in ValueFormat.allCases { #expect(!text(format, odd).isEmpty) }
    }
    func escaped(_ text: String) -> String? {
      ValueFormat(rawValue: "escaped")?.text(ValueText(cell: .string(text)), isASCII: false).text
    }
    #expect(escaped("Zürich 東京 \"x\"") == "Zürich 東京 \"x\"")
    #expect(escaped("a\nb\r\nc\td\\n↵") == #"a\nb\r\nc\td\\n↵"#)
    #expect(escaped("a\u{200B}b\u{A0}c e\u{301}") == #"a\u{200B}b\u{00A0}c e\u{0301}"#)
    let driver = try Self.driver()
    driver.press("l l l g f j Enter")
    #expect(driver.shows("1 049 498"))
    driver.press("y y")
    #expect(driver.copied == "1049498")
    driver.press(":")
    driver.type("format plain")
    driver.press("Enter")
    #expect(!driver.shows("1 049 498") && driver.shows("1049498"))
    driver.press(":")
    driver.type("format roman")
    driver.press("Enter")
    #expect(driver.shows("is not a format"))
  }

  // MARK: Files in memory

  @Test("leaving a file that was changed asks, and writes only what is chosen")
  func leaving() throws {
    let path = "/tmp/strata-leaving-\(UInt64.random(in: 0 ... .max)).csv"
    defer { TestFile.remove(path) }
    try TestFile.write("id,name\n1,Bern\n2,Kobe\n", to: path)
    let (store, file) = try DocumentFile.open(path)
    func open() -> Driver { Driver(store, start: .init(datastore: file.datastore)) { $0.documentFile = file } }
    let untouched = open()
    untouched.press("q")
    #expect(untouched.hasQuit)
    _ = try Sample.change(store, file.datastore, "2", ".name", to: "Kōbe")
    let driver = open()
    driver.press("q")
    #expect(!driver.hasQuit && driver.shows("is open in memory: 1 commit"))
    driver.press("Enter")
    #expect(!driver.hasQuit)
    #expect(try TestFile.text(path) == "id,name\n1,Bern\n2,Kobe\n")
    driver.press("q j j Enter")
    #expect(driver.hasQuit && driver.farewell?.contains("was written anew") == true)
    #expect(try TestFile.text(path) == "id,name\n1,Bern\n2,Kōbe\n")
  }

  @Test("a file that is opened says where one cell made its column text")
  func exceptions() throws {
    let path = "/tmp/strata-cells-\(UInt64.random(in: 0 ... .max)).csv"
    defer { TestFile.remove(path) }
    try TestFile.write("id,amount\n1,3\n2,6\n3,n/a\n", to: path)
    let (store, file) = try DocumentFile.open(path)
    let driver = Driver(store, start: .init(datastore: file.datastore)) { $0.documentFile = file }
    #expect(driver.status.contains("amount is text: 1 of 3 cells is not Int"), "\(driver.screen)")
  }

  // MARK: Stored screens

  @Test(
    "each picture at each size is as it was",
    arguments: ["histogram", "describe", "plot", "strip"], [false, true])
  func screens(name: String, isASCII: Bool) throws {
    let keys = ["histogram": "l l l o 5", "describe": "I", "plot": "g p", "strip": "g H"][name] ?? ""
    for size in [Size(columns: 80, rows: 24), Size(columns: 120, rows: 40), Size(columns: 160, rows: 48)] {
      let driver = Driver(try Sample.store(), size: size, start: .init(datastore: "City")) {
        $0.time = TimeText { time in Int(1_795_166_042 - time / 1_000_000_000) }
        $0.theme.isASCII = isASCII
      }
      driver.press(keys)
      let grid = isASCII ? driver.grid.asciiOnly() : driver.grid
      try Snapshot.check(grid, named: "picture-\(name)-\(size)\(isASCII ? "-ascii" : "")")
    }
  }
}
