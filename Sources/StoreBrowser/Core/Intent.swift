import StrataModel
import StrataDocuments

/// A request of a pane to the rest of the browser, which is fulfilled after the message that caused it.
struct Intent: Sendable {
  let fulfil: @Sendable (inout Browser) -> Void

  init(_ fulfil: @escaping @Sendable (inout Browser) -> Void) { self.fulfil = fulfil }

  static func openDatastore(_ key: String, index: String?) -> Self { Self { $0.openDatastore(key, index: index) } }
  static func order(by index: String?) -> Self { changingRows { $0.order(by: index) } }
  static func setRange(_ range: KeyInterval?) -> Self { changingRows { $0.setRange(range) } }
  static func filter(_ filter: String?) -> Self { changingRows { $0.setFilter(filter) } }
  static func show(_ source: RowSource, anchor: TableRequest.Anchor) -> Self {
    changingRows { $0.show(source, anchor: anchor) }
  }
  static func focus(_ pane: PaneID) -> Self { Self { $0.focusPane(pane) } }
  static func open(_ kind: ViewKind) -> Self { Self { $0.open(kind) } }
  /// Closes the view of a pane, where it is open.
  static func closeView(_ pane: PaneID) -> Self { Self { $0.closeView(of: pane) } }
  static func select(_ place: RecordPlace, field: DocumentPath? = nil) -> Self {
    Self { browser in
      browser.select(place)
      if let field { browser.record.select(field, of: place) }
    }
  }
  static func showHistory(_ scope: HistoryScope) -> Self { Self { $0.showHistory(scope) } }
  static func showDifference(_ old: CommitNumber?, _ new: CommitNumber) -> Self {
    Self { $0.showDifference(old, new) }
  }
  static func travel(_ commit: CommitNumber?) -> Self { Self { $0.travel(to: commit) } }
  /// Lays a pane over the others.
  static func present(_ overlay: any Pane) -> Self { Self { $0.present(overlay) } }
  /// Takes the topmost overlay away.
  static let dismiss = Self { $0.dismiss() }
  static func promptChanged(_ prompt: Prompt) -> Self { Self { $0.requestPreview(of: prompt) } }
  static func stage(_ step: StagedStep) -> Self { Self { $0.stage(step) } }
  /// Opens the review if anything is staged.
  static let reviewStaged = Self { if !$0.session.staged.isEmpty { $0.openReview() } }
  static func run(_ command: Command, argument: String?) -> Self { Self { $0.run(command, argument: argument) } }
  static func ask(_ command: Command) -> Self { Self { $0.ask(for: command) } }
  /// Takes over a move of the head that this browser has made.
  static func wrote(_ move: HeadMove) -> Self {
    Self { if move.from != move.to { $0.wrote(move.to, over: move.from) } }
  }
  /// Looks for commits that are not seen yet. Names may have changed though the head has not.
  static let look = Self { browser in
    browser.session.readOutline()
    browser.look()
  }

  /// Shows other rows, so that `^o` goes back to those before.
  private static func changingRows(_ change: @escaping @Sendable (inout TablePane) -> Void) -> Self {
    Self { browser in
      browser.recordJump()
      change(&browser.table)
    }
  }
}
