import CStrataCurses
import StrataSystem
package import StrataTerminal

/// The terminal while this process controls it. There is one at a time, and one thread uses it.
///
/// From `init` to `close()` keys are raw, the alternate screen is on, output to standard error waits in memory, and a crash or a deadly
/// signal gives the terminal back first.
package final class CursesScreen {
  private var painter = CursesPainter(colors: 0)

  /// Takes the terminal.
  ///
  /// - Parameters:
  ///   - usesColor: False for none, whatever the terminal can do; `NO_COLOR` has the same effect.
  ///   - isASCII: Whether to show ASCII only; a locale without UTF-8 has the same effect.
  package init(usesColor: Bool = true, isASCII: Bool = false) throws(TerminalProblem) {
    guard isatty(STDIN_FILENO) == 1 else { throw .notATerminal(input: true) }
    guard isatty(STDOUT_FILENO) == 1 else { throw .notATerminal(input: false) }
    guard strata_events_open() else { throw .system(Environment.lastError) }
    let name = Environment["TERM"] ?? ""
    switch Int(strata_screen_open(usesColor && !Environment.has("NO_COLOR"))) {
    case STRATA_SCREEN_OK: break
    case STRATA_SCREEN_UNKNOWN_TERMINAL: throw .unknownTerminal(name)
    case STRATA_SCREEN_NO_CURSOR: throw .noCursor(name)
    default: throw .system(Environment.lastError)
    }
    self.isASCII = isASCII || !strata_locale_is_utf8()
    painter = CursesPainter(colors: Int(strata_screen_colours()))
  }

  /// Whether pictures are shown in ASCII.
  package let isASCII: Bool

  /// The size that the terminal has now.
  package var size: Size {
    var columns: Int32 = 0
    var rows: Int32 = 0
    strata_screen_size(&columns, &rows)
    return Size(columns: Int(columns), rows: Int(rows))
  }

  /// The facts about the terminal that a program may need.
  package var surroundings: TerminalSurroundings {
    var surroundings = TerminalSurroundings(size: size, colors: Int(strata_screen_colours()), isASCII: isASCII)
    surroundings.clipboard = clipboard
    surroundings.hasBraille = !isASCII && !(Environment["TERM"] ?? "").hasPrefix("linux")
    return surroundings
  }

  /// `TMUX` is set inside of tmux, whose `TERM` may begin with `screen` too.
  private var clipboard: ClipboardRoute {
    if Environment.has("TMUX") { return .tmux }
    return (Environment["TERM"] ?? "").hasPrefix("screen") ? .screen : .terminal
  }

  /// Shows a picture: sends the differences from the one before.
  package func show(_ grid: CellGrid) {
    painter.paint(isASCII ? grid.asciiOnly() : grid)
  }

  /// Adopts a new size of the terminal.
  package func resize() -> Size {
    let size = size
    strata_screen_resize(Int32(size.columns), Int32(size.rows))
    painter.forget()
    return size
  }

  /// Makes the next picture be sent whole.
  package func forgetPicture() {
    strata_repaint()
    painter.forget()
  }

  /// Puts text on the clipboard of the terminal's machine. Returns false if it is too long to arrive for sure.
  package func copy(_ text: String) -> Bool {
    guard let bytes = Clipboard.sequence(text, by: clipboard) else { return false }
    return strata_send(bytes, bytes.count)
  }

  /// Gives the terminal to `body` and takes it back.
  package func lend<Result>(_ body: () -> Result) -> Result {
    strata_screen_leave()
    let result = body()
    strata_screen_enter()
    forgetPicture()
    return result
  }

  /// Gives the terminal back. Does nothing a second time.
  package func close() { strata_screen_close() }
}
