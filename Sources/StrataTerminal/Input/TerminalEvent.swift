/// An event that a terminal sends to a program.
package enum TerminalEvent: Hashable, Sendable {
  case key(KeyChord)
  /// Text was pasted as a whole; it may hold line feeds and anything else.
  case paste(String)
  /// The mouse was clicked or its wheel turned.
  case mouse(MouseEvent)
  /// The terminal now has this size.
  case resize(Size)
  /// The terminal shows the output between two marks at once (mode 2026). Handled by the loop; no program receives it.
  case synchronizesUpdates
  /// The terminal can repeat a character (`CSI n b`). Handled by the loop; no program receives it.
  case repeatsCharacters
  /// The number of columns that the terminal gives to a sample: a letter with a vowel sign, emoji with a joiner, an emoji of a skin colour.
  /// Handled by the loop; no program receives it.
  case measured(sample: Int, columns: Int)
  /// The terminal's background is light or dark, as it replied to OSC 11.
  case background(isLight: Bool)
  /// The system asks the program to end, or the terminal is gone (SIGTERM, SIGHUP). It has a moment to finish.
  case interrupt
  /// The program has the screen again after it was stopped or another one had the screen.
  case resumed
  /// The editor that the program asked for has ended.
  case editorEnded(EditorEnd)

  /// Whether the user made it: a key, a paste, the mouse.
  package var isInput: Bool {
    switch self {
    case .key, .paste, .mouse: true
    default: false
    }
  }
}

/// How an editor ended.
package enum EditorEnd: Hashable, Sendable {
  /// With this exit status; 0 is success.
  case exited(status: Int)
  /// By a signal of this number.
  case killed(signal: Int)
  /// It could not be started; with the reason.
  case failed(String)
}

/// A click or a turn of the wheel.
package struct MouseEvent: Hashable, Sendable {
  /// The action of the mouse.
  package enum Kind: Hashable, Sendable {
    /// A button went down: 1 left, 2 middle, 3 right.
    case press(button: Int)
    /// A button went up.
    case release(button: Int)
    /// The wheel turned away from the user.
    case wheelUp
    /// The wheel turned towards the user.
    case wheelDown
  }

  package var kind: Kind
  package var point: Point
}
