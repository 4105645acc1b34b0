import StrataDocuments
import StrataLocks
import StrataModel
import Dispatch
import StrataTerminal
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@testable import StoreBrowser

@Suite("The program with its threads")
struct RuntimeTests {
  /// A program that is told keys one after the other, each after it became idle.
  private struct Session {
    let program: BrowserProgram
    let wake = DispatchSemaphore(value: 0)
    let size = Size(columns: 80, rows: 24)

    init(_ store: any ReadableStore, files: BrowserFiles = .none) {
      var configuration = BrowserConfiguration()
      configuration.start.datastore = "City"
      program = BrowserProgram(OpenedStore(store, configuration: configuration, files: files))
      let wake = wake
      _ = program.start(TerminalSurroundings(size: size), wake: { wake.signal() })
      settle()
    }

    func settle() {
      while !program.isIdle {
        wake.wait()
        _ = program.respondToAnswers()
      }
    }

    func press(_ keys: String) -> [TerminalAction] {
      var actions: [TerminalAction] = []
      for chord in KeyChord.sequence(keys) ?? [] {
        actions += program.respond(to: .key(chord))
        settle()
      }
      return actions
    }

    var screen: String { program.draw(size: size).text() }
  }

  @Test("the first picture waits for what fills it, later ones only for what comes at once, and none for nothing")
  func patience() throws {
    var configuration = BrowserConfiguration()
    configuration.start.datastore = "City"
    let store = HeldStore(try Sample.store())
    let opened = OpenedStore(store, configuration: configuration, files: .none)
    // From here on, a question to the store on the thread of the screen would never return.
    store.fallSilent()
    let program = BrowserProgram(opened)
    let wake = DispatchSemaphore(value: 0)
    func settle() {
      while !program.isIdle {
        wake.wait()
        _ = program.respondToAnswers()
      }
    }
    let size = Size(columns: 80, rows: 24)
    _ = program.start(TerminalSurroundings(size: size), wake: { wake.signal() })
    #expect(program.picturePatience > 100)
    store.speak()
    settle()
    #expect(program.picturePatience == 0)
    #expect(program.draw(size: size).text().contains("row 1 of 10"))
    store.fallSilent()
    _ = program.respond(to: .key(KeyChord(writing: "j")))
    _ = program.respondToAnswers()
    #expect(program.picturePatience <= 4)
    store.speak()
    settle()
    _ = program.finish()
  }

  @Test("work runs off the caller's thread, and the program says when it is idle")
  func idle() throws {
    let session = Session(try Sample.store())
    #expect(session.screen.contains("row 1 of 10"))
    _ = session.press("j j")
    #expect(session.screen.contains("Record · 1850147"))
    _ = session.press("g H")
    #expect(session.screen.contains("import countries"))
    #expect(session.press("Q").contains(.quit(status: 0)))
    #expect(session.program.finish() == nil)
  }

  /// Where the stacks of threads stood, by thread.
  private struct Stacks: Sendable {
    var spans: [Int: ClosedRange<UInt>] = [:]
    var count = 0

    mutating func note(_ address: UInt, of thread: Int) {
      count += 1
      let span = spans[thread] ?? address...address
      spans[thread] = min(span.lowerBound, address)...max(span.upperBound, address)
    }
  }

  @Test("the thousandth word that an answer waits is said by as short a way as the first")
  func ringing() throws {
    let store = try Sample.store()
    let runtime = BrowserRuntime(store: store)
    let stacks = Locked(Stacks())
    let wake = DispatchSemaphore(value: 0)
    runtime.start {
      var local = 0
      let address = withUnsafePointer(to: &local) { UInt(bitPattern: $0) }
      let thread = pthread_self().hashValue
      stacks.with { $0.note(address, of: thread) }
      wake.signal()
    }
    let outline = Inquiry { context throws(ModelError) in try context.outline(at: context.store.head.commit) }
    for serial in 1...2_000 {
      runtime.run(.start(WorkID(slot: .outline, serial: serial), outline))
      while runtime.drainMessages().isEmpty { wake.wait() }
    }
    runtime.stop()
    // A frame more for each call would be a hundred thousand bytes.
    let widest = stacks.with { $0.spans.values.map { $0.upperBound - $0.lowerBound }.max() ?? 0 }
    #expect(stacks.with { $0.count } >= 2_000 && widest < 8_192, "\(widest)")
  }

