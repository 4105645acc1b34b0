import DatastoreModel
import TerminalKit

/// One line that is typed at the foot of the screen: a command, a search, a filter, a name.
struct Prompt: Pane {
  static let entry = PaneEntry(.prompt, name: "Prompt", work: [.values], footer: [.open, .escape])

  enum Kind: Sendable, Hashable {
    /// `:`, with commands and positions.
    case palette
    /// The argument of a command.
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
  var field: TextField
  var problem: String?
  /// Where in the text the problem is, from 1.
  var problemColumn: Int?
  var hint = ""
  /// What was typed at this prompt before, newest last.
  var history: [String]
  private var historyPlace: Int?
  private var draft = ""
  /// Commands that the typed name may become.
  private(set) var suggestions: [CommandEntry] = []
  /// What the word of a condition may become.
  private(set) var completions: [Completion] = []
  /// The suggestion that Tab chose.
  var choice: Int?
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

  /// Edits the line. Enter and Esc are for the keymap.
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

  /// Whether the cursor stands in a text or a regular expression, where every character is itself.
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
      return session.cancel(.values)
    }
    session.start(
      .values,
      .ask(ValuesRequest(datastore: datastore, commit: session.shown, field: asked.field, typed: asked.typed)))
  }

  mutating func answered(_ answer: Answer, in session: inout Session) {
    guard case .reply(let reply as ValuesRequest.Reply) = answer else { return }
    vocabulary?.values[reply.request.field] = reply.values
    if choice == nil { suggest() }
  }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    switch command {
    case .open where choice != nil:
      // What Tab chose is taken into the line, and the line stays open.
      complete()
      session.intend(.promptChanged(self))
    case .open: session.intend(.submit(self))
    case .escape where showsList(above: frame.rect):
      choice = nil
      (suggestions, completions) = ([], [])
    default: return false
    }
    return true
  }

  /// Whether a list of what may be meant is shown; Esc closes it before it leaves the line.
  private func showsList(above status: Rect) -> Bool { !shown.isEmpty && status.top >= Self.leastRowsAbove }

  /// Rows above the line that leave room for a list.
  private static let leastRowsAbove = 10

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
    historyPlace = nil
    choice = nil
    suggest()
  }

  private mutating func recall(_ step: Int) {
    guard !history.isEmpty else { return }
    if historyPlace == nil { draft = field.text }
    let place = (historyPlace ?? history.count) + step
    if place >= history.count {
      historyPlace = nil
      field.set(draft)
    } else {
      historyPlace = max(0, place)
      field.set(history[max(0, place)])
    }
    suggest()
  }

  /// Walks the suggestions, round and round; the only one is taken at once.
  private mutating func moveChoice(_ step: Int) {
    let count = suggestions.count + completions.count
    guard count > 0 else { return }
    choice = ((choice ?? (step > 0 ? -1 : count)) + step + count) % count
    if count == 1 { complete() }
  }

  /// Takes the chosen suggestion into the line.
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
    guard kind == .palette, !field.text.contains(" "), Position(field.text) == nil || field.text.isEmpty else {
      suggestions = []
      return
    }
    suggestions = FuzzySearch.entries(matching: field.text).prefix(8).map(\.self)
  }

  /// The two lines at the foot of the screen, and above them what the name may become.
  func rect(in body: Rect, session: Session) -> Rect {
    Rect(column: 0, row: body.bottom, columns: body.columns, rows: 2)
  }

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    let status = Rect(column: 0, row: frame.rect.top, columns: frame.rect.columns, rows: 1)
    let keys = Rect(column: 0, row: frame.rect.top + 1, columns: frame.rect.columns, rows: 1)
    grid.fill(status)
    grid.fill(keys)
    let label = SafeText.width(kind.label)
    grid.write(kind.label, at: Point(column: 1, row: status.top), style: theme.style(.title))
    field.draw(
      into: &grid, at: Point(column: 1 + label, row: status.top), width: max(4, status.columns - label - 2))
    if let problem {
      let place = problemColumn.map { min(keys.columns - 8, max(0, label + $0)) } ?? 1
      grid.write("^", at: Point(column: place, row: keys.top), width: 1, style: theme.style(.problem))
      let text = "\(theme.problemSign) \(problem)"
      let width = SafeText.width(text)
      let start = problemColumn == nil ? 1 : place + 2 + width < keys.columns ? place + 2 : max(1, place - width - 1)
      grid.write(
        text, at: Point(column: start, row: keys.top), width: keys.columns - start, style: theme.style(.problem))
    } else {
      grid.write(
        standing(session) ?? (hint.isEmpty ? defaultHint : hint), at: Point(column: 1, row: keys.top),
        width: keys.columns - 2,
        style: theme.style(.dim))
    }
    drawSuggestions(on: &grid, above: status, theme: theme)
  }

  /// What the filter that is being typed comes to: its plan and its count.
  private func standing(_ session: Session) -> String? {
    if kind == .argument(.search), let standing = session.looking.searchStanding { return standing }
    guard kind == .argument(.filter), !field.text.isEmpty, let standing = session.looking.filterStanding,
      !standing.isEmpty, let filter = session.looking.source?.filter
    else { return nil }
    // What is typed may be no condition yet: the rows are still those of the last one that was.
    return filter == field.text.trimmed ? standing : "\(filter): \(standing)"
  }

  private var defaultHint: String {
    switch kind {
    case .palette: "a command, or a row: 812 · 50% · +12 · Tab completes · Esc"
    case .argument(let command):
      "\(CommandTable.entry(command).argument?.placeholder ?? "") · Enter · Esc"
    }
  }

  /// The suggestions with what they are.
  private var shown: [(text: String, detail: String)] {
    suggestions.map { (":\($0.name)\($0.argument.map { " \($0.placeholder)" } ?? "")", $0.title) }
      + completions.map { ($0.text, $0.detail) }
  }

  private func drawSuggestions(on grid: inout CellGrid, above status: Rect, theme: Theme) {
    guard showsList(above: status) else { return }
    let shown = shown
    let width = min(status.columns, 66)
    let top = status.top - shown.count
    for (row, item) in shown.enumerated() {
      let rect = Rect(column: 0, row: top + row, columns: width, rows: 1)
      grid.fill(rect)
      let isChosen = choice == row
      grid.write(
        "\(isChosen ? theme.cursor : " ") \(item.text)", at: rect.origin, width: 26,
        style: theme.style(isChosen ? .title : .text))
      grid.write(
        item.detail, at: Point(column: rect.left + 27, row: rect.top), width: width - 27, style: theme.style(.dim))
      if isChosen { grid.restyle(rect) { $0.attributes.formUnion(.reverse) } }
    }
  }
}

extension PaneID {
  static let prompt: PaneID = "prompt"
}
