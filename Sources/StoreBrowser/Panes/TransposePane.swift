import StrataModel
import StrataDocuments
import StrataTerminal

/// Records side by side: a line for each field, a column for each record or version, and a sign where they differ.
struct TransposePane: ListPane, PermanentPane, ReplyPane, Equatable {
  static let entry = PaneEntry(
    id: .transpose, name: "Side by side", work: [question],
    footer: [.down, .right, .transpose, .open, .copyValue, .copyPath, .help, .close],
    commands: [
      CommandTable.row(
        .transpose, ["g t"], "fields as lines, records side by side", "side by side", .record,
        "Shows the record, or the marked records side by side, with a line for each field and a sign where they differ. In the "
          + "history of a record it compares the selected commit with the base set by v, or with its parent. Again it shows the "
          + "fields that differ alone, or all.",
        in: [.table, .record, .history, .transpose], unless: .withoutDatastore
      ) { browser, _ in browser.openTransposed() }
    ]
  ) { TransposePane() }

  static let question = WorkSlot(name: "transpose", isLong: true)
  /// The most records side by side.
  static let limit = 100

  var reading = Reading<TransposeRequest>()
  private(set) var showsDifferences = false
  private(set) var lines: [TransposeRequest.Line] = []
  /// The widest value of each column in the lines, or its title.
  private var widths: [Int] = []
  /// After that of the names.
  var cursorColumn = 1 { didSet { cursorColumn = max(1, cursorColumn) } }
  var list = ListWindow()

  mutating func show(_ request: TransposeRequest, differences: Bool, in session: inout Session) {
    self = TransposePane()
    showsDifferences = differences
    let records = NumberFormat.counted(request.columns.count, "record")
    reading.ask(request, as: Self.question, label: "reading \(records)", in: &session)
  }

  /// Records are read again for the shown commit; versions stay what they are.
  mutating func demand(frame: PaneFrame, in session: inout Session) {
    guard var request, frame != .hidden, !request.isOfVersions, !session.isRunning(Self.question) else { return }
    request.columns = request.columns.map { .init($0.place, in: session) }
    reading.ask(request, as: Self.question, label: "reading records", in: &session)
  }

  mutating func answered(_ reply: any Sendable, in session: inout Session) {
    keepingSelection(session) {
      $0.reading.take(reply)
      $0.arrange()
    }
  }

  private mutating func arrange() {
    lines = reply?.lines.filter { $0.differs || !showsDifferences } ?? []
    widths = (reply?.titles ?? []).enumerated().map { column, title in
      lines.reduce(SafeText.width(title)) { max($0, SafeText.width($1.values[column]?.text ?? "")) }
    }
  }

  private var column: Int { cursorColumn - 1 }

  func headerRows(_ frame: PaneFrame) -> Int { 1 }
  func lineCount(_ session: Session) -> Int { lines.count }
  var rowColumns: [String] { ["field"] + (reply?.titles ?? []) }

  func row(_ line: Int) -> [Document] {
    [.string(lines[line].name)] + lines[line].documents.map { $0 ?? .null }
  }

  private var selected: TransposeRequest.Line? { list.selected(of: lines) }

  func refusal(of command: Command, in session: Session) -> String? {
    switch command {
    case .transpose:
      (reply?.titles.count ?? 0) < 2
        ? "there is one record, which differs from nothing"
        : reply?.lines.allSatisfy(\.differs) == true ? "all fields differ" : nil
    case .copyValue, .copyPath, .search, .export: selected == nil ? "no field is selected" : nil
    default: nil
    }
  }

  func short(_ command: Command) -> String? {
    switch command {
    case .transpose: showsDifferences ? "all fields" : "differences"
    case .open: "the record"
    case .right: "next record"
    default: nil
    }
  }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    guard let request else { return false }
    switch command {
    case .left, .right: cursorColumn = min(request.columns.count, cursorColumn + (command == .left ? -1 : 1))
    case .transpose:
      keepingSelection(session) {
        $0.showsDifferences.toggle()
        $0.arrange()
        $0.list = ListWindow()
      }
    case .open:
      session.intend(.closeView(id), .select(request.columns[column].place))
      if request.isOfVersions { session.intend(.travel(request.columns[column].commit)) }
    case .copyValue: session.copy(selected?.documents[column])
    case .copyPath: session.copy(selected?.path ?? ".", what: "path")
    default: return false
    }
    return true
  }

  // MARK: Drawing

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    let differing = reply.map { $0.lines.count(where: \.differs) } ?? 0
    let footer =
      (reply?.titles.count ?? 0) > 1
      ? "\(NumberFormat.counted(differing, "field")) of \(NumberFormat.count(reply?.lines.count ?? 0)) \(differing == 1 ? "differs" : "differ")"
      : ""
    let title = "Side by side  \(request?.source.datastore ?? "")"
    let note = lines.isEmpty ? "no field\(showsDifferences ? " differs" : "")" : nil
    guard let reply = begin(on: &grid, frame, title: title, footer: [footer], note: note, session) else { return }
    let names = min(frame.columns / 3, lines.reduce(4) { max($0, SafeText.width($1.name)) })
    let (left, width) = (4 + names, frame.columns - names - 4)
    // Records are compared: each has its part of the width.
    let most = max(20, width / reply.titles.count - 2)
    let slots = TableGeometry.slots(of: widths.map { min(most, $0) }, around: column, width: width)
    grid.titles(
      of: reply.titles.count, slots, selected: column, in: frame.inside, from: left, theme: theme,
      isTrailing: { _ in false }, title: { SafeText.cutInTheMiddle(reply.titles[$0.column], to: $0.width) })
    drawLines(on: &grid, frame: frame, session: session) { grid, line, rect in
      let line = lines[line]
      if line.differs { grid.write(theme.isASCII ? "!" : "≠", at: rect.at(1), width: 1, style: theme.style(.changed)) }
      grid.write(SafeText.cutInTheMiddle(line.name, to: names), at: rect.at(3), width: names, style: theme.style(.key))
      for slot in slots {
        let value = line.values[slot.column] ?? .missing
        let isText = line.differs && value.kind == .string
        grid.write(
          isText ? SafeText.cutInTheMiddle(value.text, to: slot.width) : value.fitting(slot.width),
          at: rect.at(left + slot.x), width: slot.width,
          style: theme.style(line.differs ? .changed : value.cellRole))
      }
    }
  }
}

