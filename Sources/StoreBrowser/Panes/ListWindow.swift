import StrataEngine

/// The position in a list of any length: the selected line and the first visible one.
struct ListWindow: Sendable, Hashable {
  var selection = 0
  var top = 0
  /// The command that waits for lines that are not read yet.
  var awaited: AwaitedCommand?

  /// Moves by lines and stays within the list.
  mutating func move(by lines: Int, count: Int) { select(selection + lines, count: count) }

  mutating func select(_ line: Int, count: Int) { selection = max(0, min(line, count - 1)) }

  /// Selects the next line that passes a test, round to the selected one, in the direction of a command of searches; `search` itself may
  /// stay where it is. Returns whether it went past an end of the list, or nil if no line passes.
  mutating func select<Failure>(
    _ command: Command, count: Int, where isFound: (Int) throws(Failure) -> Bool
  ) throws(Failure) -> Bool? {
    let step = command == .searchPrevious ? -1 : 1
    for distance in 0..<count {
      let line = selection + (command == .search ? distance : (distance + 1) * step)
      let place = (line % count + count) % count
      guard try isFound(place) else { continue }
      selection = place
      return place != line
    }
    return nil
  }

  /// Returns the next of some ascending numbers, round to the first or the last, in the direction of a command of searches.
  static func next(_ command: Command, of numbers: some BidirectionalCollection<Int>, from here: Int) -> Int? {
    switch command {
    case .searchPrevious: numbers.last { $0 < here } ?? numbers.last
    case .searchNext: numbers.first { $0 > here } ?? numbers.first
    default: numbers.first { $0 >= here } ?? numbers.first
    }
  }

  /// Returns the selected one of the lines, or nil if there is none.
  func selected<Line>(of lines: [Line]) -> Line? { lines.indices.contains(selection) ? lines[selection] : nil }

  /// Scrolls so that the selection is among the visible rows: only as far as needed for a step, but after a jump so that the selection is
  /// in the middle.
  mutating func reveal(rows: Int, count: Int) {
    selection = max(0, min(selection, count - 1))
    guard rows > 0 else {
      top = selection
      return
    }
    if selection < top - 1 || selection > top + rows {
      top = selection - rows / 2
    } else if selection < top {
      top = selection
    } else if selection >= top + rows {
      top = selection - rows + 1
    }
    top = max(0, min(top, count - rows))
  }

  /// Moves as a movement command asks. Returns false for any other command.
  mutating func move(_ command: Command, argument: String?, rows: Int, count: Int) -> Bool {
    switch command {
    case .down: move(by: 1, count: count)
    case .up: move(by: -1, count: count)
    case .first: select(0, count: count)
    case .last: select(count - 1, count: count)
    case .halfDown: page(by: max(1, rows / 2), rows: rows, count: count)
    case .halfUp: page(by: -max(1, rows / 2), rows: rows, count: count)
    case .pageDown: page(by: max(1, rows - 1), rows: rows, count: count)
    case .pageUp: page(by: -max(1, rows - 1), rows: rows, count: count)
    case .goTo:
      guard let line = Position(argument ?? "")?.line(from: selection, count: count) else { return false }
      select(line, count: count)
    default: return false
    }
    return true
  }

  /// Moves selection and view together, as a pager does.
  private mutating func page(by lines: Int, rows: Int, count: Int) {
    top = max(0, min(top + lines, max(0, count - rows)))
    move(by: lines, count: count)
    reveal(rows: rows, count: count)
  }
}

/// A command that waits until the lines that it is about were read.
struct AwaitedCommand: Sendable, Hashable {
  var command: Command
  var argument: String?
}

/// A position as it is typed after `:`: `812`, `50%`, `+12`, `-12`.
enum Position: Hashable, Sendable {
  case row(Int)
  case percent(Double)
  case relative(Int)

  init?(_ text: String) {
    if text.hasSuffix("%") {
      guard let part = Double(text.dropLast()), part >= 0 else { return nil }
      self = .percent(min(part, 100))
    } else if let first = text.first, first == "+" || first == "-" {
      guard let lines = Int(text) else { return nil }
      self = .relative(lines)
    } else {
      guard let row = Int(text), row >= 0 else { return nil }
      self = .row(row)
    }
  }

  /// Returns the line that it means, from 0; may be outside the list.
  func line(from selection: Int, count: Int) -> Int {
    switch self {
    case .row(let row): max(0, row - 1)
    case .percent(let part): Int((Double(max(0, count - 1)) * part / 100).rounded())
    case .relative(let lines): selection.addingClamped(lines)
    }
  }
}