  @Test("of what is found the first goes through at once, and the rest ten times a second")
  func throttle() {
    let sent = Locked<[Progress]>([])
    let throttle = ProgressThrottle { progress in sent.with { $0.append(progress) } }
    let start = ContinuousClock.now
    throttle.report(Progress(done: 0, total: 9, found: .plan("SCAN", count: nil)), at: start)
    throttle.report(Progress(done: 1, total: 9, found: .ranks([])), at: start)
    throttle.report(Progress(done: 2, total: 9, found: .ranks([4])), at: start)
    #expect(sent.with { $0.map(\.found) } == [.plan("SCAN", count: nil), .ranks([4])])
    throttle.report(Progress(done: 3, total: 9, found: .ranks([7])), at: start)
    throttle.report(Progress(done: 4, total: 9, found: .ranks([8])), at: start + .milliseconds(99))
    #expect(sent.with { $0.count } == 2)
    throttle.report(Progress(done: 5, total: 9, found: .ranks([])), at: start + .milliseconds(100))
    #expect(sent.with { $0.last } == Progress(done: 5, total: 9, found: .ranks([7, 8])))
    // A scan that begins again: what it has found before is passed on before the plan.
    throttle.report(Progress(done: 6, total: 9, found: .ranks([9])), at: start + .milliseconds(110))
    throttle.report(Progress(done: 0, total: 9, found: .plan("SCAN", count: nil)), at: start + .milliseconds(120))
    throttle.report(Progress(done: 1, total: 9, found: .ranks([4])), at: start + .milliseconds(130))
    throttle.flush()
    let last: [Progress.Found] = [.ranks([9]), .plan("SCAN", count: nil), .ranks([4])]
    #expect(sent.with { $0.suffix(3).map(\.found) } == last)
  }

  @Test("no read of a browser waits for a server that is gone, whatever the store of the app does")
  func readPatience() throws {
    let runtime = BrowserRuntime(store: try Sample.store())
    let wake = DispatchSemaphore(value: 0)
    runtime.start { wake.signal() }
    let parts = Inquiry { _ throws(ModelError) in
      try (0..<4).concurrently(size: 1) { _ throws(ModelError) in ReadPatience.isNone }
    }
    for slot in [WorkSlot.outline, .search, .commit, .refresh] {
      runtime.run(.start(WorkID(slot: slot, serial: 1), parts))
      var replies: [[Bool]] = []
      while replies.isEmpty {
        wake.wait()
        for case .work(_, .finished(let reply, _)) in runtime.drainMessages() { replies += [reply as? [Bool] ?? []] }
      }
      #expect(replies == [[true, true, true, true]], "\(slot.name)")
    }
    runtime.stop()
  }

