import StrataTerminal
import Testing

@Suite("Bytes on the line")
struct ByteTests {
  /// Two thousand books with two indexes, as the program's own bench has them.
  private static let store = Result { try makeStore() }

  private static func makeStore() throws -> String {
    let titles = [
      "The Left Hand of Darkness", "Solaris", "Kindred", "Roadside Picnic", "Invisible Cities", "Žofie a drak",
      "ペンギン・ハイウェイ", "The Dispossessed",
    ]
    let authors = ["Le Guin", "Lem", "Butler", "Strugatski", "Calvino", "Öztürk", "森見", "Čapek"]
    let books = (0..<2_000).map { number in
      #"{"id":\#(number),"title":"\#(titles[number % 8]) \#(number)","author":"\#(authors[number * 7 % 8])","#
        + #""price":\#(Double(number * 37 % 4000) / 100),"stock":\#(number * 13 % 97)}"#
    }
    let store = Scratch.folder(named: "books") + "/books.strata"
    let file = Scratch.file(named: "books.jsonl", books.joined(separator: "\n") + "\n")
    let (status, output) = try Spawning.run(
      "strata", ["import", store, "Book", file, "--id", "id", "--index", "author=author", "--index", "stock=stock"])
    guard status == 0 else { throw TerminalProcess.Failure(output) }
    return store
  }

  /// The browser on the books where everything is shown, idle.
  ///
  /// - Parameter synchronizing: whether the terminal tells where each picture ends: 16 bytes more for each.
  private func browse(repeating: Bool, synchronizing: Bool = false) throws -> TerminalProcess {
    let browser = try TerminalProcess(
      "strata", [try Self.store.get()], size: Size(columns: 160, rows: 48), answersQuestions: repeating,
      synchronizes: synchronizing)
    try browser.waitUntilIdle()
    browser.expect("row 1 of 2 000", "5 Index", "4 History")
    return browser
  }

  @Test(
    "the first screen takes at most 8 KiB, also where each sign of a border and a bar has to be written",
    arguments: [true, false])
  func firstScreen(repeating: Bool) throws {
    let browser = try browse(repeating: repeating)
    #expect(browser.screen.paintedBytes <= 8_192, "\(browser.screen.paintedBytes)")
  }

  @Test("the whole of that screen takes at most 7,300 bytes in one picture", arguments: [true, false])
  func whole(repeating: Bool) throws {
    let browser = try browse(repeating: repeating)
    let before = browser.screen.paintedBytes
    try browser.press("^l")
    #expect(browser.screen.paintedBytes - before <= 7_300, "\(browser.screen.paintedBytes - before)")
  }

  @Test(
    "a cursor key takes at most 300 bytes, 330 where each space of the selected row has to be written",
    arguments: [true, false])
  func cursor(repeating: Bool) throws {
    let browser = try browse(repeating: repeating)
    var costs: [Int] = []
    for _ in 0..<20 {
      let before = browser.screen.paintedBytes
      try browser.press("j")
      costs.append(browser.screen.paintedBytes - before)
    }
    #expect(costs.sorted()[10] <= (repeating ? 300 : 330), "\(costs)")
    #expect(browser.cursorLine.contains("20  Invisible Cities 20"))
  }

  @Test("a cursor key makes one picture, also where it scrolls, with the record that it leads to")
  func pictures() throws {
    let browser = try browse(repeating: true, synchronizing: true)
    for position in 2...60 {
      let before = browser.screen.frames.count
      try browser.press("j")
      #expect(browser.screen.frames.count == before + 1, "\(browser.screen.frames[before...])")
      browser.expect("row \(position) of 2 000", "Record · \(position - 1) ")
    }
  }

  /// Prompts with a sentence for each. What a filter or a search finds comes after a pause of who types, and is not the key's.
  private static let prompts: [(keys: String, sentence: String, findsRows: Bool)] = [
    (":", "difference 2 3", false), (":", "export books.csv", false), (":", "frequency title", false),
    (":", "set stock = stock + 1", false), (":", "import /tmp/books.csv", false), (":", "go", false), (":", "x", false),
    ("f", "title starts with \"Sol\" and price between 1.5 and 2k", true),
    ("f", "author = \"Le Guin\" or stock in (1, 2)", true),
    ("f", "stokc > 5", true), ("f", "= 100 .. 1_000", true), ("f", "> 1,500", true),
    ("/", "Solaris 1", true), ("T", "2 hours ago", false), ("s", "books.csv", false),
  ]

  @Test(
    "a key in a prompt takes at most 300 bytes, in each prompt and for each key of a sentence",
    arguments: [true, false])
  func prompts(repeating: Bool) throws {
    let browser = try browse(repeating: repeating, synchronizing: true)
    for prompt in Self.prompts {
      try browser.press(prompt.keys)
      if prompt.sentence.first == "=" || prompt.sentence.first == ">" { try browser.press("^u") }
      for (offset, character) in prompt.sentence.enumerated() {
        let before = browser.screen.frames.count
        try browser.type(String(character))
        let frames = browser.screen.frames[before...]
        let cost = prompt.findsRows ? frames.first ?? 0 : frames.reduce(0, +)
        #expect(
          cost <= 300, "“\(prompt.sentence.prefix(offset))” + “\(character)” behind \(prompt.keys): \(Array(frames))")
      }
      browser.expect(prompt.sentence)
      try browser.press("Esc Esc Esc")
    }
  }
}
