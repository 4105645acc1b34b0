import StrataTerminal

/// A list whose lines are found by typing: letters search; arrows, pages and `^n` `^p` move.
protocol SearchPane: ListPane {
  var field: TextField { get set }
  /// Finds the lines of the typed text.
  mutating func search(in session: inout Session)
}

extension SearchPane {
  func headerRows(_ frame: PaneFrame) -> Int { 1 }

  mutating func type(_ chord: KeyChord, in session: inout Session) -> Bool { typeInField(chord, in: &session) }

  mutating func typeInField(_ chord: KeyChord, in session: inout Session) -> Bool {
    switch chord.description {
    case "^n": list.move(by: 1, count: lineCount(session))
    case "^p": list.move(by: -1, count: lineCount(session))
    case "Down", "Up", "PageDown", "PageUp", "Home", "End": return false
    default:
      guard field.apply(chord) else { return false }
      search(in: &session)
    }
    return true
  }

  mutating func paste(_ text: String, in session: inout Session) -> Bool {
    field.insert(text.replacing("\n", with: " "))
    search(in: &session)
    return true
  }

  func drawField(on grid: inout CellGrid, frame: PaneFrame, columns: Int, theme: Theme) {
    grid.write("find: ", at: frame.inside.origin, style: theme.style(.title))
    field.draw(into: &grid, at: frame.inside.at(6), width: max(4, columns))
  }
}