  @Test("what is staged is saved while the server answers nothing at all, and leaving waits for the disk alone")
  func silentServer() throws {
    let folder = "/tmp/strata-test-\(UInt64.random(in: 0 ... .max))"
    defer { TestFile.remove(folder) }
    let served = HeldStore(try Sample.store())
    let session = Session(served, files: BrowserFiles(folder: folder))
    _ = session.press("l l l")
    served.fallSilent()
    // A piece of work asks the server at once, and goes on waiting.
    for chord in KeyChord.sequence("V e ^u 7 Enter") ?? [] { _ = session.program.respond(to: .key(chord)) }
    while !TestFile.exists(folder + "/staged-1") {
      session.wake.wait()
      _ = session.program.respondToAnswers()
    }
    #expect(session.screen.contains("1049498 → 7"))
    var actions = session.program.respond(to: .key(try #require(KeyChord("Q"))))
    while !actions.contains(.quit(status: 0)) {
      session.wake.wait()
      actions += session.program.respondToAnswers()
    }
    served.speak()
    #expect(session.program.finish() == "1 staged change kept for Atlas.strata")
  }

  @Test("a store that cannot be followed is not called live, and the reason is said")
  func unfollowed() throws {
    let (store, problem) = (try Sample.store(), "inotify_init1 failed: Too many open files")
    let served = HeldStore(store)
    served.fail(.storage(problem, kind: .failed))
    let opened = OpenedStore(served, configuration: BrowserConfiguration(), files: .none)
    served.comeBack()
    let (program, wake) = (BrowserProgram(opened), DispatchSemaphore(value: 0))
    let size = Size(columns: 160, rows: 24)
    _ = program.start(TerminalSurroundings(size: size), wake: { wake.signal() })
    while !program.isIdle {
      wake.wait()
      _ = program.respondToAnswers()
    }
    let screen = program.draw(size: size).text()
    #expect(screen.contains("paused") && !screen.contains("live") && screen.contains(problem), "\(screen)")
    _ = program.finish()
  }

  /// The picture of a browser to which these events came while its store was opened.
  private func opened(_ store: EngineStore, during events: [TerminalEvent]) -> CellGrid {
    let (gate, wake) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let program = OpeningProgram(path: store.path, configuration: BrowserConfiguration()) { _ in
      gate.wait()
      return OpenedStore(store, configuration: BrowserConfiguration(), files: .none)
    }
    let surroundings = TerminalSurroundings(size: Size(columns: 80, rows: 24), colors: 256)
    _ = program.start(surroundings, wake: { wake.signal() })
    for event in events { #expect(program.respond(to: event).isEmpty) }
    gate.signal()
    while !program.isIdle {
      wake.wait()
      #expect(!program.respondToAnswers().contains(.quit(status: 0)))
    }
    defer { _ = program.finish() }
    return program.draw(size: surroundings.size)
  }

  @Test("Esc while a store is opened drops the keys typed ahead, and not what the terminal says of itself")
  func escapeWhileOpening() throws {
    let store = try Sample.store()
    let light = opened(store, during: [.background(isLight: true)])
    #expect(light != opened(store, during: []))
    let keys: [TerminalEvent] = [.key(KeyChord(writing: "Q")), .key(KeyChord(.escape))]
    #expect(light == opened(store, during: [.background(isLight: true)] + keys))
  }

  @Test("^z suspends the program also while its store is opened")
  func suspensionWhileOpening() throws {
    let store = try Sample.store()
    let program = OpeningProgram(path: store.path, configuration: BrowserConfiguration()) { _ in
      OpenedStore(store, configuration: BrowserConfiguration(), files: .none)
    }
    #expect(program.respond(to: .key(KeyChord(.character("z"), .control))) == [.suspend])
  }

  @Test("what could not be saved before a signal ended the program is not called kept")
  func unsavedAtSignal() throws {
    let folder = "/tmp/strata-test-\(UInt64.random(in: 0 ... .max))"
    defer { TestFile.remove(folder) }
    let session = Session(try Sample.store(), files: BrowserFiles(folder: folder))
    TestFile.makeFolder(folder + "/staged-1.new")
    _ = session.press("l l l e ^u 7")
    _ = session.program.respond(to: .key(KeyChord(.enter)))
    #expect(session.program.respond(to: .interrupt) == [.quit(status: 0)])
    let farewell = session.program.finish() ?? ""
    #expect(farewell.contains("1 staged change of Atlas.strata NOT kept"), "\(farewell)")
  }

  @Test("a commit of another program arrives without a key")
  func follow() throws {
    let store = try Sample.store()
    let session = Session(store)
    try Sample.change(store, "City", "615532", ".population", to: 42)
    // The follower may have spoken already; otherwise it will.
    while !session.screen.contains("HEAD #5") {
      session.wake.wait()
      _ = session.program.respondToAnswers()
      session.settle()
    }
    #expect(session.screen.contains("42"))
    _ = session.program.finish()
  }

  @Test("an over-long copy is refused with a sentence, and a short one goes to the terminal")
  func copying() throws {
    let store = try Sample.store()
    try Sample.change(store, "City", "611717", ".timezone", to: .string(String(repeating: "x", count: 80_000)))
    let session = Session(store)
    #expect(session.press("y k").contains(.copy("611717")))
    #expect(!session.press("y r").contains { if case .copy = $0 { true } else { false } })
    #expect(session.screen.contains("too much for the clipboard"))
    _ = session.program.finish()
  }

  @Test("the editor's file is private, and its text comes back as a staged change")
  func editor() throws {
    let session = Session(try Sample.store())
    let actions = session.press("E")
    guard case .edit(let path, _, _)? = actions.first(where: { if case .edit = $0 { true } else { false } }) else {
      Issue.record("no editor was asked for")
      return
    }
    let text = try TestFile.text(path)
    #expect(try TestFile.permissions(path) == 0o600)
    try TestFile.write(text.replacing("1049498", with: "5"), to: path)
    _ = session.program.respond(to: .editorEnded(.exited(status: 0)))
    session.settle()
    #expect(session.screen.contains("1049498 → 5"))
    #expect(!TestFile.exists(path))
    #expect(session.program.finish() == "1 staged change kept for Atlas.strata")
  }

  @Test("a text from the editor that is not UTF-8 stays in its file, also after the program has ended")
  func editorWithOtherEncoding() throws {
    let session = Session(try Sample.store())
    let actions = session.press("E")
    guard case .edit(let path, _, _)? = actions.first(where: { if case .edit = $0 { true } else { false } }) else {
      Issue.record("no editor was asked for")
      return
    }
    try TestFile.write([0x5A, 0xFC, 0x72], to: path)
    _ = session.program.respond(to: .editorEnded(.exited(status: 0)))
    session.settle()
    #expect(session.screen.contains("UTF-8"))
    _ = session.program.finish()
    #expect(TestFile.exists(path))
    TestFile.remove(path)
  }
}
