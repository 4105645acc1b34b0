import CStrataCurses
package import StrataTerminal

/// Runs a program without any terminal, from a script: for tests, pictures, examples in the manual and bug reports.
///
/// After every event it waits, without a clock, until the program is idle, so that a script always shows the same.
package struct ScriptPlayer {
  let program: any TerminalProgram
  private var size: Size
  let isASCII: Bool
  /// The exit status that the program quit with.
  private(set) var status: Int32?
  private var asked: ArraySlice<TerminalAction> = []
  private var isCarryingOut = false

  /// A player for `program`.
  ///
  /// - Parameters:
  ///   - program: The program that gets the scripts' events.
  ///   - size: Columns and rows at the start.
  ///   - isASCII: Whether pictures are saved in ASCII.
  package init(_ program: any TerminalProgram, size: Size, isASCII: Bool = false) {
    self.program = program
    self.size = size
    self.isASCII = isASCII
  }

  /// Plays a whole script.
  ///
  /// - Returns: The last picture, and the exit status that the program quit with, or 0 if it did not quit.
  package mutating func play(_ script: Script) throws(TerminalProblem) -> (picture: CellGrid, status: Int32) {
    var picture = try start()
    for step in script.steps where status == nil { picture = try play(step, after: picture) }
    return (saved(picture), status ?? 0)
  }

  private func saved(_ picture: CellGrid) -> CellGrid { isASCII ? picture.asciiOnly() : picture }

  /// Starts the program and waits for its first picture.
  mutating func start(isReadAsLines: Bool = false) throws(TerminalProblem) -> CellGrid {
    guard strata_events_open() else { throw .system(Environment.lastError) }
    var surroundings = TerminalSurroundings(size: size, isASCII: isASCII)
    surroundings.isReadAsLines = isReadAsLines
    carryOut(program.start(surroundings) { strata_wake() })
    return try drawWhenIdle()
  }

  /// Plays one step and waits for the picture after it.
  mutating func play(_ step: Script.Step, after picture: CellGrid) throws(TerminalProblem) -> CellGrid {
    switch step {
    case .event(let event):
      deliver(event)
      return try drawWhenIdle()
    case .saveScreen(let path):
      guard ScreenFile.save(saved(picture), to: path) else { throw .script("\(path): \(Environment.lastError)") }
      return picture
    }
  }

  /// Waits until nothing is left to do, and draws.
  private mutating func drawWhenIdle() throws(TerminalProblem) -> CellGrid {
    while true {
      carryOut(program.respondToAnswers())
      if program.isIdle || status != nil { break }
      _ = strata_wait(-1, -1)
    }
    return program.draw(size: size)
  }

  private mutating func deliver(_ event: TerminalEvent) {
    if case .resize(let size) = event { self.size = size }
    carryOut(program.respond(to: event))
  }

  private mutating func carryOut(_ actions: [TerminalAction]) {
    asked += actions
    guard !isCarryingOut else { return }
    isCarryingOut = true
    while let action = asked.popFirst() { carryOut(action) }
    isCarryingOut = false
  }

  private mutating func carryOut(_ action: TerminalAction) {
    switch action {
    case .quit(let status): self.status = status
    case .edit(let path, _, _): deliver(.editorEnded(ForegroundEditor.editWithoutTerminal(path)))
    case .suspend: deliver(.resumed)
    case .copy, .bell, .mouse, .repaint, .record, .stopRecording: break
    }
  }
}
