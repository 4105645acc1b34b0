import DatastoreModel
import TerminalKit

/// One pane: a state, what commands do to it, what it lacks, and its picture. What lies over the others for a moment (a
/// prompt, the review, a menu) is a pane too.
///
/// A pane never touches the store and never paints: it starts work through the session, hears the answers, and draws
/// into a grid. What it wants of the rest of the browser it says as an intent.
protocol Pane: Sendable {
  /// Its row of the pane table.
  static var entry: PaneEntry { get }

  // MARK: Keys

  /// Why a command does not work here now, as a sentence; nil where it works. Asked only for commands whose contexts
  /// hold this pane.
  func refusal(of command: Command, in session: Session) -> String?
  /// Does a command; false where the pane has nothing to do with it.
  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool
  /// Moves as a command of moving asks, where it is a list; false for any other command.
  mutating func move(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool
  /// Scrolls, where it is a list, so that what is selected is in sight.
  mutating func reveal(_ frame: PaneFrame, _ session: Session)
  /// Takes a key as text, where text is typed here; false where the key is for the keymap.
  mutating func type(_ chord: KeyChord, in session: inout Session) -> Bool
  /// Takes pasted text; false where there is nothing to paste into.
  mutating func paste(_ text: String, in session: inout Session) -> Bool
  /// A click on a cell of the inside.
  mutating func click(at point: Point, frame: PaneFrame, in session: inout Session)

  // MARK: Work

  /// Asks for what it lacks to show what it should; called after every message while it is on the screen.
  mutating func demand(frame: PaneFrame, in session: inout Session)
  /// Hears an answer to work of its row.
  mutating func answered(_ reply: any Sendable, in session: inout Session)
  /// Hears what running work found so far.
  mutating func progressed(_ progress: Progress, of slot: WorkSlot, in session: inout Session)
  /// Hears that work of its row failed. Where it does nothing about it, the status line says why.
  mutating func failed(_ error: ModelError, of slot: WorkSlot, in session: inout Session)
  /// Hears that a person called work of its row off.
  mutating func cancelled(_ slot: WorkSlot, in session: inout Session)

  // MARK: Picture

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session)
  /// Draws over the picture of a former state, the session and the place being the same, what differs from it; false, with nothing
  /// drawn, where all of it is to be drawn.
  func redraw(on grid: inout CellGrid, after former: any Pane, frame: PaneFrame, session: Session) -> Bool
  /// Whether its picture is the same as another state's, the session and the place being the same.
  func isDrawn(like other: any Pane, frame: PaneFrame) -> Bool
  /// What its picture shows of the session that other panes do not; see `PaneDrawings`.
  func further(_ session: Session) -> String
  /// Where it lies, as an overlay, between title and status.
  func rect(in body: Rect, session: Session) -> Rect
  /// The commands at the foot of the screen as things stand.
  func footer(_ session: Session) -> [Command]
  /// What a command is called at the foot, where that is not its own short name.
  func short(_ command: Command) -> String?
}

extension Pane {
  var id: PaneID { Self.entry.id }

  func refusal(of command: Command, in session: Session) -> String? { nil }
  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    false
  }
  mutating func move(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    false
  }
  mutating func reveal(_ frame: PaneFrame, _ session: Session) {}
  mutating func type(_ chord: KeyChord, in session: inout Session) -> Bool { false }
  mutating func paste(_ text: String, in session: inout Session) -> Bool { false }
  mutating func click(at point: Point, frame: PaneFrame, in session: inout Session) {}
  mutating func demand(frame: PaneFrame, in session: inout Session) {}
  mutating func answered(_ reply: any Sendable, in session: inout Session) {}
  mutating func progressed(_ progress: Progress, of slot: WorkSlot, in session: inout Session) {}
  mutating func failed(_ error: ModelError, of slot: WorkSlot, in session: inout Session) {
    session.complain(error)
  }
  mutating func cancelled(_ slot: WorkSlot, in session: inout Session) {}
  func rect(in body: Rect, session: Session) -> Rect { body }
  func footer(_ session: Session) -> [Command] { Self.entry.footer }
  func short(_ command: Command) -> String? { nil }
}

