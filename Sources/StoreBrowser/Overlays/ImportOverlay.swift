import StrataModel
import StrataDocuments
import StrataTerminal

/// Imports a file in steps: its contents; the datastore, the identifier and the indexes; the result of a dry run. Then the import runs, and
/// the cockpit shows its progress.
struct ImportOverlay: ListPane {
  static let entry = PaneEntry(
    id: "import", name: "Import", work: [.survey, .importPreview],
    footer: [.open, .down, .mark, .right, .escape],
    commands: [
      CommandTable.row(
        "import", [], "import a file", "import", .write, argument: .init("FILE"), verb: "import",
        "Brings the documents of FILE (CSV, TSV, JSON, JSON Lines) in, in one commit: shows its fields, asks for "
          + "datastore, identifier and indexes, and says what would be written before anything is.", unless: .writing
      ) { browser, argument in browser.importFile(argument ?? "") }
    ])

  let file: String
  private(set) var survey: FileSurvey?
  private var datastore: String
  /// The name of the datastore while the user types it.
  private var naming: TextField?
  private var identifier = 0
  /// The identifier that the user chose.
  private var chosen: DocumentPath?
  private(set) var indexed: Set<Int> = []
  private var existing = ImportPlan.Existing.replaced
  /// Types chosen for columns, instead of those of the datastore or the cells.
  private var types: [Int: CellType] = [:]
  private(set) var preview: ImportReply?
  /// Nil detects it from the first bytes.
  private var encoding: TextEncoding?
  private var problem: String?
  private var isAsked = false
  var list = ListWindow()

  enum Line: Sendable, Hashable {
    case encoding, datastore, identifier, existing
    case field(Int)
  }

  init(file: String, datastore: String) {
    self.file = file
    self.datastore = datastore
  }

  private var lines: [Line] {
    guard let survey, !survey.fields.isEmpty else { return problem == nil ? [] : [.encoding] }
    return [.datastore, .identifier, .existing] + survey.fields.indices.filter { $0 != identifier }.map { .field($0) }
      + [.encoding]
  }

  private var selected: Line? { list.selected(of: lines) }

  /// The import as currently chosen.
  var plan: ImportPlan? {
    guard let survey, survey.fields.indices.contains(identifier), !datastore.isEmpty else { return nil }
    let indexes = indexed.subtracting([identifier]).sorted().map { position in
      let field = survey.fields[position]
      return ImportPlan.Index(
        name: field.path.shortText, path: field.path, kind: field.isList ? .manyToMany : .oneToMany)
    }
    return ImportPlan(
      datastore: datastore, identifier: survey.fields[identifier].path, indexes: indexes, existing: existing,
      types: Dictionary(types.map { (survey.fields[$0.key].path, $0.value) }) { first, _ in first })
  }

  private var dryPlan: ImportPlan? {
    var plan = plan
    plan?.isDryRun = true
    return plan
  }

  /// The result of the plan's dry run, if it has been counted.
  private var current: ImportReply? {
    preview?.request.plan == dryPlan && preview?.request.encoding == encoding ? preview : nil
  }

  // MARK: Work

  mutating func demand(frame: PaneFrame, in session: inout Session) {
    guard !isAsked else { return }
    isAsked = true
    let survey = Inquiry { [file, datastore, encoding] context throws(ModelError) in
      try FileSurvey(
        path: context.files.expanding(file), datastore: datastore, in: context.store as? EngineStore, encoding: encoding
      ) { count in
        context.report(Progress(done: count, total: nil))
        return !context.cancellation.isCancelled
      }
    }
    session.start(.survey, survey, label: "reading \(file)")
  }

  mutating func answered(_ reply: any Sendable, in session: inout Session) {
    if let survey = reply as? FileSurvey { propose(from: survey, session) }
    if let reply = reply as? ImportReply, reply.request.plan.isDryRun { preview = reply }
  }

