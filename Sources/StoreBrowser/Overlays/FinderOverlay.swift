import StrataModel
import StrataDocuments
import StrataTerminal

/// Finds a datastore, index, field, command, view, bookmark, pin, commit or record by a few letters, with a preview; Enter goes there.
struct FinderOverlay: SearchPane {
  static let entry = PaneEntry(
    id: "finder", name: "Finder", work: [FindRequest.slot], footer: [.open, .escape],
    commands: [
      CommandTable.row(
        .finder, ["^p"], "find anything by a few letters", "find", .places,
        "Finds datastores, indexes, fields, commands, views, bookmarks, pins, commits, and records by the beginning of their "
          + "identifier or of a text that an index has. Enter goes there or runs the command."
      ) { browser, _ in browser.openFinder() }
    ])

  /// Something to find.
  struct Item: Sendable {
    var kind: String
    var words: FuzzySearch.Words
    var detail = ""
    var preview: [String] = []
    /// The score if it was found by another way than its words.
    var score: Int?
    var choice: Intent
  }

  /// The field whose values are listed; nil in the general finder.
  private let title: String?
  /// The datastore from which a record is chosen, and the effect of the choice.
  private let datastore: String?
  private let choose: (@Sendable (RecordPlace) -> Intent)?
  private let all: [Item]
  private(set) var items: [Item]
  var field = TextField()
  private var asked: FindRequest?
  private var found: FindRequest.Reply?
  /// The first records of the datastore, which are also found by the letters of their labels.
  private var first: [FindRequest.Record] = []
  var list = ListWindow()

  init(
    _ items: [Item], title: String? = nil, in datastore: String? = nil,
    choose: (@Sendable (RecordPlace) -> Intent)? = nil
  ) {
    (self.title, self.datastore, self.choose) = (title, datastore, choose)
    all = items
    self.items = items
  }

  mutating func demand(frame: PaneFrame, in session: inout Session) {
    if datastore != nil, asked == nil { search(in: &session) }
  }

  func short(_ command: Command) -> String? { command == .open && title != nil ? "choose" : nil }

  var selected: Item? { list.selected(of: items) }

  func lineCount(_ session: Session) -> Int { items.count }
  func footerRows(_ frame: PaneFrame) -> Int { frame.rows >= 14 && (title == nil || datastore != nil) ? 6 : 0 }

  mutating func search(in session: inout Session) {
    list = ListWindow()
    found = nil
    let text = field.text.trimmed
    if datastore == nil, text.isEmpty || title != nil {
      session.cancel(FindRequest.slot)
    } else {
      let request = FindRequest(
        text: text, commit: session.shown, head: session.head, naming: session.naming, datastore: datastore)
      asked = request
      session.start(FindRequest.slot, request)
    }
    rank(session)
  }

  mutating func answered(_ reply: any Sendable, in session: inout Session) {
    guard let reply = reply as? FindRequest.Reply, reply.request == asked,
      datastore != nil || !field.text.trimmed.isEmpty
    else { return }
    found = reply
    if reply.request.text.isEmpty { first = reply.records }
    let kept = selected?.words
    rank(session)
    // The selection stays on its item if the user has moved already.
    if list.selection > 0, let kept, let place = items.firstIndex(where: { $0.words == kept }) {
      list.selection = place
    }
  }

  /// A record that the store does not find says so by not being listed.
  mutating func failed(_ error: ModelError, of slot: WorkSlot, in session: inout Session) {}

  private mutating func rank(_ session: Session) {
    let known = Set((found?.records ?? []).map(\.place))
    let others = (first + insertions(session)).filter { !known.contains($0.place) }
    let records = ((found?.records ?? []) + others).map { record in
      var item = Item(record)
      if !known.contains(record.place) { item.score = nil }
      if let choose, record.place.datastore == datastore { item.choice = choose(record.place) }
      return item
    }
    let more = records + (found?.commits ?? []).map { Item($0, session) }
    items = FuzzySearch.sorted(all + more, by: field.text, words: \.words, known: \.score)
  }

