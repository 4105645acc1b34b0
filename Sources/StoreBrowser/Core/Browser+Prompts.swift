import StrataDocuments
import StrataModel
import StrataExpressions
import StrataTerminal

/// The prompts at the foot of the screen.
extension Browser {
  /// Opens the prompt for a command's argument.
  mutating func ask(for command: Command) {
    let text: String
    var hint = ""
    switch command {
    case .search, .searchColumn:
      if focus == .table { with(TablePane.self) { $0.beginSearch(command, $1) } }
      (text, hint) = ("", SearchText.forms)
      if command == .searchColumn { hint = "in \(table.selectedColumn(session)?.title ?? "") · \(hint)" }
    case .filter:
      beginPreview()
      let range = focus == .index ? table.source?.range : nil
      text = range.map { "= \($0)" } ?? table.source?.filter ?? (focus == .index ? "= " : "")
      hint =
        "EXPR · !EXPR inverts · = A .. B is a range of \(table.source?.index ?? "the identifier") · Tab completes · ? operators"
    case .export:
      text = "\(table.source?.datastore ?? "export").jsonl"
      hint = "FILE ending in .jsonl, .json, .csv or .tsv"
    case .set:
      text = table.selectedPath(session).map { "\($0.drop { $0 == "." }) = " } ?? ""
      let marked = table.marks.count
      hint =
        "PATH = EXPR\(marked > 0 ? " in \(NumberFormat.counted(marked, "marked record"))" : "") · a preview follows"
    case .computedColumn:
      text = table.selectedComputed(session)?.text ?? ""
      hint = "NAME = EXPR · + - * / length lower upper trim replace date if · NAME removes"
    case .join:
      text = table.selectedPath(session).map { "\($0.drop { $0 == "." }) " } ?? ""
      hint = "FIELD FIELD, … · NAME = FIELD FIELD, … · NAME alone takes them away"
    case .travel: (text, hint) = ("", "a number, head~3, a pin, or a time: Tuesday, 2 hours ago, 2026-11-17")
    case .commitMerge:
      (text, hint) = (
        panes[MergePane.self].proposedName(session), "the name of the commit · Enter writes it · Esc"
      )
    case .addRemote:
      (text, hint) = ("", "NAME and a path, host:path, ssh://host/path, folder:PATH or postgres://host/database")
    case .compact: (text, hint) = ("", "what to keep: a number of commits, an age as 30d or 12h, all · pins stay")
    case .copyStore: (text, hint) = ("", "PATH of a store that is not there yet · asks no lock")
    default: text = ""
    }
    let history =
      switch command {
      case .search, .searchColumn: session.remembered.searches
      case .filter: session.remembered.knownFilters
      default: session.remembered.arguments?[command.rawValue] ?? []
      }
    // Existing text is selected: the next character replaces it. A prefix is not, because typing continues it.
    let isSelected = text != "= " && ![.set, .computedColumn, .join].contains(command)
    present(
      Prompt(
        .argument(command), text: text, isSelected: isSelected, history: history, hint: hint,
        vocabulary: command == .filter ? vocabulary : nil))
  }

  /// The fields and indexes of the open datastore.
  private var vocabulary: ConditionVocabulary {
    var vocabulary = ConditionVocabulary()
    for column in table.columns.seen {
      let name = String(column.path.drop { $0 == "." })
      vocabulary.fields.append(.init(name: name, detail: "", isText: column.kind == .string))
    }
    for index in session.current?.indexes ?? [] {
      let path = index.descriptor.documentPath?.shortText
      guard !vocabulary.fields.contains(where: { $0.name == index.descriptor.name }) else {
        if let index = vocabulary.fields.firstIndex(where: { $0.name == path }) {
          vocabulary.fields[index].detail = "field, indexed"
        }
        continue
      }
      vocabulary.fields.append(
        .init(
          name: index.descriptor.name, detail: path.map { "index of \($0)" } ?? "index",
          isText: index.descriptor.encoding.isText))
    }
    return vocabulary
  }

  /// Takes the typed text. An error keeps the prompt open and says where it is.
  mutating func submit(_ prompt: Prompt) {
    let text = prompt.field.text
    switch prompt.kind {
    case .palette: submitCommand(text.trimmed, prompt)
    case .argument(let command):
      if let problem = problem(with: text, for: command) {
        reject(prompt, problem)
        return
      }
      overlays.removeLast()
      if command.isSearch {
        remember(text, in: \.searches)
        session.cancel(.typing)
        table.endSearch(isTaken: true)
      } else if command != .filter, !text.trimmed.isEmpty {
        remember(argument: text, of: command)
      }
      run(command, argument: text)
    }
  }

  private mutating func submitCommand(_ text: String, _ prompt: Prompt) {
    guard !text.isEmpty else {
      overlays.removeLast()
      return
    }
    let (name, argument) = Self.parts(text)
    let command: Command
    let value: String?
    if Position(text) != nil {
      (command, value) = (.goTo, text)
    } else if let named = Command(rawValue: name) {
      (command, value) = (named, argument)
    } else {
      let nearest = UnknownName.nearest(to: name, among: CommandTable.all.map(\.name)).first
      let near = (nearest ?? FuzzySearch.entries(matching: name).first?.name).map { "; perhaps :\($0)" } ?? ""
      reject(prompt, .invalid(text: text, column: 1, reason: "there is no command “\(name)”\(near)"))
      return
    }
    if let value, let problem = problem(with: value, for: command) {
      reject(prompt, problem, behind: name.count + 1)
      return
    }
    overlays.removeLast()
    remember(text, in: \.commands)
    run(command, argument: value)
  }

