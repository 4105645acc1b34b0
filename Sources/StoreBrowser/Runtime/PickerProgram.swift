import Dispatch
import StrataLocks
package import StrataTerminal

/// A list of stores to choose from, with a preview of the one under the cursor.
///
/// Previews are made on another thread, each once. Enter ends the program with `chosen` set; Esc and `q` end it without.
package final class PickerProgram: TerminalProgram {
  /// A line of the list.
  package struct Item: Sendable, Hashable {
    package var title: String
    /// The origin: `here`, `lately`, `sample`.
    package var origin: String
    /// The arguments of the program that open it.
    package var words: [String]

    package init(title: String, origin: String, words: [String]) {
      self.title = title
      self.origin = origin
      self.words = words
    }
  }

  /// The chosen item; nil until then.
  package private(set) var chosen: Item?

  private let items: [Item]
  private let configuration: BrowserConfiguration
  private let keymap: Keymap
  private let preview: @Sendable (Item) -> [String]
  private let previews = Previews()
  private var asked: Set<Item> = []
  private var list = ListWindow()
  private var theme = Theme()
  private var size = Size(columns: 0, rows: 0)
  /// Whether nothing of the list is shown, so that no key but those that end the program means anything.
  private var isTooSmall: Bool { Layout.isTooSmall(size) }
  private var wake: @Sendable () -> Void = {}

  /// - Parameters:
  ///   - configuration: for the looks.
  ///   - preview: describes a store in a few lines; called on other threads, once for each item that the cursor is on.
  package init(
    _ items: [Item], configuration: BrowserConfiguration, preview: @escaping @Sendable (Item) -> [String]
  ) {
    self.items = items
    self.configuration = configuration
    keymap = configuration.keymap
    self.preview = preview
  }

  package func start(_ surroundings: TerminalSurroundings, wake: @escaping @Sendable () -> Void) -> [TerminalAction] {
    theme = configuration.theme(in: surroundings)
    size = surroundings.size
    self.wake = wake
    ask()
    return configuration.settings.mouse ? [] : [.mouse(false)]
  }

  package func respond(to event: TerminalEvent) -> [TerminalAction] {
    var command: Command?
    switch event {
    case .interrupt: return [.quit(status: 0)]
    case .resize(let new): size = new
    case .key(let chord):
      guard case .command(let meant) = keymap.meaning(of: [chord], in: .menu) else { break }
      command = meant
      if keymap.unaliased(chord) == KeyChord(.character("q")) || [.interrupt, .close, .quit].contains(meant) {
        return [.quit(status: 0)]
      }
      if meant == .suspend { return [.suspend] }
    case .mouse(let mouse) where !isTooSmall:
      switch mouse.kind {
      case .wheelUp: command = .up
      case .wheelDown: command = .down
      case .press(button: 1):
        let inside = frame(in: size).inside
        let line = list.top + mouse.point.row - inside.top
        guard inside.contains(mouse.point), items.indices.contains(line) else { break }
        if line == list.selection { command = .open } else { list.select(line, count: items.count) }
      default: break
      }
    default: break
    }
    if isTooSmall { return [] }
    if command == .open, items.indices.contains(list.selection) {
      chosen = items[list.selection]
      return [.quit(status: 0)]
    }
    let rows = max(1, frame(in: size).rows)
    if let command { _ = list.move(command, argument: nil, rows: rows, count: items.count) }
    list.reveal(rows: rows, count: items.count)
    ask()
    return []
  }

  package func respondToAnswers() -> [TerminalAction] { [] }

  /// Starts the preview of the item under the cursor, once.
  private func ask() {
    guard items.indices.contains(list.selection), asked.insert(items[list.selection]).inserted else { return }
    let item = items[list.selection]
    DispatchQueue.global(qos: .userInitiated).async { [previews, preview, wake] in
      let lines = preview(item)
      previews.known.withLock { $0[item] = lines }
      wake()
    }
  }

  package var isIdle: Bool { previews.known.withLock { $0.count } == asked.count }

  package func finish() -> String? { nil }

  /// The list, beside the preview or above it.
  private func frame(in size: Size) -> PaneFrame {
    let (columns, rows) = (size.columns, size.rows - 2)
    let widest = items.map { SafeText.width($0.title) + SafeText.width($0.origin) }.max() ?? 0
    let rect =
      columns >= 70
      ? Rect(column: 0, row: 1, columns: min(columns / 2, max(28, widest + 8)), rows: rows)
      : Rect(column: 0, row: 1, columns: columns, rows: min(items.count + 2, rows / 2))
    return PaneFrame(rect: rect, isFocused: true)
  }

  package func draw(size: Size) -> CellGrid {
    guard !Layout.isTooSmall(size) else { return Layout.demand(for: size, name: "strata") }
    var grid = CellGrid(size: size)
    grid.write("strata", at: Point(column: 1, row: 0), style: theme.style(.title))
    grid.write(
      "\(theme.enterKey) open  j k move  q quit", at: Point(column: 1, row: size.rows - 1), width: size.columns - 2,
      style: theme.style(.dim))
    let frame = frame(in: size)
    let left = frame.rect
    let right =
      left.columns < size.columns
      ? Rect(column: left.right, row: 1, columns: size.columns - left.columns, rows: left.rows)
      : Rect(column: 0, row: left.bottom, columns: size.columns, rows: size.rows - 1 - left.bottom)
    grid.border(frame, digit: nil, title: "Stores", footer: "\(list.selection + 1) of \(items.count)", theme: theme)
    for row in 0..<max(1, frame.rows) where items.indices.contains(list.top + row) {
      let (item, inside) = (items[list.top + row], frame.inside)
      let line = Rect(column: inside.left, row: inside.top + row, columns: inside.columns, rows: 1)
      grid.write(item.origin, at: line.origin, width: line.columns, style: theme.style(.dim), alignment: .trailing)
      grid.write(
        SafeText.cutInTheMiddle(item.title, to: max(4, line.columns - 4 - SafeText.width(item.origin))), at: line.at(2))
      guard list.top + row == list.selection else { continue }
      grid.write(theme.cursor, at: line.origin, width: 1)
      grid.select(line, frame: frame, theme: theme)
    }
    guard items.indices.contains(list.selection) else { return grid }
    let beside = PaneFrame(rect: right, isFocused: false)
    grid.border(beside, digit: nil, title: items[list.selection].title, footer: "", theme: theme)
    let lines = previews.known.withLock { $0[items[list.selection]] } ?? ["reading…"]
    let width = max(1, beside.columns - 2)
    let wrapped = lines.flatMap { SafeText.width($0) > width ? $0.wrapped(to: width) : [$0] }
    for (row, line) in wrapped.prefix(beside.rows).enumerated() {
      grid.write(line, at: beside.inside.at(1, row), width: width)
    }
    return grid
  }
}

/// The previews, passed from their threads to the loop's.
private final class Previews: Sendable {
  let known = Mutex<[PickerProgram.Item: [String]]>([:])
}