  private mutating func propose(from survey: FileSurvey, _ session: Session) {
    // A file whose rows have the identifier of the open datastore is most likely about its records.
    if session.outline?.datastore(datastore) == nil, let open = session.current, self.survey == nil,
      survey.fields.contains(where: { $0.path.description == open.descriptor.identifierPath })
    {
      (datastore, isAsked) = (open.key, false)
      list.selection = 1
    }
    if survey.fields.isEmpty { problem = "no documents were found in \(file)" }
    if survey.identifier == nil, self.survey == nil, !survey.fields.isEmpty { list.selection = 1 }
    // The file may have been replaced since; the choices are of the fields that it had.
    if self.survey?.fields.map(\.path) != survey.fields.map(\.path) { (indexed, types) = ([], [:]) }
    self.survey = survey
    let known = [chosen, survey.identifier].compactMap(\.self)
    identifier = known.lazy.compactMap { path in survey.fields.firstIndex { $0.path == path } }.first ?? 0
  }

  mutating func failed(_ error: ModelError, of slot: WorkSlot, in session: inout Session) {
    problem = error.description
  }

  // MARK: Keys

  mutating func type(_ chord: KeyChord, in session: inout Session) -> Bool { naming?.apply(chord) ?? false }

  mutating func paste(_ text: String, in session: inout Session) -> Bool {
    naming?.insert(text.replacing("\n", with: " ")) != nil
  }

