import StrataDocuments
import StrataExpressions
import StrataModel
import StrataTerminal

extension TablePane {
  func refusal(of command: Command, in session: Session) -> String? {
    guard source != nil else { return "no datastore is open" }
    switch command {
    case .editExternally, .duplicate, .deleteRecord, .copyValue, .copyKey, .copyRecord,
      .mark,
      .history, .blame, .referrers, .open, .scalars, .filterLike:
      // The ends of a range are known before the rows are read.
      if selectedIdentifier(session) == nil, marks.isEmpty, range == nil { return "no record is selected" }
    case .edit, .valueMenu:
      if let derivation = selectedField(session).flatMap({ source?.derivation(of: $0) }) { return derivation }
      if selectedIdentifier(session) == nil { return "no record is selected" }
    case .restoreRecord:
      if session.asOf == nil { return "travel to a commit first (T), or choose one in the history (H)" }
    case .difference:
      if marks.count != 2 { return "mark two records first (Space)" }
    case .leaveOut where selectedPlace(session).map({ session.staged.edits[$0] == nil }) ?? true:
      return "nothing is staged of this record"
    case .searchNext, .searchPrevious:
      if searchText == nil { return "nothing was searched for yet (/)" }
    case .nameView:
      if source?.unscanned == source, source?.index == nil { return "nothing narrows or orders the rows (f, o)" }
    default: break
    }
    return nil
  }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    guard source != nil else { return false }
    (waiting, isHitUnread) = (nil, false)
    switch command {
    case .left: column = max(0, column - 1)
    case .right: column = min(visibleColumns(session).count - 1, column + 1)
    case .open: session.intend(.focus(.record))
    case .mark: mark(in: &session)
    case .range:
      (rangeStart, rangeEntry) = (rangeStart == nil ? list.selection : nil, wanted?.entry ?? selectedRow?.entry)
    case .sort, .sortReverse: sort(by: argument, isDescending: command == .sortReverse, in: &session)
    case .sortFurther: sortFurther(by: argument, in: &session)
    case .search, .searchColumn: search(command, argument, in: &session)
    case .searchNext, .searchPrevious:
      startSearch(isBackward: command == .searchPrevious, includesPosition: false, in: &session)
    case .filterLike: filterLike(in: &session)
    case .lowerBound, .upperBound:
      guard let key = selectedRow?.entry.value else { return true }
      session.intend(.setRange(KeyInterval(key).bounding(source?.range, isLower: command == .lowerBound)))
    case .hideColumn, .unhideColumns, .narrowColumn, .widenColumn, .freezeColumn, .columnLeft, .columnRight:
      arrange(command, in: &session)
    default: return runOnRecords(command, in: &session)
    }
    return true
  }

  /// Cells from a spreadsheet.
  mutating func paste(_ text: String, in session: inout Session) -> Bool {
    session.intend(Intent { $0.pasteCells(text) })
    return true
  }

  private mutating func runOnRecords(_ command: Command, in session: inout Session) -> Bool {
    switch command {
    case .copyKey: selectedIdentifier(session).map { session.copy($0.description, what: "key") }
    case .copyValue:
      guard let row = selectedRow, let column = selectedColumn(session) else { return false }
      let (path, shown) = (selectedPath(session), look(at: list.selection, session))
      let cell = path.flatMap { row.cells[$0] }
      // The record pane has the staged value.
      guard column.source != .key || shown.key == nil, path.flatMap({ shown.cells[$0] }) == cell else { return false }
      let value = row.value(of: column)
      // A value that is cut or described in the table is complete in the record pane; a key is one value of a list.
      if value == nil, cell?.kind ?? .missing != .missing { return false }
      session.copy(value == .null ? "null" : row.text(of: column), what: "value", as: value)
    case .copyPath: session.copy(selectedPath(session) ?? ".", what: "path")
    case .copyRecord: gather(.copy, in: &session)
    case .deleteRecord: gather(.delete, in: &session)
    case .duplicate: gather(.duplicate, in: &session)
    case .editExternally where !marks.isEmpty: gather(.editExternally, in: &session)
    case .restoreRecord:
      guard let asOf = session.asOf else { return false }
      gather(.restore(from: asOf), in: &session)
    case .leaveOut:
      guard let place = selectedPlace(session) else { return false }
      session.intend(.stage(.leavingOut(place, of: session.staged)))
    case .history:
      guard let place = selectedPlace(session) else { return false }
      session.intend(.showHistory(.record(place)))
    default: return false
    }
    return true
  }

  private func gather(_ purpose: GatherRequest.Purpose, in session: inout Session) {
    guard let source, let which = chosen(session) else { return }
    var request = GatherRequest(commit: purpose.commit(session), source: source, which: which, purpose: purpose)
    request.listed = commit(session)
    request.new = newInRange(session)
    if purpose == .delete, which.count > Self.manyRecords {
      request.staged = session.staged
      if session.staged.isEmpty { request.staged?.base = session.shown }
      request.stagedRevision = session.stagedRevision
    }
    session.start(.gather, request, label: "reading \(NumberFormat.counted(which.count, "record"))") { $0.gathered($1) }
  }

  /// From this number of records on, a step is staged on the reading thread, so that no key waits for it.
  private static let manyRecords = 5_000

  private mutating func mark(in session: inout Session) {
    if let range, let source {
      let (rows, new) = (GatherRequest.Which.ranks(RowRanks(list: range.compactMap(rank(at:)))), newInRange(session))
      let identifiers = Inquiry { [commit = commit(session)] context throws(ModelError) in
        try context.identifiers(rows, of: source, at: commit) + new
      }
      session.start(.gather, identifiers, label: "marking") { browser, identifiers in
        guard browser.table.source?.datastore == source.datastore else { return }
        for identifier in identifiers where !browser.table.isMarked(identifier) { browser.table.toggleMark(identifier) }
      }
      rangeStart = nil
      return
    }
    guard let identifier = selectedIdentifier(session) else { return }
    toggleMark(identifier)
    list.move(by: 1, count: count(session))
  }

  // MARK: Order

  private mutating func sort(by argument: String?, isDescending: Bool, in session: inout Session) {
    guard var source else { return }
    let anchor = keepingIdentifier()
    // The same key on the column that orders the rows reverses them.
    let isDescending = isDescending || argument == nil && isAscending(session)
    if argument == nil, let column = selectedColumn(session)?.source,
      column == .key || column == .identifier && (source.index == nil || source.range == nil)
    {
      if column == .identifier { source.index = nil }
      source.sort = []
      source.isDescending = isDescending
      session.intend(.show(source, anchor: anchor))
      return
    }
    guard let text = argument ?? selectedPath(session) else {
      return session.warn("this column has no path to sort by")
    }
    do throws(ModelError) {
      order(by: try order(typed: text, isDescending: isDescending), anchor: anchor, in: &session)
    } catch { session.complain(error) }
  }

  /// Reads an order as it is typed: one field by its name as it stands, or several by their paths.
  func order(typed text: String, isDescending: Bool = false) throws(ModelError) -> [SortOrder] {
    let name = DocumentPath.text(ofMember: text.trimmed)
    guard !columns.seen.contains(where: { $0.path == name }) else {
      return [SortOrder(path: name, isDescending: isDescending)]
    }
    return try [SortOrder](parsing: text, isDescending: isDescending)
  }

  /// Sorts by an additional field, after the present ones. If it is one of those, its direction is reversed.
  private mutating func sortFurther(by argument: String?, in session: inout Session) {
    let typed = argument.flatMap { try? order(typed: $0) }
    let selected = selectedPath(session).map { [SortOrder(path: $0, isDescending: false)] }
    guard let added = typed ?? selected, let source else { return session.warn("this column has no path to sort by") }
    var sort = source.sort
    if sort.isEmpty, let known = session.current?.index(source.index)?.descriptor.documentPath?.description {
      sort = [SortOrder(path: known, isDescending: source.isDescending)]
    }
    for order in added {
      if let index = sort.firstIndex(where: { $0.path == order.path }) {
        sort[index].isDescending.toggle()
      } else {
        sort.append(order)
      }
    }
    order(by: sort, anchor: keepingIdentifier(), in: &session)
  }

  /// Orders the table by an index; the selection stays on its record.
  mutating func order(by index: String?) {
    guard var source else { return }
    let anchor = keepingIdentifier()
    source.index = index
    source.range = nil
    source.sort = []
    source.isDescending = false
    show(source, anchor: anchor)
  }

  mutating func setRange(_ range: KeyInterval?) {
    guard var source else { return }
    source.range = range
    show(source, anchor: .position(0))
  }

  mutating func setFilter(_ filter: String?) {
    guard let source else { return }
    if isOpen(source) {
      refilter(filter)
    } else {
      var source = source
      source.filter = filter
      show(source, anchor: keepingIdentifier(), keepsOrder: true)
    }
  }

  private mutating func filterLike(in session: inout Session) {
    guard let row = selectedRow, let path = selectedField(session), let source else { return }
    var value = selectedColumn(session).flatMap { row.value(of: $0) }
    if !source.joined.contains(where: { $0.path.contains(path) }), let record = try? row.record?.document() {
      value = source.adding(to: record)[path] ?? .null
    }
    let isElement =
      selectedColumn(session)?.source == .key
      && session.current?.index(source.index)?.descriptor.kind.hasManyValues == true
    if isElement { value = row.entry.value.document }
    guard let value else { return session.warn("this value is too long to filter by, or only described here") }
    session.intend(.filter(Filter.text(of: path, being: value, isElement: isElement)))
  }

  // MARK: Columns

  private mutating func arrange(_ command: Command, in session: inout Session) {
    guard let source else { return }
    let visible = visibleColumns(session)
    guard let selected = selectedColumn(session) else { return }
    var choice = session.columnChoice(source.datastore)
    let key = selected.choiceKey
    switch command {
    case .hideColumn:
      guard let path = selected.path else { return session.warn("the identifier stays in sight") }
      choice.hidden.append(path)
    case .unhideColumns: choice.hidden = []
    case .narrowColumn: choice.widths[key] = max(3, selected.width - 2)
    case .widenColumn: choice.widths[key] = min(200, selected.width + 2)
    case .freezeColumn: choice.frozen = choice.frozen == column + 1 ? 1 : column + 1
    case .columnLeft, .columnRight:
      guard let path = selected.path else { return }
      var order = visible.compactMap(\.path)
      guard let index = order.firstIndex(of: path) else { return }
      let target = index + (command == .columnLeft ? -1 : 1)
      guard order.indices.contains(target) else { return }
      order.swapAt(index, target)
      choice.order = order
    default: return
    }
    session.arrange(choice, of: source.datastore)
  }
}

