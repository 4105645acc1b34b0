import CCurses
package import TerminalKit

/// Runs a program without any terminal, from a script: for tests, pictures, examples in the manual and bug reports.
///
/// After every event it waits, without a clock, until the program is idle, so that a script always shows the same.
package struct ScriptPlayer {
  private let program: any TerminalProgram
  private let script: Script
  private var size: Size
  private let isASCII: Bool
  private var status: Int32?
  private var screenshots: [String] = []

  /// A player of `script`.
  ///
  /// - Parameters:
  ///   - program: what the script is played to.
  ///   - script: its steps.
  ///   - size: columns and rows at the start.
  ///   - isASCII: whether pictures are saved in ASCII.
  package init(_ program: any TerminalProgram, script: Script, size: Size, isASCII: Bool = false) {
    self.program = program
    self.script = script
    self.size = size
    self.isASCII = isASCII
  }

  /// Plays the script.
  ///
  /// - Returns: the last picture, and the exit status that the program quit with, 0 where it did not.
  package mutating func play() throws(TerminalProblem) -> (picture: CellGrid, status: Int32) {
    guard strata_events_open() else { throw .system(Environment.lastError) }
    perform(program.start(TerminalSurroundings(size: size, isASCII: isASCII)) { strata_wake() })
    var picture = try settle()
    for step in script.steps {
      guard status == nil else { break }
      switch step {
      case .event(let event):
        receive(event)
        picture = try settle()
      case .saveScreen(let path):
        try save(picture, to: path)
      }
    }
    return (picture, status ?? 0)
  }

  /// Waits until nothing is left to do, and draws.
  private mutating func settle() throws(TerminalProblem) -> CellGrid {
    while true {
      perform(program.receivePosted())
      if program.isIdle || status != nil { break }
      _ = strata_wait(-1, -1)
    }
    let drawn = program.draw(size: size)
    let picture = isASCII ? drawn.asciiOnly() : drawn
    for path in screenshots { try save(picture, to: path) }
    screenshots = []
    return picture
  }

  private func save(_ picture: CellGrid, to path: String) throws(TerminalProblem) {
    guard ScreenFile.save(picture, to: path) else { throw .script("\(path): \(Environment.lastError)") }
  }

  private mutating func receive(_ event: TerminalEvent) {
    if case .resize(let size) = event { self.size = size }
    perform(program.receive(event))
  }

  private mutating func perform(_ actions: [TerminalAction]) {
    for action in actions {
      switch action {
      case .quit(let status): self.status = status
      case .edit(let path, let line, let column):
        receive(.editorEnded(ForegroundEditor.edit(path, line: line, column: column)))
      case .saveScreen(let path): screenshots.append(path)
      case .suspend: receive(.resumed)
      case .copy, .bell, .mouse, .repaint, .record, .stopRecording: break
      }
    }
  }
}
