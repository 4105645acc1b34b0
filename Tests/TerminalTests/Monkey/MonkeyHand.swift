import Glibc
import StoreBrowser
import StrataTerminal

/// One thing that the monkey does.
struct MonkeyStep {
  enum Action {
    case bytes([UInt8])
    case resize(Size)
    /// Another program's commit: a verb with what follows the store's path, and a record for its standard input.
    case verb([String], input: Int?)
    case end(Int32)
  }

  enum Source {
    case key(Command)
    case name(Command)
    case other
  }

  var action: Action
  /// As a script for `--script` has it; a comment where a script cannot do it.
  var line: String
  var events = 1
  var source = Source.other
}

/// Draws steps from a seed. It never looks at the screen, so a seed gives the same steps always.
struct MonkeyHand {
  private var random: SeededGenerator
  private var serial = 0

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  /// What is to be done next on purpose: a review is confirmed once it is there.
  private var planned: ArraySlice<String> = []

  mutating func next() -> MonkeyStep {
    if let planned = planned.popFirst() { return keys(planned) }
    return switch number(in: 0..<200) {
    case 0..<88: key()
    case 88..<104: burst()
    case 104..<136: command()
    case 136..<158: keys("Enter")
    case 158..<168: keys("Esc")
    case 168..<178: text()
    case 178..<181: paste()
    case 181..<185: mouse()
    case 185..<189: resize()
    case 189..<191: other()
    case 191: MonkeyStep(action: .end(flip() ? SIGKILL : SIGTERM), line: "# ended by a signal")
    default: purpose()
    }
  }

  // MARK: Keys

  /// A key of the table.
  private mutating func key() -> MonkeyStep {
    let (key, command) = pick(Self.tableKeys)
    var step = keys(key)
    step.source = .key(command)
    return step
  }

  private static let tableKeys: [(String, Command)] = CommandTable.all.flatMap { entry in
    entry.keys.map { ($0, entry.command) }
  }

  /// Several keys typed ahead, none of which opens an editor: what is typed ahead of that is the editor's.
  private mutating func burst() -> MonkeyStep {
    let words = (0..<number(in: 2..<13)).map { _ in pick(Self.plainKeys) }
    return keys(words.joined(separator: " "))
  }

  private static let plainKeys =
    "j k j k h l g G ^d ^u PageDown PageUp Home End 1 2 3 4 5 6 Tab + _ v n N o O - = < > z b T , . W c x C t J K M a u w q "
    .split(separator: " ").map(String.init)

  private func keys(_ keys: String) -> MonkeyStep {
    MonkeyStep(
      action: .bytes(KeyBytes.keys(keys).flatMap { $0 }), line: "keys \(keys)", events: keys.split(separator: " ").count
    )
  }

  /// What people do on purpose: edits that are committed, deletes, undos.
  private mutating func purpose() -> MonkeyStep {
    planned = pick(Self.purposes).split(separator: "|").map(String.init)[...]
    return keys(planned.popFirst() ?? "Esc")
  }

  private static let purposes = [
    "Esc Esc 2 e ^u 7 7 Enter", "Esc Esc 2 d d", "w|Enter Enter", "w|Enter Enter", "u|Enter Enter", "^r|Enter Enter",
    "Esc Esc 3 j j e ^u 9 Enter w|Enter Enter", "4 j R|Enter Enter", "2 E", "2 D", "2 i", "2 C j Enter", "3 d d",
    "g H j r", "2 Space Space d d", "Esc Esc Esc Esc Esc",
  ]

  // MARK: Words

  /// A command by its name.
  private mutating func command() -> MonkeyStep {
    let entry = pick(CommandTable.all)
    let argument = pick(arguments(of: entry.command))
    let text = argument.isEmpty ? entry.name : "\(entry.name) \(argument)"
    return MonkeyStep(
      action: .bytes(Array(":\(text)\r".utf8)), line: ": \(text)", events: 1, source: .name(entry.command))
  }

