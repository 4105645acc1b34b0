import StrataTerminal

/// An input line at the foot of the screen: a command, a search, a filter, a name.
struct Prompt: Pane {
  static let entry = PaneEntry(id: .prompt, name: "Prompt", work: [ValuesRequest.slot], footer: [.open, .escape])

  enum Kind: Sendable, Hashable {
    /// `:`, with commands and positions.
    case palette
    case argument(Command)

    var label: String {
      switch self {
      case .palette: ":"
      case .argument(.search): "/"
      case .argument(let command): "\(CommandTable.entry(command).name) "
      }
    }
  }

  var kind: Kind
  var isSearch: Bool { if case .argument(let command) = kind { command.isSearch } else { false } }
  var field: TextField
  var problem: String?
  /// The column of the problem in the text, from 1.
  var problemColumn: Int?
  var hint = ""
  /// Earlier inputs at this prompt, newest last.
  var history: [String]
  private var historyIndex: Int?
  private var draft = ""
  /// The commands that match the typed name.
  private(set) var suggestions: [CommandEntry] = []
  /// The completions of a condition's word.
  private(set) var completions: [Completion] = []
  /// The suggestion that Tab chose.
  var choice: Int?
  /// The height of the list. It stays while the user types, because redrawing the covered area costs more than the list.
  private var listHeight = 0
  /// The words of conditions; nil at other prompts.
  private var vocabulary: ConditionVocabulary?

  init(
    _ kind: Kind, text: String = "", isSelected: Bool = false, history: [String] = [], hint: String = "",
    vocabulary: ConditionVocabulary? = nil
  ) {
    self.kind = kind
    self.vocabulary = vocabulary
    self.history = history
    self.hint = hint
    field = TextField(text, isSelected: isSelected)
    suggest()
  }

  mutating func paste(_ text: String, in session: inout Session) -> Bool {
    field.insert(text.replacing("\n", with: " "))
    changed()
    session.intend(.promptChanged(self))
    return true
  }

  /// Edits the line. Enter and Esc go to the keymap.
  mutating func type(_ chord: KeyChord, in session: inout Session) -> Bool {
    if chord == KeyChord(.backspace), field.text.isEmpty {
      session.intend(.dismiss)
      return true
    }
    if chord.character == "?", vocabulary != nil, !isInLiteral {
      session.intend(.present(TextOverlay(conditions: session.theme)))
      return true
    }
    guard edit(chord) else { return false }
    askForValues(in: &session)
    session.intend(.promptChanged(self))
    return true
  }

  /// Whether the cursor is in a text or a regular expression, where no character has a special meaning.
  private var isInLiteral: Bool {
    var open: Character?
    for character in field.text.prefix(field.cursor) {
      if let opened = open {
        if character == opened { open = nil }
      } else if "\"'/".contains(character) {
        open = character
      }
    }
    return open != nil
  }

  private func askForValues(in session: inout Session) {
    guard let asked = vocabulary?.valueAsked(field.text, cursor: field.cursor), let datastore = session.datastore else {
      return session.cancel(ValuesRequest.slot)
    }
    session.start(
      ValuesRequest.slot,
      ValuesRequest(datastore: datastore, commit: session.shown, field: asked.field, typed: asked.typed))
  }

