import StrataModel
import StrataTerminal

/// The panes as they were last drawn: a pane that did not change is not drawn again.
struct PaneDrawings: Sendable {
  private struct Drawn: Sendable {
    var pane: any Pane
    var frame: PaneFrame
    /// The parts of the session that only this pane shows.
    var further: String
    /// The position of the terminal's cursor, if the pane sets it.
    var cursor: Point?
  }

  /// Everything but the overlays.
  private(set) var grid = CellGrid(size: Size(columns: 0, rows: 0))
  private var drawn: [PaneID: Drawn] = [:]
  private var surroundings: Surroundings?
  private var lines: ScreenLines?
  /// The number of whole drawings of panes, for the tests.
  private(set) var count = 0

  /// Redraws the changed panes of a layout.
  mutating func draw(_ placed: [(pane: any Pane, frame: PaneFrame)], size: Size, session: Session) {
    let surroundings = Surroundings(session)
    if grid.size != size || surroundings != self.surroundings || drawn.count != placed.count
      || placed.contains(where: { drawn[$0.pane.id]?.frame.rect != $0.frame.rect })
    {
      grid = CellGrid(size: size)
      drawn = [:]
      lines = nil
      self.surroundings = surroundings
    }
    var cursor: Point?
    for (pane, frame) in placed {
      let further = pane.drawingKey(session)
      let known = drawn[pane.id].flatMap { $0.frame == frame && $0.further == further ? $0 : nil }
      if let known, pane.isDrawn(like: known.pane, frame: frame) {
        cursor = known.cursor ?? cursor
        continue
      }
      grid.cursor = nil
      if known.map({ pane.redraw(on: &grid, after: $0.pane, frame: frame, session: session) }) != true {
        if drawn[pane.id] != nil { grid.fill(frame.rect) }
        pane.draw(on: &grid, frame: frame, session: session)
        count += 1
      }
      drawn[pane.id] = Drawn(pane: pane, frame: frame, further: further, cursor: grid.cursor)
      cursor = grid.cursor ?? cursor
    }
    grid.cursor = cursor
  }

  /// Redraws the lines above and below the panes if they changed.
  mutating func draw(_ lines: ScreenLines, _ layout: Layout) {
    guard lines != self.lines else { return }
    lines.draw(on: &grid, layout)
    self.lines = lines
  }

  /// The parts of the session that all panes show.
  fileprivate struct Surroundings: Sendable, Equatable {
    var theme: Theme
    var joining: SafeText.Joining
    var day: String
    var shown: CommitNumber
    var head: CommitNumber
    var asOf: CommitNumber?
    var datastore: String?
    var source: RowSource?
    var outline: Outline?
    var outlineProblem: String?
    var letters: [LetterNotice]
    var stagedRevision: Int
    var remembered: Remembered
    var readsAsLines: Bool
    var canWarmUp: Bool
    var markedText: SearchText?
  }
}

extension PaneDrawings.Surroundings {
  init(_ session: Session) {
    self.init(
      theme: session.theme, joining: SafeText.joining, day: session.time.day(session.now), shown: session.shown,
      head: session.head, asOf: session.asOf, datastore: session.datastore, source: session.selections.source,
      outline: session.outline, outlineProblem: session.outlineProblem, letters: session.status.letters,
      stagedRevision: session.stagedRevision, remembered: session.remembered, readsAsLines: session.readsAsLines,
      canWarmUp: session.configuration.canWarmUp, markedText: session.markedText)
  }
}

extension Pane {
  /// A pane that cannot be compared is always drawn.
  func isDrawn(like other: any Pane, frame: PaneFrame) -> Bool { false }
  func redraw(on grid: inout CellGrid, after former: any Pane, frame: PaneFrame, session: Session) -> Bool { false }
  func drawingKey(_ session: Session) -> String { "" }
}

extension Pane where Self: Equatable {
  func isDrawn(like other: any Pane, frame: PaneFrame) -> Bool { (other as? Self) == self }
}