  /// The newest staged records, which no index of the store has.
  private func insertions(_ session: Session) -> [FindRequest.Record] {
    guard session.asOf == nil, datastore != nil || title == nil else { return [] }
    let edits = session.staged.order.reversed().lazy.compactMap { session.staged.edits[$0] }
    return edits.filter { $0.kind == .insert && $0.datastore == datastore ?? $0.datastore }.prefix(100).map { edit in
      let label = session.naming.label(of: edit, session.outline?.datastore(edit.datastore)?.descriptor)
      return .init(place: edit.place, label: label, isExact: false, key: nil, lines: ["staged"])
    }
  }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    guard command == .open else { return false }
    guard let selected else { return true }
    session.intend(.dismiss, selected.choice)
    return true
  }

  func rect(in body: Rect, session: Session) -> Rect {
    // A list to choose from is as high as its items, the border and the field.
    let rows = title != nil && datastore == nil ? min(24, all.count + 3) : 24
    return body.centered(Size(columns: min(body.columns - 2, 90), rows: min(body.rows, rows)))
  }

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    let inside = frame.inside
    // A label without an index is found by a search of the records only.
    let none = title == nil ? "nothing found by name or index: / reads all" : "nothing has these letters"
    let position = "\(NumberFormat.count(list.selection + 1)) of \(NumberFormat.count(items.count))"
    let count = items.isEmpty ? none : position
    grid.border(frame, digit: nil, title: title ?? "Find", footer: count, theme: theme)
    drawLines(on: &grid, frame: frame, session: session) { grid, line, rect in
      let item = items[line]
      let kind = SafeText.width(item.kind)
      grid.write(
        [Span(item.words.name), Span("  \(item.detail)", theme.style(.dim))], at: rect.at(2),
        width: max(0, rect.columns - 4 - kind))
      grid.write(item.kind, at: rect.origin, width: rect.columns, style: theme.style(.dim), alignment: .trailing)
    }
    let rows = footerRows(frame)
    if rows > 0, let selected {
      let top = inside.rows - rows
      grid.rule(at: inside.at(0, top), columns: inside.columns, theme: theme)
      for (row, line) in selected.preview.prefix(rows - 1).enumerated() {
        grid.write(line, at: inside.at(1, top + 1 + row), width: inside.columns - 2, style: theme.style(.dim))
      }
    }
    drawField(on: &grid, frame: frame, columns: inside.columns - 8, theme: theme)
  }
}

extension FinderOverlay.Item {
  fileprivate init(_ record: FindRequest.Record) {
    self.init(
      kind: record.place.datastore, words: .init(name: named(record.place.identifier, record.label)),
      detail: record.key.map { "\($0.index) \($0.text)" } ?? "", preview: record.lines,
      score: record.isExact ? 0 : 2,
      choice: Intent { browser in
        browser.select(record.place)
        browser.focusPane(.table)
      })
  }

  fileprivate init(_ commit: CommitDetails, _ session: Session) {
    let name = "\(commit.number) \(commit.action.isEmpty ? commit.program : commit.action)"
    self.init(
      kind: "commit", words: .init(name: name, title: commit.author),
      detail: session.time.short(commit.date, now: session.now),
      preview: [
        HistoryPane.summary(of: commit, scope: .store),
        [commit.author, commit.program].filter { !$0.isEmpty }.joined(separator: ", "),
        "Enter shows everything as of \(commit.number)",
      ], choice: .travel(commit.number))
  }
}

extension Browser {
  mutating func openFinder() {
    present(FinderOverlay(places + fields + indexes + commands))
  }

