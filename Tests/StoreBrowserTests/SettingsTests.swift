import StrataTerminal
import Testing

@testable import StoreBrowser

@Suite("The config file")
struct SettingsTests {
  @Test("every setting is read, comments and blank lines left out")
  func reading() {
    let file = SettingsFile(
      path: "config",
      text: """
        # habits
        theme = plain
        mouse = off   # the terminal selects
        follow = off
        ascii = on
        read-only = Production.strata

        columns City = name, population
        columns Big City = name
        bind history = H, ^h
        bind frequency = #
        alias й = q
        """)
    #expect(file.problems.isEmpty)
    #expect(file.settings.theme == .plain)
    #expect(!file.settings.mouse)
    #expect(!file.settings.follows)
    #expect(file.settings.ascii)
    #expect(file.settings.isReadOnly("/data/Production.strata"))
    #expect(!file.settings.isReadOnly("/data/Test.strata"))
    #expect(file.settings.columns["City"] == [".name", ".population"])
    #expect(file.settings.columns["Big City"] == [".name"] && file.settings.columns["Big"] == nil)
    #expect(file.settings.bindings[.history] == ["H", "^h"])
    #expect(file.settings.bindings[.frequency] == ["#"])
    #expect(file.settings.aliases[KeyChord(writing: "й")] == KeyChord(writing: "q"))
  }

  @Test(
    "a mistake is told by its line, and the other lines count",
    arguments: [
      ("theme = pink", "“pink” is not a theme"), ("colour = red", "there is no setting “colour”"),
      ("mouse = yes", "“yes” is neither on nor off"), ("bind hist = H", "there is no command “hist”"),
      ("bind history = Hugo Ctrl-", "“Ctrl-” begins with “C”, which is"), ("just words", "expected NAME = VALUE"),
      ("bind = x", "bind what?"),
      ("bind undo redo = U", "there is no command “undo redo”"), ("alias й ц = q", "“й ц” is not a key"),
    ])
  func mistakes(line: String, reason: String) {
    let file = SettingsFile(path: "config", text: "follow = off\n\n\(line)\nascii = on\n")
    #expect(Set(file.problems.map(\.line)) == [3])
    #expect(file.problems.contains { $0.reason.contains(reason) }, "\(file.problems)")
    #expect(file.settings.ascii)
    #expect(!file.settings.follows)
  }

  @Test(
    "a key that begins another one, or begins with it, is reported by its line",
    arguments: [
      ("bind undo = gx\nbind history = g", "“g” begins “gx”, which is bound to undo already"),
      ("bind undo = g\nbind history = gx", "“gx” begins with “g”, which is bound to undo already"),
      ("bind undo = g\nbind history = g", "“g” is bound to undo already"),
      ("bind undo = U\nbind history = jx", "“jx” begins with “j”, which is down"),
    ])
  func beginnings(text: String, reason: String) {
    let file = SettingsFile(path: "config", text: text)
    #expect(file.problems == [SettingsProblem(file: "config", line: 2, reason: reason)])
    #expect(
      SettingsFile(path: "config", text: text + "\nbind down = J").problems.count == (reason.contains("down") ? 0 : 1))
  }

  @Test("the lines of a config file and of a theme may end as on other systems")
  func otherLineEnds() {
    let text = "follow = off\r\n# mine\r\n\r\nread-only = Production.strata\r\nmouse\r\n"
    let file = SettingsFile(path: "config", text: text)
    #expect(file.problems.map(\.line) == [5], "\(file.problems)")
    #expect(!file.settings.follows && file.settings.isReadOnly("/data/Production.strata"))
    let theme = ThemeFile(parsing: "like = dark\r\ndim = 244\r\n")
    #expect(theme.problems.isEmpty && theme.base == .dark && theme.roles[.dim] != nil)
  }

  @Test("a config file that is there and cannot be read is reported; one that is not there says nothing")
  func unreadable() {
    let problem = SettingsProblem(file: "/", line: 1, reason: "the file cannot be read")
    #expect(SettingsFile(path: "/").problems == [problem])
    #expect(SettingsFile(path: "/there/is/none").problems.isEmpty)
  }

  @Test("a protected store is opened read-only, however its path is written")
  func protection() throws {
    let folder = "/tmp/strata-settings-\(UInt64.random(in: 0 ... .max))"
    defer { TestFile.remove(folder) }
    TestFile.makeFolder(folder + "/strata")
    TestFile.makeFolder(folder + "/Production.strata")
    let path = BrowserFiles.absolute(folder + "/Production.strata")
    for end in ["", "/"] {
      try TestFile.write("read-only = \(path)\(end)\n", to: folder + "/strata/config")
      for spelling in [path, path + "/", folder + "/strata/../Production.strata"] {
        let configuration = BrowserConfiguration(storePath: spelling, environment: ["XDG_CONFIG_HOME": folder])
        #expect(configuration.isReadOnly, "\(spelling) of \(path)\(end)")
      }
    }
    let other = BrowserConfiguration(storePath: folder, environment: ["XDG_CONFIG_HOME": folder])
    #expect(!other.isReadOnly)
  }

  @Test("a value may be in quotes, with a # between them; a quote that stands alone is a key, before a comment too")
  func quotes() {
    let file = SettingsFile(
      path: "config",
      text: """
        read-only = "Production.strata"   # the one
        read-only = "/data/a  # b.strata"
        columns "Big City" = "per  # head", name
        bind frequency = "   # a quote
        alias й = "   # another one
        """)
    #expect(file.problems.isEmpty, "\(file.problems)")
    #expect(file.settings.readOnly == ["Production.strata", "/data/a  # b.strata"])
    #expect(file.settings.isReadOnly("/data/Production.strata"))
    #expect(file.settings.columns == ["Big City": [".\"per  # head\"", ".name"]])
    #expect(file.settings.bindings[.frequency] == ["\""])
    #expect(file.settings.aliases.values.first == KeyChord(writing: "\""))
    let again = SettingsFile(path: "config", text: file.printed)
    #expect(again.problems.isEmpty && again.settings.readOnly == file.settings.readOnly, "\(file.printed)")
    #expect(again.settings.columns == file.settings.columns && again.settings.bindings[.frequency] == ["\""])
  }

  @Test("what --print-config prints is read back as the same settings")
  func printing() {
    let file = SettingsFile(
      path: "config", text: "theme = refined\nbind undo = U\ncolumns City = name\nalias й = q\nread-only = x.strata\n")
    #expect(file.printed.contains("theme = refined"))
    #expect(file.printed.contains("# line 1"))
    let again = SettingsFile(path: "config", text: file.printed)
    #expect(again.problems.isEmpty)
    #expect(again.settings.theme == file.settings.theme)
    #expect(again.settings.columns == file.settings.columns)
    #expect(again.settings.aliases == file.settings.aliases)
    #expect(Keymap(bindings: again.settings.bindings) == Keymap(bindings: file.settings.bindings))
  }
}
