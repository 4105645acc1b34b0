import Foundation
import StrataTerminal
import Testing

@testable import StoreBrowser

@Suite("Themes")
struct ThemeTests {
  /// Red, green and blue of a style's two colours on a terminal with a number of colours, over a background.
  private func colors(_ style: Style, among count: Int, on paper: Int) -> (text: Double, paper: Double) {
    func light(_ color: Color, otherwise: Double) -> Double {
      let number = color.number(among: count).number
      guard number >= 0 else { return otherwise }
      let parts = Color.parts(UInt8(number))
      return (0.299 * Double(parts.red) + 0.587 * Double(parts.green) + 0.114 * Double(parts.blue)) / 255
    }
    let isLight = paper == 255
    var (text, behind) = (
      light(style.foreground, otherwise: isLight ? 0 : 1), light(style.background, otherwise: isLight ? 1 : 0)
    )
    if style.attributes.contains(.reverse) { swap(&text, &behind) }
    return (text, behind)
  }

  @Test(
    "every role of a built-in theme can be read on its background, with no, 8, 16, 256 and more colours",
    arguments: [(Theme.Name.dark, 0), (.light, 255), (.contrast, 0), (.contrast, 255), (.plain, 0), (.plain, 255)],
    [0, 8, 16, 256, 1 << 24])
  func contrast(theme: (Theme.Name, Int), count: Int) {
    var configuration = BrowserConfiguration()
    configuration.settings.theme = theme.0
    let shown = configuration.theme(in: TerminalSurroundings(size: Size(columns: 80, rows: 24), colors: count))
    #expect(
      shown.name
        == (count == 0 ? .plain : count == 8 && theme.0 != .contrast && theme.0 != .plain ? .standard : theme.0))
    for role in Role.allCases where shown.name == theme.0 {
      let (text, paper) = colors(shown.style(role), among: count, on: theme.1)
      #expect(abs(text - paper) > 0.25, "\(theme.0) \(role) among \(count): \(text) on \(paper)")
    }
  }

  @Test("no state is shown by colour alone: without colours marked, changed and deleted differ from plain text")
  func attributes() {
    for name in Theme.Name.allCases {
      let theme = Theme(name: name)
      for role in [Role.selected, .selectedElsewhere, .title, .marked, .changed, .inserted, .deleted, .problem] {
        let style = theme.style(role)
        #expect(!style.attributes.isEmpty || style.background != .standard, "\(name) \(role)")
      }
    }
  }

  @Test("a hexadecimal colour and a role without a style are mistakes; # and a space begin a comment")
  func mistakes() {
    let file = ThemeFile(parsing: "selected = #ff0000 on #00ff00\nkey\n#dim = 3\ndim = 244 # grey\n")
    #expect(file.problems.map(\.line) == [1, 2])
    #expect(file.problems[0].reason.contains("“#ff0000” is neither a colour"))
    #expect(file.problems[1].reason.contains("“key” needs a colour or an attribute"))
    #expect(Set(file.roles.keys) == [.dim])
  }

  @Test("a theme file names colours and attributes of roles; a mistake has its line, and the other lines count")
  func files() throws {
    let folder = "/tmp/strata-themes-\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(atPath: folder + "/themes", withIntermediateDirectories: true)
    defer { TestFile.remove(folder) }
    let text = "# mine\nlike = light\nselected = black on 229 bold\nkey = pink\ncolour = red\ndim = 244\n"
    try Data(text.utf8).write(to: URL(filePath: folder + "/themes/mine"))
    let file = SettingsFile(path: folder + "/config", text: "theme = mine\nmouse = off\n")
    #expect(file.settings.theme == .light && !file.settings.mouse)
    #expect(file.settings.roles[.selected] == Style(.ansi(0), on: .indexed(229), .bold))
    #expect(file.settings.roles[.dim] == Style(.indexed(244)))
    #expect(file.problems.map(\.line) == [4, 5] && file.problems.allSatisfy { $0.file == folder + "/themes/mine" })
    #expect(file.printed.contains("theme = mine"))
    #expect(SettingsFile(path: folder + "/config", text: "theme = none\n").problems.count == 1)
    var configuration = BrowserConfiguration()
    configuration.settings = file.settings
    let theme = configuration.theme(in: TerminalSurroundings(size: Size(columns: 80, rows: 24)))
    #expect(theme.style(.dim) == Style(.indexed(244)) && theme.style(.key) == Theme(name: .light).style(.key))
    let without = configuration.theme(in: TerminalSurroundings(size: Size(columns: 80, rows: 24), colors: 0))
    #expect(without.style(.dim) == Theme(name: .plain).style(.dim))
  }

  @Test("the terminal's background chooses between dark and light, unless the user chose or there are few colours")
  func background() throws {
    for (reply, expected) in [
      ("\u{1B}]11;rgb:ffff/fafa/f0f0\u{1B}\\", Theme.Name.light), ("\u{1B}]11;rgb:00/2b/36\u{07}", .dark),
    ] {
      var parser = EscapeParser()
      let events = parser.feed(Array(reply.utf8))
      #expect(events == [.background(isLight: expected == .light)])
      let driver = Driver(try Sample.store(), start: .init(datastore: "City")) { $0.theme = Theme(name: .refined) }
      for event in events { driver.tell(.event(event)) }
      #expect(driver.browser.session.theme.name == expected)
      let chosen = Driver(try Sample.store(), start: .init(datastore: "City")) { $0.settings.theme = .refined }
      chosen.browser.session.theme.name = .refined
      for event in events { chosen.tell(.event(event)) }
      #expect(chosen.browser.session.theme.name == .refined)
    }
    var parser = EscapeParser()
    #expect(parser.feed(Array("\u{1B}]11;?\u{07}\u{1B}]52;c;rgb:ff/ff/ff\u{07}".utf8)).isEmpty)
  }
}
