/// Where a command works.
extension CommandTable {
  /// The panes in which a command means something; empty is everywhere.
  static func contexts(of command: Command) -> [PaneID] {
    switch command {
    case .mark, .sort, .sortReverse, .filterLike, .hideColumn, .unhideColumns, .narrowColumn, .widenColumn,
      .freezeColumn, .columnLeft, .columnRight, .duplicate, .nameView, .set, .deleteShown:
      [.table]
    case .frequency: [.table, .record]
    case .range: [.table, .history]
    case .nextRecord, .previousRecord: [.record, .table]
    case .form, .moveUp, .moveDown: [.record]
    case .edit, .valueMenu, .insert, .paste, .deleteRecord: [.table, .record, .migration]
    case .editExternally: [.table, .record, .migration]
    case .blame, .scalars, .referrers: [.table, .record]
    case .copyValue, .copyKey: [.table, .record, .index, .history, .difference, .frequency, .pickaxe]
    case .copyPath: [.table, .record, .difference]
    case .copyRecord: [.table, .record]
    case .lowerBound, .upperBound: [.table, .index]
    case .restoreRecord: [.table, .record, .history, .difference]
    case .restoreField: [.record, .history, .difference]
    case .revert: [.history, .difference]
    case .leaveOut: [.table, .record, .stores, .migration]
    case .difference: [.table, .history, .difference]
    case .fold: [.history]
    case .log: [.migration]
    case .search: [.table, .index, .history, .record]
    case .searchNext, .searchPrevious: [.table, .history, .record]
    default: []
    }
  }

  /// The commands whose keys stand at the foot of the screen, the most useful first.
  static func footer(of pane: PaneID) -> [Command] {
    switch pane {
    case .stores: [.down, .open, .nextPane, .history, .storeHistory, .palette, .help, .close]
    case .table:
      [
        .down, .open, .edit, .review, .search, .filter, .sort, .history, .mark, .deleteRecord, .undo, .travel, .palette,
        .help, .close,
      ]
    case .record:
      [
        .down, .edit, .editExternally, .valueMenu, .form, .blame, .history, .copyValue, .nextRecord, .review, .help,
        .close,
      ]
    case .history: [.down, .open, .travel, .range, .difference, .revert, .restoreRecord, .pickaxe, .help, .close]
    case .difference: [.down, .open, .restoreField, .restoreRecord, .revert, .history, .help, .close]
    case .index: [.down, .filter, .lowerBound, .upperBound, .open, .search, .verify, .copyKey, .help, .close]
    case .migration: [.interrupt, .retry, .log, .editExternally, .leaveOut, .help, .close]
    case .frequency: [.down, .open, .copyValue, .help, .close]
    case .pickaxe: [.down, .open, .travel, .history, .help, .close]
    }
  }
}
