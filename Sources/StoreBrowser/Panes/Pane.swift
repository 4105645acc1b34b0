import StrataModel
import StrataTerminal

/// One pane: a state, its commands, its requests for missing data, and its picture. An overlay that lies over the other panes for a moment
/// (a prompt, the review, a menu) is a pane too.
///
/// A pane never touches the store and never paints: it starts work through the session, takes the replies, and draws into a grid. It asks
/// the rest of the browser for something with an intent.
protocol Pane: Sendable {
  /// Its row of the pane table.
  static var entry: PaneEntry { get }

  // MARK: Keys

  /// Why a command does not work here now, as a sentence; nil if it works. Asked only for commands whose contexts contain this pane.
  func refusal(of command: Command, in session: Session) -> String?
  /// Runs a command. Returns false if the pane does not handle it.
  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool
  /// Moves the selection as a command asks, if the pane is a list. Returns false for any other command.
  mutating func move(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool
  /// Runs a command that all lists of values have: find, save. Returns false for any other command.
  mutating func runOnRows(_ command: Command, argument: String?, in session: inout Session) -> Bool
  /// Scrolls, if the pane is a list, so that the selection is visible.
  mutating func reveal(_ frame: PaneFrame, _ session: Session)
  /// Takes a key as text, if text is typed here. Returns false if the key is for the keymap.
  mutating func type(_ chord: KeyChord, in session: inout Session) -> Bool
  /// Takes pasted text. Returns false if there is nothing to paste into.
  mutating func paste(_ text: String, in session: inout Session) -> Bool
  /// Handles a click on a cell inside the border.
  mutating func click(at point: Point, frame: PaneFrame, in session: inout Session)

  // MARK: Work

  /// Requests the data that is missing for the picture; called after every message while the pane is on the screen.
  mutating func demand(frame: PaneFrame, in session: inout Session)
  /// Takes a reply to work of its row.
  mutating func answered(_ reply: any Sendable, in session: inout Session)
  /// Takes the results of running work so far.
  mutating func progressed(_ progress: Progress, of slot: WorkSlot, in session: inout Session)
  /// Runs the command that waited for what has been read now.
  mutating func goOn(in session: inout Session)
  /// Takes the failure of work of its row. By default the status line shows the error.
  mutating func failed(_ error: ModelError, of slot: WorkSlot, in session: inout Session)
  /// Asks again for what it could not read; called when the store's server is back.
  mutating func askAgain(in session: inout Session)
  /// Called when the user has cancelled work of its row.
  mutating func cancelled(_ slot: WorkSlot, in session: inout Session)

  // MARK: Picture

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session)
  /// Draws the differences from the picture of a former state over that picture; session and rectangle are the same. Returns false, with
  /// nothing drawn, if everything must be drawn.
  func redraw(on grid: inout CellGrid, after former: any Pane, frame: PaneFrame, session: Session) -> Bool
  /// Whether its picture is the same as another state's, with the same session and rectangle.
  func isDrawn(like other: any Pane, frame: PaneFrame) -> Bool
  /// Whether it has nothing to show, so that a pane beside it may take most of its room.
  var leavesRoom: Bool { get }
  /// The parts of the session that only this pane's picture shows; see `PaneDrawings`.
  func drawingKey(_ session: Session) -> String
  /// The rectangle of an overlay, between title and status.
  func rect(in body: Rect, session: Session) -> Rect
  /// The commands to show in the footer at present.
  func footer(_ session: Session) -> [Command]
  /// A command's name in the footer, if that is not its own short name.
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
  mutating func runOnRows(_ command: Command, argument: String?, in session: inout Session) -> Bool { false }
  mutating func reveal(_ frame: PaneFrame, _ session: Session) {}
  mutating func type(_ chord: KeyChord, in session: inout Session) -> Bool { false }
  mutating func paste(_ text: String, in session: inout Session) -> Bool { false }
  mutating func click(at point: Point, frame: PaneFrame, in session: inout Session) {}
  mutating func demand(frame: PaneFrame, in session: inout Session) {}
  mutating func answered(_ reply: any Sendable, in session: inout Session) {}
  mutating func progressed(_ progress: Progress, of slot: WorkSlot, in session: inout Session) {}
  mutating func goOn(in session: inout Session) {}
  mutating func failed(_ error: ModelError, of slot: WorkSlot, in session: inout Session) {
    session.complain(error)
  }
  mutating func askAgain(in session: inout Session) {}
  mutating func cancelled(_ slot: WorkSlot, in session: inout Session) {}
  var leavesRoom: Bool { false }
  func rect(in body: Rect, session: Session) -> Rect { body }
  func footer(_ session: Session) -> [Command] { Self.entry.footer }
  func short(_ command: Command) -> String? { nil }
}