/// Reads records or versions of one, and says where they differ.
struct TransposeRequest: Question, Hashable {
  struct Column: Sendable, Hashable {
    var place: RecordPlace
    var commit: CommitNumber
    var edit: RecordEdit?
  }

  var source: RowSource
  var columns: [Column]
  /// Whether the columns are versions of one record.
  var isOfVersions: Bool
  var naming = Naming()

  struct Line: Sendable, Hashable {
    var path: String
    /// Nil where a record has no such field.
    var values: [ValueText?]
    var documents: [Document?]
    var differs: Bool

    var name: String { DocumentPath.title(of: path) }
  }

  struct Reply: Sendable, Equatable {
    var titles: [String]
    var lines: [Line]
  }

  func reply(in context: WorkContext) throws(ModelError) -> Reply {
    var (documents, titles, cells) = ([Document](), [String](), [[(path: String, value: ValueText)]]())
    for column in columns {
      try context.goOn()
      let datastore = try context.view(column.commit).datastore(column.place.datastore)
      let record = try datastore?.record(column.place.identifier)
      var document = try record?.document()
      if let edit = column.edit, let descriptor = datastore?.descriptor {
        let content = edit.over(record?.stored, descriptor).edit.new
        document = try content.map { content throws(ModelError) in try onDocument(descriptor.document(of: content)) }
      }
      let fields = DerivedFields(source, at: column.commit, in: context)
      documents.append(try fields.adding(to: document ?? .object([])))
      cells.append(try fields.cells(of: document ?? .object([])).map { ($0.path, $0.value.visible) })
      let label = document.flatMap { naming.label(of: $0, in: column.place.datastore) }
      let name = isOfVersions ? column.commit.description : named(column.place.identifier, label)
      titles.append(document == nil ? "\(name) (none)" : name)
    }
    var paths: [String] = []
    var known: Set<String> = []
    for part in cells { paths += part.map(\.path).filter { known.insert($0).inserted } }
    let values = cells.map { Dictionary($0, uniquingKeysWith: { first, _ in first }) }
    // A look-up in a document reads its members one by one, and there may be thousands.
    let tree = ColumnTree(try paths.map { text throws(ModelError) in try WorkContext.path(text) })
    let columns = documents.map(tree.values)
    let lines = paths.enumerated().map { place, path in
      let documents = columns.map { $0[place] }
      return Line(
        path: path, values: values.map { $0[path] }, documents: documents,
        differs: documents.contains { $0 != documents[0] })
    }
    return Reply(titles: titles, lines: lines)
  }
}

extension TransposeRequest.Column {
  /// The record as it is shown, with its staged edit.
  fileprivate init(_ place: RecordPlace, in session: Session) {
    self.init(place: place, commit: session.shown, edit: session.asOf == nil ? session.staged.edits[place] : nil)
  }
}

extension Browser {
  /// The marked records, the one under the cursor, or in the history of a record two of its versions.
  mutating func openTransposed(differences: Bool = false) {
    guard let source = table.source else { return }
    var columns: [TransposeRequest.Column]
    if focus == .history {
      guard let place = history.scope.place, let commit = history.selected?.commit else {
        return session.warn("choose the record first: its own history (H)")
      }
      let base = history.base ?? commit.parents.first ?? commit.number
      columns = Set([base, commit.number]).sorted().map { .init(place: place, commit: $0) }
    } else {
      let marked = table.marks.map { RecordPlace(datastore: source.datastore, identifier: $0) }
      let places =
        marked.isEmpty || focus == .record ? [session.selections.record].compactMap(\.self) : marked
      columns = places.map { .init($0, in: session) }
    }
    guard !columns.isEmpty else { return session.warn("no record is selected") }
    if columns.count > TransposePane.limit {
      session.warn("the first \(TransposePane.limit) of \(NumberFormat.count(columns.count)) marked records")
      columns.removeSubrange(TransposePane.limit...)
    }
    let request = TransposeRequest(
      source: source, columns: columns, isOfVersions: focus == .history, naming: session.naming)
    open(TransposePane.self) { $0.show(request, differences: differences, in: &$1) }
  }
}
