/// The panes. Those with a number answer to its key.
package enum PaneID: String, Sendable, Hashable, CaseIterable {
  case stores, table, record, history, index, migration
  case difference, frequency, pickaxe

  /// The digit in the title, which is the key.
  var digit: Int? {
    switch self {
    case .stores: 1
    case .table: 2
    case .record: 3
    case .history: 4
    case .index: 5
    case .migration: 6
    default: nil
    }
  }

  init?(digit: Int) {
    guard let pane = Self.allCases.first(where: { $0.digit == digit }) else { return nil }
    self = pane
  }
}

/// What fills the screen between title and footer. Views lie on each other; the lowest is always `main`.
package enum ViewKind: String, Sendable, Hashable, CaseIterable {
  case main, record, history, difference, index, migration, frequency, pickaxe, table, stores

  /// The view in which a pane is opened when it is not on the screen.
  init(of pane: PaneID) {
    switch pane {
    case .stores: self = .stores
    case .table: self = .table
    case .record: self = .record
    case .history: self = .history
    case .index: self = .index
    case .migration: self = .migration
    case .difference: self = .difference
    case .frequency: self = .frequency
    case .pickaxe: self = .pickaxe
    }
  }

  /// Its panes, the main one first.
  var panes: [PaneID] {
    switch self {
    case .main: [.table, .stores, .record]
    case .record: [.record]
    case .history: [.history, .difference]
    case .difference: [.difference]
    case .index: [.index]
    case .migration: [.migration]
    case .frequency: [.frequency]
    case .pickaxe: [.pickaxe]
    case .table: [.table]
    case .stores: [.stores]
    }
  }
}

/// How much of the screen the focused pane takes.
package enum ScreenMode: Int, Sendable, Hashable { case normal, half, full }