extension TableColumn {
  fileprivate var choiceKey: String {
    switch source {
    case .identifier: "id"
    case .key: "key"
    case .field(let path): path
    }
  }
}

extension ValueText {
  /// The value as it is written in a filter; nil if it cannot be.
  var filterLiteral: String? {
    guard isWhole else { return nil }
    return switch kind {
    case .number, .bool: text
    case .string: JSONWriter.literal(text)
    case .null: "null"
    case .missing, .date, .data, .list, .object, .problem: nil
    }
  }
}

extension KeyInterval {
  /// The range of one key.
  init(_ key: KeyValue) { self.init(lower: .including(key), upper: .including(key)) }

  /// Returns a range with one of the bounds of this one.
  func bounding(_ range: KeyInterval?, isLower: Bool) -> KeyInterval {
    var range = range ?? KeyInterval()
    if isLower { range.lower = lower } else { range.upper = upper }
    return range
  }
}

extension GatherRequest.Purpose {
  /// The commit whose records are read: the head for restores and edits.
  func commit(_ session: Session) -> CommitNumber {
    switch self {
    case .restore, .restoreField: session.head
    default: session.shown
    }
  }
}

extension Session {
  /// Stages the content of a record, or of one of its fields, as of a commit. A part of a list is restored with the list.
  mutating func restore(_ place: RecordPlace, _ path: DocumentPath?, from commit: CommitNumber) {
    gather(path.map { .restoreField(path: $0.upToList, from: commit) } ?? .restore(from: commit), of: place)
  }