  mutating func answered(_ reply: any Sendable, in session: inout Session) {
    guard let reply = reply as? ValuesRequest.Reply else { return }
    vocabulary?.values[reply.request.field] = reply.values
    if choice == nil { suggest() }
  }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    switch command {
    case .open where choice != nil:
      // The suggestion that Tab chose is put into the line, and the line stays open.
      complete()
      session.intend(.promptChanged(self))
    case .open: session.intend(Intent { [self] in $0.submit(self) })
    case .escape where showsList(above: frame.rect):
      choice = nil
      (suggestions, completions) = ([], [])
      listHeight = 0
    default: return false
    }
    return true
  }

  /// Whether a list of suggestions is shown; Esc closes it before it leaves the line.
  private func showsList(above status: Rect) -> Bool { !shown.isEmpty && status.top >= Self.leastRowsAbove }

  /// Rows above the line that leave room for a list.
  private static let leastRowsAbove = 10
  /// The visible lines of the list: each key may change them all, and on a slow connection the user waits for each.
  private static let listedLines = 4
  /// Columns of the list: its names, and the descriptions of commands.
  private static let nameColumns = 24
  private static let detailColumns = 32

  private mutating func edit(_ chord: KeyChord) -> Bool {
    switch chord.description {
    case "Up", "^p": recall(-1)
    case "Down", "^n": recall(1)
    case "Tab": moveChoice(1)
    case "S-Tab": moveChoice(-1)
    default:
      guard field.apply(chord) else { return false }
      changed()
    }
    return true
  }

  private mutating func changed() {
    problem = nil
    problemColumn = nil
    historyIndex = nil
    choice = nil
    suggest()
  }

  private mutating func recall(_ step: Int) {
    guard !history.isEmpty else { return }
    // A suggestion that Tab chose, and an error, are those of the text before.
    (choice, problem, problemColumn) = (nil, nil, nil)
    if historyIndex == nil { draft = field.text }
    let index = (historyIndex ?? history.count) + step
    if index >= history.count {
      historyIndex = nil
      field.set(draft)
    } else {
      historyIndex = max(0, index)
      field.set(history[max(0, index)])
    }
    suggest()
  }

  /// Moves through the suggestions cyclically; a single suggestion is accepted at once.
  private mutating func moveChoice(_ step: Int) {
    let count = suggestions.count + completions.count
    guard count > 0 else { return }
    choice = ((choice ?? (step > 0 ? -1 : count)) + step + count) % count
    if count == 1 { complete() }
  }

  /// Puts the chosen suggestion into the line.
  mutating func complete() {
    guard let choice else { return }
    if suggestions.indices.contains(choice) {
      let entry = suggestions[choice]
      field.set(entry.name + (entry.argument == nil ? "" : " "))
    } else if completions.indices.contains(choice) {
      let (item, text) = (completions[choice], field.text)
      let end = text.index(text.startIndex, offsetBy: item.word.upperBound, limitedBy: text.endIndex) ?? text.endIndex
      let start = text.index(text.startIndex, offsetBy: item.word.lowerBound, limitedBy: end) ?? end
      let head = text[..<start] + item.text + (item.text.hasSuffix("(") || item.text.hasSuffix("/") ? "" : " ")
      field.set(String(head + text[end...].drop { $0 == " " }))
      field.moveCursor(to: head.count)
    }
    self.choice = nil
    suggest()
  }

  private mutating func suggest() {
    if let vocabulary {
      let isRange = Browser.isRange(field.text)
      completions = isRange || field.isSelected ? [] : vocabulary.completions(field.text, cursor: field.cursor)
    }
    defer { listHeight = max(listHeight, min(Self.listedLines, suggestions.count + completions.count)) }
    guard kind == .palette, !field.text.contains(" "), Position(field.text) == nil || field.text.isEmpty else {
      suggestions = []
      return
    }
    suggestions = FuzzySearch.entries(matching: field.text)
  }

  /// The foot of the screen and the line above it, and above them the list of suggestions.
  func rect(in body: Rect, session: Session) -> Rect {
    Rect(column: 0, row: body.bottom - 1, columns: body.columns, rows: 2)
  }

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    let (status, keys) = frame.rect.split(top: 1)
    let label = SafeText.width(kind.label)
    grid.write(kind.label, at: Point(column: 1, row: status.top), style: theme.style(.title))
    field.draw(
      into: &grid, at: Point(column: 1 + label, row: status.top), width: max(4, status.columns - label - 2))
    if let problem {
      let style = theme.style(.problem)
      let column = problemColumn.map { min(keys.columns - 8, max(0, label + $0)) }
      if let column { grid.write("^", at: Point(column: column, row: keys.top), width: 1, style: style) }
      let text = "\(theme.problemSign) \(problem)"
      let width = SafeText.width(text)
      let starts = column.map { [$0 + 2, $0 - width - 1] } ?? [1]
      if let start = starts.first(where: { $0 > 0 && $0 + width < keys.columns }) {
        grid.write(text, at: Point(column: start, row: keys.top), width: width, style: style)
      } else {
        // A long reason is shown whole, above the line.
        let rows = min(status.top, text.wrapped(to: keys.columns - 2).count)
        let area = Rect(column: 0, row: status.top - rows, columns: keys.columns, rows: rows)
        grid.fill(area)
        return grid.writeWrapped(text, in: area, style: style)
      }
    } else {
      grid.write(
        standing(session) ?? hint(in: keys.columns - 2), at: Point(column: 1, row: keys.top), width: keys.columns - 2,
        style: theme.style(.dim))
    }
    drawSuggestions(on: &grid, above: status, theme: theme)
  }

  /// The state of the filter that is being typed: its plan and its count.
  private func standing(_ session: Session) -> String? {
    if isSearch, let standing = session.selections.searchStatus { return standing }
    if kind == .argument(.filter), Browser.isRange(field.text), let reading = session.reading(ofRange: field.text) {
      return reading
    }
    guard kind == .argument(.filter), !field.text.isEmpty, let standing = session.selections.filterStatus,
      !standing.text.isEmpty
    else { return nil }
    // The typed text may not be a condition yet: then the state is that of the last valid one.
    return standing.filter == field.text.trimmed ? standing.text : "\(standing.filter): \(standing.text)"
  }

  /// The hint without as many parts before the last as have no room.
  private func hint(in width: Int) -> String {
    var parts = (hint.isEmpty ? defaultHint : hint).split(separator: " · ").map(String.init)
    while parts.count > 2, SafeText.width(parts.joined(separator: " · ")) > width { parts.remove(at: parts.count - 2) }
    return parts.joined(separator: " · ")
  }

  private var defaultHint: String {
    switch kind {
    case .palette: "a command, or a row: 812 · 50% · +12 · Tab completes · Esc"
    case .argument(let command):
      "\(CommandTable.entry(command).argument?.placeholder ?? "") · Enter · Esc"
    }
  }

  /// The suggestions with their descriptions.
  private var shown: [(text: String, detail: String)] {
    suggestions.map(Self.line)
      + completions.map { ($0.text, $0.detail) }
  }

  /// The command whose argument is being typed; its usage replaces the suggestions.
  private var usage: CommandEntry? {
    guard kind == .palette, let space = field.text.firstIndex(of: " ") else { return nil }
    return Command(rawValue: String(field.text[..<space])).map(CommandTable.entry)
  }

  /// Draws the list, its first item right above the line, so that remaining items do not move while the user types. If nothing matches, its
  /// area stays: to draw the covered area at one key, and the list again at the next, takes more bytes than a key may.
  private func drawSuggestions(on grid: inout CellGrid, above status: Rect, theme: Theme) {
    guard listHeight > 0, status.top >= Self.leastRowsAbove else { return }
    let details = kind == .palette ? Self.detailColumns : Self.detailColumns / 2
    let area = Rect(
      column: 0, row: status.top - listHeight, columns: min(status.columns, Self.nameColumns + details + 2),
      rows: listHeight)
    grid.fill(area)
    for row in area.top..<area.bottom {
      grid.write(
        theme.isASCII ? "|" : "│", at: Point(column: area.right - 1, row: row), width: 1, style: theme.style(.dim))
    }
    let first = max(0, (choice ?? 0) - Self.listedLines + 1)
    var listed = Array(shown.enumerated().dropFirst(first).prefix(Self.listedLines))
    if listed.isEmpty { listed = [(offset: -1, element: usage.map(Self.line) ?? ("nothing to suggest", ""))] }
    for (row, (number, item)) in listed.enumerated() {
      let rect = Rect(column: 0, row: status.top - 1 - row, columns: area.columns - 1, rows: 1)
      let isChosen = choice == number
      // The form of an argument that is being typed is shown whole.
      let names = number < 0 ? max(Self.nameColumns, SafeText.width(item.text) + 3) : Self.nameColumns
      grid.write(
        "\(isChosen ? theme.cursor : " ") \(item.text)", at: rect.origin, width: min(names, rect.columns),
        style: theme.style(isChosen ? .title : .text))
      grid.write(
        item.detail, at: Point(column: names + 1, row: rect.top), width: max(0, rect.columns - names - 1),
        style: theme.style(.dim))
      if isChosen { grid.restyle(rect) { $0.attributes.formUnion(.reverse) } }
    }
  }

  private static func line(_ entry: CommandEntry) -> (text: String, detail: String) {
    (":\(entry.name)\(entry.argument.map { " \($0.placeholder)" } ?? "")", entry.title)
  }
}