  func refusal(of command: Command, in session: Session) -> String? {
    guard [.mark, .left, .right].contains(command) else { return nil }
    return choice(command) == nil ? "this line has no other choice" : nil
  }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    switch command {
    case .escape where naming != nil: naming = nil
    case .interrupt: session.intend(.dismiss)
    case .open: open(in: &session)
    case .mark: if case .field(let position) = selected { indexed.formSymmetricDifference([position]) } else { step(1) }
    case .left, .right: step(command == .right ? 1 : -1)
    default: return false
    }
    return true
  }

  private mutating func open(in session: inout Session) {
    if let name = naming?.text.trimmed {
      // The records of another datastore may have other types.
      if !name.isEmpty, name != datastore { (datastore, isAsked) = (name, false) }
      naming = nil
    } else if selected == .datastore {
      naming = TextField(datastore, isSelected: true)
    } else if let current, let plan {
      if let reason = obstacle(current) ?? session.runningRefusal(.importFile) { return session.warn(reason) }
      session.intend(.dismiss)
      session.start(
        .importFile, ImportRequest(file: file, encoding: encoding, plan: plan), label: "import \(datastore)"
      ) { [selections = session.selections, asOf = session.asOf] browser, reply in
        let isThere = browser.table.source == selections.source && browser.session.asOf == asOf
        browser.imported(
          reply, isAwaited: isThere && browser.table.selectedPlace(browser.session) == selections.record)
      }
      session.intend(.open(.migration))
    } else if let dryPlan, !session.isRunning(.importPreview) {
      problem = nil
      session.start(
        .importPreview, ImportRequest(file: file, encoding: encoding, plan: dryPlan), label: "what an import would do")
    }
  }

  /// Why a counted import is not made; nil if Enter makes it.
  private func obstacle(_ reply: ImportReply) -> String? {
    if !reply.report.losses.isEmpty, existing == .replaced {
      return "choose at “existing” whether records lose what the file lacks (→)"
    }
    return reply.report.new + reply.report.changed > 0 ? nil : "there is nothing to import: \(reply.sentence)"
  }

  /// The name of the choice of Space or an arrow in the selected line; nil if there is none.
  private func choice(_ command: Command) -> String? {
    switch selected {
    case .encoding: "other one"
    case .identifier: "next field"
    case .existing: "other way"
    case .field: command == .mark ? "index" : survey?.format.isOfCells == true ? "other type" : nil
    default: nil
    }
  }

  private mutating func step(_ step: Int) {
    switch selected {
    case .encoding:
      let all = [nil] + TextEncoding.allCases
      encoding = all[((all.firstIndex(of: encoding) ?? 0) + step + all.count) % all.count]
      // Read in another encoding, the file has other contents.
      (isAsked, problem, survey, preview, types, indexed) = (false, nil, nil, nil, [:], [])
    case .identifier:
      guard let fields = survey?.fields, !fields.isEmpty else { return }
      identifier = (identifier + step + fields.count) % fields.count
      chosen = fields[identifier].path
    case .existing:
      let all = ImportPlan.Existing.allCases
      existing = all[((all.firstIndex(of: existing) ?? 0) + step + all.count) % all.count]
    case .field(let position):
      // Nil stands for the type of the datastore or of the cells.
      let all: [CellType?] = [nil, .text, .integer, .number, .bool, .json]
      types[position] = all[((all.firstIndex(of: types[position]) ?? 0) + step + all.count) % all.count]
    default: break
    }
  }

  func footer(_ session: Session) -> [Command] {
    naming != nil ? [.open, .escape] : survey == nil ? [.right, .escape] : Self.entry.footer
  }

  func short(_ command: Command) -> String? {
    switch command {
    case .open:
      naming != nil || selected == .datastore ? "name" : current == nil ? "preview" : "import"
    case .mark, .right: choice(command)
    case .escape: naming != nil ? "back" : "leave it"
    default: nil
    }
  }

  // MARK: Drawing

  func lineCount(_ session: Session) -> Int { lines.count }
  func headerRows(_ frame: PaneFrame) -> Int { min(heading(columns: frame.columns).count, max(1, frame.rows / 2)) }
  func footerRows(_ frame: PaneFrame) -> Int {
    let room = max(1, frame.rows / 2, frame.rows - headerRows(frame) - lines.count)
    return min(foot(columns: frame.columns).count + 1, room)
  }

  func rect(in body: Rect, session: Session) -> Rect {
    let columns = min(body.columns, 96)
    let rows = heading(columns: columns - 2).count + max(1, lines.count) + foot(columns: columns - 2).count + 3
    return body.centered(Size(columns: columns, rows: min(body.rows, max(8, rows))))
  }

  /// The format of the file, and warnings about it.
  private func heading(columns: Int) -> [String] {
    guard let survey else { return problem == nil ? ["reading the file for its fields…"] : [] }
    var lines = ["\(survey.format), \(NumberFormat.counted(survey.documentCount, "document"))"]
    if survey.unreadableCount > 0, let first = survey.unreadable.first {
      lines.append("⚠ \(NumberFormat.counted(survey.unreadableCount, "row")) cannot be read, the first: \(first)")
    }
    lines += survey.notes.prefix(2).map { "⚠ \($0)" }
    lines += survey.fields.compactMap { $0.exceptions?.sentence(for: $0.path) }.prefix(3).map { "⚠ \($0)" }
    if survey.identifier == nil {
      lines.append(
        "⚠ no field tells all documents apart by its name and values: choose one; of equal ones the last stays")
    }
    return lines.flatMap { $0.wrapped(to: max(10, columns - 2)) }
  }

  private func foot(columns: Int) -> [String] {
    if let problem { return "✗ \(problem)".wrapped(to: max(10, columns - 2)) }
    guard let current else { return ["Enter counts what this would do; nothing is written"] }
    var lines = [current.sentence]
    if !current.report.losses.isEmpty {
      lines.append("⚠ the file has nothing for, and so removes: \(current.report.lossText)")
    }
    for rejection in current.report.rejections.prefix(3) { lines.append("⚠ left out: \(rejection)") }
    for repeated in current.report.repeats.prefix(2) { lines.append("⚠ \(repeated)") }
    lines.append(obstacle(current) ?? "Enter imports, in one commit that u takes back")
    return lines.flatMap { $0.wrapped(to: max(10, columns - 2)) }
  }

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    grid.border(frame, digit: nil, title: "Import \(file)", footer: "", theme: theme)
    let inside = frame.inside
    for (row, line) in heading(columns: inside.columns).prefix(headerRows(frame)).enumerated() {
      grid.write(line, at: inside.at(1, row), width: inside.columns - 2, style: theme.style(row == 0 ? .dim : .warning))
    }
    drawLines(on: &grid, frame: frame, session: session) { grid, line, rect in
      draw(lines[line], in: rect, on: &grid, session)
    }
    let cursor = grid.cursor
    let foot = session.running[.importPreview].map { [Self.text($0)] } ?? foot(columns: inside.columns)
    for (row, line) in foot.prefix(footerRows(frame) - 1).enumerated() {
      let role: Role = line.hasPrefix("✗") ? .problem : line.hasPrefix("⚠") ? .warning : .dim
      grid.write(
        line, at: Point(column: inside.left + 1, row: inside.bottom - footerRows(frame) + 1 + row),
        width: inside.columns - 2, style: theme.style(role))
    }
    if naming == nil { grid.cursor = cursor }
  }

  private static func text(_ work: RunningWork) -> String {
    guard let progress = work.progress else { return "counting…" }
    let total = progress.total.map { $0 > 0 ? " of \(NumberFormat.count($0))" : "" } ?? ""
    return "counting… \(NumberFormat.count(progress.done))\(total)"
  }

  private func draw(_ line: Line, in rect: Rect, on grid: inout CellGrid, _ session: Session) {
    let theme = session.theme
    func write(_ name: String, _ text: String, _ note: String) {
      let end = rect.left + 2 + 12
      grid.write(name, at: rect.at(2), width: 12, style: theme.style(.key))
      let used = grid.write(text, at: Point(column: end, row: rect.top), width: max(0, rect.right - end))
      grid.write(
        note, at: Point(column: end + used + 2, row: rect.top), width: max(0, rect.right - end - used - 2),
        style: theme.style(.dim))
    }
    let fields = survey?.fields ?? []
    switch line {
    case .encoding:
      write("encoding", encoding?.rawValue ?? "as the file says", "how its characters are written as bytes")
    case .datastore:
      if let naming {
        grid.write("into", at: rect.at(2), width: 12, style: theme.style(.key))
        naming.draw(into: &grid, at: rect.at(14), width: max(4, rect.columns - 15))
        return
      }
      let present = session.outline?.datastore(datastore)
      write("into", datastore, present.map { "has \(NumberFormat.counted($0.count, "record"))" } ?? "a new datastore")
    case .identifier:
      write(
        "identifier", fields[identifier].path.shortText, "\(fields[identifier].typeName)  \(sample(fields[identifier]))"
      )
    case .existing: write("existing", existing.sentence, "records whose identifier is there already")
    case .field(let position):
      let field = fields[position]
      let box = indexed.contains(position) ? "[x]" : "[ ]"
      write(
        "\(box) index", field.path.shortText,
        "\(types[position].map { "as \($0)" } ?? (field.isList ? "list of \(field.typeName)" : field.typeName))  "
          + sample(field))
    }
  }

  private func sample(_ field: FileSurvey.Field) -> String {
    field.sample.map { SafeText.cut(ValueText(literal: $0).text, to: 40) } ?? ""
  }
}

