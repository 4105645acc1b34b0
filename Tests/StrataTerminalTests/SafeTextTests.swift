import Testing

@testable import StrataTerminal

@Suite("Canonical cells")
struct SafeTextTests {
  /// Text, then its canonical cells, a bar between them; the rows are those of the table of disagreements.
  static let golden: [(text: String, cells: String, width: Int)] = [
    ("abc", "a|b|c", 3),
    ("日本", "日|本", 4),
    ("e\u{301}", "e\u{301}", 1),
    ("🚑", "🚑", 2),
    ("┌─┐", "┌|─|┐", 3),
    ("ไทย", "ไ|ท|ย", 3),
    ("ที่", "ที่", 1),
    ("\u{1112}\u{1161}\u{11AB}", "\u{1112}\u{1161}\u{11AB}", 2),
    ("⚠\u{FE0F}", "⚠", 1),
    ("1\u{FE0F}\u{20E3}", "1\u{20E3}", 1),
    ("👩\u{200D}👩\u{200D}👧\u{200D}👦", "👩|·", 3),
    ("👍\u{1F3FD}", "👍|·", 3),
    ("🇨🇭", "C|H", 2),
    ("🇨", "C", 1),
    ("क\u{94D}ष\u{93F}", "क\u{94D}|ष|·", 3),
    ("a\u{202E}b", "a|⟨|U|+|2|0|2|E|⟩|b", 10),
    ("a\u{200B}b", "a|⟨|U|+|2|0|0|B|⟩|b", 10),
    ("\u{FEFF}", "⟨|U|+|F|E|F|F|⟩", 8),
    ("\u{1B}[31m", "␛|[|3|1|m", 5),
    ("a\r\nb\tc", "a|␍|␊|b|␉|c", 6),
    ("\u{9B}", "⟨|U|+|0|0|9|B|⟩", 8),
    ("\u{7F}\u{0}", "␡|␀", 2),
    ("\u{1FAE9}", "□", 1),
    ("\u{E000}", "□", 1),
    ("\u{301}", "◌\u{301}", 1),
    ("ქართული", "ქ|ა|რ|თ|უ|ლ|ი", 7),
    ("ｶﾅ Ａ", "ｶ|ﾅ| |Ａ", 5),
    ("\u{1F3F4}\u{E0067}\u{E0062}\u{E007F}", "🏴|·", 3),
    ("\u{1F3FD}", "\u{1F3FD}", 2),
  ]

  @Test("every string of the golden table becomes its canonical cells", arguments: golden)
  func becomesItsCells(row: (text: String, cells: String, width: Int)) {
    let clusters = SafeText.clusters(row.text)
    #expect(clusters.map(\.text).joined(separator: "|") == row.cells)
    #expect(clusters.reduce(0) { $0 + $1.width } == row.width)
    #expect(SafeText.width(row.text) == row.width)
  }

  @Test("what is looked at scalar by scalar becomes the same cells as cluster by cluster")
  func mixtures() {
    let scalars: [Unicode.Scalar] = [
      "a", " ", "~", "\r", "\n", "\u{7F}", "é", "\u{A9}", "\u{AD}", "\u{AE}", "·", "─", "█", "日", "本", "\u{301}",
      "\u{FE0F}",
      "\u{200D}", "\u{20E3}", "\u{600}", "\u{1100}", "\u{1161}", "가", "👩", "\u{1F3FD}", "\u{1F1E8}", "\u{94D}",
      "\u{93F}", "क",
    ]
    for first in scalars {
      for second in scalars {
        for third in scalars {
          var text = ""
          text.unicodeScalars.append(contentsOf: [first, second, third])
          var cells: [SafeText.Cluster] = []
          for character in text {
            _ = ClusterSplitter.split(character) { cell in
              cells.append(cell)
              return true
            }
          }
          #expect(SafeText.clusters(text) == cells && SafeText.width(text) == cells.reduce(0) { $0 + $1.width })
        }
      }
    }
  }

  @Test("canonical text is its own canonical form", arguments: golden)
  func idempotent(row: (text: String, cells: String, width: Int)) {
    let once = SafeText.cut(row.text, to: 100)
    #expect(SafeText.cut(once, to: 100) == once)
    #expect(SafeText.width(once) == row.width)
  }

  @Test("no cell ever holds a control, a direction mark, more than five scalars or another width than 1 or 2")
  func everyScalar() {
    for value in UInt32(0)...0x10FFFF {
      guard let scalar = Unicode.Scalar(value) else { continue }
      var text = "x"
      text.unicodeScalars.append(scalar)
      for cluster in SafeText.clusters(text) {
        let isSafe = cluster.text.unicodeScalars.allSatisfy {
          switch $0.properties.generalCategory {
          case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
          default: true
          }
        }
        if !isSafe || cluster.text.unicodeScalars.count > 5 || !(1...2).contains(cluster.width) {
          Issue.record("U+\(String(value, radix: 16)) became \(cluster)")
          return
        }
      }
    }
  }

