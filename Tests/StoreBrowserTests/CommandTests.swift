import StrataTerminal
import Testing

@testable import StoreBrowser

@Suite("The command table")
struct CommandTests {
  @Test("every command has exactly one row, with a title and a help text")
  func complete() {
    #expect(CommandTable.all.count == Set(CommandTable.all.map(\.command)).count)
    for entry in CommandTable.all {
      #expect(!entry.title.isEmpty, "\(entry.name)")
      #expect(!entry.short.isEmpty, "\(entry.name)")
      #expect(entry.help.count > entry.name.count, "\(entry.name)")
    }
  }

  @Test("every key can be typed, means one command in a pane, and is not a beginning of another key's sequence")
  func keys() {
    var seen: [[KeyChord]: [Command]] = [:]
    for entry in CommandTable.all {
      for key in entry.keys {
        guard let chords = KeyChord.sequence(key) else {
          Issue.record("“\(key)” of \(entry.name) is not a key")
          continue
        }
        let others = seen[chords, default: []].filter { CommandTable.canMeet($0, entry.command) }
        #expect(others.isEmpty, "\(key): \(entry.name)")
        seen[chords, default: []].append(entry.command)
      }
    }
    for chords in seen.keys where chords.count > 1 {
      for length in 1..<chords.count {
        #expect(seen[Array(chords.prefix(length))] == nil, "\(chords.map(\.description).joined())")
      }
    }
  }

  @Test("the keymap of the design is bound")
  func keymap() throws {
    let expected: [(String, Command)] = [
      ("j", .down), ("Up", .up), ("g g", .first), ("G", .last), ("^d", .halfDown), ("PageUp", .pageUp),
      ("1", "pane-1"), ("6", "pane-6"), ("Tab", .nextPane), ("+", .larger), ("_", "smaller"), ("Enter", .open),
      ("g r", .referrers), ("Esc", .escape), ("q", .close), ("Q", .quit), ("Space", .mark), ("v", .range),
      ("J", .nextRecord), ("K", "previous-record"), ("e", .edit), ("E", .editExternally), ("i", .insert),
      ("D", .duplicate), ("p", .paste), ("d d", .deleteRecord), ("C", .valueMenu), ("y y", .copyValue),
      ("y p", .copyPath), ("y k", .copyKey), ("y r", .copyRecord), ("s", .export), (":", .palette), ("?", .help),
      ("m", .setBookmark), ("'", .goToBookmark), ("/", .search), ("n", .searchNext), ("N", .searchPrevious),
      ("f", .filter), ("&", .filterLike), ("o", .sort), ("O", .sortReverse), ("-", .hideColumn),
      ("=", .unhideColumns), ("<", .narrowColumn), (">", .widenColumn), ("z", .freezeColumn), ("H", .history),
      ("g H", .storeHistory), ("b", .blame), ("T", .travel), (",", .olderCommit), (".", .newerCommit),
      ("W", .difference), ("R", .revert), ("r", .restoreRecord), ("c", .restoreField), ("S", .pickaxe),
      ("V", .verify), ("u", .undo), ("^r", "redo"), ("w", .review), ("x", .leaveOut), ("M", "warm-up"), ("F", "follow"),
      ("^l", .repaint), ("^z", .suspend), ("^o", "back"), ("g i", "forward"), ("@", "replay"), ("(", .lowerBound),
      (")", .upperBound), ("t", .form), ("g m", "mouse"), ("g a", .scalars), ("a", .retry), ("L", .log),
      ("#", .frequency), ("^c", .interrupt),
    ]
    for (key, command) in expected {
      let chords = try #require(KeyChord.sequence(key))
      #expect(Keymap().meaning(of: chords, in: .table) == .command(command), "\(key)")
    }
    #expect(Keymap().meaning(of: try #require(KeyChord.sequence("^q")), in: .table) == .nothing)
  }

  @Test("every command is found in help by its name and by its keys, and runs or gives a reason")
  func help() throws {
    for entry in CommandTable.all {
      #expect(FuzzySearch.entries(matching: entry.name).first?.command == entry.command, "\(entry.name)")
    }
    // A word of a name comes before words of titles.
    let first = FuzzySearch.entries(matching: "index").prefix(3).map(\.command)
    #expect(Set(first) == [.addIndex, .rebuildIndex, .dropIndex])
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.press("?")
    for entry in CommandTable.all {
      driver.press("^u")
      driver.type(entry.name)
      #expect(driver.shows(entry.title) || driver.shows("not here:"), "\(entry.name)")
    }
  }

  @Test("a footer names only commands that work in its pane")
  func footers() {
    for pane in PaneTable.panes.map(\.id) {
      let commands = PaneTable.entry(pane).footer
      #expect(commands.suffix(2) == [.help, .close], "\(pane)")
      for command in commands {
        let contexts = CommandTable.entry(command).contexts
        #expect(contexts.isEmpty || contexts.contains(pane), "\(command) in \(pane)")
      }
    }
  }

  @Test("a binding that takes a key from another command says so, and wins")
  func hidingBinding() throws {
    let keymap = Keymap(bindings: [.history: ["x"], .larger: ["g"]])
    #expect(keymap.meaning(of: try #require(KeyChord.sequence("x")), in: .table) == .command(.history))
    #expect(keymap.hidden.contains("x is history now, and no longer leave-out"))
    #expect(keymap.hidden.contains("gg is larger now, and no longer first"))
    #expect(Keymap().hidden.isEmpty)
    let driver = Driver(try Sample.store(), start: .init(datastore: "City")) {
      $0.settings.bindings = [.history: ["x"]]
    }
    #expect(driver.status.contains("x is history now"))
  }

  @Test("other keys take the place of a command's own")
  func binding() throws {
    let keymap = Keymap(bindings: [.history: ["^h"], .undo: []])
    #expect(keymap.meaning(of: try #require(KeyChord.sequence("^h")), in: .table) == .command(.history))
    #expect(keymap.meaning(of: try #require(KeyChord.sequence("H")), in: .table) == .nothing)
    #expect(keymap.keys(for: .undo).isEmpty)
  }
}
