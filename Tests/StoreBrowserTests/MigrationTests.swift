import StrataDocuments
import StrataModel
import StrataLocks
import StrataTerminal
import Testing

@testable import StoreBrowser

/// A warm-up that reports so many steps, and fails where it is told to.
final class FakeWarmUp: WarmUpDriver {
  let failing: [RecordPlace]
  init(failing: [RecordPlace] = []) { self.failing = failing }

  func plan() throws(ModelError) -> [String] { ["City: index population, new"] }

  func warmUp(
    leavingOut: [RecordPlace], mending: [RecordEdit], report: @escaping @Sendable (Activity) -> Bool
  ) throws(ModelError) -> WarmUpResult {
    for done in [25, 50, 75, 100] {
      let step = Activity.Step(title: "City: index population, new", done: done, total: 100, isComplete: done == 100)
      let activity = Activity(title: "warm-up City", done: done, total: 100, startedAt: Sample.now, steps: [step])
      guard report(activity) else { throw .cancelled }
    }
    let mended = mending.map(\.place)
    let failures = failing.filter { !leavingOut.contains($0) && !mended.contains($0) }.map {
      WarmUpFailure(place: $0, reason: "isbn: keyNotFound(\"isbn\") at .isbn", byteCount: 388)
    }
    return WarmUpResult(commit: failures.isEmpty ? CommitNumber(5) : nil, failures: failures)
  }

  func rewriteOlderRecords(report: @escaping @Sendable (Activity) -> Bool) throws(ModelError) -> WarmUpResult {
    WarmUpResult(commit: nil)
  }
}