/// Where a pane stands, and whether it has the keys.
struct PaneFrame: Sendable, Hashable {
  var rect: Rect
  var isFocused: Bool

  var inside: Rect { rect.inset(columns: 1, rows: 1) }
  var rows: Int { inside.rows }
  var columns: Int { inside.columns }

  static let hidden = PaneFrame(rect: Rect(Size(columns: 0, rows: 0)), isFocused: false)
}

extension CellGrid {
  /// The border of a pane; the focused one is heavy and has a bold title.
  mutating func border(_ frame: PaneFrame, digit: Int?, title: String, footer: String, theme: Theme) {
    let text = digit.map { "\($0) \(title)" } ?? title
    self.frame(
      frame.rect, title: text, footer: footer, style: theme.style(frame.isFocused ? .focusedBorder : .border),
      heavy: frame.isFocused)
  }

  /// The border of a pane, and inside of it why there is nothing else to draw, if so; false then.
  mutating func begin(
    _ frame: PaneFrame, digit: Int? = nil, title: String, footer: String, problem: String?, note: String?, theme: Theme
  ) -> Bool {
    border(frame, digit: digit, title: title, footer: footer, theme: theme)
    if let problem {
      self.note("\(theme.problemSign) \(problem)", in: frame.inside, style: theme.style(.problem))
    } else if let note {
      self.note(note, in: frame.inside, style: theme.style(.dim))
    }
    return problem == nil && note == nil
  }

  /// The lower edge of that border, with another footer.
  mutating func lowerEdge(_ frame: PaneFrame, footer: String, theme: Theme) {
    lowerEdge(
      frame.rect, footer: footer, style: theme.style(frame.isFocused ? .focusedBorder : .border),
      heavy: frame.isFocused)
  }

  /// Makes a line look selected and puts the hardware cursor on it where the pane has the keys.
  mutating func select(_ rect: Rect, frame: PaneFrame, theme: Theme, cursorColumn: Int? = nil) {
    let look = theme.style(frame.isFocused ? .selected : .selectedElsewhere)
    var seen = rect
    // Beside the focus the line ends with its text: what is underlined further has to be written, blank by blank.
    while !frame.isFocused, seen.columns > 1, self[Point(column: seen.right - 1, row: seen.top)].text == " " {
      seen = Rect(column: seen.left, row: seen.top, columns: seen.columns - 1, rows: seen.rows)
    }
    restyle(seen) { style in
      style.attributes.formUnion(look.attributes)
      // A selected line is of one colour, whatever its parts are elsewhere.
      style.foreground = .standard
      style.attributes.remove(.dim)
    }
    if frame.isFocused { cursor = Point(column: cursorColumn ?? rect.left, row: rect.top) }
  }

  /// A line across a pane.
  mutating func rule(at start: Point, columns: Int, theme: Theme) {
    write(
      String(repeating: theme.isASCII ? "-" : "─", count: columns), at: start, width: columns, style: theme.style(.dim))
  }

  /// A sentence in the middle of an empty pane.
  mutating func note(_ text: String, in rect: Rect, style: Style) {
    for (offset, line) in text.wrapped(to: max(1, rect.columns - 2)).enumerated() where offset < rect.rows {
      write(line, at: Point(column: rect.left + 1, row: rect.top + offset), width: rect.columns - 2, style: style)
    }
  }
}

extension String {
  /// Lines of at most so many cells, broken at spaces.
  func wrapped(to columns: Int) -> [String] {
    var lines: [String] = []
    for paragraph in split(separator: "\n", omittingEmptySubsequences: false) {
      var line = ""
      for word in paragraph.split(separator: " ", omittingEmptySubsequences: true) {
        if !line.isEmpty, SafeText.width(line) + 1 + SafeText.width(String(word)) > columns {
          lines.append(line)
          line = ""
        }
        line += line.isEmpty ? String(word) : " \(word)"
      }
      lines.append(line)
    }
    return lines
  }
}
