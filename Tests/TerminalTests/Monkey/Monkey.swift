import Glibc
import StrataTerminal
import Testing

/// One run of the monkey: a store, a folder for all that the browser writes, and the browser itself, started anew whenever
/// it was told to quit or was killed.
final class Monkey {
  private let seed: UInt64
  private let store: SampleStore
  /// Working directory, state, configuration and temporary files of this run and of no other.
  private let folder: String
  private var hand: MonkeyHand
  private var size = Size(columns: 80, rows: 24)
  private(set) var browser: TerminalProcess
  /// Since the browser was started last.
  private var script: [String] = []
  /// The newest commit that another program was told of, or that a title showed.
  private var newestSeen = 0

  init(seed: UInt64) throws {
    self.seed = seed
    hand = MonkeyHand(seed: seed)
    store = try SampleStore()
    folder = Scratch.folder(named: "monkey-\(seed)")
    for name in ["state", "config", "data", "tmp", "work", "start"] { mkdir("\(folder)/\(name)", 0o755) }
    Scratch.write(Self.editor, to: folder + "/editor", mode: 0o755)
    browser = try Self.open(store, in: folder, size)
    try begin()
  }

  struct Failure: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
  }

  /// Leaves the file as it is, changes it, spoils it, empties it or fails: each in its turn.
  private static let editor = """
    #!/bin/sh
    turn=$(cat "$0.turn" 2>/dev/null || echo 0)
    echo $(( (turn + 1) % 5 )) > "$0.turn"
    case $turn in
      0) sed -i 's/[1-9]/7/' "$1" ;;
      1) ;;
      2) printf '{"no json\\n' > "$1" ;;
      3) : > "$1" ;;
      4) exit 1 ;;
    esac

    """

  private static func open(_ store: SampleStore, in folder: String, _ size: Size) throws -> TerminalProcess {
    try TerminalProcess(
      "strata", [store.path],
      environment: [
        "EDITOR": folder + "/editor", "SWIFT_BACKTRACE": "enable=no", "HOME": folder, "TMPDIR": folder + "/tmp",
        "XDG_STATE_HOME": folder + "/state", "XDG_CONFIG_HOME": folder + "/config", "XDG_DATA_HOME": folder + "/data",
      ], size: size, directory: folder + "/work")
  }

  // MARK: Running

  func run(events: Int) throws {
    var done = 0
    while done < events {
      let step = hand.next()
      done += step.events
      script.append(step.line)
      try perform(step)
      try expectWhole()
    }
  }

  private func perform(_ step: MonkeyStep) throws {
    switch step.action {
    case .bytes(let bytes):
      do {
        try browser.send(bytes)
        try browser.settle()
      } catch {
        try restart(after: error)
      }
    case .resize(let size):
      self.size = size
      browser.resize(size)
      try browser.settle()
    case .verb(let words, let record): try commit(words, record)
    case .end(let signal):
      browser.signal(signal)
      let end = try browser.waitForEnd()
      guard end == -1 - signal || end == 128 + signal else { throw Failure("signal \(signal) ended it with \(end)") }
      if signal != SIGKILL { try expectRestored() }
      try restart()
    }
  }

  /// It may have been told to quit; then it starts again. Any other end is what is looked for here.
  private func restart(after error: any Error) throws {
    guard browser.hasEnded else { throw error }
    let end = try browser.waitForEnd()
    guard end == 0 else { throw Failure("it ended with \(end)") }
    try expectRestored()
    try restart()
  }

  private func restart() throws {
    browser = try Self.open(store, in: folder, size)
    try begin()
  }

  private func begin() throws {
    try browser.settle()
    script = ["resize \(size)"]
    _ = try Spawning.run("/bin/rm", ["-rf", folder + "/start"])
    mkdir(folder + "/start", 0o755)
    _ = try Spawning.run("/bin/cp", ["-r", store.path, folder + "/state", folder + "/start"])
    guard !browser.screen.text.contains("the file lies at") else { throw Failure("what is staged does not parse") }
  }

  private func commit(_ words: [String], _ record: Int?) throws {
    let input = record.flatMap { number in SampleStore.cities.first { $0.contains("\"geonameid\":\(number),") } } ?? ""
    let changed = input.replacing("\"population\":", with: "\"population\":\(script.count)")
    let (status, output) = try Spawning.run(
      "strata", [words[0], store.path] + words.dropFirst(), environment: ["XDG_STATE_HOME": folder + "/state"],
      input: changed)
    // 1: what it was to delete or to take back is not there. 4: the browser is just committing.
    guard [0, 1, 4].contains(status) else { throw Failure("strata \(words): \(status) \(output)") }
    if status == 0, let number = commitNumber(output) { newestSeen = max(newestSeen, number) }
    do { try browser.settle() } catch { try restart(after: error) }
  }

  // MARK: What must be so

  /// Every row has exactly the columns, and nothing was sent that a terminal does not know.
  private func expectWhole() throws {
    guard browser.screen.unknown.isEmpty else { throw Failure("it sent \(browser.screen.unknown)") }
    for line in browser.screen.lines where SafeText.width(line) != browser.screen.size.columns {
      throw Failure("a line of \(SafeText.width(line)) cells in \(browser.screen.size)")
    }
    // A number that is cut at the edge of a narrow title is not longer than the whole one.
    if let head = shownHead, browser.screen.size.columns >= 80 { newestSeen = max(newestSeen, head) }
  }

  private func expectRestored() throws {
    guard browser.isTermiosAsBefore else { throw Failure("the terminal is not set as before") }
    let modes = browser.screen.modes
    guard modes.isDisjoint(with: [1049, 2004, 1000, 1006]), modes.contains(25) else {
      throw Failure("modes left on or off: \(modes)")
    }
  }

  /// The terminal as before, a clean store, the newest commit as the head, staged changes that parse.
  func expectAllWell() throws {
    browser.signal(SIGTERM)
    _ = try browser.waitForEnd()
    try expectRestored()
    let (status, report) = try Spawning.run("strata", ["verify", store.path])
    guard status == 0 else { throw Failure("verify: \(report)") }
    // Another program's commit is the very last one, and the head that a browser then shows.
    // It is to a datastore of its own: an index that was added while there were no records may refuse any.
    Scratch.write("{\"id\":1}\n", to: folder + "/last.jsonl")
    let (imported, output) = try Spawning.run(
      "strata", ["import", store.path, "Last", folder + "/last.jsonl", "--id", "id"])
    guard imported == 0 else { throw Failure("import: \(imported) \(output)") }
    let last = commitNumber(output)
    guard let last, last > newestSeen else { throw Failure("#\(last ?? 0) was committed after #\(newestSeen)") }
    size = Size(columns: 160, rows: 48)
    try restart()
    guard shownHead == last else { throw Failure("the head is not #\(last): \(browser.screen.lines[0])") }
  }

  private func commitNumber(_ output: String) -> Int? {
    output.split(separator: "\n").last.flatMap { $0.first == "#" ? Int($0.dropFirst().prefix(while: \.isNumber)) : nil }
  }

  /// The head as the title shows it.
  private var shownHead: Int? {
    let title = browser.screen.lines[0]
    return title.firstRange(of: "HEAD #").flatMap { Int(title[$0.upperBound...].prefix { $0.isNumber }) }
  }

  /// Keeps what shows a failure again; answers how.
  func keep() -> String {
    let kept = "/tmp/strata-monkey-\(seed)"
    _ = try? Spawning.run("/bin/rm", ["-rf", kept])
    _ = try? Spawning.run("/bin/cp", ["-r", folder + "/start", kept])
    Scratch.write(script.joined(separator: "\n") + "\n", to: kept + "/keys")
    return """
      the last keys: \(script.suffix(12).joined(separator: " | "))
      again from the browser's last start, in \(kept):
        XDG_STATE_HOME=\(kept)/state EDITOR=true strata Atlas.strata --script keys --size \(size) --dump-screen -
      again from the beginning: STRATA_MONKEY_SEED=\(seed) swift test --filter MonkeyTests
      """
  }
}