@Suite("The migration pane")
struct MigrationTests {
  @Test("a warm-up at the start is shown with its steps, and stays on the pane when it is complete")
  func start() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"), warmUp: FakeWarmUp()) {
      $0.warmsUpAtStart = true
    }
    #expect(driver.browser.view.kind == .migration)
    #expect(driver.shows("City: index population, new"))
    #expect(driver.shows("100 ✓"))
    #expect(driver.shows("complete: commit #5"))
    driver.press("q")
    #expect(driver.shows("თბილისი"))
  }

  @Test("progress shows percent of records while the table works on the commit before")
  func progress() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"), warmUp: FakeWarmUp())
    driver.isHolding = true
    driver.press("M a")
    let id = try #require(driver.browser.session.running[.warmUp]?.id)
    let step = Activity.Step(title: "City: index population", done: 573, total: 1000, isComplete: false)
    let activity = Activity(title: "warm-up City", done: 573, total: 1000, startedAt: Sample.now, steps: [step])
    driver.tell(.work(id, .progress(Progress(done: 573, total: 1000, found: .activity(activity)))))
    #expect(driver.shows("57 %"))
    #expect(driver.shows("573 / 1 000"))
    driver.press("2")
    #expect(driver.browser.focus == .table)
    driver.press("j")
    driver.press("Esc ^c")
    #expect(driver.browser.session.running[.warmUp] != nil, "Esc goes back, and one ^c asks")
    driver.press("^c")
    #expect(driver.browser.session.running[.warmUp] == nil)
    #expect(!driver.hasQuit)
    driver.press("M")
    #expect(driver.shows("cancelled; the store is as it was"))
  }

  @Test("failing records are listed with the decoding path; x leaves one out, a runs again")
  func failures() throws {
    let store = try Sample.store()
    let city = try #require(try store.head.datastore("City"))
    let place = RecordPlace(datastore: "City", identifier: try city.identifier(parsing: "2661552"))
    let driver = Driver(store, start: .init(datastore: "City"), warmUp: FakeWarmUp(failing: [place]))
    driver.press("M a")
    #expect(driver.shows("keyNotFound(\"isbn\") at .isbn"))
    #expect(driver.shows("1 record does not decode"))
    driver.press("x")
    #expect(driver.browser.panes[MigrationPane.self].leftOut == [place])
    driver.press("a")
    #expect(driver.shows("complete: commit #5"))
  }

  @Test("a failing record is mended in the editor, reviewed, and goes into the transaction of the next run")
  func mending() throws {
    let store = try Sample.store()
    let city = try #require(try store.head.datastore("City"))
    let place = RecordPlace(datastore: "City", identifier: try city.identifier(parsing: "2661552"))
    let driver = Driver(store, start: .init(datastore: "City"), warmUp: FakeWarmUp(failing: [place]))
    driver.press("M a E")
    let request = try #require(driver.editorRequest)
    driver.tell(.editorClosed(EditorOutcome(text: request.text.replacing("121631", with: "9"))))
    #expect(driver.shows("changed: a runs again"))
    driver.press("a")
    #expect(driver.shows("Mend these records and run again"))
    #expect(driver.shows("- 121631") && driver.shows("+ 9"))
    driver.press("Enter")
    let warmUp = try #require(driver.works.compactMap { $0 as? WarmUpRequest }.last, "no warm-up was started")
    #expect(warmUp.leavingOut.isEmpty && warmUp.mending.map(\.place) == [place])
    #expect(driver.shows("complete: commit #5"))
    #expect(driver.browser.session.staged.isEmpty)
  }

  @Test("what is staged of a mended record while it runs stays staged")
  func mendedAgain() throws {
    let store = try Sample.store()
    let city = try #require(try store.head.datastore("City"))
    let place = RecordPlace(datastore: "City", identifier: try city.identifier(parsing: "2661552"))
    let driver = Driver(store, start: .init(datastore: "City"), warmUp: FakeWarmUp(failing: [place]))
    driver.press("M a E")
    let request = try #require(driver.editorRequest)
    driver.tell(.editorClosed(EditorOutcome(text: request.text.replacing("121631", with: "9"))))
    driver.press("a")
    driver.isHolding = true
    driver.press("Enter")
    #expect(driver.browser.session.isRunning(.warmUp), "\(driver.screen)")
    var later = try #require(driver.browser.session.staged.edits[place])
    later.old = later.new
    later.new?.bytes = Array(#"{"geonameid":2661552,"name":"Bern","population":8}"#.utf8)
    driver.browser.stage(StagedStep(title: "later", edits: [later]))
    driver.release()
    #expect(driver.browser.session.staged.edits[place]?.new == later.new, "\(driver.screen)")
  }

  @Test("without formats the command answers with the reason")
  func withoutFormats() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.press("M a")
    #expect(driver.status.contains("no formats"))
  }

  @Test("an index is added, filled anew and dropped from the browser, each a commit")
  func indexes() throws {
    let store = try Sample.store()
    let driver = Driver(store, start: .init(datastore: "City"))
    driver.press(":")
    driver.type("add-index timezone=timezone")
    driver.press("Enter")
    #expect(driver.shows("complete: commit #5"))
    let index = try store.refresh().datastore("City")?.indexes.first { $0.descriptor.name == "timezone" }
    #expect(try index?.count == 10)
    driver.press("q :")
    driver.type("rebuild-index timezone")
    driver.press("Enter q :")
    driver.type("drop-index timezone")
    driver.press("Enter")
    #expect(try store.refresh().datastore("City")?.indexes.contains { $0.descriptor.name == "timezone" } == false)
  }

  @Test(
    "records that an index cannot take are listed, left out or mended, and the run is retried; then they stay listed")
  func indexFailures() throws {
    let store = try Sample.store()
    for (city, value) in [("2661552", Document("Bern")), ("2661604", 5), ("615532", 7)] {
      try Sample.change(store, "City", city, ".timezone", to: value)
    }
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    driver.press(":")
    driver.type("add-index zone=timezone")
    driver.press("Enter")
    #expect(driver.shows("2 records do not fit the index; the store is as it was"))
    #expect(driver.shows("City/615532") && driver.shows("City/2661604"))
    driver.press("x")
    #expect(driver.shows("left out by the next run"))
    driver.press("E")
    let request = try #require(driver.editorRequest)
    #expect(request.text.contains("\"timezone\": 5"))
    driver.tell(
      .editorClosed(EditorOutcome(text: request.text.replacing("\"timezone\": 5", with: "\"timezone\": \"CET\""))))
    #expect(driver.shows("changed: a runs again"))
    driver.press("a")
    #expect(driver.shows("Mend these records"))
    driver.press("Enter")
    #expect(driver.shows("complete: commit #8, 2 records evaluated, 9 entries written"), "\(driver.screen)")
    #expect(driver.browser.session.staged.isEmpty)
    #expect(driver.shows("1 record left out of City"))
    #expect(try store.refresh().datastore("City")?.indexes.first { $0.descriptor.name == "zone" }?.count == 9)
    driver.press("q")
    #expect(driver.shows("1 record left out"))
    #expect(try store.verifyModel(at: store.head.commit).isClean)
    // Mended by an ordinary edit, it is in the index again and no longer listed.
    driver.press("M E")
    let mended = try #require(driver.editorRequest)
    driver.tell(
      .editorClosed(EditorOutcome(text: mended.text.replacing("\"timezone\": 7", with: "\"timezone\": \"GET\""))))
    driver.press("w Enter Enter")
    #expect(try store.refresh().datastore("City")?.indexes.first { $0.descriptor.name == "zone" }?.count == 10)
    driver.tell(.storeStirred)
    #expect(!driver.shows("left out of City"))
  }

  @Test("rates are measured; a course of any length has at most 120 parts")
  func rates() {
    var meter = RateMeter()
    for tick in 1...6 { meter.add(done: tick * 100, seconds: Double(tick) / 10) }
    #expect(meter.rate == 1_000 && meter.course == Array(repeating: 1_000, count: 6))
    for tick in 7...5_000 { meter.add(done: tick * 100, seconds: Double(tick) / 10) }
    #expect(meter.course.count <= 120 && meter.course.allSatisfy { (999...1_001).contains($0) })
  }

  @Test(
    "what is left is a range from the slower to the faster of all and of lately; with too little known there is none")
  func estimate() throws {
    var estimate = WorkEstimate()
    func note(_ shares: StrideThrough<Double>, from second: Int) {
      for (tick, share) in shares.enumerated() { estimate.add(share, at: Int64(second + tick) * 1_000_000_000) }
    }
    note(stride(from: 0, through: 0.01, by: 0.005), from: 0)
    #expect(estimate.secondsLeft == nil, "one percent says nothing")
    note(stride(from: 0.02, through: 0.5, by: 0.01), from: 3)
    let left = try #require(estimate.secondsLeft)
    #expect(left.contains(50) && left.upperBound < 60, "\(left)")
    estimate.add(0.3, at: 60_000_000_000)
    #expect(estimate.share == 0.5, "it never goes back")
  }
}
