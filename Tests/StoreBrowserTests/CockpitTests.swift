@testable import DatastoreModel
import Documents
import TerminalKit
import Testing

@testable import StoreBrowser

/// A clock that a test sets.
final class SetClock: Sendable {
  private let time = Locked<Int64>(Sample.now)
  var now: Int64 { time.with { $0 } }
  func pass(seconds: Double) { time.with { $0 += Int64(seconds * 1e9) } }
}

@Suite("The cockpit")
struct CockpitTests {
  private func activity(_ steps: [(String, Int, Int)], of title: String = "City: add index zone") -> Progress {
    let steps = steps.map { Activity.Step(title: $0.0, done: $0.1, total: $0.2, isComplete: $0.1 == $0.2) }
    let current = steps.first { !$0.isComplete } ?? steps[steps.count - 1]
    return Progress(
      done: current.done, total: current.total,
      found: .activity(
        Activity(title: title, done: current.done, total: current.total, startedAt: Sample.now, steps: steps)))
  }

  @Test("a line a step and a line an index, with bar, rate and remaining time; the chip is on every screen")
  func steps() throws {
    let clock = SetClock()
    let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 30), start: .init(datastore: "City")) {
      $0.clock = { clock.now }
    }
    driver.isHolding = true
    try driver.play(":add-index zone=timezone")
    let id = try #require(driver.browser.session.running[.warmUp]?.id)
    for done in stride(from: 0, through: 500, by: 100) {
      driver.tell(.work(id, .progress(activity([("learn the types", 1_000, 1_000), ("evaluate", done, 1_000)]))))
      clock.pass(seconds: 0.1)
    }
    #expect(driver.lines.contains { $0.contains("learn the types") && $0.contains("complete ✓") })
    let line = try #require(driver.lines.first { $0.contains("evaluate") })
    #expect(line.contains("500 / 1 000") && line.contains("50.0 %") && line.contains("1 000/s"), "\(line)")
    #expect(line.contains("█") && line.contains("░"))
    driver.press("2")
    #expect(driver.title.contains("⟳ City: add index zone 50 %"))
  }

  @Test("what is stalled says for how long nothing was done, and a clock ticks only while something runs")
  func stalled() throws {
    let clock = SetClock()
    let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 30), start: .init(datastore: "City")) {
      $0.clock = { clock.now }
    }
    func clocks() -> [Bool] { driver.outward.compactMap { if case .clock(let isOn) = $0 { isOn } else { nil } } }
    #expect(clocks().filter { $0 }.count == clocks().filter { !$0 }.count)
    driver.isHolding = true
    try driver.play(":add-index zone=timezone")
    #expect(clocks().last == true)
    let id = try #require(driver.browser.session.running[.warmUp]?.id)
    driver.tell(.work(id, .progress(activity([("evaluate", 100, 1_000)]))))
    clock.pass(seconds: 2)
    driver.tell(.tick(nil))
    #expect(!driver.shows("nothing for"))
    clock.pass(seconds: 2)
    driver.tell(.tick(nil))
    #expect(driver.shows("nothing for 4 s"))
    #expect(driver.title.contains("10 %, nothing for 4 s"))
    driver.press("2")
    #expect(driver.title.contains("nothing for 4 s"))
    driver.tell(.work(id, .progress(activity([("evaluate", 101, 1_000)]))))
    #expect(!driver.shows("nothing for"))
    driver.release()
    #expect(clocks().last == false)
  }

  @Test("^c asks and a second one cancels, wherever one is; Esc only goes back; the words stay")
  func cancelling() throws {
    let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    driver.isHolding = true
    driver.press("V")
    #expect(driver.browser.session.isRunning(.verify))
    driver.press("Esc Esc")
    #expect(driver.browser.session.isRunning(.verify))
    driver.press("? ^c")
    #expect(driver.browser.session.isRunning(.verify))
    #expect(driver.status.contains("^c again cancels"))
    driver.press("^c")
    #expect(!driver.browser.session.isRunning(.verify))
    driver.press("Esc ^c")
    #expect(!driver.hasQuit, "right after work has ended ^c does not quit")
    driver.press("6")
    #expect(driver.shows("cancelled; the store is as it was"))
  }

  @Test("work that runs is not called off by more of its kind, which is refused with what runs")
  func again() throws {
    // Nothing is written: all work is held back.
    let file = "/tmp/strata-again-\(UInt64.random(in: 0 ... .max)).jsonl"
    for (slot, first, second) in [
      (WorkSlot.warmUp, ":add-index zone=timezone", ":add-index other=name"),
      (.warmUp, ":add-index zone=timezone", ":drop-index country"), (.verify, ":verify", ":verify"),
      (.export, ":export \(file)", ":export \(file).jsonl"),
      (.rewrite, ":copy \(file)", ":copy \(file)2"), (.rewrite, ":copy \(file)", ":compact 1"),
    ] {
      let driver = Driver(try Sample.store(), size: Size(columns: 200, rows: 30), start: .init(datastore: "City"))
      driver.isHolding = true
      try driver.play(first)
      let work = try #require(driver.browser.session.running[slot])
      driver.press("2")
      try driver.play(second)
      #expect(driver.browser.session.running[slot]?.id == work.id, "\(second)")
      #expect(driver.shows("\(work.label) runs; ^c cancels it, 6 shows it"), "\(second)")
    }
  }

  @Test("a build that failed says so with the records and why, and that the store is as it was; L has it too")
  func failed() throws {
    let store = try Sample.store()
    try Sample.change(store, "City", "2661604", ".timezone", to: 5)
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    try driver.play(":add-index zone=timezone")
    #expect(driver.lines.contains { $0.contains("evaluate") && $0.contains("failed ✗") })
    #expect(driver.shows("1 record does not fit the index; the store is as it was"))
    #expect(driver.shows("City/2661604"))
    #expect(!driver.lines.contains { $0.contains("evaluate") && $0.contains("complete") })
    driver.press("L")
    #expect(driver.shows("failed evaluate"))
    #expect(try store.refresh().datastore("City")?.indexes.contains { $0.descriptor.name == "zone" } == false)
  }

  @Test("what was done is there in words, also of exports and verifications, until other work takes its place")
  func words() throws {
    let file = "/tmp/strata-cockpit-\(UInt64.random(in: 0 ... .max)).jsonl"
    defer { TestFile.remove(file) }
    let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    try driver.play(":export \(file)")
    driver.press("V")
    try driver.play(":add-index zone=timezone")
    #expect(driver.shows("10 records evaluated, 10 entries written"))
    #expect(driver.shows("10 records") && driver.shows(file))
    #expect(driver.shows("0 orphans, 0 missing"))
  }

  @Test("the cockpit at work is at each size as it was", arguments: [false, true])
  func pictures(isASCII: Bool) throws {
    for size in [Size(columns: 80, rows: 24), Size(columns: 120, rows: 40), Size(columns: 160, rows: 48)] {
      let clock = SetClock()
      let driver = Driver(try Sample.store(), size: size, start: .init(datastore: "City")) {
        $0.clock = { clock.now }
        $0.time = TimeText { time in Int(1_795_166_042 - time / 1_000_000_000) }
        $0.theme.isASCII = isASCII
      }
      driver.isHolding = true
      try driver.play(":add-index zone=timezone")
      let id = try #require(driver.browser.session.running[.warmUp]?.id)
      for tick in 0..<40 {
        // Quick at first, then in waves.
        let done = tick < 10 ? tick * 4_000 : 40_000 + (tick - 10) * 1_500 + tick % 5 * 200
        driver.tell(
          .work(
            id,
            .progress(activity([("learn the types", 1_000, 1_000), ("evaluate", done, 148_896), ("name", 0, 148_896)])))
        )
        clock.pass(seconds: 0.25)
      }
      driver.tell(.tick(WorkFigures(memory: 50_000_000, temporary: 0, store: 10_000_000)))
      driver.tell(.tick(WorkFigures(memory: 61_000_000, temporary: 12_000_000, store: 18_100_000)))
      let grid = isASCII ? driver.grid.asciiOnly() : driver.grid
      try Snapshot.check(grid, named: "picture-cockpit-\(size)\(isASCII ? "-ascii" : "")")
    }
  }

  @Test("an index is filled in steps that can be told apart: learnt, evaluated, written")
  func engineSteps() throws {
    let store = try Sample.large(2_000)
    let titles = Locked<[String]>([])
    let context = WorkContext(store: store) { progress in
      guard case .activity(let activity) = progress.found else { return }
      for step in activity.steps where step.done > 0 {
        titles.with { if !$0.contains(step.title) { $0.append(step.title) } }
      }
    }
    let change = try IndexChange(adding: "name=name")
    guard case .changed(let report) = try IndexChangeRequest(change: change, datastore: "Item").reply(in: context)
    else {
      Issue.record("the index was not added")
      return
    }
    #expect(titles.with { $0 } == ["learn the types", "evaluate", "index name"])
    #expect((report.records, report.entries) == (2_000, 2_000))
  }

  @Test("what was done of a build goes with every word of it, so that a step whose last word was lost is no failed one")
  func lostWords() throws {
    let store = try Sample.store()
    let heard = Locked<[Activity]>([])
    let context = WorkContext(store: store) { progress in
      if case .activity(let activity) = progress.found { heard.with { $0.append(activity) } }
    }
    let change = try IndexChange(adding: "timezone=timezone")
    _ = try IndexChangeRequest(change: change, datastore: "City").reply(in: context)
    let later = heard.with { $0 }.filter { $0.steps.contains { $0.title == "evaluate" && $0.isComplete } }
    #expect(!later.isEmpty)
    for activity in later {
      let learned = activity.steps.first { $0.title == "learn the types" }
      #expect(learned?.isComplete == true && learned?.done == 10)
    }
  }

  @Test("a build that failed is seen from everywhere until the cockpit has shown it")
  func failureIsSeen() throws {
    let store = try Sample.store()
    try Sample.change(store, "City", "2661604", ".timezone", to: 5)
    let driver = Driver(store, size: Size(columns: 120, rows: 40), start: .init(datastore: "City"))
    driver.isHolding = true
    try driver.play(":add-index zone=timezone")
    driver.press("2")
    driver.release()
    #expect(driver.title.contains("add index zone failed"), "\(driver.title)")
    #expect(
      driver.status.contains("add index zone failed: 1 record does not fit the index — 6 shows it"), "\(driver.status)")
    driver.press("6")
    #expect(driver.shows("City/2661604"))
    driver.press("2")
    #expect(!driver.title.contains("failed") && !driver.status.contains("failed"))
  }

  /// What another program says of building an index, with all its steps.
  private func building(_ done: (Int, Int), startedAt: Int64 = Sample.now) -> Activity {
    Activity(
      title: "add index score to City", done: done.1 > 0 ? done.1 : done.0, total: 1_000, startedAt: startedAt,
      steps: [
        .init(title: "evaluate", done: done.0, total: 1_000, isComplete: done.1 > 0, cost: 2),
        .init(title: "index score", done: done.1, total: 1_000, isComplete: false, cost: 1),
      ])
  }

  @Test("a watcher sees another program's build with one bar for the whole, and is never offered to cancel it")
  func watching() throws {
    let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 40), start: .init(datastore: "City"))
    driver.browser.session.hear(building((500, 0)))
    #expect(driver.title.contains("add index score to City 33 %"), "\(driver.title)")
    #expect(driver.status.contains("another program: add index score to City"), "\(driver.status)")
    driver.browser.session.hear(building((1_000, 1)))
    let share = try #require(driver.browser.session.run?.share)
    driver.browser.session.hear(building((900, 0)))
    #expect(driver.browser.session.run?.share == share, "it never goes back")
    driver.press("6")
    #expect(!driver.keys.contains("cancel") && driver.shows("66 %"), "\(driver.screen)")
    driver.press("^c")
    #expect(!driver.hasQuit)
    #expect(driver.status.contains("is another program's work, which only that cancels"), "\(driver.status)")
  }

  @Test("what another program's build came to stays: its commit and figures, or why it failed and of which records")
  func watchedEnding() throws {
    let store = try Sample.store()
    let driver = Driver(store, size: Size(columns: 120, rows: 40), start: .init(datastore: "City"))
    let key = try #require(try store.head.datastore("City")).identifier(parsing: "2657896")
    var failed = building((1_000, 0))
    failed.ending = .init(
      processIdentifier: 1, at: Sample.now + 1_000_000_000, reason: "1 record does not fit",
      failures: [.init(datastore: "City", identifier: key.bytes, reason: "not a number: “many”")], failureCount: 1)
    driver.browser.session.hear(building((500, 0)))
    driver.browser.session.hear(failed)
    #expect(driver.title.contains("✗ add index score to City failed"), "\(driver.title)")
    driver.press("6")
    #expect(
      driver.shows("failed: 1 record does not fit") && driver.shows("City/2657896")
        && driver.shows("not a number: “many”"))
    var done = building((1_000, 1_000), startedAt: Sample.now + 5_000_000_000)
    done.ending = .init(processIdentifier: 1, at: Sample.now + 7_000_000_000, commit: 5, bytes: 4_096)
    driver.browser.session.hear(done)
    #expect(
      driver.shows("complete: commit #5, 1 000 records evaluated, 1 000 entries written, 4.1 KB in 0:02"),
      "\(driver.screen)")
    driver.browser.session.hear(nil)
    #expect(driver.shows("complete: commit #5"))
  }
}
