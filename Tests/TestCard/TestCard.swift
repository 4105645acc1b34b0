import StrataTerminal

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A small program for the tests of the loop: shows colours, looks, widths, and every key and click as it arrives.
///
/// `!` and a letter does something bad on purpose, to see that the terminal survives it; the card lists them.
final class TestCard: TerminalProgram {
  private var surroundings = TerminalSurroundings(size: Size(columns: 80, rows: 24))
  private var events: [String] = []
  private var eventCount = 0
  private var asksForHarm = false
  private var isStuck = false
  private var wake: @Sendable () -> Void = {}
  private var mouseIsReported = true
  private let editedPath: String?

  /// A card.
  ///
  /// - Parameter editedPath: the file that `E` opens in the editor.
  init(editedPath: String? = nil) {
    self.editedPath = editedPath
  }

  func start(
    _ surroundings: TerminalSurroundings, wake: @escaping @Sendable () -> Void
  ) -> [TerminalAction] {
    self.surroundings = surroundings
    self.wake = wake
    return []
  }

  func respondToAnswers() -> [TerminalAction] { [] }

  var isIdle: Bool { true }

  func finish() -> String? {
    while isStuck { sleep(1) }
    return nil
  }

  func respond(to event: TerminalEvent) -> [TerminalAction] {
    note(event)
    switch event {
    case .interrupt: return [.quit(status: 0)]
    case .resize(let size):
      surroundings.size = size
      return []
    case .key(let chord): return press(chord.description)
    case .paste, .mouse, .resumed, .editorEnded, .synchronizesUpdates, .repeatsCharacters, .measured, .background:
      return []
    }
  }

  private func press(_ key: String) -> [TerminalAction] {
    if asksForHarm {
      asksForHarm = false
      return harm(key)
    }
    switch key {
    case "q", "Q", "^c": return [.quit(status: 0)]
    case "^z": return [.suspend]
    case "^l": return [.repaint]
    case "!": asksForHarm = true
    case "r": return [.record(path: "recorded.keys")]
    case "y": return [.copy("Strata")]
    case "Y": return [.copy(String(repeating: "x", count: Clipboard.limit + 1))]
    case "m":
      mouseIsReported.toggle()
      return [.mouse(mouseIsReported)]
    case "E":
      if let editedPath { return [.edit(path: editedPath, line: 3, column: 2)] }
    default: break
    }
    return []
  }

  /// What a bug might do.
  private func harm(_ key: String) -> [TerminalAction] {
    switch key {
    case "t": fatalError("a trap on purpose")
    case "o":
      let none: [Int] = []
      note("\(none[eventCount])")
    case "s": raise(SIGSEGV)
    case "a": abort()
    case "w": isStuck = true
    case "k": Task.detached { [wake] in while (try? await Task.sleep(for: .milliseconds(1))) != nil { wake() } }
    case "e":
      let words = Array("a line for standard error\n".utf8)
      _ = words.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
    case "q": return [.quit(status: 7)]
    default: break
    }
    return []
  }

  private func note(_ event: TerminalEvent) {
    switch event {
    case .key(let chord): note("key \(chord)")
    case .paste(let text): note("paste of \(text.utf8.count) bytes")
    case .mouse(let mouse): note("\(mouse.kind) at \(mouse.point.column + 1),\(mouse.point.row + 1)")
    case .resize(let size): note("resize \(size)")
    case .interrupt: note("asked to end")
    case .resumed: note("resumed")
    case .editorEnded(let end): note("editor \(end)")
    case .measured, .background: break
    case .repeatsCharacters: note("repeats characters")
    case .synchronizesUpdates: note("synchronized updates")
    }
  }

  private func note(_ line: String) {
    eventCount += 1
    events.append("\(eventCount) \(line)")
    if events.count > 100 { events.removeFirst(50) }
  }

  func draw(size: Size) -> CellGrid {
    var grid = CellGrid(size: size)
    let (upper, lower) = grid.bounds.split(top: min(12, size.rows / 2))
    grid.frame(
      upper, title: "Terminal \(size), \(surroundings.colors) colours", footer: "Unicode \(SafeText.unicodeVersion)")
    drawColors(into: &grid, upper.inset())
    drawWidths(into: &grid, upper.inset())
    grid.frame(lower, title: "Keys", footer: "\(eventCount) events", heavy: true)
    drawEvents(into: &grid, lower.inset())
    return grid
  }

  private func drawColors(into grid: inout CellGrid, _ rect: Rect) {
    for number in 0..<16 where rect.rows > 1 {
      let column = rect.left + number * 2
      guard column + 1 < rect.right else { break }
      grid.fill(
        Rect(column: column, row: rect.top, columns: 2, rows: 1), style: Style(on: .ansi(UInt8(number))))
    }
    let looks: [(String, Attributes)] = [
      ("bold", .bold), ("dim", .dim), ("reverse", .reverse), ("underline", .underline), ("italic", .italic),
      ("struck", .strike),
    ]
    let spans = looks.flatMap { [Span($0.0, Style(.standard, $0.1)), Span(" ")] }
    guard rect.rows > 1 else { return }
    grid.write(spans, at: Point(column: rect.left, row: rect.top + 1), width: rect.columns)
  }

  private func drawWidths(into grid: inout CellGrid, _ rect: Rect) {
    let samples = [
      "Žofie a drak", "李小龍 — 生平", "ペンギン・ハイウェイ", "ქართული", "👩\u{200D}👩\u{200D}👧 👍\u{1F3FD} ⚠\u{FE0F}",
      "a\u{202E}b\u{1B}[2J",
    ]
    for (index, sample) in samples.enumerated() where index + 2 < rect.rows {
      let row = rect.top + 2 + index
      grid.write(sample, at: Point(column: rect.left, row: row), width: max(0, rect.columns - 1))
      grid.write("▏", at: Point(column: min(rect.left + 30, rect.right - 1), row: row), width: 1)
    }
  }

  private func drawEvents(into grid: inout CellGrid, _ rect: Rect) {
    let help = "q quit · ^z stop · m mouse · y copy · ! and t o s a: trap, index, SIGSEGV, abort · e standard error"
    grid.write(help, at: rect.origin, width: rect.columns, style: .dim)
    for (index, line) in events.suffix(max(0, rect.rows - 1)).enumerated() {
      grid.write(line, at: Point(column: rect.left, row: rect.top + 1 + index), width: rect.columns)
    }
    guard !rect.isEmpty else { return }
    let last = min(rect.rows - 1, events.count)
    grid.cursor = Point(column: rect.left, row: rect.top + max(0, last))
  }
}