  private mutating func arguments(of command: Command) -> [String] {
    serial += 1
    switch command {
    case .goTo: return ["12", "50%", "+7", "-3", "999999", "x"]
    case .olderCommit, .newerCommit: return ["", "3", "x", "99999999"]
    case "plot": return ["", "longitude latitude", "population geonameid by countrycode", "x", "name latitude", "a by"]
    case .setBookmark, .goToBookmark: return ["a", "b"]
    case .search: return ["Mog", "a", "日本", "\\"]
    case .filter:
      return ["population > 100000", "name ^= \"M\"", "= 100000 ..< 2000000", "!countrycode = \"AF\"", "population >"]
    case .sort, .sortReverse, .frequency: return ["", "population", "countrycode", "nonsense"]
    case .nameView, "forget-view": return ["many"]
    case .export: return ["out.jsonl", "out.csv", "out.json", "/none/out.jsonl"]
    case .addIndex: return ["zone=timezone", "more=alternatenames:many-to-many", "half="]
    case .rebuildIndex: return ["", "population", "none"]
    case .dropIndex: return ["zone", "more", "alternate"]
    case .travel: return ["", "head", "head~1", "3", "2", "nonsense", "yesterday"]
    case .difference: return ["", "1 3", "head~1 head"]
    case .pickaxe: return ["Mogadishu", "M"]
    case .pin, "unpin": return ["one", "two", "3"]
    case "restore": return ["head~1", "2 City", "3"]
    case .set: return ["population = population + 1", "name = upper(name)", "population = ", "timezone = null"]
    case .compact: return ["4", "all", "1d", "2x"]
    case .copyStore: return ["copy-\(serial).strata", "/none/copy.strata"]
    case "record": return ["", "keys-\(serial)"]
    default: return [""]
    }
  }

  private static let words = [
    "12", "1e999", "name = \"Mogadishu\"", "population > 5", "#2", "head~1", "= 5 ...", "null", "\"", "日本", "e\u{301}",
    "true", "{\"a\":1}", "x", "City", "0",
  ]

  private mutating func text() -> MonkeyStep {
    let text = pick(Self.words)
    return MonkeyStep(action: .bytes(Array(text.utf8)), line: "type \(quoted(text))", events: text.count)
  }

  private mutating func paste() -> MonkeyStep {
    let text = pick(["two\nlines", "pasted", "\u{202E}אבג", String(repeating: "long ", count: 400)])
    return MonkeyStep(action: .bytes(Array("\u{1B}[200~\(text)\u{1B}[201~".utf8)), line: "paste \(quoted(text))")
  }

  private func quoted(_ text: String) -> String {
    "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n") + "\""
  }

  // MARK: The rest

  private mutating func mouse() -> MonkeyStep {
    let place = "\(number(in: 1..<100)),\(number(in: 1..<30))"
    let at = place.replacing(",", with: ";")
    let (code, name) = pick([(0, "click"), (0, "click"), (64, "wheel-up"), (65, "wheel-down")])
    let release = code == 0 ? "\u{1B}[<0;\(at)m" : ""
    return MonkeyStep(action: .bytes(Array("\u{1B}[<\(code);\(at)M\(release)".utf8)), line: "\(name) \(place)")
  }

  private mutating func resize() -> MonkeyStep {
    let usual = [Size(columns: 80, rows: 24), Size(columns: 160, rows: 48), Size(columns: 40, rows: 10)]
    let size =
      flip() ? pick(usual) : Size(columns: number(in: 1..<181), rows: number(in: 1..<51))
    return MonkeyStep(action: .resize(size), line: "resize \(size)")
  }

  private mutating func other() -> MonkeyStep {
    serial += 1
    let city = pick([32767, 53654, 54225])
    return switch number(in: 0..<8) {
    case 0: MonkeyStep(action: .verb(["delete", "City", "\(city)"], input: nil), line: "# strata delete City \(city)")
    case 1: MonkeyStep(action: .verb(["undo"], input: nil), line: "# strata undo")
    case 2: MonkeyStep(action: .verb(["pin", "p\(serial)"], input: nil), line: "# strata pin p\(serial)")
    default:
      MonkeyStep(
        action: .verb(["put", "City", "--name", "monkey \(serial)"], input: city), line: "# strata put City \(city)")
    }
  }

  private mutating func number(in range: Range<Int>) -> Int { Int.random(in: range, using: &random) }
  private mutating func flip() -> Bool { Bool.random(using: &random) }
  private mutating func pick<Element>(_ elements: [Element]) -> Element { elements[number(in: 0..<elements.count)] }
}
