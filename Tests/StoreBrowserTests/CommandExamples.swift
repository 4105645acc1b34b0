import StrataDocuments
import StrataModel
import StrataDocuments
import StrataTerminal

@testable import StoreBrowser

/// An example of a command: what a person does before and after it, and what is then so that would not be without it.
struct CommandExample: Sendable {
  /// Whether it is shown on a store that has another copy, both of them edited.
  var hasCopy = false
  /// The datastore that is open at the start.
  var datastore = "City"
  /// Steps of a script before the command.
  var before: [String] = []
  /// What another program writes then, and the steps after that.
  var meanwhile: (@Sendable (EngineStore) throws -> Void)?
  var then: [String] = []
  var argument: String?
  /// Steps after it, that let its effect be seen.
  var after: [String] = []
  var expected: Expectation

  enum Expectation: Sendable {
    /// The screen has this text, or has not.
    case seen(String), gone(String)
    /// The record under the cursor.
    case selected(String)
    case copied(String)
    case quits
    case holds(@Sendable (Driver) -> Bool)
  }
}

/// One example of every command; `CommandExampleTests` fails where one is missing or proves nothing.
enum CommandExamples {
  static func example(of command: Command) -> CommandExample? { all[command] }

  static let all: [Command: CommandExample] = moving.merging(places) { $1 }.merging(table) { $1 }.merging(record) { $1 }
    .merging(index) { $1 }.merging(history) { $1 }.merging(writing) { $1 }.merging(program) { $1 }
    .merging(exchange) { $1 }

  private static func example(
    _ expected: CommandExample.Expectation, before: String..., argument: String? = nil, after: String...,
    in datastore: String = "City"
  ) -> CommandExample {
    CommandExample(datastore: datastore, before: before, argument: argument, after: after, expected: expected)
  }

  /// A review of a field that another program changed too.
  private static func conflict(_ expected: CommandExample.Expectation) -> CommandExample {
    CommandExample(
      before: ["keys l l l e ^u 5 Enter"],
      meanwhile: { _ = try Sample.change($0, "City", "611717", ".population", to: 7) },
      then: ["keys w j"], expected: expected)
  }

  /// On a store that was edited here and on a laptop.
  private static func copied(
    _ expected: CommandExample.Expectation, before: String..., argument: String? = nil, after: String...
  ) -> CommandExample {
    var example = CommandExample(before: before, argument: argument, after: after, expected: expected)
    example.hasCopy = true
    return example
  }

  private static let exchange: [Command: CommandExample] = [
    "pane-7": example(.seen("┏━ 7 Remotes")),
    .fetchCommits: copied(.seen("4 commits fetched"), before: "keys 7"),
    .merge: copied(.seen("Merge  laptop → here"), before: "keys 7 g f"),
    .sendCommits: copied(
      .seen("Send 3 commits to laptop?"), before: "keys 7 g f w", ": settle-rest ours", ": commit-merge Merge"),
    .exchange: copied(.seen("2 conflicts to settle"), before: "keys 7"),
    .addRemote: copied(.seen("server.strata"), before: "keys 7", argument: "server server.strata"),
    .removeRemote: copied(.seen("No other copy"), before: "keys 7"),
    .takeBase: copied(.seen("1 of 2 conflicts settled"), before: "keys 7 g f w"),
    .takeBack: copied(.seen("0 of 2 conflicts settled"), before: "keys 7 g f w m k k"),
    .settleRest: copied(.seen("Settle 2 conflicts"), before: "keys 7 g f w"),
    .commitMerge: copied(
      .holds { $0.browser.session.outline?.commit.parents.count == 2 }, before: "keys 7 g f w", ": settle-rest ours",
      argument: "Merge"),
    .stepBack: copied(
      .seen("the head is #3 again"), before: "keys 7 g f w", ": settle-rest ours", ": commit-merge Merge", "keys 2 u"),
  ]

  private static let moving: [Command: CommandExample] = [
    .down: example(.selected("615532")),
    .up: example(.selected("615532"), before: "keys j j"),
    .left: example(.copied(".name"), before: "keys l l", after: "keys yp"),
    .right: example(.copied(".name"), after: "keys yp"),
    .first: example(.selected("611717"), before: "keys j j j"),
    .last: example(.selected("2661604")),
    .halfDown: example(.gone("row 1 of 10")),
    .halfUp: example(.gone("row 10 of 10"), before: "keys G"),
    .pageDown: example(.gone("row 1 of 10")),
    .pageUp: example(.gone("row 10 of 10"), before: "keys G"),
    .goTo: example(.selected("1857910"), argument: "5"),
    .nextRecord: example(.selected("615532"), before: "keys 3"),
    "previous-record": example(.selected("611717"), before: "keys j 3"),
  ]

