import CStrataCurses
import StrataSystem
package import StrataTerminal

/// Runs a program on the terminal of this process.
///
/// One turn: wait for any event; pass every key, signal and result to the program; draw once; paint the difference. While nothing happens
/// it waits in `poll` without a timer: no processor, no bytes.
///
/// One thread uses it, which it blocks: the main one.
package struct TerminalLoop {
  private let program: any TerminalProgram
  private let screen: CursesScreen
  private var input = TerminalInput(file: STDIN_FILENO)
  private var idleSignal = IdleSignal()
  private var recorder: SessionRecorder?
  private var size: Size
  private var ending: Ending?
  private var isToldToEnd: Int32?
  private var expectsOwnContinuation = false
  private var asked: ArraySlice<TerminalAction> = []
  private var isCarryingOut = false
  /// The number of editors that were started.
  private var editorCount = 0

  package enum Ending: Hashable, Sendable {
    /// The program quit with this exit status.
    case quit(status: Int32)
    /// The system ended it by this signal.
    case signal(Int32)
  }

  /// A loop of `program` on `screen`.
  package init(_ program: any TerminalProgram, on screen: CursesScreen) {
    self.program = program
    self.screen = screen
    self.size = screen.size
  }

  /// Runs until the program quits or is made to. The screen is still open afterwards.
  package mutating func run() -> Ending {
    carryOut(program.start(screen.surroundings) { strata_wake() })
    paint()
    program.prepare()
    while ending == nil {
      tellIdle()
      turn()
      paint()
    }
    recorder?.finish()
    return ending ?? .quit(status: 0)
  }

  // MARK: One turn

  private mutating func turn() {
    let found = Int(strata_wait(STDIN_FILENO, input.patience))
    if found & STRATA_INPUT == 0, input.patience == 0 { for event in input.giveUpWaiting() { tell(event) } }
    handle(found)
    awaitAnswers()
  }

  /// Waits for answers as long as the program asks for, so that one picture is painted instead of two.
  private mutating func awaitAnswers() {
    let start = ContinuousClock.now
    while ending == nil {
      let patience = program.picturePatience
      guard ContinuousClock.now < start + .milliseconds(patience) else { return }
      let found = Int(strata_wait(STDIN_FILENO, Int32(patience)))
      guard found != 0 else { return }
      handle(found)
    }
  }

  private mutating func handle(_ found: Int) {
    if found != 0 { idleSignal?.interrupt() }
    if found & STRATA_RESIZED != 0 { resize() }
    if found & STRATA_CONTINUED != 0 { comeBack() }
    if found & STRATA_INPUT != 0 {
      let (events, count) = (input.readAll(), editorCount)
      // Keys that were read with one that starts an editor are meant for nothing that is shown after it.
      for event in events where count == editorCount || !event.isInput { tell(event) }
    }
    if found & STRATA_INPUT_ENDED != 0 { input.hasEnded = true }
    if found & STRATA_WOKEN != 0 { carryOut(program.respondToAnswers()) }
    if found & STRATA_STOP != 0 { suspend() }
    if found & STRATA_INTERRUPTED != 0 { tell(.key(KeyChord(.character("c"), .control))) }
    if found & STRATA_TERMINATE != 0 { end(by: SIGTERM) }
    if found & STRATA_HANGUP != 0 || input.hasEnded { end(by: SIGHUP) }
  }

  private mutating func tell(_ event: TerminalEvent) {
    guard ending == nil else { return }
    if event == .synchronizesUpdates { return strata_synchronize_updates(true) }
    if event == .repeatsCharacters { return strata_repeat_characters() }
    if case .measured(let sample, let columns) = event { return SafeText.joining.learn(sample, columns: columns) }
    recorder?.add(event)
    carryOut(program.respond(to: event))
  }

  /// Lets the program end itself. The second time, or when the terminal is gone, it does not wait for the program.
  private mutating func end(by signal: Int32) {
    if isToldToEnd == nil {
      isToldToEnd = signal
      // Of a terminal that is gone no signal may have come.
      strata_limit_goodbye(signal)
      tell(.interrupt)
    }
    if input.hasEnded, ending == nil { ending = .signal(signal) }
  }

  private mutating func paint() {
    guard ending == nil else { return }
    screen.show(program.draw(size: size))
  }

  private mutating func tellIdle() {
    guard idleSignal != nil, program.isIdle, input.patience < 0, !strata_has_events(STDIN_FILENO) else { return }
    idleSignal?.tell(inputBytes: input.count, size: size)
  }

  // MARK: Requests of the program

  /// Carries out the program's requests, and those that it makes in response to their results: one after the other, however often an editor
  /// is opened again.
  private mutating func carryOut(_ actions: [TerminalAction]) {
    asked += actions
    guard !isCarryingOut else { return }
    isCarryingOut = true
    while let action = asked.popFirst() { carryOut(action) }
    isCarryingOut = false
  }

  private mutating func carryOut(_ action: TerminalAction) {
    switch action {
    case .quit(let status): ending = isToldToEnd.map { .signal($0) } ?? .quit(status: status)
    case .suspend: suspend()
    case .edit(let path, let line, let column): edit(path, line: line, column: column)
    case .copy(let text): if !screen.copy(text) { strata_bell() }
    case .bell: strata_bell()
    case .mouse(let isOn): strata_mouse(isOn)
    case .repaint: screen.forgetPicture()
    case .record(let path): recorder = SessionRecorder(path: path, size: size)
    case .stopRecording:
      recorder?.finish()
      recorder = nil
    }
  }

  private mutating func resize() {
    size = screen.resize()
    tell(.resize(size))
  }

  private mutating func suspend() {
    expectsOwnContinuation = true
    screen.lend { strata_stop() }
    resume()
  }

  /// Another process stopped this one without the program's help, and the shell has changed the terminal since.
  private mutating func comeBack() {
    if expectsOwnContinuation {
      expectsOwnContinuation = false
      return
    }
    screen.lend {}
    resume()
  }

  private mutating func edit(_ path: String, line: Int?, column: Int?) {
    editorCount += 1
    // The editor must not get the keys that were pressed before it is on the screen.
    if strata_has_input(STDIN_FILENO) { for event in input.readAll() where !event.isInput { tell(event) } }
    let end = screen.lend { ForegroundEditor.edit(path, line: line, column: column) }
    resume(after: .editorEnded(end))
  }

  /// The terminal may have another size by now.
  private mutating func resume(after event: TerminalEvent = .resumed) {
    if screen.size != size { resize() }
    tell(event)
  }
}