  @Test("a base keeps at most four marks")
  func zalgo() {
    let clusters = SafeText.clusters("Z" + String(repeating: "\u{301}", count: 50) + "a")
    #expect(clusters.map(\.width) == [1, 1])
    #expect(clusters[0].text.unicodeScalars.count == 5)
    #expect(clusters[0].isStandIn)
  }

  @Test("cutting ends with an ellipsis and never exceeds the columns, whatever the width of what is cut")
  func cutting() {
    #expect(SafeText.cut("Zürich", to: 6) == "Zürich")
    #expect(SafeText.cut("Zürich", to: 5) == "Züri…")
    #expect(SafeText.cut("日本語", to: 6) == "日本語")
    #expect(SafeText.cut("日本語", to: 5) == "日本…")
    #expect(SafeText.cut("日本語", to: 4) == "日…")
    #expect(SafeText.cut("日本語", to: 1) == "…")
    #expect(SafeText.cut("日本語", to: 0) == "")
    for columns in 0..<12 {
      for row in Self.golden { #expect(SafeText.width(SafeText.cut(row.text + row.text, to: columns)) <= columns) }
    }
  }

  @Test("asking whether a text is too wide looks at no more than the columns")
  func laziness() {
    let long = String(repeating: "x", count: 1_000_000)
    var seen = 0
    SafeText.forEachCluster(of: long) { _ in
      seen += 1
      return seen < 10
    }
    #expect(seen == 10)
    #expect(SafeText.isWider(long, than: 80))
    #expect(!SafeText.isWider("日本", than: 4))
  }

  @Test("the scalars of a cell are named")
  func naming() {
    #expect(SafeText.scalars("e\u{301}🚑") == ["U+0065", "U+0301", "U+1F691"])
    #expect(SafeText.scalars("abc", limit: 2) == ["U+0061", "U+0062", "…"])
  }

  @Test("ASCII stands in for everything, column for column")
  func ascii() {
    #expect(SafeText.plainASCII("ü", width: 1) == "u")
    #expect(SafeText.plainASCII("Ž", width: 1) == "Z")
    #expect(SafeText.plainASCII("日", width: 2) == "??")
    #expect(SafeText.plainASCII("┏", width: 1) == "+")
    #expect(SafeText.plainASCII("━", width: 1) == "-")
    #expect(SafeText.plainASCII("e\u{301}", width: 1) == "e")
    for value in UInt32(0x20)...0x1FFFF {
      guard let scalar = Unicode.Scalar(value) else { continue }
      for cluster in SafeText.clusters(String(scalar)) {
        let text = SafeText.plainASCII(cluster.text, width: cluster.width)
        if text.utf8.count != cluster.width || !text.unicodeScalars.allSatisfy({ $0.isASCII }) {
          Issue.record("U+\(String(value, radix: 16)) became \(text)")
          return
        }
      }
    }
  }

  @Test(
    "what only some terminals join is drawn as the terminal has answered, and with dots where it has not",
    arguments: [
      ("का", "क·", "क ा", "का"), ("👩‍👧", "👩 ·", "👩 👧", "👩‍👧"), ("👍🏽", "👍 ·", "👍 🏽", "👍🏽"),
      ("👩🏽‍🚀", "👩 ·", "👩 🏽 🚀", "👩🏽‍🚀"), ("é", "é", "é", "é"),
    ])
  func joining(text: String, unknown: String, apart: String, together: String) {
    func cells(_ way: SafeText.Joining.Way) -> String {
      SafeText.clusters(text, joining: .init(vowelSigns: way, emoji: way, skinColors: way)).map(\.text)
        .joined(separator: " ")
    }
    #expect(cells(.unknown).replacing(" ", with: "") == unknown.replacing(" ", with: ""))
    #expect(cells(.apart) == apart)
    #expect(cells(.together) == together)
    let widths = SafeText.clusters(text, joining: .init(vowelSigns: .together, emoji: .together, skinColors: .together))
    #expect(widths.count == 1 && widths[0].width == (text == "का" || text == "é" ? 1 : 2))
  }

  @Test("the columns of a sample say how it is drawn; an answer that fits no way says nothing")
  func learning() {
    var joining = SafeText.Joining()
    for (sample, columns) in [(0, 2), (1, 2), (2, 4), (1, 3), (7, 1)] { joining.learn(sample, columns: columns) }
    #expect(joining == .init(vowelSigns: .apart, emoji: .together, skinColors: .apart))
    var parser = EscapeParser()
    #expect(
      parser.feed(Array("\u{1B}[4;3R\u{1B}[2;5R".utf8)) == [.measured(sample: 1, columns: 2), .repeatsCharacters])
  }
}
