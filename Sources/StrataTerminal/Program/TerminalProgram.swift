/// A program that a run loop drives: it receives events and draws a picture.
///
/// Only the loop calls it, always on the same thread, and the loop waits only for the next event. Slow work runs elsewhere. When that work
/// has a result, the program calls `wake`, and the loop then calls `respondToAnswers()`. After every turn the loop calls `draw` once and
/// paints the differences from the previous picture.
///
///     loop:  wait for a key, a signal or wake → receive… until nothing waits → draw → paint the difference
package protocol TerminalProgram: AnyObject {
  /// Called once, before the first picture.
  ///
  /// - Parameters:
  ///   - surroundings: the abilities of the terminal.
  ///   - wake: makes the loop call `respondToAnswers()` soon. May be called from any thread, any number of times; cheap.
  func start(_ surroundings: TerminalSurroundings, wake: @escaping @Sendable () -> Void) -> [TerminalAction]

  /// Called once, after the first picture is shown: work that the first picture does not need.
  func prepare()

  func respond(to event: TerminalEvent) -> [TerminalAction]

  /// Takes the results that background work has posted since the last call.
  func respondToAnswers() -> [TerminalAction]

  /// Draws the current picture, of exactly this size. Must not wait.
  func draw(size: Size) -> CellGrid

  /// Whether no background work runs whose result is pending. Following a store that others may change does not count as such work. The
  /// program must call `wake` when it becomes idle, so that scripts and tests can wait for it.
  var isIdle: Bool { get }

  /// For how many milliseconds the loop delays the picture for a due result, because two pictures take more bytes than one. 0 if no result
  /// is due, and by default. The program calls `wake` with the result.
  var picturePatience: Int { get }

  /// Called once, after the terminal is restored: stop background work, close files.
  ///
  /// - Returns: a line for the shell, for example `3 staged changes kept for Atlas.strata`; nil for none.
  func finish() -> String?
}

extension TerminalProgram {
  package var picturePatience: Int { 0 }
  package func prepare() {}
}

/// The abilities of the terminal around a program.
package struct TerminalSurroundings: Hashable, Sendable {
  /// Columns and rows at the start; later sizes come as events and with `draw`.
  package var size: Size
  /// The number of colours: 0 (with `NO_COLOR`, or on a terminal without colours), 8, 16 or 256.
  package var colors: Int
  /// Whether only ASCII can be shown; pictures are turned into ASCII by the painter.
  package var isASCII: Bool
  /// How text reaches the clipboard.
  package var clipboard = ClipboardRoute.terminal
  /// Whether braille patterns can be shown; the Linux console has none.
  package var hasBraille = true
  /// Whether the picture is read as lines, for which a table is better than a chart.
  package var isReadAsLines = false

  /// Describes a terminal.
  package init(size: Size, colors: Int = 256, isASCII: Bool = false) {
    self.size = size
    self.colors = colors
    self.isASCII = isASCII
  }
}

/// A request of the program to the loop.
package enum TerminalAction: Hashable, Sendable {
  /// End with this exit status.
  case quit(status: Int32 = 0)
  /// Stop like every program at `^z`; `.resumed` follows when the shell brings it back.
  case suspend
  /// Give the screen to `$VISUAL` or `$EDITOR` on this file; `.editorEnded` follows.
  case edit(path: String, line: Int? = nil, column: Int? = nil)
  /// Put text on the clipboard of the user's own machine (OSC 52). Check `Clipboard.limit` first.
  case copy(String)
  case bell
  /// Report the mouse or leave it to the terminal. It is on at the start.
  case mouse(Bool)
  /// Paint everything again, whatever the terminal may show now.
  case repaint
  /// Write every further event to this script file, from now to `stopRecording` or the end.
  case record(path: String)
  /// End the script.
  case stopRecording
}