  private var places: [FinderOverlay.Item] {
    var items = (session.outline?.datastores ?? []).map { datastore in
      let count = NumberFormat.counted(datastore.count, "record")
      let names = datastore.indexes.map(\.descriptor.name).joined(separator: ", ")
      return FinderOverlay.Item(
        kind: "datastore", words: .init(name: datastore.key), detail: count, preview: [count, "indexes: \(names)"],
        choice: .open(datastore.key, index: nil))
    }
    items += session.remembered.views.map { view in
      .init(
        kind: "view of \(view.datastore)", words: .init(name: view.name),
        preview: TextLines.split(view.query ?? view.filter),
        choice: Intent { browser in
          if browser.session.datastore != view.datastore { browser.openDatastore(view.datastore, index: nil) }
          browser.show(view)
          browser.focusPane(.table)
        })
    }
    items += session.remembered.bookmarks.sorted { $0.key < $1.key }.map { letter, bookmark in
      let place = "\(bookmark.datastore)/\(bookmark.identifier)"
      return .init(
        kind: "bookmark", words: .init(name: letter, title: place), detail: place,
        choice: .run(.goToBookmark, argument: letter))
    }
    return items
      + (session.outline?.pins ?? []).map { pin in
        .init(
          kind: "pin", words: .init(name: pin.name), detail: pin.commit.description,
          preview: ["Enter shows everything as of \(pin.commit)"], choice: .travel(pin.commit))
      }
  }

  private var indexes: [FinderOverlay.Item] {
    (session.outline?.datastores ?? []).flatMap { datastore in
      datastore.indexes.map { index in
        let descriptor = index.descriptor
        let count = NumberFormat.counted(index.count, "entry", "entries")
        return .init(
          kind: "index of \(datastore.key)", words: .init(name: descriptor.name),
          preview: [
            "\(datastore.key) in the order of \(descriptor.documentPath?.shortText ?? descriptor.name)",
            "\(count), \(descriptor.kind.short)\(descriptor.isStale ? ", stale" : "")",
          ], choice: .open(datastore.key, index: descriptor.name))
      }
    }
  }

  private var fields: [FinderOverlay.Item] {
    guard let key = session.datastore else { return [] }
    let row = table.selectedRow
    return table.columns.seen.map { column in
      let path = column.path
      let index = session.current?.indexes.first { $0.descriptor.documentPath?.description == path }
      var preview = ["a field of \(key)\(index.map { ", index \($0.descriptor.name)" } ?? "")"]
      if let value = row?.cells[path], let identifier = row?.entry.identifier {
        preview.append("\(identifier): \(value.text)")
      }
      return .init(
        kind: "field", words: .init(name: String(path.drop { $0 == "." })), preview: preview,
        choice: Intent { $0.goToColumn(path) })
    }
  }

  private var commands: [FinderOverlay.Item] {
    CommandTable.all.filter { $0.command != .finder }.map { entry in
      let refusal = refusal(of: entry)
      return .init(
        kind: keymap.keys(for: entry.command).first ?? "command", words: .init(entry), detail: entry.title,
        preview: (refusal.map { ["not here: \($0)"] } ?? []) + entry.help.wrapped(to: 84),
        choice: .run(entry.command, argument: nil))
    }
  }

  /// Puts the cursor of the table on a field's column, which is shown again if it is hidden.
  private mutating func goToColumn(_ path: String) {
    focusPane(.table)
    if let datastore = session.datastore, session.columnChoice(datastore).hidden.contains(path) {
      var choice = session.columnChoice(datastore)
      choice.hidden.removeAll { $0 == path }
      session.arrange(choice, of: datastore)
    }
    let columns = table.visibleColumns(session)
    let place = columns.firstIndex { $0.path == path } ?? columns.firstIndex { $0.source == .key }
    table.column = path == table.columns.identifierPath ? 0 : place ?? table.column
  }
}

extension Intent {
  fileprivate static func open(_ datastore: String, index: String?) -> Self {
    Self { browser in
      browser.openDatastore(datastore, index: index)
      browser.focusPane(.table)
    }
  }
}
