/// One row of the pane table: the properties of a pane that give it a place, keys and the results of work.
struct PaneEntry: Sendable {
  let id: PaneID
  /// The digit in the title, which is the key.
  var digit: Int?
  /// As help and the title line call it.
  let name: String
  /// The panes beside it in the view in which it opens if it is not on the screen.
  var companions: [PaneID] = []
  /// The work whose results, progress and failures it receives.
  var work: Set<WorkSlot> = []
  /// The commands whose keys stand at the foot of the screen, the most useful first. An overlay takes these, moving and
  /// leaving, and no others.
  let footer: [Command]
  /// The commands that come with it; others stand in `CommandTable`.
  var commands: [CommandEntry] = []
  /// Whether it asks for what it lacks also while it is not on the screen.
  var isAlwaysKept = false
  /// Whether it is a place of its own, in which keys may mean what they mean nowhere else, as in all overlays.
  var hasOwnKeys = false
  /// An empty one. Nil for overlays, which are made of what they are about.
  var make: (@Sendable () -> any Pane)?

  /// The panes of the view in which it opens, the main one first.
  var view: [PaneID] { [id] + companions }
}

/// The one table of panes. A new pane is its file, and its row and its name here.
enum PaneTable {
  /// Panes that stand in a layout.
  static let panes: [PaneEntry] = [
    StoresPane.entry, TablePane.entry, RecordPane.entry, HistoryPane.entry, IndexPane.entry, MigrationPane.entry,
    RemotesPane.entry, DifferencePane.entry, FrequencyPane.entry, PickaxePane.entry, DescribePane.entry, PlotPane.entry,
    MergePane.entry, GroupPane.entry, TransposePane.entry,
    PivotPane.entry,
  ]

  /// Panes that lie over the others and have the keys.
  static let overlays: [PaneEntry] = [
    Prompt.entry, HelpOverlay.entry, ReviewOverlay.entry, ValueEditor.entry, MenuOverlay.entry, TextOverlay.entry,
    BulkOverlay.entry, CompactOverlay.entry, ImportOverlay.entry, FinderOverlay.entry,
  ]

  static let all = panes + overlays

  static func entry(_ id: PaneID) -> PaneEntry { byID[id] ?? PaneEntry(id: id, name: id.rawValue, footer: []) }

  private static let byID = Dictionary(all.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })

  /// The panes that receive the results of a kind of work.
  static func listeners(of slot: WorkSlot) -> [PaneID] { bySlot[slot] ?? [] }

  private static let bySlot: [WorkSlot: [PaneID]] = all.reduce(into: [:]) { result, entry in
    for slot in entry.work { result[slot, default: []].append(entry.id) }
  }
}

extension PaneID {
  static let stores: PaneID = "stores"
  static let table: PaneID = "table"
  static let record: PaneID = "record"
  static let history: PaneID = "history"
  static let index: PaneID = "index"
  static let migration: PaneID = "migration"
  static let difference: PaneID = "difference"
  static let frequency: PaneID = "frequency"
  static let describe: PaneID = "describe"
  static let plot: PaneID = "plot"
  static let pickaxe: PaneID = "pickaxe"
  static let transpose: PaneID = "transpose"
  static let pivot: PaneID = "pivot"
  static let group: PaneID = "group"
  static let merge: PaneID = "merge"
  static let remotes: PaneID = "remotes"
  static let menu: PaneID = "menu"
  static let prompt: PaneID = "prompt"
  static let review: PaneID = "review"
}

/// A pane that is there from the beginning on, empty; overlays are made of what they are about and are none.
protocol PermanentPane: Pane {
  init()
}

/// The panes of a browser, each once.
struct PaneSet: Sendable {
  private var panes: [PaneID: any Pane] = [:]

  init() {
    for entry in PaneTable.panes { panes[entry.id] = entry.make?() }
  }

  subscript(id: PaneID) -> (any Pane)? { panes[id] }

  /// A pane by its type, which says how an empty one is made: there is always one.
  subscript<P: PermanentPane>(type: P.Type) -> P {
    get { panes[P.entry.id] as? P ?? P() }
    _modify {
      // Taken out, so that what it holds has one owner while it is changed.
      var pane = panes.removeValue(forKey: P.entry.id) as? P ?? P()
      defer { panes[P.entry.id] = pane }
      yield &pane
    }
  }

  /// Takes a pane out, so that its contents have one owner while it is changed; nil if no pane has this name.
  mutating func remove(_ id: PaneID) -> (any Pane)? { panes.removeValue(forKey: id) }

  mutating func put(_ pane: any Pane) { panes[pane.id] = pane }
}