/// The rectangle of a pane, and whether it has the focus.
struct PaneFrame: Sendable, Hashable {
  var rect: Rect
  var isFocused: Bool
  /// Whether the pane shows what was read without damaged records.
  var leavesOut = false

  var inside: Rect { rect.inset(columns: 1, rows: 1) }
  var rows: Int { inside.rows }
  var columns: Int { inside.columns }

  fileprivate func footer(_ text: String, _ theme: Theme) -> String {
    leavesOut ? "\(theme.warningSign) damaged records left out  \(text)" : text
  }

  static let hidden = PaneFrame(rect: Rect(Size(columns: 0, rows: 0)), isFocused: false)
}

extension CellGrid {
  /// The border of a pane; the focused one is heavy and has a bold title.
  mutating func border(_ frame: PaneFrame, digit: Int?, title: String, footer: String, theme: Theme) {
    let text = digit.map { "\($0) \(title)" } ?? title
    self.frame(
      frame.rect, title: text, footer: frame.footer(footer, theme),
      style: theme.style(frame.isFocused ? .focusedBorder : .border),
      heavy: frame.isFocused)
  }

  /// Draws the border of a pane. If nothing else can be drawn, also writes why inside it, and returns false.
  mutating func begin(
    _ frame: PaneFrame, digit: Int? = nil, title: String, footer: String, problem: String?, note: String?, theme: Theme
  ) -> Bool {
    border(frame, digit: digit, title: title, footer: footer, theme: theme)
    if let problem {
      self.writeWrapped("\(theme.problemSign) \(problem)", in: frame.inside, style: theme.style(.problem))
    } else if let note {
      self.writeWrapped(note, in: frame.inside, style: theme.style(.dim))
    }
    return problem == nil && note == nil
  }

  /// Draws the lower edge of that border, with another footer.
  mutating func lowerEdge(_ frame: PaneFrame, footer: String, theme: Theme) {
    lowerEdge(
      frame.rect, footer: frame.footer(footer, theme), style: theme.style(frame.isFocused ? .focusedBorder : .border),
      heavy: frame.isFocused)
  }

  /// Makes a line look selected and puts the hardware cursor on it if the pane has the focus.
  mutating func select(_ rect: Rect, frame: PaneFrame, theme: Theme, cursorColumn: Int? = nil) {
    let look = theme.style(frame.isFocused ? .selected : .selectedElsewhere)
    var seen = rect
    // Without focus the line ends with its text: every blank that is underlined beyond it would have to be written.
    while !frame.isFocused, seen.columns > 1, self[Point(column: seen.right - 1, row: seen.top)].text == " " {
      seen = Rect(column: seen.left, row: seen.top, columns: seen.columns - 1, rows: seen.rows)
    }
    restyle(seen) { style in
      style.attributes.formUnion(look.attributes)
      // A selected line has one colour, whatever colours its parts have otherwise.
      (style.foreground, style.background) = (look.foreground, look.background)
      style.attributes.remove(.dim)
    }
    if frame.isFocused { cursor = Point(column: cursorColumn ?? rect.left, row: rect.top) }
  }

  /// Draws a line across a pane.
  mutating func rule(at start: Point, columns: Int, theme: Theme) {
    write(
      String(repeating: theme.isASCII ? "-" : "─", count: columns), at: start, width: columns, style: theme.style(.dim))
  }

  /// Writes sentences with a free column at each side, on as many lines as they need.
  mutating func writeWrapped(_ text: String, in rect: Rect, at gap: String = " ", style: Style = Style()) {
    let columns = max(1, rect.columns - 2)
    for (offset, line) in text.wrapped(to: columns, at: gap).enumerated() where offset < rect.rows {
      write(line, at: rect.at(1, offset), width: columns, style: style)
    }
  }
}

extension String {
  /// Returns the text as lines of at most `columns` cells, broken at spaces or at another gap, and within words that are wider.
  func wrapped(to columns: Int, at gap: String = " ") -> [String] {
    var lines: [String] = []
    for paragraph in split(separator: "\n", omittingEmptySubsequences: false) {
      var line = ""
      for word in paragraph.split(separator: gap).flatMap({ TextLines.folded(String($0), to: columns) }) {
        if !line.isEmpty, SafeText.width(line) + gap.count + SafeText.width(word) > columns {
          lines.append(line)
          line = ""
        }
        line += line.isEmpty ? word : gap + word
      }
      lines.append(line)
    }
    return lines
  }
}
