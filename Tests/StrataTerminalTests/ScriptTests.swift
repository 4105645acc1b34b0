import Testing

@testable import StrataTerminal

@Suite("Scripts")
struct ScriptTests {
  @Test("each kind of line becomes its events")
  func parsing() throws {
    let script = try Script(
      parsing: #"""
        # a comment
        resize 80x24

        keys j ^d Enter
        type San F
        type " x\"é"
        : go 3
        paste "two\nlines\e"
        click 12,5
        wheel-down 1,1
        screen out.svg
        """#)
    let key = { (character: Character) in Script.Step.event(.key(KeyChord(writing: character))) }
    let enter = Script.Step.event(.key(KeyChord(.enter)))
    let point = Point(column: 11, row: 4)
    let wanted: [Script.Step] =
      [
        .event(.resize(Size(columns: 80, rows: 24))), key("j"), .event(.key(KeyChord(.character("d"), .control))),
        enter,
      ]
      + "San F".map(key) + " x\"é".map(key) + ":go 3".map(key) + [
        enter, .event(.paste("two\nlines\u{1B}")), .event(.mouse(MouseEvent(kind: .press(button: 1), point: point))),
        .event(.mouse(MouseEvent(kind: .release(button: 1), point: point))),
        .event(.mouse(MouseEvent(kind: .wheelDown, point: .zero))),
        .saveScreen(path: "out.svg"),
      ]
    #expect(script.steps == wanted)
  }

  @Test(
    "a mistake is told with its line",
    arguments: [
      ("keys j\nkeys Entr", "line 2: no key is called “Entr”"),
      (
        "jump",
        "line 1: no step is called “jump”; steps are click, keys, paste, resize, screen, type, wheel-down, wheel-up, :"
      ),
      ("\n\nresize 80", "line 3: “80” is not a size like 80x24"), ("type \"x", "line 1: the quotes are not closed"),
      ("click 0,1", "line 1: “0,1” is not a place like 12,5"),
    ])
  func mistakes(text: String, words: String) {
    #expect(throws: Script.Problem.self) { try Script(parsing: text) }
    do {
      _ = try Script(parsing: text)
    } catch {
      #expect(error.description == words)
    }
  }

  @Test("the key # alone is no comment among lines that may be keys")
  func numberSign() {
    #expect(!Script.isStep("#") && Script.isStep("# a comment") && Script.isStep("") && !Script.isStep("gg"))
  }

  @Test("a script with the line ends of another system is the same script")
  func otherLineEnds() throws {
    let text = "# a comment\nkeys j\ntype a b\nscreen x.txt\n"
    let steps = try Script(parsing: text.replacing("\n", with: "\r\n")).steps
    #expect(try steps.count == 5 && steps == Script(parsing: text).steps, "\(steps)")
  }

  @Test("what is recorded plays the same events, whole after every piece")
  func recording() throws {
    let events: [TerminalEvent] =
      (0..<45).map { .key(KeyChord(writing: Character(Unicode.Scalar(UInt8(0x21 + $0))))) } + [
        .key(KeyChord(writing: " ")), .key(KeyChord(.escape)), .paste("a \"b\"\\\n\t日"),
        .resize(Size(columns: 100, rows: 30)), .key(KeyChord(.left, [.control, .shift])),
        .mouse(MouseEvent(kind: .wheelUp, point: Point(column: 3, row: 4))), .key(KeyChord(.character("d"), .control)),
      ]
    var recorder = ScriptRecorder()
    var text = recorder.beginning(size: Size(columns: 80, rows: 24))
    for (index, event) in events.enumerated() {
      text += recorder.piece(for: event)
      let steps = try Script(parsing: text + recorder.ending()).steps
      #expect(steps.dropFirst() == events[...index].map { .event($0) }[...])
    }
  }
}

@Suite("Colours and pictures")
struct PictureTests {
  @Test("colours are told in the numbers of the terminal's palette")
  func reduction() {
    #expect(Color.standard.number(among: 256).number == -1)
    #expect(Color.indexed(208).number(among: 256).number == 208)
    #expect(Color.ansi(9).number(among: 16).number == 9)
    #expect(Color.ansi(9).number(among: 8) == (1, true))
    #expect(Color.indexed(196).number(among: 16).number == 9)
    #expect(Color.indexed(232).number(among: 8) == (0, false))
    #expect(Color.ansi(1).number(among: 0).number == -1)
    for index in UInt8.min...UInt8.max {
      for colors in [0, 8, 16, 256] { #expect(Color.indexed(index).number(among: colors).number < max(colors, 0)) }
    }
  }

  @Test("a picture has each word at its place, and lines that meet")
  func svg() {
    var grid = CellGrid(size: Size(columns: 20, rows: 3))
    grid.frame(grid.bounds, title: "<A & B>", heavy: true)
    grid.write("red 日", at: Point(column: 1, row: 1), style: Style(.ansi(1), on: .indexed(17), .bold))
    grid.cursor = Point(column: 1, row: 1)
    let svg = Picture.svg(grid)
    #expect(svg.contains("&lt;A &amp; B&gt;"))
    #expect(svg.contains(">日</text>"))
    #expect(svg.contains("fill=\"#00005f\""))
    #expect(svg.contains("font-weight=\"bold\""))
    #expect(svg.contains("<path d=\"M"))
    #expect(!svg.contains("━"))
  }
}
