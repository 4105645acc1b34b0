/// A command of the browser, by the name that is typed after `:`, written in a script and bound in the config file. Its
/// title, its keys, its panes and its effect are its row in `CommandTable`.
package struct Command: RawRepresentable, ExpressibleByStringLiteral, Sendable, Hashable {
  package let rawValue: String

  /// A command of the table by its name; nil if there is none.
  package init?(rawValue: String) {
    guard CommandTable.isKnown(rawValue) else { return nil }
    self.rawValue = rawValue
  }

  package init(stringLiteral name: String) { rawValue = name }
}

extension Command {
  /// Whether its argument is searched for while it is typed.
  var isSearch: Bool { self == .search || self == .searchColumn }

  // Moving
  package static let down: Command = "down"
  package static let up: Command = "up"
  package static let left: Command = "left"
  package static let right: Command = "right"
  package static let first: Command = "first"
  package static let last: Command = "last"
  package static let halfDown: Command = "half-down"
  package static let halfUp: Command = "half-up"
  package static let pageDown: Command = "page-down"
  package static let pageUp: Command = "page-up"
  package static let goTo: Command = "go"
  package static let nextRecord: Command = "next-record"

  // Panes and places
  package static let pane2: Command = "pane-2"
  package static let nextPane: Command = "next-pane"
  package static let larger: Command = "larger"
  package static let open: Command = "open"
  package static let escape: Command = "escape"
  package static let close: Command = "close"
  package static let quit: Command = "quit"
  package static let interrupt: Command = "interrupt"
  package static let setBookmark: Command = "bookmark"
  package static let goToBookmark: Command = "go-bookmark"
  package static let finder: Command = "find"

  // Table
  package static let mark: Command = "mark"
  package static let range: Command = "range"
  package static let search: Command = "search"
  package static let searchColumn: Command = "search-column"
  package static let searchNext: Command = "search-next"
  package static let searchPrevious: Command = "search-previous"
  package static let filter: Command = "filter"
  package static let filterLike: Command = "filter-like"
  package static let sort: Command = "sort"
  package static let sortReverse: Command = "sort-reverse"
  package static let sortFurther: Command = "sort-further"
  package static let frequency: Command = "frequency"
  package static let hideColumn: Command = "hide-column"
  package static let unhideColumns: Command = "unhide-columns"
  package static let narrowColumn: Command = "narrow-column"
  package static let widenColumn: Command = "widen-column"
  package static let freezeColumn: Command = "freeze-column"
  package static let columnLeft: Command = "column-left"
  package static let columnRight: Command = "column-right"
  package static let nameView: Command = "view"
  package static let computedColumn: Command = "column"
  package static let join: Command = "join"
  package static let group: Command = "group"
  package static let pivot: Command = "pivot"

  // Record and values
  package static let form: Command = "form"
  package static let transpose: Command = "side-by-side"
  package static let copyValue: Command = "copy-value"
  package static let copyPath: Command = "copy-path"
  package static let copyKey: Command = "copy-key"
  package static let copyRecord: Command = "copy-record"
  package static let scalars: Command = "scalars"
  package static let referrers: Command = "referrers"
  package static let blame: Command = "blame"
  package static let export: Command = "export"

  // Index
  package static let lowerBound: Command = "lower-bound"
  package static let upperBound: Command = "upper-bound"
  package static let verify: Command = "verify"
  package static let addIndex: Command = "add-index"
  package static let rebuildIndex: Command = "rebuild-index"
  package static let dropIndex: Command = "drop-index"
  package static let scale: Command = "scale"
  package static let equalParts: Command = "equal-parts"
  package static let share: Command = "share"

  // History
  package static let history: Command = "history"
  package static let storeHistory: Command = "store-history"
  package static let travel: Command = "travel"
  package static let olderCommit: Command = "older"
  package static let newerCommit: Command = "newer"
  package static let difference: Command = "difference"
  package static let pickaxe: Command = "pickaxe"
  package static let fold: Command = "fold"
  package static let pin: Command = "pin"
  package static let expandAll: Command = "expand-all"

  // Writing
  package static let edit: Command = "edit"
  package static let editExternally: Command = "edit-externally"
  package static let insert: Command = "insert"
  package static let duplicate: Command = "duplicate"
  package static let paste: Command = "paste"
  package static let deleteRecord: Command = "delete-record"
  package static let valueMenu: Command = "value-menu"
  package static let moveUp: Command = "move-up"
  package static let moveDown: Command = "move-down"
  package static let leaveOut: Command = "leave-out"
  package static let restoreRecord: Command = "restore-record"
  package static let restoreField: Command = "restore-field"
  package static let revert: Command = "revert"
  package static let undo: Command = "undo"
  package static let review: Command = "review"
  package static let set: Command = "set"
  static let takeMine: Command = "take-mine"
  static let takeTheirs: Command = "take-theirs"
  static let markStale: Command = "mark-stale"
  static let listChanges: Command = "list-changes"
  static let stepBack: Command = "step-back"

  // Other copies of the store
  package static let merge: Command = "merge"
  package static let takeBase: Command = "take-base"
  package static let takeBack: Command = "take-back"
  package static let settleRest: Command = "settle-rest"
  package static let commitMerge: Command = "commit-merge"
  package static let fetchCommits: Command = "fetch"
  package static let sendCommits: Command = "send"
  package static let exchange: Command = "exchange"
  package static let addRemote: Command = "remote"
  package static let removeRemote: Command = "forget-remote"

  // The store as a whole
  package static let compact: Command = "compact"
  package static let copyStore: Command = "copy"

  // Migration
  package static let retry: Command = "retry"
  package static let log: Command = "log"

  // Program
  package static let palette: Command = "palette"
  package static let chartForm: Command = "chart-form"
  package static let help: Command = "help"
  package static let repaint: Command = "repaint"
  package static let suspend: Command = "suspend"
}
