import Testing

@testable import StrataTerminal

@Suite("Keys")
struct InputTests {
  static let keys: [(bytes: String, chords: String)] = [
    ("jG?", "j G ?"), ("\u{4}\u{15}", "^d ^u"), ("\r", "Enter"), ("\t", "Tab"), ("\u{1B}[Z", "S-Tab"),
    ("\u{7F}", "Backspace"), ("\u{1B}[A\u{1B}OB", "Up Down"), ("\u{1B}[5~\u{1B}[6~", "PageUp PageDown"),
    ("\u{1B}[1;5C", "C-Right"), ("\u{1B}[1;3D", "M-Left"), ("\u{1B}OP\u{1B}[15~\u{1B}[24~", "F1 F5 F12"),
    ("\u{1B}[1~\u{1B}[H\u{1B}[4~\u{1B}OF", "Home Home End End"), ("\u{1B}[[A", "F1"), ("é日🚑", "é 日 🚑"),
    ("\u{1B}j", "Esc j"), ("\u{1B}\u{1B}[A", "Esc Up"), (" ", "Space"), ("\u{1C}", "^\\"), ("\u{0}", "C-Space"),
    ("\u{1B}[3~\u{1B}[2~", "Delete Insert"), ("\u{1B}]10;rgb:0/0/0\u{7}x", "x"), ("\u{1B}P1$r0m\u{1B}\\y", "y"),
    ("\u{1B}[?2026;0$yz", "z"), ("\u{1B}[?25;1$yz", "z"),
  ]

  @Test("a terminal that answers that it knows synchronized updates is heard, however its answer is cut")
  func synchronizedUpdates() {
    for state in ["1", "2"] {
      let bytes = Array("j\u{1B}[?2026;\(state)$yk".utf8)
      let wanted: [TerminalEvent] = [
        .key(KeyChord(writing: "j")), .synchronizesUpdates, .key(KeyChord(writing: "k")),
      ]
      for cut in 0...bytes.count {
        var parser = EscapeParser()
        #expect(parser.feed(bytes[..<cut]) + parser.feed(bytes[cut...]) == wanted)
      }
    }
  }

  @Test("a terminal that replies with its background is heard, however its reply is cut")
  func background() {
    for (color, isLight) in [("0/0/0", false), ("ffff/ffff/ffff", true), ("00/2b/36", false), ("fd/f6/e3", true)] {
      for end in ["\u{7}", "\u{1B}\\"] {
        let bytes = Array("j\u{1B}]11;rgb:\(color)\(end)k".utf8)
        let wanted: [TerminalEvent] = [
          .key(KeyChord(writing: "j")), .background(isLight: isLight), .key(KeyChord(writing: "k")),
        ]
        for cut in 0...bytes.count {
          var parser = EscapeParser()
          #expect(parser.feed(bytes[..<cut]) + parser.feed(bytes[cut...]) == wanted)
        }
      }
    }
  }

  @Test("bytes become keys, whole or cut anywhere", arguments: keys)
  func parsing(row: (bytes: String, chords: String)) {
    let bytes = Array(row.bytes.utf8)
    let wanted = row.chords.split(separator: " ").compactMap { KeyChord(String($0)) }.map { TerminalEvent.key($0) }
    var whole = EscapeParser()
    #expect(whole.feed(bytes) == wanted)
    #expect(whole.feed("j".utf8) == [.key(KeyChord(writing: "j"))], "nothing waits")
    for cut in bytes.indices {
      var parser = EscapeParser()
      #expect(parser.feed(bytes[..<cut]) + parser.feed(bytes[cut...]) == wanted)
    }
  }

  @Test("a lone escape is a key once nothing follows in time")
  func loneEscape() {
    var parser = EscapeParser()
    #expect(parser.feed([0x1B]).isEmpty)
    #expect(parser.awaitsMore)
    #expect(parser.flush() == [.key(KeyChord(.escape))])
    #expect(!parser.awaitsMore)
    #expect(parser.feed([0x1B, 0x4F]).isEmpty)
    #expect(parser.feed([0x41]) == [.key(KeyChord(.up))])
    #expect(parser.feed([0x1B, 0x5B]).isEmpty)
    #expect(parser.flush() == [.key(KeyChord(.escape)), .key(KeyChord(writing: "["))])
  }

