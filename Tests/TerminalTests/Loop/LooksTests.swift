import CCurses
import TerminalKit
import Testing

@Suite("Looks in few bytes")
struct LooksTests {
  private static func shortened(_ bytes: [UInt8]) -> [UInt8]? {
    var out = [CChar](repeating: 0, count: bytes.count * Int(STRATA_LOOKS_GROWTH) + 64)
    let count = bytes.withUnsafeBufferPointer { bytes in
      bytes.withMemoryRebound(to: CChar.self) { strata_shorten_looks($0.baseAddress, $0.count, &out) }
    }
    return count == 0 ? nil : out.prefix(count).map { UInt8(bitPattern: $0) }
  }

  private static func text(_ bytes: String) -> String? {
    shortened(Array(bytes.utf8)).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test("a look is set once, after the cursor has moved and before what shows it")
  func once() {
    #expect(
      Self.text(
        "\u{1B}(B\u{1B}[m\u{1B}[39m\u{1B}(B\u{1B}[m\u{1B}[5;3H\u{1B}(B\u{1B}[0;1m\u{1B}[33mx\u{1B}(B\u{1B}[0;1m\u{1B}[33my"
      )
        == "\u{1B}[m\u{1B}[5;3H\u{1B}[1;33mxy")
    #expect(Self.text("\u{1B}[mx\u{1B}[1my\u{1B}[mz") == "\u{1B}[mx\u{1B}[1my\u{1B}[mz")
  }

  @Test("what is not known is left as it is")
  func unknown() {
    for bytes in ["\u{1B}[38;2;1;2;3mx", "\u{1B}(0x", "\u{1B}[1", "\u{1B}7x", "\u{1B}[58mx"] {
      #expect(Self.text(bytes) == nil, "\(bytes.debugDescription)")
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
    ]
    for _ in 0..<300 {
      var bytes = "\u{1B}[m"
      for _ in 0..<40 { bytes += next(2) == 0 ? looks[next(looks.count)] : others[next(others.count)] }
      guard let short = Self.shortened(Array(bytes.utf8)) else {
        Issue.record("seed \(seed): \(bytes.debugDescription)")
        continue
      }
      var (long, few) = (
        TerminalScreen(size: Size(columns: 20, rows: 6)), TerminalScreen(size: Size(columns: 20, rows: 6))
      )
      long.feed(Array(bytes.utf8))
      few.feed(short)
      #expect(long.places == few.places && long.cursor == few.cursor && long.look == few.look, "seed \(seed)")
      #expect(few.unknown.isEmpty)
    }
  }
}