  private static let places: [Command: CommandExample] = [
    "pane-1": example(.seen("┏━ 1 Stores")),
    .pane2: example(.seen("┏━ 2 City"), before: "keys 1"),
    "pane-3": example(.seen("┏━ 3 Record")),
    "pane-4": example(.seen("┏━ 4 History")),
    "pane-5": example(.seen("┏━ 5 Index")),
    "pane-6": example(.seen("┏━ 6 Migration")),
    .nextPane: example(.seen("┏━ 3 Record")),
    .larger: example(.gone("─ 1 Stores")),
    "smaller": example(.seen("─ 3 Record"), before: "keys + +"),
    .open: example(.seen("┏━ 3 Record")),
    .escape: example(.gone("●  "), before: "keys Space"),
    .close: example(.gone("4 History"), before: "keys gH"),
    "back": example(.selected("611717"), before: ": filter countrycode = \"CH\"", after: "keys gg"),
    "forward": example(.gone("Batumi"), before: ": filter countrycode = \"CH\"", "keys ^o"),
    .finder: example(.seen("by continent"), after: "type conti", "keys Enter"),
    .setBookmark: example(.seen("bookmark a: City/611717"), argument: "a"),
    .goToBookmark: example(.selected("611717"), before: ": bookmark a", "keys G", argument: "a"),
    .referrers: example(.seen("Entries with"), in: "Country"),
  ]

  private static let table: [Command: CommandExample] = [
    "format": example(.seen("as it is stored")),
    "describe": example(.seen("greatest")),
    "plot": example(.seen("population × geonameid")),
    .mark: example(.seen("● ")),
    .range: example(.selected("615532"), after: "keys j Space"),
    .search: example(.selected("1857910"), argument: "Kyō"),
    .searchColumn: example(.selected("1850147"), before: "keys l l l l", argument: "Tokyo"),
    .searchNext: example(.selected("1853909"), before: ": search Asia/Tokyo"),
    .searchPrevious: example(.selected("1853909"), before: ": search Asia/Tokyo", "keys n n"),
    .filter: example(.gone("Bern"), argument: "countrycode = \"GE\""),
    .filterLike: example(.gone("Bern"), before: "keys l l"),
    .sort: example(.seen("by population"), before: "keys l l l"),
    .sortReverse: example(.selected("1850147"), before: "keys l l l", after: "keys gg"),
    .sortFurther: example(
      .holds { $0.browser.table.source?.sort.map(\.path) == [".timezone", ".name"] }, before: ": sort timezone",
      "keys l"),
    "conditions": example(.seen("A condition is asked of each record")),
    "explain": example(.seen("KEEP timezone"), before: ": filter timezone = \"Asia/Tokyo\""),
    .frequency: example(.seen("nulls 0"), before: "keys l l"),
    .group: example(.seen("City by population"), before: "keys l l l"),
    .pivot: example(.seen("countrycode × population"), before: "keys l l"),
    .hideColumn: example(.copied(".countrycode"), before: "keys l", after: "keys yp"),
    .unhideColumns: example(.copied(".name"), before: "keys l -", after: "keys h yp"),
    .narrowColumn: example(
      .holds { ($0.browser.session.columnChoice("City").widths[".name"] ?? 99) < 20 }, before: "keys l"),
    .widenColumn: example(
      .holds { ($0.browser.session.columnChoice("City").widths[".name"] ?? 0) > 5 }, before: "keys l"),
    .freezeColumn: example(.holds { $0.browser.session.columnChoice("City").frozen == 2 }, before: "keys l"),
    .columnLeft: example(.copied(".name"), before: "keys l l", after: "keys l yp"),
    .columnRight: example(.copied(".countrycode"), before: "keys l", after: "keys h yp"),
    .nameView: example(
      .seen("view georgian: countrycode"), before: ": filter countrycode = \"GE\"", argument: "georgian"),
    "undo-view": example(.gone("by population"), before: ": sort population"),
    .computedColumn: example(
      .holds { $0.browser.table.row(at: 0)?.cells[".share"]?.text == "0.5" }, argument: "share = population / 2098996"),
    .join: example(.seen("Country.name"), before: ": reference countrycode Country", argument: "countrycode name"),
    "query": example(.holds { $0.editorRequest?.text.contains("\nwhere ") == true }),
    "forget-view": example(
      .holds { $0.browser.session.remembered.views.isEmpty }, before: ": filter countrycode = \"GE\"",
      ": view georgian", argument: "georgian"),
  ]

  private static let record: [Command: CommandExample] = [
    "reference": example(.seen("Country Georgia"), before: "resize 100x30", argument: "countrycode Country"),
    "label": example(.seen("611717 Asia/Tbilisi"), before: "keys 3", argument: "timezone"),
    .transpose: example(.seen("Side by side"), before: "keys Space Space"),
    .form: example(.seen("· JSON"), before: "keys 3"),
    .copyValue: example(.copied("თბილისი"), before: "keys l"),
    .copyPath: example(.copied(".geonameid")),
    .copyKey: example(.copied("611717")),
    .copyRecord: example(.holds { $0.copied?.contains("\"countrycode\":\"GE\"") == true }),
    .scalars: example(.seen("U+10D7"), before: "keys l"),
    .blame: example(.seen(" · blame")),
    .export: example(.seen("10 records"), argument: CommandExampleTests.exported),
    .history: example(.seen("City/611717")),
  ]

