import StrataModel
import StrataTerminal

/// A pane that shows the reply to one question: how it asks, and what it does until the reply is there.
protocol ReplyPane: Pane {
  associatedtype Asked: Question
  /// The work of its question.
  static var question: WorkSlot { get }
  var reading: Reading<Asked> { get set }
}

/// A question with its reply, as far as it has come.
struct Reading<Asked: Question>: Sendable {
  /// The question that was asked last.
  var request: Asked?
  /// The last reply. It is of an earlier question while the present one is read.
  var reply: Asked.Reply?
  /// The question of the reply.
  private(set) var answered: Asked?
  /// The returns of the server when it was asked.
  private var returns = 0
  var done = 0
  var problem: String?
  /// Whether the user has ended the work; a reply may be there in part.
  var isStopped = false

  var note: String { done > 0 ? "\(NumberFormat.count(done)) records read" : "reading…" }

  /// Takes a reply to the question that was asked last: a slot reports no earlier one. Leaves replies of other types, and any reply if
  /// nothing is asked any more.
  mutating func take(_ reply: any Sendable) {
    if let request, let reply = reply as? Asked.Reply { (self.reply, answered) = (reply, request) }
  }
}

extension Reading where Asked: Equatable {
  /// Asks a question, unless it is the one that was asked last. When a server is back, one without a reply is asked again.
  mutating func ask(_ request: Asked, as slot: WorkSlot, label: String = "", in session: inout Session) {
    guard request != self.request || (request != answered && returns != session.returns) else { return }
    (self.request, returns, problem) = (request, session.returns, nil)
    session.start(slot, request, label: label)
  }
}

/// A question about the rows of a table as of a commit.
protocol RowsQuestion: Question, Equatable {
  var source: RowSource { get }
  var commit: CommitNumber { get set }
  /// The ranks of the rows at the commit, if they are known.
  var ranks: RowRanks? { get set }
}

extension RowsQuestion {
  package var readsOn: Bool { true }
}

extension Pane {
  /// Leads from what was made of some rows to those that meet some conditions. A limit applies to them, not to the rows before.
  func showRows(of source: RowSource, where conditions: [String], in session: inout Session) {
    if let limit = source.limit {
      session.warn("these are found among all rows, not among the first \(NumberFormat.count(limit)) alone")
    }
    session.intend(.closeView(id), .filter(source.filter(adding: conditions)))
  }
}

extension ReplyPane where Asked: RowsQuestion {
  /// Asks again for the shown commit, unless the user has ended the work. The last reply stays until the next one is there.
  mutating func demand(frame: PaneFrame, in session: inout Session) {
    guard var request, frame != .hidden, request.commit != session.shown, request.source.limit == nil,
      !reading.isStopped, !session.isRunning(Self.question)
    else { return }
    (request.commit, request.ranks) = (session.shown, nil)
    reading.ask(request, as: Self.question, label: "\(Self.question.name) of \(request.source.datastore)", in: &session)
  }

  /// The filter, the range and the limit of the rows, and the commit of the reply if another one is shown.
  func scope(_ session: Session) -> [String] {
    let commit = reading.answered.flatMap { $0.commit == session.shown ? nil : "as of \($0.commit)" }
    return (request?.source.narrowing ?? []) + [commit].compactMap(\.self)
  }
}

extension ReplyPane where Self: ListPane {
  func isWhole(_ session: Session) -> Bool {
    !session.isRunning(Self.question) && (reading.problem == nil || reply != nil)
  }
}

extension ReplyPane where Self: ListPane, Asked: RowsQuestion {
  mutating func answered(_ reply: any Sendable, in session: inout Session) {
    keepingSelection(session) { $0.reading.take(reply) }
  }
}

extension Reading: Equatable where Asked: Equatable, Asked.Reply: Equatable {}

extension ReplyPane {
  var request: Asked? { reading.request }
  var reply: Asked.Reply? { reading.reply }

  /// Draws the border, and inside it why there is nothing else to draw. Returns the reply otherwise, also if a later one failed.
  ///
  /// - Parameter note: why the reply is empty; nil if it is not.
  func begin(
    on grid: inout CellGrid, _ frame: PaneFrame, title: String, footer: [String], note: String?, _ session: Session
  ) -> Asked.Reply? {
    let isBegun = grid.begin(
      frame, title: title, footer: footer.joined(separator: " \(session.theme.dot) "),
      problem: reply == nil ? reading.problem : nil, note: reply == nil ? reading.note : note, theme: session.theme)
    return isBegun ? reply : nil
  }

  mutating func answered(_ reply: any Sendable, in session: inout Session) { reading.take(reply) }

  mutating func progressed(_ progress: Progress, of slot: WorkSlot, in session: inout Session) {
    guard slot == Self.question else { return }
    reading.done = progress.done
    if case .part(let part) = progress.found { answered(part.value, in: &session) }
  }

  mutating func failed(_ error: ModelError, of slot: WorkSlot, in session: inout Session) {
    if slot == Self.question { reading.problem = error.description }
    if slot != Self.question || reply != nil { session.complain(error) }
  }

  mutating func askAgain(in session: inout Session) {
    guard reading.problem != nil, let request else { return }
    reading.problem = nil
    session.start(Self.question, request, label: Self.question.name)
  }

  mutating func cancelled(_ slot: WorkSlot, in session: inout Session) {
    guard slot == Self.question else { return }
    reading.isStopped = true
    if reply == nil { session.intend(.closeView(id)) }
  }
}

extension Browser {
  /// The rows of the table; nil if a command about them waits, because the rows are limited and not all found, or if there are none.
  mutating func openRows(for command: Command, _ argument: String?) -> RowSource? {
    guard let source = table.source, source.limit == nil || !waitsForRows(command, argument) else { return nil }
    if table.opened == nil { session.warn(table.problem ?? "the rows are still being read") }
    return table.opened == nil ? nil : source
  }
}

extension CellGrid {
  /// Draws the titles of columns, the selected one underlined, and signs where columns are out of sight.
  ///
  /// - Parameters:
  ///   - count: the number of columns.
  ///   - isTrailing: whether the title of a column stands at the right.
  ///   - title: the title of a column, cut to its width.
  mutating func titles(
    of count: Int, _ slots: [TableGeometry.Slot], selected: Int, in inside: Rect, from left: Int, theme: Theme,
    isTrailing: (Int) -> Bool, title: (TableGeometry.Slot) -> String
  ) {
    let style = theme.style(.header)
    let isCut = slots.last.map { $0.column + 1 < count } ?? (count > 0)
    var next = 0
    for slot in slots {
      let (text, room) = (title(slot), inside.columns - left - slot.x)
      // The sign at the right covers the end of a title only if that is cut.
      let isBesideSign = isCut && SafeText.width(text) < room
      write(
        text, at: inside.at(left + slot.x), width: max(0, min(slot.width, isBesideSign ? room - 1 : room)),
        style: slot.column == selected ? style.with(.underline) : style,
        alignment: isTrailing(slot.column) ? .trailing : .leading)
      if slot.column > next { write(theme.unseen, at: inside.at(left + slot.x - 1), width: 1, style: style) }
      next = slot.column + 1
    }
    if isCut { write(theme.separator, at: inside.at(inside.columns - 1), width: 1, style: style) }
  }
}
