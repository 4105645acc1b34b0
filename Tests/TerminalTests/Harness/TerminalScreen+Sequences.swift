import StrataTerminal

extension TerminalScreen {
  /// Does what a control sequence says.
  mutating func apply(_ sequence: SequenceDecoder.Sequence) {
    let first = max(1, sequence.parameters.first ?? 1)
    if sequence.final != "m" { wrapsNext = false }
    switch sequence.final {
    case "A": cursor.row = max(0, cursor.row - first)
    case "B", "e": cursor.row = min(size.rows - 1, cursor.row + first)
    case "C", "a": cursor.column = min(size.columns - 1, cursor.column + first)
    case "D": cursor.column = max(0, cursor.column - first)
    case "E": cursor = Point(column: 0, row: min(size.rows - 1, cursor.row + first))
    case "F": cursor = Point(column: 0, row: max(0, cursor.row - first))
    case "G", "`": cursor.column = min(size.columns, first) - 1
    case "d": cursor.row = min(size.rows, first) - 1
    case "H", "f":
      let column = sequence.parameters.count > 1 ? max(1, sequence.parameters[1]) : 1
      cursor = Point(column: min(size.columns, column) - 1, row: min(size.rows, first) - 1)
    case "J": eraseScreen(sequence.parameters.first ?? 0)
    case "K": eraseLine(sequence.parameters.first ?? 0)
    case "L": insertLines(first)
    case "M": deleteLines(first)
    case "P": deletePlaces(first)
    case "@": insertPlaces(first)
    case "X":
      for column in cursor.column..<min(size.columns, cursor.column + first) {
        places[cursor.row][column] = emptyPlace
      }
    case "S": scroll(up: first)
    case "T": scroll(down: first)
    case "b": for _ in 0..<first { if let lastText { put(lastText) } }
    case "m": restyle(sequence.parameters)
    case "r": setRegion(sequence.parameters)
    case "h", "l": setModes(sequence)
    case "t", "q", "c", "g": break
    case "n" where sequence.parameters == [6]:
      cursorQuestions += 1
      answers += "\u{1B}[\(cursor.row + 1);\(cursor.column + 1)R".utf8
    case "p" where sequence.parameters == [2026]:
      questions += 1
      updateAnswers += "\u{1B}[?2026;2$y".utf8
    default: unknown.append("CSI \(sequence.intermediate)\(sequence.parameters)\(sequence.final)")
    }
  }

  private mutating func eraseScreen(_ part: Int) {
    switch part {
    case 0:
      eraseLine(0)
      for row in min(cursor.row + 1, size.rows)..<size.rows { places[row] = emptyRow }
    case 1:
      eraseLine(1)
      for row in 0..<cursor.row { places[row] = emptyRow }
    default:
      for row in 0..<size.rows { places[row] = emptyRow }
    }
  }

  private mutating func eraseLine(_ part: Int) {
    let columns: Range<Int> =
      switch part {
      case 0: cursor.column..<size.columns
      case 1: 0..<cursor.column + 1
      default: 0..<size.columns
      }
    for column in columns { places[cursor.row][column] = emptyPlace }
  }

  private mutating func insertLines(_ count: Int) {
    guard (regionTop...regionBottom).contains(cursor.row) else { return }
    for _ in 0..<min(count, regionBottom - cursor.row + 1) {
      places.remove(at: regionBottom)
      places.insert(emptyRow, at: cursor.row)
    }
  }

  private mutating func deleteLines(_ count: Int) {
    guard (regionTop...regionBottom).contains(cursor.row) else { return }
    for _ in 0..<min(count, regionBottom - cursor.row + 1) {
      places.remove(at: cursor.row)
      places.insert(emptyRow, at: regionBottom)
    }
  }

  private mutating func deletePlaces(_ count: Int) {
    let count = min(count, size.columns - cursor.column)
    places[cursor.row].removeSubrange(cursor.column..<cursor.column + count)
    places[cursor.row] += Array(repeating: emptyPlace, count: count)
  }

  private mutating func insertPlaces(_ count: Int) {
    let count = min(count, size.columns - cursor.column)
    places[cursor.row].insert(contentsOf: Array(repeating: emptyPlace, count: count), at: cursor.column)
    places[cursor.row].removeLast(count)
  }

  private mutating func setRegion(_ parameters: [Int]) {
    let top = max(1, parameters.first ?? 1)
    let bottom = parameters.count > 1 && parameters[1] > 0 ? parameters[1] : size.rows
    regionTop = min(top, size.rows) - 1
    regionBottom = min(bottom, size.rows) - 1
    cursor = .zero
  }

  private mutating func setModes(_ sequence: SequenceDecoder.Sequence) {
    guard sequence.intermediate == "?" else { return }
    for mode in sequence.parameters {
      if sequence.final == "h" { modes.insert(mode) } else { modes.remove(mode) }
      if sequence.final == "l" { timesOff[mode, default: 0] += 1 }
      switch mode {
      case 7: wrapsAtEdge = sequence.final == "h"
      case 2026: markFrame(begins: sequence.final == "h")
      case 1049, 47, 1047: exchangeScreens(sequence.final == "h")
      default: break
      }
    }
  }

  private mutating func exchangeScreens(_ toAlternate: Bool) {
    if toAlternate, mainScreen == nil {
      mainScreen = places
      savedCursor = cursor
      for row in 0..<size.rows { places[row] = Array(repeating: Place(), count: size.columns) }
    } else if !toAlternate, let main = mainScreen {
      places = main
      cursor = savedCursor
      mainScreen = nil
    }
  }

  private mutating func restyle(_ parameters: [Int]) {
    var rest = parameters.isEmpty ? [0] : parameters[...]
    while let code = rest.popFirst() {
      switch code {
      case 0: look = Look()
      case 1: look.isBold = true
      case 2: look.isDim = true
      case 3: look.isItalic = true
      case 4: look.isUnderlined = true
      case 7: look.isReversed = true
      case 22: (look.isBold, look.isDim) = (false, false)
      case 23: look.isItalic = false
      case 24: look.isUnderlined = false
      case 27: look.isReversed = false
      case 30...37: look.foreground = code - 30
      case 90...97: look.foreground = code - 82
      case 39: look.foreground = nil
      case 40...47: look.background = code - 40
      case 100...107: look.background = code - 92
      case 49: look.background = nil
      case 38 where rest.first == 5, 48 where rest.first == 5:
        rest = rest.dropFirst()
        let color = rest.popFirst()
        if code == 38 { look.foreground = color } else { look.background = color }
      case 10, 11: break
      default: unknown.append("SGR \(code)")
      }
    }
  }
}