  mutating func gather(_ purpose: GatherRequest.Purpose, of place: RecordPlace) {
    let request = GatherRequest(
      commit: purpose.commit(self), source: RowSource(datastore: place.datastore),
      which: .identifiers([place.identifier]), purpose: purpose)
    start(.gather, request, label: "reading") { $0.gathered($1) }
  }

  /// Copies a text as it is, and any other value as JSON.
  mutating func copy(_ value: Document?, what: String = "value") {
    guard let value else { return warn("there is no value here") }
    if case .string(let text) = value {
      copy(text, what: what, as: value)
    } else {
      copy(value.compactJSON, what: what, as: value)
    }
  }

  /// Puts text on the clipboard and shows a message.
  ///
  /// - Parameter value: the value that p puts into a field; without one the text.
  mutating func copy(_ text: String, what: String, as value: Document? = nil) {
    copied.value = value ?? .string(text)
    emit(.copy(text))
    let way =
      switch clipboard {
      case .terminal: "to the terminal (OSC 52)"
      case .tmux: "to tmux and through it (set-clipboard or allow-passthrough on takes it)"
      case .screen: "through screen (OSC 52)"
      }
    let shown = SafeText.cut(String(text.prefix(200)).replacing("\n", with: " "), to: 40)
    say("copied the \(what) \(way): \(shown)")
  }
}

extension Row {
  /// The value of a cell; nil if the cell only describes it.
  func value(of column: TableColumn) -> Document? {
    switch column.source {
    case .identifier: entry.identifier.value.document
    case .key: entry.value.document
    case .field(let path): (cells[path]?.filterLiteral).flatMap { try? JSONParser.parse($0) }
    }
  }

  /// The text of a cell, as far as it was read.
  func text(of column: TableColumn) -> String {
    switch column.source {
    case .identifier: ValueText(key: entry.identifier.value).text
    case .key: ValueText(key: entry.value).text
    case .field(let path): cells[path]?.text ?? ""
    }
  }
}
