import StrataDocuments
import Testing

@testable import StrataModel

struct TableSourceTests {
  /// Documents as JSON, keys before a colon, what cannot be read as its place and reason.
  private func rows(_ text: String, _ name: String = "f", isKeyed: Bool = true) throws -> [String] {
    var source = try TableSource(bytes: Array(text.utf8), name: name, isKeyed: isKeyed)
    let first = try rows(&source)
    try source.rewind()
    #expect(try rows(&source) == first, "read again")
    return first
  }

  private func rows(_ source: inout TableSource) throws -> [String] {
    var rows: [String] = []
    while let row = try source.next() {
      switch row.content {
      case .document(let document): rows.append((row.key.map { "\($0): " } ?? "") + document.compactJSON)
      case .unreadable(let reason): rows.append("\(row.place): \(reason)")
      }
    }
    return rows
  }

  private func format(_ text: String, _ name: String = "f", isKeyed: Bool = true) throws -> TableSource.Format {
    try TableSource(bytes: Array(text.utf8), name: name, isKeyed: isKeyed).format
  }

  @Test("formats are told by how a file begins")
  func formats() throws {
    #expect(try format("{\"a\":1}\n{\"a\":2}\n") == .jsonLines)
    #expect(try format("{\"a\":1}") == .jsonLines)
    #expect(try format("{\n\"a\":1\n}\n{\"a\":2}") == .jsonDocuments)
    #expect(try format(" [1]") == .jsonArray)
    #expect(try format("[1]\n[2]") == .jsonLines)
    #expect(try format("{\"1\":{\"a\":1},\"2\":{}}") == .jsonObject)
    #expect(try format("{\"1\":{\"a\":1}}", isKeyed: false) == .jsonLines)
    #expect(try format("{\"1\":{\"a\":1},\"2\":3}") == .jsonLines)
    #expect(try format("id,name\n1,a") == .separated(by: ","))
    #expect(try format("id;na,me;x\n1;a;b;c") == .separated(by: ";"))
    #expect(try format("id\tname", "f.tsv") == .separated(by: "\t"))
    #expect(try format("id\tname\n") == .separated(by: "\t"))
    #expect(try format("") == .jsonLines)
    let long = String(repeating: "x", count: 1 << 20)
    #expect(try format("{\"a\":1,\n\"b\":\"\(long)\"}") == .jsonDocuments)
    #expect(try format("{\"a\":1,\"b\":\"\(long)\"}\n{}") == .jsonLines)
    #expect(try format("{\"a\":{},\n\"b\":{\"c\":\"\(long)\"}}") == .jsonObject)
  }

