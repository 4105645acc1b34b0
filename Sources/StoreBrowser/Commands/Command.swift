/// Everything a person can ask of the browser, once.
///
/// The raw value is the name: what is typed after `:`, written in a script and bound in the config file. What a command
/// is called, which keys it has and what it says for itself stands in `CommandTable`.
package enum Command: String, CaseIterable, Sendable, Hashable {
  // Moving
  case down, up, left, right
  case first, last
  case halfDown = "half-down"
  case halfUp = "half-up"
  case pageDown = "page-down"
  case pageUp = "page-up"
  case goTo = "go"
  case nextRecord = "next-record"
  case previousRecord = "previous-record"

  // Panes and places
  case pane1 = "pane-1"
  case pane2 = "pane-2"
  case pane3 = "pane-3"
  case pane4 = "pane-4"
  case pane5 = "pane-5"
  case pane6 = "pane-6"
  case nextPane = "next-pane"
  case larger, smaller
  case open
  case escape
  case close
  case quit
  case interrupt
  case back, forward
  case setBookmark = "bookmark"
  case goToBookmark = "go-bookmark"

  // Table
  case mark
  case range
  case search
  case searchNext = "search-next"
  case searchPrevious = "search-previous"
  case filter
  case filterLike = "filter-like"
  case sort
  case sortReverse = "sort-reverse"
  case frequency
  case hideColumn = "hide-column"
  case unhideColumns = "unhide-columns"
  case narrowColumn = "narrow-column"
  case widenColumn = "widen-column"
  case freezeColumn = "freeze-column"
  case columnLeft = "column-left"
  case columnRight = "column-right"
  case nameView = "view"
  case forgetView = "forget-view"

  // Record and values
  case form
  case copyValue = "copy-value"
  case copyPath = "copy-path"
  case copyKey = "copy-key"
  case copyRecord = "copy-record"
  case scalars
  case referrers
  case blame
  case export

  // Index
  case lowerBound = "lower-bound"
  case upperBound = "upper-bound"
  case verify
  case addIndex = "add-index"
  case rebuildIndex = "rebuild-index"
  case dropIndex = "drop-index"

  // History
  case history
  case storeHistory = "store-history"
  case travel
  case olderCommit = "older"
  case newerCommit = "newer"
  case difference
  case pickaxe
  case fold
  case follow
  case pin
  case unpin

  // Writing
  case edit
  case editExternally = "edit-externally"
  case insert
  case duplicate
  case paste
  case deleteRecord = "delete-record"
  case valueMenu = "value-menu"
  case moveUp = "move-up"
  case moveDown = "move-down"
  case leaveOut = "leave-out"
  case restoreRecord = "restore-record"
  case restoreField = "restore-field"
  case revert
  case restoreStore = "restore"
  case undo, redo
  case review
  case set
  case deleteShown = "delete"

  // The store as a whole
  case compact
  case copyStore = "copy"

  // Migration
  case warmUp = "warm-up"
  case retry
  case log

  // Program
  case palette, help
  case mouse
  case headsUp = "hud"
  case recordMacro = "record"
  case replay
  case repaint
  case suspend
}
