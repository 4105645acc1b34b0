import CStrataCurses
import StrataTerminal
import Testing

@Suite("Pictures in few bytes")
struct WireTests {
  private static func shortened(_ bytes: [UInt8], on wire: inout strata_wire) -> [UInt8]? {
    var out = [CChar](repeating: 0, count: bytes.count * Int(STRATA_WIRE_GROWTH) + 64)
    let count = bytes.withUnsafeBufferPointer { bytes in
      bytes.withMemoryRebound(to: CChar.self) { strata_shorten(&wire, $0.baseAddress, $0.count, &out) }
    }
    return count == 0 ? nil : out.prefix(count).map { UInt8(bitPattern: $0) }
  }

  /// What is left of each picture after the ones before.
  private static func texts(_ pictures: String..., moves: Bool = false, repeats: Bool = false) -> [String?] {
    var wire = strata_wire()
    (wire.moves_along_rows, wire.repeats) = (moves, repeats)
    return pictures.map { picture in
      shortened(Array(picture.utf8), on: &wire).map { String(decoding: $0, as: UTF8.self) }
    }
  }

  private static func text(_ bytes: String, moves: Bool = false, repeats: Bool = false) -> String? {
    texts(bytes, moves: moves, repeats: repeats)[0]
  }

  @Test("a look is set once, after the cursor has moved and before what shows it")
  func once() {
    #expect(
      Self.text(
        "\u{1B}(B\u{1B}[m\u{1B}[39m\u{1B}(B\u{1B}[m\u{1B}[5;3H\u{1B}(B\u{1B}[0;1m\u{1B}[33mx\u{1B}(B\u{1B}[0;1m\u{1B}[33my"
      )
        == "\u{1B}[m\u{1B}[5;3H\u{1B}[1;33mxy")
    #expect(Self.text("\u{1B}[mx\u{1B}[1my\u{1B}[mz") == "\u{1B}[mx\u{1B}[1my\u{1B}[mz")
    // Only what goes, where that is shorter than all that stays.
    #expect(
      Self.text("\u{1B}[m\u{1B}[1;38;5;67mx\u{1B}[m\u{1B}[38;5;67my\u{1B}[m\u{1B}[2mz")
        == "\u{1B}[m\u{1B}[1;38;5;67mx\u{1B}[22my\u{1B}[0;2mz")
  }

  @Test("what is not seen of blanks between two texts is not set for them")
  func blanks() {
    #expect(Self.text("\u{1B}[m\u{1B}[2mx\u{1B}[m   \u{1B}[2my") == "\u{1B}[m\u{1B}[2mx   y")
    #expect(Self.text("\u{1B}[mx\u{1B}[1;33m  y") == "\u{1B}[mx  \u{1B}[1;33my")
    for seen in ["4", "7", "44"] {
      let text = "\u{1B}[m\u{1B}[\(seen)mx\u{1B}[m  y"
      #expect(Self.text(text) == text)
      #expect(Self.text("\u{1B}[mx\u{1B}[\(seen)m  ") == "\u{1B}[mx\u{1B}[\(seen)m  ")
    }
    let marked = "\u{1B}[m\u{1B}[33mx\u{1B}[m \u{301}"
    #expect(Self.text(marked) == marked, "a mark that joins a blank has the ink of the blank")
  }

  @Test("a picture builds on the look that the one before left")
  func between() {
    #expect(
      Self.texts("\u{1B}[m\u{1B}[33mx", "\u{1B}[1;4;33my", "\u{1B}(0x", "\u{1B}[33mz")
        == ["\u{1B}[m\u{1B}[33mx", "\u{1B}[1;4my", nil, "\u{1B}[33mz"])
  }

  @Test("going back to the set of signs that is on anyway, as tmux ends a look, is left out")
  func shifts() {
    #expect(
      Self.text("\u{1B}[m\u{F}\u{1B}[33mx\u{1B}[m\u{F}\u{1B}[2my") == "\u{1B}[m\u{1B}[33mx\u{1B}[0;2my")
    #expect(Self.texts("\u{1B}[mx", "\u{E}q", "\u{F}y", "\u{F}z") == ["\u{1B}[mx", nil, "\u{F}y", "z"])
  }

  @Test("a place in the same row, or in the next, is gone to by its column")
  func moves() {
    let picture = "\u{1B}[5;3Hx\u{1B}[5;40Hy\u{1B}[6;1Hz\u{1B}[7;9Ha\u{1B}[9;9Hb\u{1B}[9;1Hc"
    #expect(Self.text(picture) == picture)
    #expect(
      Self.text(picture, moves: true)
        == "\u{1B}[5;3Hx\u{1B}[40Gy\r\nz\n\u{1B}[9Ga\u{1B}[9;9Hb\rc")
    // What lies ahead in the row, where that is shorter; behind what may be of any width it is not known.
    #expect(
      Self.text("\u{1B}[5;130Hx\u{1B}[5;132Hyz\u{1B}[5;140Ha東\u{1B}[5;144Hb\u{1B}[5;140Hc", moves: true)
        == "\u{1B}[5;130Hx\u{1B}[Cyz\u{1B}[6Ca東\u{1B}[144Gb\u{1B}[140Gc")
    // Within a region of lines a line feed may move them.
    let region = "\u{1B}[5;9r\u{1B}[8;1Hx\u{1B}[9;1Hy"
    #expect(Self.text(region, moves: true) == region)
  }

  @Test("a run of one character is sent as one and how often, where the terminal repeats")
  func runs() {
    let line = String(repeating: "─", count: 40)
    #expect(Self.text(line) == line)
    #expect(Self.text(line, repeats: true) == "─\u{1B}[39b")
    #expect(Self.text("a\(String(repeating: " ", count: 12))b", repeats: true) == "a \u{1B}[11bb")
    #expect(Self.text("aaaaaaa", repeats: true) == "aaaaaaa", "what it would take as many bytes for")
    #expect(
      Self.text("eeeeeeeeee\u{301}", repeats: true) == "e\u{1B}[8be\u{301}", "a mark joins a character of its own")
    #expect(
      Self.text("東東東東東東", repeats: true) == "東東東東東東", "wide ones are not repeated alike everywhere")
  }

  @Test("what is not known is left as it is")
  func unknown() {
    for bytes in ["\u{1B}[38;2;1;2;3mx", "\u{1B}(0x", "\u{1B}[1", "\u{1B}7x", "\u{1B}[58mx"] {
      #expect(Self.text(bytes) == nil, "\(bytes.debugDescription)")
    }
  }

  /// The places without what is not seen of a blank.
  private static func seen(_ screen: TerminalScreen) -> [[TerminalScreen.Place]] {
    screen.places.map { row in
      row.map { place in
        guard place.text == " ", !place.look.isUnderlined, !place.look.isReversed else { return place }
        return TerminalScreen.Place(look: TerminalScreen.Look(background: place.look.background))
      }
    }
  }

  @Test("whatever is sent, the picture is the same, and never longer by more than the last look")
  func samePicture() {
    let seed = UInt64.random(in: 0 ... .max)
    var state = seed
    func next(_ limit: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % limit
    }
    let looks = [
      "\u{1B}(B\u{1B}[m", "\u{1B}(B\u{1B}[0;7m", "\u{1B}[39m", "\u{1B}[33m", "\u{1B}[38;5;67m", "\u{1B}[39;49m",
      "\u{1B}[44m",
      "\u{1B}[1m", "\u{1B}[4m", "\u{1B}[22m", "\u{1B}[24;27m", "\u{1B}(B\u{1B}[0;1;4;7m", "\u{1B}[48;5;200m",
      "\u{1B}[2;3m",
    ]
    let others = [
      "a", "é", "東", " ", "\u{1B}[3X", "\u{1B}[K", "\u{1B}[2;5H", "\u{1B}[4;9H", "\u{1B}[7G", "\r", "\u{1B}[2d",
      "\u{1B}[3;9H", "\u{1B}[4;1H", "\u{1B}[2;7H", "\u{1B}[5;6H", "       ", "────────", "\n", "\u{1B}[H",
    ]
    for _ in 0..<300 {
      var bytes = "\u{1B}[m"
      for _ in 0..<40 { bytes += next(2) == 0 ? looks[next(looks.count)] : others[next(others.count)] }
      var wire = strata_wire()
      (wire.moves_along_rows, wire.repeats) = (next(2) == 0, next(2) == 0)
      var (long, few) = (
        TerminalScreen(size: Size(columns: 220, rows: 6)), TerminalScreen(size: Size(columns: 220, rows: 6))
      )
      // In two pictures, so that the second builds on the first. Like ncurses, no text goes on in the next row.
      for part in [bytes, "\u{1B}[3;2H\u{1B}[1mx\u{1B}[3;9H\u{1B}[33my"] {
        guard let short = Self.shortened(Array(part.utf8), on: &wire) else {
          Issue.record("seed \(seed): \(part.debugDescription)")
          continue
        }
        long.feed(Array(part.utf8))
        few.feed(short)
      }
      #expect(Self.seen(long) == Self.seen(few) && long.cursor == few.cursor && long.look == few.look, "seed \(seed)")
      #expect(few.unknown.isEmpty)
    }
  }
}
