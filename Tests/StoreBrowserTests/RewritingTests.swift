import StrataDocuments
import StrataModel
import StrataTerminal
import StrataEngine
import Testing

@testable import StoreBrowser

@Suite("Compacting and copying from the browser")
struct RewritingTests {
  /// A store with 24 commits of one field after its first four.
  private func busyStore() throws -> EngineStore {
    let store = try Sample.store()
    for value in 1...24 { try Sample.change(store, "City", "2661552", ".population", to: .number(NumberText(value))) }
    return store
  }

  private func run(_ command: String, in driver: Driver) {
    driver.press(":")
    driver.type(command)
    driver.press("Enter")
  }

  @Test(":compact shows bytes before and after first, squashes on Enter and says what it did; a pin stays")
  func compact() throws {
    let store = try busyStore()
    try store.pin("early", to: CommitNumber(6))
    let driver = Driver(store, start: .init(datastore: "City"))
    let before = try store.compactionEstimate(.all).bytesBefore
    run("compact 3", in: driver)
    #expect(driver.shows("Compact, keep 3"))
    #expect(driver.shows("\(NumberFormat.bytes(before)) → about"))
    #expect(driver.shows("5 commits are kept"))
    #expect(driver.shows("24 are squashed"))
    #expect(try store.compactionEstimate(.all).bytesBefore == before, "nothing is written before Enter")
    driver.press("Enter")
    #expect(driver.status.contains("5 commits kept, 24 squashed"))
    #expect(try store.compactionEstimate(.all).bytesBefore < before)
    #expect(try store.resolve("early") == CommitNumber(6))
    #expect(throws: ModelError.self) { try store.view(at: CommitNumber(9)) }
    driver.press("g H")
    #expect(driver.shows("#28") && driver.shows("#6 ") && !driver.shows("#9 "))
  }

  @Test("a compaction shows how far it is; Esc lets it go on, ^c ^c cancels it")
  func cancel() throws {
    let store = try busyStore()
    let driver = Driver(store, start: .init(datastore: "City"))
    run("compact 3", in: driver)
    driver.isHolding = true
    driver.press("Enter")
    let (id, work) = try #require(driver.held.last)
    #expect(work as? Rewrite == .compact(.last(3)))
    driver.tell(.work(id, .progress(Progress(done: 1, total: 3))))
    #expect(driver.shows("1 of 3 commits"))
    #expect(driver.shows("33.3 %"))
    driver.press("^c")
    #expect(!driver.held.isEmpty)
    driver.press("Esc")
    #expect(!driver.held.isEmpty)
    #expect(!driver.shows("Compact, keep"))
    driver.press("^c")
    #expect(driver.held.isEmpty)
    driver.press("6")
    #expect(driver.shows("cancelled; the store is as it was"))
    #expect(try store.view(at: CommitNumber(9)).commit == CommitNumber(9))
  }

  @Test("a compaction that was cancelled does not look as if it went on, and Enter begins it again")
  func cancelled() throws {
    let driver = Driver(try busyStore(), start: .init(datastore: "City"))
    run("compact 3", in: driver)
    driver.isHolding = true
    driver.press("Enter ^c ^c")
    #expect(driver.held.isEmpty)
    #expect(driver.shows("25 are squashed") && !driver.shows("of 28 commits"), "\(driver.screen)")
    driver.press("Enter")
    #expect(driver.held.last?.1 as? Rewrite == .compact(.last(3)))
  }

  @Test("Esc leaves it; where all is kept there is nothing to gain; a wrong KEEP stays in the prompt with the reason")
  func leave() throws {
    let store = try busyStore()
    let driver = Driver(store, start: .init(datastore: "City"))
    run("compact 3", in: driver)
    driver.press("Esc")
    run("compact all", in: driver)
    #expect(driver.shows("there is nothing to gain"))
    driver.press("Enter Esc")
    run("compact 3x", in: driver)
    #expect(driver.shows("is not all, a number of commits, an age as"))
    driver.press("^c")
    #expect(try store.view(at: CommitNumber(9)).commit == CommitNumber(9))
  }

  @Test("a compaction refused for the lock says who holds it, and Enter tries again")
  func locked() throws {
    let hold = WriterHold(processIdentifier: 812, program: "Atlas", since: Sample.now)
    let store = HeldStore(try busyStore(), by: hold)
    let driver = Driver(store, start: .init(datastore: "City"))
    run("compact 3", in: driver)
    driver.press("Enter")
    #expect(driver.shows("✗") && driver.shows("Atlas (pid 812)"))
    store.letGo()
    driver.press("Enter")
    #expect(driver.status.contains("3 commits kept"))
  }

  @Test("from a moment that is squashed the browser comes back to the head")
  func travelled() throws {
    let driver = Driver(try busyStore(), start: .init(datastore: "City"))
    run("travel 9", in: driver)
    #expect(driver.title.contains("AS OF #9"))
    run("compact 2", in: driver)
    driver.press("Enter")
    #expect(driver.title.contains("HEAD #28"))
    #expect(driver.selectedIdentifier != nil)
  }

  @Test(":copy writes the store up to what is shown to another path, and never over one that is there")
  func copy() throws {
    let store = try busyStore()
    let driver = Driver(store, start: .init(datastore: "City"))
    run("copy /tmp/Copy.strata", in: driver)
    #expect(driver.status.contains("/tmp/Copy.strata: 28 commits"))
    run("copy /tmp/Copy.strata", in: driver)
    #expect(driver.status.contains("✗"), "\(driver.status)")
    run("travel 9", in: driver)
    run("copy /tmp/Early.strata", in: driver)
    #expect(driver.status.contains("/tmp/Early.strata: 9 commits"))
  }

  @Test("read-only refuses compaction with the reason, and still copies")
  func readOnly() throws {
    let driver = Driver(try busyStore(), start: .init(datastore: "City")) { $0.isReadOnly = true }
    run("compact 3", in: driver)
    #expect(driver.status.contains("read-only"))
    run("copy /tmp/Copy.strata", in: driver)
    #expect(driver.status.contains("28 commits"))
  }
}
