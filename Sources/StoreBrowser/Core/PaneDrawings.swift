import DatastoreModel
import TerminalKit

/// The panes as they were drawn last: one that did not change is not drawn again.
struct PaneDrawings: Sendable {
  private struct Drawn: Sendable {
    var pane: any Pane
    var frame: PaneFrame
    /// What the pane shows of the session that is not the same for all.
    var further: String
    /// Where the terminal's cursor stands, if the pane says so.
    var cursor: Point?
  }

  /// Everything but the overlays.
  private(set) var grid = CellGrid(size: Size(columns: 0, rows: 0))
  private var drawn: [PaneID: Drawn] = [:]
  private var surroundings: Surroundings?
  private var lines: ScreenLines?
  /// How often a pane was drawn as a whole, for the tests.
  private(set) var count = 0

  /// Draws the panes of a layout anew that changed.
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
      let further = pane.further(session)
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

  /// Draws the lines above and below the panes anew where they changed.
  mutating func draw(_ lines: ScreenLines, _ layout: Layout) {
    guard lines != self.lines else { return }
    lines.draw(on: &grid, layout)
    self.lines = lines
  }

  /// What all panes show of the session.
  private struct Surroundings: Sendable, Equatable {
    var theme: Theme
    var joining: SafeText.Joining
    var day: String
    var shown: CommitNumber
    var head: CommitNumber
    var asOf: CommitNumber?
    var datastore: String?
    var source: RowSource?
    var outline: Outline?
    var stagedRevision: Int
    var remembered: Remembered
    var readsAsLines: Bool
    var canWarmUp: Bool

    init(_ session: Session) {
      theme = session.theme
      joining = SafeText.joining
      day = session.time.day(session.now)
      shown = session.shown
      head = session.head
      asOf = session.asOf
      datastore = session.datastore
      source = session.looking.source
      outline = session.outline
      stagedRevision = session.stagedRevision
      remembered = session.remembered
      readsAsLines = session.readsAsLines
      canWarmUp = session.configuration.canWarmUp
    }
  }
}

extension Pane {
  /// Panes that cannot be compared are always drawn.
  func isDrawn(like other: any Pane, frame: PaneFrame) -> Bool { false }
  func redraw(on grid: inout CellGrid, after former: any Pane, frame: PaneFrame, session: Session) -> Bool { false }
  func further(_ session: Session) -> String { "" }
}

extension Pane where Self: Equatable {
  func isDrawn(like other: any Pane, frame: PaneFrame) -> Bool { (other as? Self) == self }
}
