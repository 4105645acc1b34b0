/// Turns events into the lines of a script, piece by piece, so that a file with every piece so far is complete.
package struct ScriptRecorder: Sendable {
  private var keysOnLine = 0

  /// A recorder at the start of a file.
  package init() {}

  /// Returns the beginning of a file: a comment and the size.
  package mutating func beginning(size: Size) -> String {
    "# strata script\nresize \(size)"
  }

  /// Returns the text to append for an event; empty if a script cannot repeat the event.
  package mutating func piece(for event: TerminalEvent) -> String {
    if case .key(let chord) = event {
      defer { keysOnLine = (keysOnLine + 1) % 20 }
      return keysOnLine == 0 ? "\nkeys \(chord)" : " \(chord)"
    }
    guard let line = line(for: event) else { return "" }
    keysOnLine = 0
    return "\n" + line
  }

  /// Returns the end of a file.
  package func ending() -> String { "\n" }

  private func line(for event: TerminalEvent) -> String? {
    switch event {
    case .paste(let text): return "paste \(Self.quoted(text))"
    case .resize(let size): return "resize \(size)"
    case .mouse(let mouse):
      let place = "\(mouse.point.column + 1),\(mouse.point.row + 1)"
      switch mouse.kind {
      case .press(button: 1): return "click \(place)"
      case .wheelUp: return "wheel-up \(place)"
      case .wheelDown: return "wheel-down \(place)"
      case .press, .release: return nil
      }
    case .key, .interrupt, .resumed, .editorEnded, .synchronizesUpdates, .repeatsCharacters, .measured, .background:
      return nil
    }
  }

  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case "\u{1B}": result += "\\e"
      case "\"", "\\": result += "\\\(scalar)"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
