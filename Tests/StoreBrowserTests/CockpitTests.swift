@testable import StrataModel
import StrataDocuments
import StrataTerminal
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
  /// What a build says of itself after some steps of work, each of `perTick` units in a tenth of a second.
  private struct Build {
    let clock: SetClock
    var account: WorkAccount

    init(_ clock: SetClock, _ steps: [(String, Int)], title: String = "add index zone to City") {
      self.clock = clock
      let steps = steps.map { Activity.Step(title: $0.0, done: 0, total: $0.1, isComplete: false, cost: 1) }
      account = WorkAccount(title, steps, startedAt: clock.now, at: clock.now, storeBefore: 10_000_000)
    }

    var progress: Progress {
      let activity = account.activity
      return Progress(done: activity.done, total: activity.total, found: .activity(activity))
    }

    mutating func work(_ count: Int, seconds: Double = 0.1) {
      clock.pass(seconds: seconds)
      account.advance(by: count)
      account.update(at: clock.now)
    }

    mutating func begin(_ step: String, _ total: Int) { account.begin(step, total: total, at: clock.now) }
  }

  /// A browser that builds an index, whose reports the test sends.
  private func building(_ clock: SetClock) throws -> (Driver, WorkID) {
    let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 30), start: .init(datastore: "City")) {
      $0.clock = { clock.now }
    }
    driver.isHolding = true
    try driver.play(":add-index zone=timezone")
    let id = try #require(driver.browser.session.running[.warmUp]?.id)
    return (driver, id)
  }

  @Test("a line a step and a line an index, with bar, rate and remaining time; the chip is on every screen")
  func steps() throws {
    let clock = SetClock()
    let (driver, id) = try building(clock)
    var build = Build(clock, [("learn the types", 1_000), ("decode", 1_000)])
    for _ in 0..<10 { build.work(100) }
    build.begin("decode", 1_000)
    for _ in 0..<5 {
      build.work(100)
      driver.tell(.work(id, .progress(build.progress)))
    }
    #expect(driver.lines.contains { $0.contains("learn the types") && $0.contains("1 000 ✓") && $0.contains("0:01") })
    let line = try #require(driver.lines.first { $0.contains("decode") && $0.contains(" / ") })
    #expect(line.contains("500 / 1 000") && line.contains("1 000/s"), "\(line)")
    #expect(line.contains("█") && line.contains("░"))
    #expect(driver.shows("75 % · 0:02 gone") && driver.shows("0:01 left"), "\(driver.screen)")
    driver.resize(Size(columns: 40, rows: 10))
    #expect(driver.shows("add index zone to City") && driver.shows("75 % · 0:02 gone"), "\(driver.screen)")
    driver.resize(Size(columns: 120, rows: 30))
    driver.press("2")
    #expect(driver.title.contains("⟳ add index zone to City 75 %"))
    #expect(driver.status.contains("add index zone to City · 75 % ·"), "\(driver.status)")
  }

  @Test(
    "half through the records of a build, the time left is that of the rest, by what each step was measured to take")
  func timeLeft() throws {
    // Seconds for a million records, as measured.
    let (read, decode, write, count) = (0.26, 1.29, 0.27, 1_000_000)
    let clock = SetClock()
    let plan = WorkAccount.build(decoding: WorkStep.decode, indexes: ["zone"], count: count)
    var account = WorkAccount("build", plan, startedAt: clock.now, at: clock.now)
    for part in 1...10 {
      for (step, seconds) in [(WorkStep.read, read), (WorkStep.decode, decode)] {
        account.enter(step, at: clock.now)
        clock.pass(seconds: seconds / 20)
        account.set(done: part * count / 20, total: count)
      }
      account.update(at: clock.now)
    }
    let left = (read + decode) / 2 + write
    let estimate = try #require(account.activity.share.map { (1 - $0) / $0 * (read + decode) / 2 })
    #expect(estimate > left * 0.9 && estimate < left * 1.1, "\(estimate) of \(left)")
  }

  @Test("a clock that is set back keeps neither the share nor the time left from going on")
  func clockSetBack() {
    let clock = SetClock()
    var work = Build(clock, [("decode", 1_000)])
    for _ in 0..<30 { work.work(10) }
    clock.pass(seconds: -3_600)
    for _ in 0..<30 { work.work(10) }
    #expect(work.account.activity.share.map { $0 > 0.55 } == true)
    #expect(work.account.activity.secondsLeft.map { $0.lowerBound < 4.2 && $0.upperBound > 3.8 } == true)
  }

  @Test("what is stalled says for how long nothing was done, and a clock ticks only while something runs")
  func stalled() throws {
    let clock = SetClock()
    let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 30), start: .init(datastore: "City")) {
      $0.clock = { clock.now }
    }
    func clocks() -> [Bool] { driver.outward.compactMap { if case .clock(let isOn) = $0 { isOn } else { nil } } }
    driver.tell(.tick(nil))
    #expect(clocks() == [true, false])
    for least in 1...3 { try driver.play(":filter population > \(least)") }
    driver.tell(.tick(nil))
    #expect(clocks() == [true, false, true, false], "each question starts a clock")
    driver.isHolding = true
    try driver.play(":add-index zone=timezone")
    #expect(clocks().last == true)
    let id = try #require(driver.browser.session.running[.warmUp]?.id)
    var build = Build(clock, [("decode", 1_000)])
    build.work(100)
    driver.tell(.work(id, .progress(build.progress)))
    clock.pass(seconds: 2)
    driver.tell(.tick(nil))
    #expect(!driver.shows("nothing for"))
    clock.pass(seconds: 2)
    driver.tell(.tick(nil))
    #expect(driver.shows("nothing for 4 s"))
    #expect(driver.title.contains("10 %, nothing for 4 s"))
    driver.press("2")
    #expect(driver.title.contains("nothing for 4 s"))
    build.work(1)
    driver.tell(.work(id, .progress(build.progress)))
    #expect(!driver.shows("nothing for"))
    driver.release()
    driver.tell(.tick(nil))
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

  @Test("a cancelled build ends with the last count that it reported, which other programs read, too")
  func cancelledCount() throws {
    let clock = SetClock()
    let (driver, id) = try building(clock)
    var build = Build(clock, [("decode", 1_000)])
    build.work(100)
    driver.tell(.work(id, .progress(build.progress)))
    driver.press("^c ^c")
    build.work(28)
    driver.tell(.work(id, .progress(build.progress)))
    driver.tell(.work(id, .failed(.cancelled)))
    let run = try #require(driver.browser.session.run)
    #expect(run.activity.done == 128 && run.ending == .cancelled && !run.isRunning)
    #expect(driver.browser.session.remembered.builds?.map(\.outcome) == ["cancelled"])
    driver.press("6")
    #expect(driver.shows("128"), "\(driver.screen)")
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
    #expect(driver.lines.contains { $0.contains("decode") && $0.contains("failed ✗") })
    #expect(driver.shows("1 record does not fit the index; the store is as it was"))
    #expect(driver.shows("City/2661604"))
    #expect(!driver.lines.contains { $0.contains("decode") && $0.contains("✓") })
    driver.press("L")
    #expect(driver.shows("failed decode"))
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
    #expect(driver.shows("10 records") && driver.shows(file), "\(driver.screen)")
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
      var build = Build(
        clock, [("learn the types", 1_000), ("decode", 148_896), ("sort", 148_896), ("write index zone", 148_896)])
      build.work(1_000)
      build.begin("decode", 148_896)
      for tick in 0..<40 {
        // Quick at first, then in waves.
        build.work(tick < 10 ? 4_000 : 1_500 + tick % 5 * 200, seconds: 0.25)
        driver.tell(.work(id, .progress(build.progress)))
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
    #expect(titles.with { $0 } == ["learn the types", "read", "decode", "sort", "write index name", "commit"])
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
    let later = heard.with { $0 }.filter { $0.steps.contains { $0.title == "decode" && $0.isComplete } }
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
    #expect(driver.title.contains("add index zone to City failed"), "\(driver.title)")
    #expect(
      driver.status.contains("add index zone to City failed: 1 record does not fit the index — 6 shows it"),
      "\(driver.status)")
    driver.press("6")
    #expect(driver.shows("City/2661604"))
    driver.press("2")
    #expect(!driver.title.contains("failed") && !driver.status.contains("failed"))
  }

  /// What another program says of building an index: a second for 100 records, a tenth of it for 100 entries.
  private func building(_ done: (Int, Int), startedAt: Int64 = Sample.now) -> Activity {
    let steps = [("decode", 20), ("write index score", 2)].map {
      Activity.Step(title: $0.0, done: 0, total: 1_000, isComplete: false, cost: $0.1)
    }
    var account = WorkAccount("add index score to City", steps, startedAt: startedAt, at: startedAt)
    account.advance(by: done.0)
    let decoded = startedAt + Int64(done.0) * 10_000_000
    account.update(at: decoded)
    if done.1 > 0 {
      account.begin("write index score", total: 1_000, at: decoded)
      account.advance(by: done.1)
      account.update(at: decoded + Int64(done.1) * 1_000_000)
    }
    var activity = account.activity
    activity.worker = Activity.Worker(processIdentifier: 4_711, program: "strata", host: "alpha")
    activity.figures = WorkFigures(memory: 61_000_000, temporary: 0, store: 8_100_000, holdsLock: true)
    activity.storeBefore = 0
    return activity
  }

  @Test("a watcher sees another program's build with one bar for the whole, and is never offered to cancel it")
  func watching() throws {
    let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 40), start: .init(datastore: "City"))
    driver.browser.session.hear(building((500, 0)))
    #expect(driver.title.contains("add index score to City 45 %"), "\(driver.title)")
    #expect(driver.status.contains("add index score to City · 45 %") && driver.status.contains("another program's"))
    driver.browser.session.hear(building((1_000, 1)))
    let share = try #require(driver.browser.session.run?.activity.share)
    driver.browser.session.hear(building((900, 0)))
    #expect(driver.browser.session.run?.activity.share == share, "it never goes back")
    driver.press("6")
    #expect(!driver.keys.contains("cancel") && driver.shows("90 %"), "\(driver.screen)")
    #expect(driver.shows("strata (process 4711 on alpha) runs it; only that cancels it. The screen stays at #4."))
    #expect(driver.shows("memory 61 MB · log +8.1 MB"))
    driver.browser.session.status.writer = WriterHold(processIdentifier: 4_711, program: "strata", since: Sample.now)
    #expect(driver.shows("runs it and holds the lock since"), "\(driver.screen)")
    driver.press("^c")
    #expect(!driver.hasQuit)
    #expect(driver.status.contains("is another program's work, which only that cancels"), "\(driver.status)")
  }

  @Test(
    "a watcher that came late shows the times that the writer measured; what an older writer does not say is not shown")
  func lateWatcher() throws {
    let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 40), start: .init(datastore: "City"))
    driver.browser.session.hear(building((1_000, 400)))
    driver.press("6")
    let row = try #require(driver.lines.first { $0.contains("decode") && $0.contains("✓") })
    #expect(row.contains("1 000 ✓") && row.contains("100/s") && row.contains("0:10"), "\(row)")
    let older = """
      {"done":500,"startedAt":\(Sample.now),"steps":[{"cost":2,"done":500,"isComplete":false,"title":"evaluate","total":1000},
      {"cost":1,"done":0,"isComplete":false,"title":"index score","total":1000}],"title":"add index score to City","total":1000}
      """
    let later = Driver(try Sample.store(), size: Size(columns: 120, rows: 40), start: .init(datastore: "City"))
    let activity = Activity(bytes: Array(older.utf8))
    #expect(activity != nil)
    later.browser.session.hear(activity)
    later.press("6")
    #expect(later.shows("500 / 1 000") && later.title.contains("50 %"), "\(later.screen)")
    #expect(!later.shows("/s") && !later.shows("memory") && !later.shows(" left ·"))
    #expect(later.shows("Another program runs it"))
  }

  @Test("numbers with which no one can calculate are not an activity")
  func impossibleNumbers() throws {
    let step = #""cost":2,"done":500,"isComplete":false,"title":"read","total":1000"#
    func activity(_ more: String = "", _ ofStep: String = "", done: Int = 500) -> Activity? {
      let text = #"{"done":\#(done),"startedAt":1,"steps":[{\#(step)\#(ofStep)}],"title":"t","total":1000\#(more)}"#
      return Activity(bytes: Array(text.utf8))
    }
    #expect(activity() != nil)
    #expect(activity(#","share":0.5,"secondsLeft":[1,2]"#, #","rate":9,"seconds":1,"course":[3,4]"#) != nil)
    #expect(activity(done: .max) == nil && activity(done: -1) == nil)
    for more in [#","share":1e300"#, #","secondsLeft":[1,1e300]"#, #","storeBefore":\#(UInt64.max)"#] {
      #expect(activity(more) == nil, "\(more)")
    }
    for more in [#","rate":1e300"#, #","course":[-9000000000000000000,1,2]"#, #","seconds":-1"#] {
      #expect(activity("", more) == nil, "\(more)")
    }
    let ending = #","ending":{"processIdentifier":1,"at":\#(Int64.min),"bytes":0,"failures":[],"failureCount":0}"#
    #expect(activity(ending) == nil && activity(ending.replacing("\(Int64.min)", with: "7")) != nil)
  }

  @Test("the cockpit does not offer to start what cannot be started")
  func nothingToStart() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.press("6")
    #expect(!driver.keys.contains("start"), "\(driver.keys)")
    driver.press("a")
    #expect(driver.status.contains("there are no formats here"))
  }

  private static func committed(at date: Int64) -> Activity.Ending {
    var ending = Activity.Ending(processIdentifier: 1, at: date)
    (ending.commit, ending.bytes) = (5, 4_096)
    return ending
  }

  @Test("what another program's build came to stays: its commit and figures, or why it failed and of which records")
  func watchedEnding() throws {
    let store = try Sample.store()
    let driver = Driver(store, size: Size(columns: 120, rows: 40), start: .init(datastore: "City"))
    let key = try #require(try store.head.datastore("City")).identifier(parsing: "2657896")
    var failed = building((1_000, 0))
    var failure = Activity.Ending(processIdentifier: 1, at: Sample.now + 1_000_000_000)
    (failure.reason, failure.failureCount) = ("1 record does not fit", 1)
    failure.failures = [.init(datastore: "City", identifier: key.bytes, reason: "not a number: “many”")]
    failed.ending = failure
    driver.browser.session.hear(building((500, 0)))
    driver.browser.session.hear(failed)
    #expect(driver.title.contains("✗ add index score to City failed"), "\(driver.title)")
    driver.press("6")
    #expect(
      driver.shows("failed: 1 record does not fit") && driver.shows("City/2657896")
        && driver.shows("not a number: “many”"))
    var done = building((1_000, 1_000), startedAt: Sample.now + 5_000_000_000)
    done.ending = Self.committed(at: Sample.now + 7_000_000_000)
    driver.browser.session.hear(done)
    #expect(
      driver.shows("complete: commit #5, 1 000 records evaluated, 1 000 entries written, 4.1 KB in 0:02"),
      "\(driver.screen)")
    driver.browser.session.hear(nil)
    #expect(driver.shows("complete: commit #5"))
  }

  @Test("of other programs' builds the last twenty are listed, and one that runs stays")
  func manyRuns() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.isHolding = true
    driver.press("V")
    let own = try #require(driver.browser.session.runs.first?.id)
    driver.browser.session.running[.verify] = nil
    for number in 1...30 {
      driver.browser.session.hear(Activity(title: "build \(number)", done: 1, total: 2, startedAt: Int64(number)))
    }
    let runs = driver.browser.session.runs
    #expect(runs.count == 20 && runs.first?.id == own && runs.last?.title == "build 30")
  }

  @Test(
    "a build whose lock is free before its end is reported is remembered by that end, and is not called cancelled before"
  )
  func endHeardLate() throws {
    let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 40), start: .init(datastore: "City"))
    var builds: [PastBuild] { driver.browser.session.remembered.builds ?? [] }
    driver.browser.session.hear(building((500, 0)))
    driver.browser.session.hear(nil)
    #expect(driver.browser.session.run?.isRunning == false && builds.map(\.outcome) == ["end not seen"])
    driver.browser.session.hear(building((900, 0)))
    #expect(driver.browser.session.run?.isRunning == true, "it goes on")
    driver.browser.session.hear(nil)
    var done = building((1_000, 1_000))
    done.ending = Self.committed(at: Sample.now + 2_000_000_000)
    driver.browser.session.hear(done)
    #expect(builds.map(\.outcome) == ["complete"] && builds.last?.bytes == 4_096)
  }

  @Test("a watcher looks whether another program's build still runs once nothing is heard of it")
  func builderIsGone() throws {
    let clock = SetClock()
    let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 40), start: .init(datastore: "City")) {
      $0.clock = { clock.now }
    }
    driver.browser.session.hear(building((500, 0), startedAt: clock.now))
    driver.browser.session.status.writer = WriterHold(processIdentifier: 4_711, program: "strata", since: clock.now)
    clock.pass(seconds: 2)
    driver.tell(.tick(nil))
    #expect(driver.browser.session.run?.isRunning == true)
    clock.pass(seconds: 30)
    driver.tell(.tick(nil))
    #expect(driver.browser.session.run?.isRunning == false)
    #expect(!driver.shows("held by strata"), "\(driver.title)")
  }

  @Test(
    "failures are listed as they come, three of them, and Enter goes to one; what is mended meanwhile goes into the next run"
  )
  func failuresAsTheyCome() throws {
    let clock = SetClock()
    let store = try Sample.store()
    let driver = Driver(store, size: Size(columns: 120, rows: 40), start: .init(datastore: "City")) {
      $0.clock = { clock.now }
    }
    driver.isHolding = true
    try driver.play(":add-index zone=timezone")
    let id = try #require(driver.browser.session.running[.warmUp]?.id)
    var build = Build(clock, [("decode", 1_000)])
    let city = try #require(try store.head.datastore("City"))
    for (position, text) in ["2661604", "2657896", "615532", "611717"].enumerated() {
      let key = try city.identifier(parsing: text)
      build.account.fail(.init(datastore: "City", identifier: key.bytes, reason: "no. \(position)"))
      build.work(10)
      driver.tell(.work(id, .progress(build.progress)))
      #expect(driver.shows("failures  \(position + 1)") && driver.shows("City/2661604"), "\(driver.screen)")
    }
    #expect(driver.shows("no. 2") && !driver.shows("no. 3"))
    driver.press("j Enter")
    #expect(driver.browser.focus == .record)
    let asked = try #require(driver.works.compactMap { $0 as? TableRequest }.last)
    #expect(asked.anchor == .identifier(try city.identifier(parsing: "2657896")))
    #expect(driver.browser.session.isRunning(.warmUp), "the build goes on")
  }

  @Test("who works and who waits is said as the lock and the work are: waiting for it, holding it, holding none")
  func standing() throws {
    let clock = SetClock()
    let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 40), start: .init(datastore: "City")) {
      $0.clock = { clock.now }
    }
    driver.isHolding = true
    driver.browser.session.status.writer = WriterHold(processIdentifier: 9, program: "Atlas", since: Sample.now)
    try driver.play(":add-index zone=timezone")
    #expect(driver.shows("This program waits for the lock, which Atlas (process 9) holds since"), "\(driver.screen)")
    driver.browser.session.status.writer = nil
    driver.tell(.tick(WorkFigures(memory: 1, temporary: 0, store: 1, holdsLock: true)))
    #expect(driver.shows("This program runs it and holds the lock: the screen stays at #4 until it commits"))
    clock.pass(seconds: 2)
    driver.tell(.tick(WorkFigures(memory: 1, temporary: 0, store: 1, holdsLock: false)))
    #expect(driver.shows("This program runs it on #4 and holds no lock: no program waits for it."))
  }

  @Test(
    "builds are remembered with what they took, the running one is compared with the last, and older ones are told by their commits"
  )
  func past() throws {
    let clock = SetClock()
    let store = try Sample.store()
    _ = try store.addIndex(
      IndexDescriptor(name: "old", kind: .oneToMany, encoding: .string, valueType: "String", rule: ".name"), to: "City",
      options: EditOptions())
    let driver = Driver(store, size: Size(columns: 120, rows: 40), start: .init(datastore: "City")) {
      $0.clock = { clock.now }
    }
    try driver.play(":add-index zone=timezone")
    let build = try #require(driver.browser.session.remembered.builds?.last)
    #expect(build.title == "add index zone to City" && build.records == 10 && build.outcome == "complete")
    #expect(driver.shows("add index old to City  #5"), "\(driver.screen)")
    driver.browser.session.remembered.builds?[0].seconds = 12
    driver.browser.session.remembered.builds?[0].memory = 61_000_000
    driver.isHolding = true
    clock.pass(seconds: 60)
    try driver.play(":drop-index zone")
    driver.release()
    driver.isHolding = true
    try driver.play(":add-index zone=timezone")
    let id = try #require(driver.browser.session.running[.warmUp]?.id)
    var next = Build(clock, [("decode", 10)])
    next.work(5)
    driver.tell(.work(id, .progress(next.progress)))
    #expect(driver.shows("the last time: 0:12 · 0/s · memory 61 MB"), "\(driver.screen)")
  }
}
