/// The identity of a pane. Its name, its digit, its work and its view are in its row of `PaneTable`.
package struct PaneID: RawRepresentable, ExpressibleByStringLiteral, Sendable, Hashable {
  package let rawValue: String

  package init(rawValue: String) { self.rawValue = rawValue }
  package init(stringLiteral name: String) { rawValue = name }

  /// The digit in the title, which is also the key.
  var digit: Int? { PaneTable.entry(self).digit }

  init?(digit: Int) {
    guard let entry = PaneTable.panes.first(where: { $0.digit == digit }) else { return nil }
    self = entry.id
  }
}

/// The contents of the screen between title and footer: the main screen, or the view of a pane. Views are stacked; the lowest is always
/// `main`.
package struct ViewKind: Sendable, Hashable {
  /// The pane whose view it is; nil for the main screen.
  package let pane: PaneID?

  package static let main = ViewKind(of: nil)
  static let history = ViewKind(of: .history)
  static let difference = ViewKind(of: .difference)
  static let migration = ViewKind(of: .migration)

  /// The view in which a pane is opened when it is not on the screen.
  package init(of pane: PaneID?) { self.pane = pane }

  /// Its panes, the main one first.
  var panes: [PaneID] { pane.map { PaneTable.entry($0).view } ?? [.table, .stores, .record] }
}

/// The share of the screen that the focused pane takes.
package enum ScreenMode: Int, Sendable, Hashable { case normal, half, full }
