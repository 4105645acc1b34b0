import StrataModel
import StrataTerminal

/// A pane that shows the reply to one question: what it does until the reply is there.
protocol ReplyPane: Pane {
  /// The work of its question.
  static var question: WorkSlot { get }
  var reading: Reading { get set }
}

/// The state of a question without a reply.
struct Reading: Sendable, Hashable {
  var done = 0
  var problem: String?

  var note: String { done > 0 ? "\(NumberFormat.count(done)) records read" : "reading…" }
}

extension ReplyPane {
  mutating func progressed(_ progress: Progress, of slot: WorkSlot, in session: inout Session) {
    if slot == Self.question { reading.done = progress.done }
  }

  mutating func failed(_ error: ModelError, of slot: WorkSlot, in session: inout Session) {
    if slot == Self.question { reading.problem = error.description } else { session.complain(error) }
  }

  mutating func cancelled(_ slot: WorkSlot, in session: inout Session) {
    if slot == Self.question { session.intend(.closeView(id)) }
  }
}

extension CellGrid {
  /// Draws the titles of columns, the selected one underlined.
  mutating func titles(
    _ titles: [String], _ slots: [TableGeometry.Slot], selected: Int, from start: Point, isTrailing: Bool, theme: Theme
  ) {
    for slot in slots {
      var style = theme.style(.header)
      if slot.column == selected { style = style.with(.underline) }
      write(
        titles[slot.column], at: Point(column: start.column + slot.x, row: start.row), width: slot.width, style: style,
        alignment: isTrailing ? .trailing : .leading)
    }
  }
}
