/// What a run loop drives: a program that is told events and shows a picture.
///
/// The loop is the only one that calls it, always on the same thread, and never waits for anything but the next event.
/// Whatever takes time runs elsewhere; when it has something to say it calls `wake`, and the loop then calls
/// `respondToAnswers()`. After every turn the loop calls `draw` once and paints what differs from the picture before.
///
///     loop:  wait for a key, a signal or wake → receive… until nothing waits → draw → paint the difference
package protocol TerminalProgram: AnyObject {
  /// Called once, before the first picture.
  ///
  /// - Parameters:
  ///   - surroundings: what the terminal can do.
  ///   - wake: makes the loop call `respondToAnswers()` soon. May be called from any thread, any number of times; cheap.
  func start(_ surroundings: TerminalSurroundings, wake: @escaping @Sendable () -> Void) -> [TerminalAction]

  func respond(to event: TerminalEvent) -> [TerminalAction]

  /// Takes what background work has posted since the last call.
  func respondToAnswers() -> [TerminalAction]

  /// The picture of now, of exactly this size. Must not wait.
  func draw(size: Size) -> CellGrid

  /// Whether no background work is open whose result is still to come. Following a store that others may change is no
  /// such work. Becoming idle must be told by `wake`, so that scripts and tests can wait for it.
  var isIdle: Bool { get }

  /// Whether an answer is on its way that the next key builds on, so that keys typed ahead must wait for it. It must come
  /// soon, and be told by `wake`. Escape and `^c` do not wait. False where a program does not say.
  var awaitsAnswer: Bool { get }

  /// Whether an answer is on its way that mostly comes within a millisecond, so that the picture is better drawn with it.
  /// It must be told by `wake`. False where a program does not say.
  var answersSoon: Bool { get }

  /// Called once, after the terminal is restored: stop background work, close files.
  ///
  /// - Returns: a line for the shell, for example `3 staged changes kept for Atlas.strata`; nil says nothing.
  func finish() -> String?
}

extension TerminalProgram {
  package var awaitsAnswer: Bool { false }
  package var answersSoon: Bool { false }
}

/// What the terminal around a program can do.
package struct TerminalSurroundings: Hashable, Sendable {
  /// Columns and rows at the start; later sizes come as events and with `draw`.
  package var size: Size
  /// 0 (none: `NO_COLOR`, or a terminal without), 8, 16 or 256.
  package var colors: Int
  /// Whether only ASCII can be shown; pictures are turned into ASCII by the painter.
  package var isASCII: Bool
  /// Which way text goes to the clipboard.
  package var clipboard = ClipboardRoute.terminal
  /// Whether braille patterns can be shown; the Linux console has none.
  package var hasBraille = true
  /// Whether what is shown is read as lines, so that a chart says more as a table.
  package var isReadAsLines = false

  /// Describes a terminal.
  package init(size: Size, colors: Int = 256, isASCII: Bool = false) {
    self.size = size
    self.colors = colors
    self.isASCII = isASCII
  }
}

/// What a program asks of the loop.
package enum TerminalAction: Hashable, Sendable {
  /// End with this exit status.
  case quit(status: Int32 = 0)
  /// Stop like every program at `^z`; `.resumed` follows when the shell brings it back.
  case suspend
  /// Give the screen to `$VISUAL` or `$EDITOR` on this file; `.editorEnded` follows.
  case edit(path: String, line: Int? = nil, column: Int? = nil)
  /// Put text on the clipboard of the person's own machine (OSC 52). Check `Clipboard.limit` first.
  case copy(String)
  case bell
  /// Report the mouse or leave it to the terminal. It is on at the start.
  case mouse(Bool)
  /// Paint everything anew, whatever the terminal may show now.
  case repaint
  /// Write every further event to this script file, from now to `stopRecording` or the end.
  case record(path: String)
  /// End the script.
  case stopRecording
  /// Save the picture of this turn: text, or SVG where the name ends with `.svg`.
  case saveScreen(path: String)
}
