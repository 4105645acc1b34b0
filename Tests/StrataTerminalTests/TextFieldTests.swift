import Testing

@testable import StrataTerminal

@Suite("Text field")
struct TextFieldTests {
  private func typed(_ keys: String, into text: String = "") -> TextField {
    var field = TextField(text)
    for chord in KeyChord.sequence(keys) ?? [] {
      let isKnown = field.apply(chord)
      #expect(isKnown)
    }
    return field
  }

  @Test("keys edit by grapheme cluster")
  func editing() {
    #expect(typed("Left Backspace", into: "日e\u{301}x").text == "日x")
    #expect(typed("^a ^d", into: "👩\u{200D}👧b").text == "b")
    #expect(typed("^w", into: "one two ").text == "one ")
    #expect(typed("^w ^y ^y", into: "one two").text == "one twotwo")
    #expect(typed("^a ^k", into: "one").text == "")
    #expect(typed("Left ^u", into: "one").text == "e")
    #expect(typed("M-b x", into: "one two").text == "one xtwo")
    #expect(typed("Home Left Delete End Right", into: "one").text == "ne")
    var field = TextField("x")
    let answers = [field.apply(KeyChord(.enter)), field.apply(KeyChord(.escape)), field.apply(KeyChord(.function(1)))]
    #expect(answers == [false, false, false])
  }

  @Test("a line break ends a word, as a space does")
  func wordsOfLines() throws {
    var field = TextField("first line\nsecond")
    _ = field.apply(try #require(KeyChord("^w")))
    #expect(field.text == "first line\n")
    field.moveCursor(to: 6)
    _ = field.apply(try #require(KeyChord("C-Right")))
    #expect(field.cursor == 10)
  }

  @Test("a mark that joins the cluster before it moves the cursor by what is there then")
  func joining() {
    var field = TextField("e")
    field.insert("\u{301}")
    #expect(field.cursor == 1)
    #expect(field.text == "e\u{301}")
    field.insert("x")
    #expect(field.text == "e\u{301}x")
  }

  @Test("drawing keeps the cursor visible at every place and width")
  func drawing() {
    let text = "日本 Žofie a drak\u{7} and more"
    for width in 1...30 {
      for place in 0...text.count {
        var field = TextField(text)
        field.moveCursor(to: place)
        var grid = CellGrid(size: Size(columns: 40, rows: 1))
        let cursor = field.draw(into: &grid, at: Point(column: 5, row: 0), width: width)
        #expect((5..<5 + width).contains(cursor.column))
        #expect(grid.row(0).dropFirst(5 + width).allSatisfy { $0.text == " " })
        #expect(grid.cursor == cursor)
      }
    }
    var grid = CellGrid(size: Size(columns: 10, rows: 1))
    TextField("abcdefghijklmnop").draw(into: &grid, at: .zero, width: 8)
    #expect(grid.lines()[0] == "‹klmnop   ")
  }
}
