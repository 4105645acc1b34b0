import CStrataCurses
import StrataSystem
package import StrataTerminal

/// A whole session of a program: on the terminal of this process, or from a script without one.
package struct TerminalSession: Sendable {
  /// The place of the session.
  package enum Place: Hashable, Sendable {
    case terminal
    /// From a script file, at a size; afterwards the last picture is written to `dump`, if given.
    case script(path: String, size: Size, dump: String?)
    /// On standard input and output, as lines: each pane under its title, and script steps as input.
    case lines(size: Size)
  }

  package var place: Place
  /// Whether ASCII only is shown.
  package var isASCII: Bool
  /// Whether colours may be used.
  package var usesColor: Bool

  /// Describes a session.
  package init(_ place: Place = .terminal, isASCII: Bool = false, usesColor: Bool = true) {
    self.place = place
    self.isASCII = isASCII
    self.usesColor = usesColor
  }

  /// Whether both standard input and output are a terminal.
  package static var hasTerminal: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 }

  /// Runs `program` to its end. It blocks the main thread, and so never one of the few threads that tasks run on.
  ///
  /// The terminal is taken before `program` is made, so that something is on the screen while a store is opened: `make`
  /// should return at once and open in the background.
  ///
  /// - Parameter make: Makes the program.
  /// - Returns: The exit status. A session that a signal ended does not return: the process dies by that signal.
  @MainActor package func run(_ make: () -> any TerminalProgram) throws(TerminalProblem) -> Int32 {
    switch place {
    case .terminal: return try runOnTerminal(make)
    case .script(let path, let size, let dump): return try play(path, size, dump, make())
    case .lines(let size):
      var player = ScriptPlayer(make(), size: size, isASCII: isASCII)
      return try player.playLines()
    }
  }

  private func runOnTerminal(_ make: () -> any TerminalProgram) throws(TerminalProblem) -> Int32 {
    TerminalSession.silenceBacktracer()
    let screen = try CursesScreen(usesColor: usesColor, isASCII: isASCII)
    let program = make()
    var loop = TerminalLoop(program, on: screen)
    let ending = loop.run()
    screen.close()
    if let farewell = program.finish() { print(farewell) }
    switch ending {
    case .quit(let status):
      return status
    case .signal(let signal):
      fflush(nil)
      strata_die(signal)
      return 128 + signal
    }
  }

  private func play(
    _ path: String, _ size: Size, _ dump: String?, _ program: any TerminalProgram
  ) throws(TerminalProblem) -> Int32 {
    guard let text = PlainFile.text(of: path) else { throw .script("\(path): \(Environment.lastError)") }
    let script: Script
    do {
      script = try Script(parsing: text)
    } catch {
      throw .script("\(path), \(error)")
    }
    var player = ScriptPlayer(program, size: size, isASCII: isASCII)
    let (picture, status) = try player.play(script)
    if let dump, !ScreenFile.save(picture, to: dump) { throw .script("\(dump): \(Environment.lastError)") }
    if let farewell = program.finish() { print(farewell) }
    return status
  }

  /// If Swift's backtracer is on, it would ask the user questions on a terminal that has just been given back.
  ///
  /// It reads its settings before `main`, so the only way to turn it off is to start again. It is on in development builds only: a program
  /// with the standard library linked in has none, and starts once.
  package static func silenceBacktracer() {
    guard strata_has_interactive_backtracer(), Environment["SWIFT_BACKTRACE"] == nil else { return }
    setenv("SWIFT_BACKTRACE", "interactive=no,color=no", 1)
    var arguments: [UnsafeMutablePointer<CChar>?] = CommandLine.arguments.map { strdup($0) }
    arguments.append(nil)
    execv("/proc/self/exe", &arguments)
    for argument in arguments { free(argument) }
  }
}