extension ImportPlan.Existing {
  fileprivate var sentence: String {
    switch self {
    case .replaced: "are replaced"
    case .replacedWhole: "are replaced, and lose the fields that the file lacks"
    case .merged: "keep the fields that the file lacks"
    case .kept: "stay; their rows are left out"
    }
  }
}

extension Browser {
  mutating func importFile(_ file: String) {
    let file = file.trimmed
    guard !file.isEmpty else { return }
    let name = DocumentFile.fileName(of: file)
    let plain = name.lastIndex(of: ".").map { String(name[..<$0]) } ?? name
    // An existing datastore of this name is meant, in whatever case it is typed.
    let known = session.outline?.datastores.map(\.key) ?? []
    let datastore = known.first { $0.lowercased() == plain.lowercased() } ?? plain
    present(ImportOverlay(file: file, datastore: datastore.isEmpty ? "Imported" : datastore))
  }

  /// Handles the end of an import: shows the imported records if the user waited for them where the import was started, unless an older
  /// commit stays shown.
  fileprivate mutating func imported(_ reply: ImportReply, isAwaited: Bool) {
    guard let commit = reply.report.commit else { return }
    session.say("\(reply.sentence) — u takes it back")
    guard isAwaited, overlays.isEmpty, session.isFollowing, session.asOf == nil else { return wrote(commit) }
    session.datastore = reply.request.plan.datastore
    table.show(RowSource(datastore: reply.request.plan.datastore), anchor: .position(0))
    table.list = ListWindow()
    wrote(commit)
  }
}