  @Test("JSON Lines: what cannot be read is named with line and column, and reading goes on")
  func lines() throws {
    #expect(
      try rows("\u{FEFF}{\"a\":1}\r\n\n  \n{\"a\":}\n{\"é\" 1}\n{\"a\":3}")
        == ["{\"a\":1}", "f:4:6: unexpected “}”", "f:5:6: expected “:” after the name", "{\"a\":3}"])
  }

  @Test("arrays")
  func arrays() throws {
    #expect(
      try rows("[\n {\"a\":1},\n {\"a\":\n01},{\"a\":[1,{\"]\":\"\\\"]\"}]}\n]\n") == [
        "{\"a\":1}", "f:4:1: not a number", "{\"a\":[1,{\"]\":\"\\\"]\"}]}",
      ])
    #expect(try rows("[]").isEmpty)
    #expect(try rows("[1,2") == ["1", "2", "f:1:5: the file ends too early"])
    #expect(try rows("[1 2]") == ["1", "f:1:4: expected “,” or “]”; nothing after it can be read"])
    #expect(try rows("[1,]") == ["1", "f:1:4: a document is missing; nothing after it can be read"])
    #expect(try rows("[1]]") == ["1", "f:1:4: there is text after the end"])
    #expect(try rows("[{\"a\":1") == ["f:1:2: the document does not end; nothing after it can be read"])
  }

  @Test("a column that a few cells make text says which, and in which rows")
  func exceptions() throws {
    func column(_ text: String) throws -> TableSource.Column? {
      try TableSource(bytes: Array(text.utf8), name: "f.csv").columns.last
    }
    let mixed = try #require(try column("id,n\n1,5\n2,n/a\n3,\n4,7\n5,8\n"))
    #expect(mixed.type == .text)
    #expect(
      mixed.exceptions
        == ColumnExceptions(type: .integer, cells: 4, others: 1, first: [.init(place: "f.csv:3", text: "n/a")]))
    #expect(
      mixed.exceptions?.sentence(for: mixed.path)
        == "n is String, and so is an index of it: 1 of 4 cells is not Int: f.csv:3 “n/a”")
    #expect(try column("id,n\n1,5.5\n2,x\n3,7\n4,y\n5,1\n")?.exceptions?.others == 2)
    #expect(try column("id,n\n1,true\n2,x\n3,false\n")?.exceptions?.type == .bool)
    // Texts among which some look like numbers are texts, and so is what has no majority.
    #expect(try column("id,n\n1,Bern\n2,7\n3,Basel\n")?.exceptions == nil)
    #expect(try column("id,n\n1,5\n2,7\n")?.exceptions == nil)
    #expect(try column("id,n\n1,\n2,\n")?.exceptions == nil)
    let many = "id,n\n" + (1...30).map { "\($0),\($0 % 4 == 0 ? "x\($0)" : "\($0)")\n" }.joined()
    #expect(
      try column(many)?.exceptions?.first.map(\.place) == ["f.csv:5", "f.csv:9", "f.csv:13", "f.csv:17", "f.csv:21"])
  }

  @Test("objects keyed by identifier")
  func keyed() throws {
    #expect(try rows("{\"7\":{\"a\":1},\n\"x\\u0079\":{\"a\":2}}") == ["7: {\"a\":1}", "xy: {\"a\":2}"])
    #expect(try rows("{\"7\":{\"a\":1},\"8\":{\"a\":}}", isKeyed: true) == ["7: {\"a\":1}", "f:1:23: unexpected “}”"])
  }

  @Test("documents one after the other")
  func documents() throws {
    #expect(
      try rows("{\n \"a\": 1\n}\n\n{\"a\": 2} {\"a\": 3}\n}\n{\"a\":4}") == [
        "{\"a\":1}", "{\"a\":2}", "{\"a\":3}", "f:6:1: unexpected “}”", "{\"a\":4}",
      ])
    #expect(try rows("{\n}\n{\"a\":") == ["{}", "f:3: the document does not end"])
    // The lines behind a broken first one are documents of their own.
    #expect(
      try rows("{bad\n{bad\n{\"a\":1}\n{\"a\":2}\n") == [
        "f:1: the document does not end", "f:2:2: expected a member's name in quotes", "{\"a\":1}", "{\"a\":2}",
      ])
    #expect(try rows("{\"a\":[\n{\"a\":1}") == ["f:1: the document does not end", "{\"a\":1}"])
  }

  @Test("tables of cells: types by column, quotes, empty cells, nested names")
  func cells() throws {
    let text = """
      id,name,price,ok,zip,dims.w,tags,note
      1,"Žofie, ""a"" drak",1.50,true,01234,2,"[1,2]",
      2,"two
      lines",3,FALSE,99999,,[],""
      3,x,,true,00001,5,,-
      """
    var source = try TableSource(bytes: Array(text.utf8), name: "f.csv")
    #expect(
      source.columns.map { "\($0.path) \($0.type)" } == [
        ".id Int", ".name String", ".price Double", ".ok Bool", ".zip String", ".dims.w Int", ".tags JSON",
        ".note String",
      ])
    #expect(
      try rows(&source) == [
        #"{"id":1,"name":"Žofie, \"a\" drak","price":1.50,"ok":true,"zip":"01234","tags":[1,2],"note":null,"dims":{"w":2}}"#,
        #"{"id":2,"name":"two\nlines","price":3,"ok":false,"zip":"99999","tags":[],"note":"","dims":{"w":null}}"#,
        #"{"id":3,"name":"x","price":null,"ok":true,"zip":"00001","tags":null,"note":"-","dims":{"w":5}}"#,
      ])
  }

  @Test("rows that do not fit are named with their line")
  func rejectedCells() throws {
    let bytes =
      Array("a,b\r\n1,2\r\n\r\n3\r\n4,5,6\r\n\"x\"y,2\r\n7,5\" pipe\r\n".utf8) + [0x38, 0x2C, 0xFF, 0x0A]
      + Array("\"open,2\n3,4".utf8)
    var source = try TableSource(bytes: bytes, name: "f.csv")
    let read = try rows(&source)
    #expect(
      read == [
        "{\"a\":1,\"b\":\"2\"}", "f.csv:4: 1 cell under 2 names", "f.csv:5: 3 cells under 2 names",
        "f.csv:6: cell 1: there is text after the closing quote",
        "{\"a\":7,\"b\":\"5\\\" pipe\"}",
        "f.csv:8:3: cell 2: the text is not UTF-8: byte 255 (--encoding latin1 takes it as that)",
        "f.csv:9: a quote does not end, so lines 9 to 10 are one row",
      ])
    #expect(
      try rows("a,b\n1,\"x\n2,y\n3,\"z\",4\n5,6\n", "f.csv") == [
        "f.csv:2: cell 2: there is text after the closing quote, so lines 2 to 4 are one row", "{\"a\":5,\"b\":6}",
      ])
    #expect(try rows("a\n\"open\n", "f.csv") == ["f.csv:2: a quote does not end"])
  }

  @Test("in tab-separated values a quote that does not end properly is a character")
  func plainQuotes() throws {
    let text = "a\tb\n1\t\"c\n2\td\n3\t5\" pipe\n4\t\"x\"y\n5\t\"two\nlines\"\n6\t\"q\"\"\"\n\"7\t\"open\""
    #expect(
      try rows(text, "f.tsv") == [
        #"{"a":"1","b":"\"c"}"#, #"{"a":"2","b":"d"}"#, #"{"a":"3","b":"5\" pipe"}"#, #"{"a":"4","b":"\"x\"y"}"#,
        #"{"a":"5","b":"two\nlines"}"#, #"{"a":"6","b":"q\""}"#, #"{"a":"\"7","b":"open"}"#,
      ])
  }

  @Test("a first line that declares the separator, as spreadsheets write it, is not a row")
  func declaredSeparator() throws {
    for line in ["sep=;\n", "SEP=;\r\n", "\"sep=;\"\n", "\u{FEFF}sep=;\n"] {
      #expect(try rows(line + "a,b;c\n1;2\n", "f.csv") == [#"{"a,b":1,"c":2}"#], "\(line)")
    }
    #expect(try rows("sep=;x\n1\n", "f.csv") == ["f.csv:2: 1 cell under 2 names"])
  }

  @Test("a number beyond the range of Double is text, because no decoder reads it as a number")
  func hugeNumbers() throws {
    let source = try TableSource(bytes: Array("a,b\n1e400,1e300\n2,-1e-400\n".utf8), name: "f.csv")
    #expect(source.columns.map(\.type) == [.text, .number])
  }

  @Test("a cell in quotes without content is the empty text, also if its column has no other")
  func emptyTexts() throws {
    #expect(
      try rows("a,b,c\n1,\"\",\n2,\"\",\n", "f.csv") == [#"{"a":1,"b":"","c":null}"#, #"{"a":2,"b":"","c":null}"#])
  }

  @Test("a row with a cell beyond the range of Double is refused, because no decoder reads its record")
  func farNumbers() throws {
    var cells = try TableSource(bytes: Array("n,m\n1e400,1\n2,1\n".utf8), name: "f.csv")
    cells.follow(ColumnRule(type: .number, origin: "in the records of T"), at: DocumentPath([.member("n")]))
    #expect(try rows(&cells).first?.hasSuffix("n is 1e400, which is beyond the range of Double") == true)
  }

  @Test("a table without columns is written as an empty file")
  func noColumns() { #expect(TableWriter(.csv, columns: []).beginning.isEmpty) }

  @Test("names of columns that are missing, twice or no paths")
  func names() throws {
    let source = try TableSource(bytes: Array("a,,a,first name,l[0]\n1,2,3,4,5\n".utf8), name: "f.csv")
    #expect(source.columns.map(\.path.description) == [".a", ".column2", ".a_2", ".\"first name\"", ".\"l[0]\""])
  }

  @Test("what is written is read again, in every format", arguments: TableWriter.Format.allCases)
  func roundTrip(format: TableWriter.Format) throws {
    let documents: [Document] = [
      ["id": 1, "name": "a,\"b\"\n", "dims": ["w": 1.5, "h": nil], "tags": ["x", 2]],
      ["id": 2, "name": "", "dims": ["w": 2, "h": nil], "tags": []],
      ["id": 3, "name": " c ", "dims": ["w": nil, "h": nil], "tags": [[:]]],
      ["id": 4, "name": "a\u{0}b", "dims": ["w": nil, "h": nil], "tags": []],
    ]
    var writer = TableWriter(format, columns: TableWriter.columns(of: documents))
    var bytes = writer.beginning
    for document in documents { bytes += writer.row(document) }
    bytes += writer.end
    var source = try TableSource(bytes: bytes, name: "f.\(format)")
    var read: [Document] = []
    while let row = try source.next() {
      if case .document(let document) = row.content { read.append(document) }
    }
    #expect(read == documents)
  }

  @Test("odd names are written so that they read back, and as they are where they can be")
  func oddNames() throws {
    let marked = TableWriter(.csv, columns: [DocumentPath([.member("\u{FEFF}id")])]).beginning
    let odd = try TableSource(bytes: marked + Array("1\n".utf8), name: "f.csv")
    #expect(odd.columns.map(\.name) == ["\u{FEFF}id"])
    let document: Document = ["a.b": 1, "first name": 2, "l[0]": 3, "in": 4, "x": ["y z": 5], " s": 6, "": 7]
    var writer = TableWriter(.csv, columns: TableWriter.columns(of: [document]))
    let bytes = writer.beginning + writer.row(document)
    #expect(String(decoding: writer.beginning, as: UTF8.self).contains(",first name,"))
    var source = try TableSource(bytes: bytes, name: "f.csv")
    guard case .document(let read)? = try source.next()?.content else { throw CancellationError() }
    #expect(read == document)
  }

  @Test("names of which one lies within another are told, and nothing is dropped")
  func clashingNames() throws {
    var source = try TableSource(bytes: Array("id,a.b,a,a.c.d\n1,x,y,z\n".utf8), name: "f.csv")
    #expect(source.columns.map(\.path.description) == [".id", ".\"a.b\"", ".a", ".\"a.c.d\""])
    #expect(source.notes.count == 2 && source.notes[0].contains("a.b"))
    #expect(try rows(&source) == [#"{"id":1,"a.b":"x","a":"y","a.c.d":"z"}"#])
  }

  @Test("a column of a plain name with a point keeps it beside a nested one of the same letters")
  func clashingPlainName() throws {
    var source = try TableSource(bytes: Array("id,a,a.b,\".\"\"a.b\"\"\",a.b\n1,x,y,z,v\n".utf8), name: "f.csv")
    #expect(source.columns.map(\.path.description) == [".id", ".a", ".\"a.b_3\"", ".\"a.b\"", ".\"a.b_2\""])
    #expect(source.notes.count == 2)
    #expect(try rows(&source) == [#"{"id":1,"a":"x","a.b_3":"y","a.b":"z","a.b_2":"v"}"#])
  }

  @Test("documents one after the other on a line are read, a line that is broken is not taken apart")
  func severalOnALine() throws {
    #expect(
      try rows("{\"a\":1} {\"a\":2}{\"a\":3}\n{\"a\":4}\n") == ["{\"a\":1}", "{\"a\":2}", "{\"a\":3}", "{\"a\":4}"])
    #expect(try rows("{\"a\":1}\n{\"a\":2} {\"a\":3}\n{\"a\":4}", "f.jsonl").count == 4)
    let broken = try rows("{\"a\":1}\n{\"a\":2} {\"a\":\n{\"a\":4}", "f.jsonl")
    #expect(broken.count == 3 && broken[1].hasPrefix("f.jsonl:2:"))
  }

  @Test("a file of JSON Lines of one line is one document, whatever it is made of")
  func oneLine() throws {
    #expect(try rows("{\"user\":{\"n\":1},\"meta\":{\"v\":1}}\n", "f.jsonl").count == 1)
    #expect(try rows("{\"user\":{\"n\":1},\"meta\":{\"v\":1}}\n", "f.json").count == 2)
  }

  @Test("a carriage return alone ends lines where the first line ends in one, and only there")
  func carriageReturns() throws {
    #expect(
      try rows("id,a\r1,x\r\r2\r3,\"y\rz\"\r", "f.csv") == [
        "{\"id\":1,\"a\":\"x\"}", "f.csv:4: 1 cell under 2 names", "{\"id\":3,\"a\":\"y\\rz\"}",
      ])
    #expect(try rows("{\"a\":1}\r{\"a\":2}\r", "f.jsonl").count == 2)
    #expect(try rows("id,a\n1,x\ry\n", "f.csv") == ["{\"id\":1,\"a\":\"x\\ry\"}"])
  }

  @Test("UTF-16 with its mark is read, what is not text is refused by name, Latin-1 is read when that is said")
  func encodings() throws {
    let text = "id,a\n1,é😀\n"
    for (encoding, mark) in [(TextEncoding.utf16LittleEndian, [UInt8(0xFF), 0xFE]), (.utf16BigEndian, [0xFE, 0xFF])] {
      let units = text.utf16.flatMap { unit in
        let bytes = [UInt8(unit & 0xFF), UInt8(unit >> 8)]
        return encoding == .utf16LittleEndian ? bytes : bytes.reversed()
      }
      var source = try TableSource(bytes: mark + units, name: "f.csv")
      #expect(source.encoding == encoding)
      #expect(try rows(&source) == [#"{"id":1,"a":"é😀"}"#])
      #expect {
        try TableSource(bytes: units, name: "f.csv")
      } throws: {
        "\($0)".contains("UTF-16 without a byte order mark") && "\($0)".contains("--encoding \(encoding.rawValue)")
      }
      var told = try TableSource(bytes: units, name: "f.csv", encoding: encoding)
      #expect(try rows(&told).count == 1)
    }
    #expect {
      try TableSource(bytes: [0x01, 0x00, 0x80, 0x00] + Array("SQLite format 3".utf8), name: "f.csv")
    } throws: {
      "\($0)".contains("binary file")
    }
    for (start, kind) in [([UInt8(0x1F), 0x8B, 8, 0], "gzip"), ([0x50, 0x4B, 3, 4, 20, 0], "ZIP")] {
      #expect { try TableSource(bytes: start, name: "f.csv") } throws: { "\($0)".contains(kind) }
    }
    var latin = try TableSource(bytes: [0x61, 0x0A, 0x74, 0xE9, 0x0A], name: "f.csv", encoding: .latin1)
    #expect(try rows(&latin) == [#"{"a":"té"}"#])
  }

  @Test("rows of a single cell that is nothing are rows")
  func oneColumn() throws {
    var writer = TableWriter(.csv, columns: [DocumentPath([.member("a")])])
    #expect(String(decoding: writer.row(["b": 1]), as: UTF8.self) == "\"\"\n")
    #expect(try rows("a\nx\n\"\"\ny\n", "f.csv").count == 3)
  }

  @Test("an array of nothing is one")
  func emptyArray() {
    let writer = TableWriter(.json)
    #expect(String(decoding: writer.beginning + writer.end, as: UTF8.self) == "[]\n")
  }

  @Test("columns are the leaves; where a value is sometimes an object, it is one cell")
  func columns() {
    #expect(
      TableWriter.columns(of: [["a": 1, "b": ["c": 1]], ["a": ["x": 1], "d": nil]]).map(\.description) == [
        ".a", ".b.c", ".d",
      ])
  }

  @Test("values across the edges of what is read at once, from a real file")
  func longFile() throws {
    let path = TemporaryFile.path()
    defer { TemporaryFile.remove(path) }
    var text = "["
    for number in 0..<4000 {
      text +=
        (number > 0 ? ",\n" : "") + "{\"id\":\(number),\"text\":\"\(String(repeating: "é\\\"]", count: number % 41))\"}"
    }
    try TemporaryFile.write(Array((text + "]").utf8), to: path)
    var source = try TableSource(path: path)
    for _ in 0..<2 {
      var count = 0
      while let row = try source.next() {
        guard case .document(let document) = row.content else {
          Issue.record("\(row.place)")
          break
        }
        #expect(document[member: "id"] == .number(NumberText(count)))
        count += 1
      }
      #expect(count == 4000)
      try source.rewind()
    }
  }

  @Test("a file that is not there is an error with its name")
  func missing() {
    #expect { try TableSource(path: "/nowhere/x.json") } throws: { error in
      guard case ModelError.storage(let text, .failed) = error else { return false }
      return text.contains("/nowhere/x.json")
    }
  }

  @Test("arbitrary and mutated files never trap and always end", arguments: 1...6 as ClosedRange<UInt64>)
  func hostile(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let originals = [
      "{\"a\":1}\n{\"a\":[2]}\n{\"b\":\"x\\\"y\"}", "[{\"a\":1},{\"a\":2}]", "{\"1\":{\"a\":1},\"2\":{\"a\":2}}",
      "a,b\n1,\"x,\"\"y\"\n2,\"\nz\"\n", "{\n\"a\":1\n}\n{}",
    ]
    for _ in 0..<600 {
      var bytes = Array((originals.randomElement(using: &random) ?? "").utf8)
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        guard let index = bytes.indices.randomElement(using: &random) else { break }
        bytes[index] =
          Bool.random(using: &random)
          ? UInt8.random(in: 0...255, using: &random) : bytes.randomElement(using: &random) ?? 0
      }
      // What is no text is refused.
      guard var source = try? TableSource(bytes: bytes, name: "f") else { continue }
      var count = 0
      while try source.next() != nil { count += 1 }
      #expect(count <= bytes.count + 1)
    }
  }
}