  @Test(
    "keys after Esc that begin a reply of the terminal are keys once nothing follows, and swallow no control key or arrow",
    arguments: ["]", "P", "_", "^", "X"])
  func repliesTyped(introducer: String) {
    var parser = EscapeParser()
    #expect(parser.feed("\u{1B}\(introducer)".utf8).isEmpty && parser.awaitsMore)
    #expect(parser.flush() == [.key(KeyChord(.escape)), .key(KeyChord(writing: Character(introducer)))])
    #expect(parser.feed("j".utf8) == [.key(KeyChord(writing: "j"))])
    let events: [TerminalEvent] = [.key(KeyChord(.character("c"), .control)), .key(KeyChord(writing: "k"))]
    #expect(parser.feed("\u{1B}\(introducer)jj\u{3}k".utf8) == events)
    #expect(parser.feed("\u{1B}\(introducer)jj\u{1B}[A".utf8) == [.key(KeyChord(.up))])
    #expect(parser.feed("\u{1B}\(introducer)jj\u{1B}\\k".utf8) == [.key(KeyChord(writing: "k"))])
  }

  @Test("a paste is one event, whatever is in it and wherever it is cut")
  func paste() {
    let text = String(repeating: "line one\n\u{1B}[A q\u{3} 日\n", count: 5_000)
    let bytes = Array("\u{1B}[200~\(text)\u{1B}[201~j".utf8)
    #expect(bytes.count > 100_000)
    var parser = EscapeParser()
    var events: [TerminalEvent] = []
    var start = 0
    while start < bytes.count {
      let end = min(start + 4_093, bytes.count)
      events += parser.feed(bytes[start..<end])
      start = end
    }
    #expect(events == [.paste(text), .key(KeyChord(writing: "j"))])
  }

  @Test("line ends of a paste are line feeds, however the terminal sends them")
  func pastedLines() {
    var parser = EscapeParser()
    #expect(parser.feed("\u{1B}[200~a\rb\r\nc\nd\r\re\u{1B}[201~".utf8) == [.paste("a\nb\nc\nd\n\ne")])
  }

  @Test("clicks and wheels carry their cell, whatever keys are held down")
  func mouse() {
    var parser = EscapeParser()
    let bytes = "\u{1B}[<0;12;5M\u{1B}[<0;12;5m\u{1B}[<64;1;1M\u{1B}[<81;300;99M\u{1B}[<0;0;0M"
    #expect(
      parser.feed(bytes.utf8) == [
        .mouse(MouseEvent(kind: .press(button: 1), point: Point(column: 11, row: 4))),
        .mouse(MouseEvent(kind: .release(button: 1), point: Point(column: 11, row: 4))),
        .mouse(MouseEvent(kind: .wheelUp, point: .zero)),
        .mouse(MouseEvent(kind: .wheelDown, point: Point(column: 299, row: 98))),
      ])
  }

  @Test("random bytes never trap and never grow without end")
  func noise() {
    var generator = SplitMix(state: 7)
    var parser = EscapeParser()
    for _ in 0..<200_000 {
      let byte = UInt8(truncatingIfNeeded: generator.next())
      _ = parser.feed([byte % 4 == 0 ? 0x1B : byte])
      if byte == 17 { _ = parser.flush() }
    }
    _ = parser.feed("\u{7}\u{1B}\\\u{1B}[201~".utf8)
    _ = parser.feed("\u{1B}\\".utf8)
    #expect(parser.feed("j".utf8).last == .key(KeyChord(writing: "j")))
  }

  @Test("chords are written as they are read")
  func chordNames() {
    let names = [
      "j", "G", "?", "^d", "^\\", "Space", "C-Space", "Enter", "Tab", "S-Tab", "Esc", "C-Right", "M-x", "F12", "^", "-",
      "PageDown", "Backspace", "é", "C-S-Left",
    ]
    for name in names {
      let chord = KeyChord(name)
      #expect(chord != nil)
      #expect(chord.flatMap { KeyChord($0.description) } == chord)
    }
    #expect(KeyChord("^i") == KeyChord(.tab))
    #expect(KeyChord("^m") == KeyChord(.enter))
    #expect(KeyChord("^D") == KeyChord("^d"))
    #expect(KeyChord("Nonsense") == nil && KeyChord("F99") == nil && KeyChord("") == nil)
    #expect(KeyChord.sequence("gg") == [KeyChord(writing: "g"), KeyChord(writing: "g")])
    #expect(KeyChord.sequence("^w j Enter")?.count == 3)
    #expect(KeyChord.sequence("") == nil)
  }
}

/// A generator with a seed, so that a failure can be repeated.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