  private static func parts(_ text: String) -> (String, String?) {
    guard let space = text.firstIndex(of: " ") else { return (text, nil) }
    let argument = String(text[text.index(after: space)...]).trimmed
    return (String(text[..<space]), argument.isEmpty ? nil : argument)
  }

  /// - Parameter count: The characters before the text that is wrong.
  private mutating func reject(_ prompt: Prompt, _ error: ModelError, behind count: Int = 0) {
    var prompt = prompt
    if case .invalid(_, let column, let reason) = error {
      (prompt.problem, prompt.problemColumn) = (reason, column.map { $0 + count })
    } else {
      prompt.problem = error.description
    }
    overlays[overlays.count - 1] = prompt
  }

  /// The error in an argument, as far as it can be checked without the store.
  private func problem(with text: String, for command: Command) -> ModelError? {
    do throws(ModelError) {
      switch command {
      case .filter where Self.isRange(text): _ = try session.range(typed: text)
      case .sort, .sortReverse, .sortFurther: if focus == .table { _ = try table.order(typed: text) }
      case .filter where !text.trimmed.isEmpty: _ = try Filter(typed: text)
      case .search, .searchColumn: _ = try SearchText(text)
      case .export: return exportProblem(with: text)
      case .computedColumn where text.contains("="): _ = try WorkContext.computed(text)
      case .join where text.trimmed.contains(" "):
        if let current = session.current {
          _ = try Join(parsing: text, of: current.descriptor, session.naming, beside: table.source)
        }
      case .set: _ = try WorkContext.assignment(text)
      case .addIndex: _ = try IndexChange(adding: text)
      case .compact: _ = try CommitRetention(parsing: text.trimmed)
      case .goTo where Position(text) == nil:
        return .invalid(text: text, column: 1, reason: "a position is written 812, 50%, +12 or -12")
      case _ where command != .filter && text.trimmed.isEmpty:
        guard let argument = CommandTable.entry(command).argument, argument.isRequired else { return nil }
        return .invalid(text: text, column: 1, reason: "\(argument.placeholder) is missing")
      default: break
      }
      return nil
    } catch { return error }
  }

  /// The error in a file name whose extension is not that of a format that can be written.
  private func exportProblem(with text: String) -> ModelError? {
    let file = text.trimmed
    guard !file.isEmpty, TableWriter.Format(file: file) == nil else { return nil }
    let known = TableWriter.Format.allCases.map { ".\($0.rawValue)" }.joined(separator: ", ")
    return .invalid(text: text, column: text.count, reason: "the ending says the format: \(known)")
  }

  private mutating func remember(argument: String, of command: Command) {
    var known = session.remembered.arguments ?? [:]
    known[command.rawValue] = (known[command.rawValue] ?? []).filter { $0 != argument }.suffix(99) + [argument]
    session.remember { $0.arguments = known }
  }

  /// Keeps the last hundred inputs of a kind, each once.
  mutating func remember(_ text: String, in list: WritableKeyPath<Remembered, [String]>) {
    session.remember { $0[keyPath: list] = $0[keyPath: list].filter { $0 != text }.suffix(99) + [text] }
  }

  /// Whether a text is `= A ..< B` or just `A ..< B`.
  static func isRange(_ text: String) -> Bool {
    let text = text.trimmed
    if text.hasPrefix("="), !text.hasPrefix("==") { return true }
    if text.hasPrefix(">") || text.hasPrefix("<") { return true }
    return text.splitOutsideQuotes(at: "..").map { !$0.0.contains { "=<>~".contains($0) } } ?? false
  }
}

extension Session {
  /// Parses a typed range of the index that orders the table; nil for all of it. Throws with the place of the error.
  func range(typed text: String) throws(ModelError) -> KeyInterval? {
    try selections.source.flatMap { source throws(ModelError) in try range(typed: text, of: source) }
  }

  /// Parses a typed range of the index of some rows; nil for all of it. Throws with the place of the error.
  func range(typed text: String, of source: RowSource) throws(ModelError) -> KeyInterval? {
    let range = text.trimmed.hasPrefix("=") ? String(text.trimmed.dropFirst()).trimmed : text.trimmed
    guard !range.isEmpty, let datastore = outline?.datastore(source.datastore) else { return nil }
    let encoding = datastore.index(source.index)?.descriptor.encoding ?? datastore.descriptor.identifierEncoding
    do throws(ExpressionError) {
      return try KeyInterval(parsing: range, encoding: encoding)
    } catch {
      throw .invalid(text: text, column: error.column + text.count - range.count, reason: error.message)
    }
  }

  /// Describes a range that is being typed, and whether its ends are included.
  func reading(ofRange text: String) -> String? {
    do throws(ModelError) {
      guard let range = try range(typed: text) else { return nil }
      let encoding = current?.index(selections.source?.index)?.descriptor.encoding
      let reading = range.reading(isASCII: theme.isASCII, isDescending: encoding?.isDescending == true)
      guard case .excluding = range.upper, case .including = range.lower else { return reading }
      return "\(reading) \(theme.dot) ... for .. takes the upper end in"
    } catch {
      if case .invalid(_, _, let reason) = error { return reason }
      return error.description
    }
  }
}