  private static let index: [Command: CommandExample] = [
    .scale: example(.seen("logarithmic bins"), before: "keys 5"),
    .equalParts: example(.seen("about as many entries in each bin"), before: "keys 5"),
    .share: example(.seen("bars of all entries"), before: "keys 5"),
    .lowerBound: example(.seen("of 2"), before: ": sort population", "keys G k"),
    .upperBound: example(.seen("of 2"), before: ": sort population", "keys gg j"),
    .verify: example(.seen("0 orphans, 0 missing"), before: ": sort name"),
    .addIndex: example(.seen("HEAD #5"), argument: "timezone=timezone"),
    .rebuildIndex: example(.seen("HEAD #5"), before: ": sort name"),
    .dropIndex: example(.seen("HEAD #5"), argument: "name"),
  ]

  private static let history: [Command: CommandExample] = [
    .storeHistory: example(.seen("History of the whole store")),
    .travel: example(.seen("AS OF #2"), argument: "2"),
    .olderCommit: example(.seen("AS OF #3")),
    .newerCommit: example(.seen("AS OF #3"), before: "keys , ,"),
    .difference: example(.holds { $0.browser.view.kind == .difference }, before: "keys gH"),
    .pickaxe: example(.seen("import GE"), argument: "Tbilisi"),
    .fold: example(.holds { !$0.browser.history.isFolded }, before: "keys gH"),
    "follow": example(.seen("paused")),
    .pin: example(.seen("pins: good"), argument: "good"),
    "unpin": example(.seen("pins: none"), before: ": pin good", argument: "good"),
  ]

  private static let writing: [Command: CommandExample] = [
    .edit: example(.seen("population : Int"), before: "keys l l l"),
    .editExternally: example(.holds { $0.editorRequest?.text.contains("\"countrycode\"") == true }),
    .insert: example(.holds { $0.editorRequest != nil }),
    .duplicate: example(.holds { $0.editorRequest != nil }),
    .paste: example(.holds { $0.editorRequest != nil }, before: "keys yr"),
    .deleteRecord: example(.seen("▶- ")),
    .valueMenu: example(.seen("null"), before: "keys l l l"),
    .moveUp: example(.holds { $0.browser.session.staged.count == 1 }, before: "keys 3 G"),
    .moveDown: example(.holds { $0.browser.session.staged.count == 1 }, before: "keys 3 G k"),
    .leaveOut: example(.gone("▶- "), before: "keys dd"),
    .restoreRecord: example(
      .holds { $0.browser.session.staged.count == 1 }, before: "keys dd w Enter Enter", ": travel 4", "keys gg"),
    .restoreField: example(
      .holds { $0.browser.session.staged.count == 1 },
      before: "keys l l l e ^u", "type 1", "keys Enter w Enter Enter 3 H j"),
    .revert: example(.seen("take back #4"), before: "keys gH"),
    "restore": example(.seen("name and commit"), argument: "2"),
    "import": example(.seen("Import /tmp/nothing.csv"), argument: "/tmp/nothing.csv"),
    .expandAll: example(.seen("timezone  "), before: "keys g H", "keys j", "keys Tab"),
    .undo: example(.gone("▶- "), before: "keys dd"),
    "redo": example(.seen("▶- "), before: "keys dd u"),
    .review: example(.seen("- City/611717"), before: "keys dd"),
    .takeMine: conflict(.holds { !$0.browser.session.staged.isEmpty && !$0.shows("m mine") }),
    .takeTheirs: conflict(.seen("nothing is staged any more")),
    .markStale: example(.seen("will be marked stale"), before: "keys dd w"),
    .listChanges: example(.seen("The changes of this commit"), before: "keys dd w"),
    .set: example(.seen("10 records"), argument: "population = 1"),
    "delete": example(.seen("10 records")),
    .compact: example(
      .holds { $0.browser.overlays.last is CompactOverlay }, argument: "2"),
    .copyStore: example(
      .holds { driver in
        driver.works.contains { $0 as? Rewrite == .copy(to: "/none/here.strata", at: nil) }
      }, argument: "/none/here.strata"),
  ]

  private static let program: [Command: CommandExample] = [
    "tour": example(.seen("Tour 1 of 6: Look")),
    "warm-up": example(.seen("┏━ 6 Migration")),
    .retry: example(.seen("complete: commit #5")),
    .log: example(.seen("Log of what ran here"), before: "keys M a"),
    .palette: example(.seen("a command, or a row")),
    .help: example(.seen("Keys here: Table")),
    .quit: example(.quits),
    .interrupt: example(.quits),
    "mouse": example(.seen("mouse off")),
    "hud": example(.holds { $0.browser.session.latency != nil }),
    "record": example(.seen("recording keys")),
    "replay": example(
      .holds { $0.selectedIdentifier == "1850147" && !$0.browser.macro.isRecording },
      before: ": record", "keys j", ": record"),
    .chartForm: example(.seen("charts in block")),
    .repaint: example(.holds { $0.hasAsked(for: .repaint) }),
    .suspend: example(.holds { $0.hasAsked(for: .suspend) }),
  ]
}
