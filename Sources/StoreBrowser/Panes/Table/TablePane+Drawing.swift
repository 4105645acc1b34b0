import StrataDocuments
import StrataModel
import StrataExpressions
import StrataTerminal

extension TablePane {
  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    let empty =
      source.map { "reading \($0.datastore)…" } ?? (session.outline == nil ? "reading…" : "nothing is stored here yet")
    guard
      grid.begin(
        frame, digit: 2, title: title(session), footer: footer(frame: frame, session),
        problem: problem ?? session.outlineProblem, note: source == nil || opened == nil ? empty : nil, theme: theme)
    else { return }
    let inside = frame.inside
    let columns = visibleColumns(session)
    let slots = TableGeometry.slots(
      columns, frozen: frozen(session), offset: columnOffset, width: inside.columns - TableGeometry.signs)
    drawHeader(columns, slots, in: inside, on: &grid, session: session)
    if count(session) == 0 {
      grid.writeWrapped(emptyText(session), in: rowsRect(frame), style: theme.style(.dim))
    }
    let rows = rowsRect(frame)
    for line in 0..<max(0, rows.rows) {
      let position = list.top + line
      guard position < count(session) else { break }
      let rect = Rect(column: rows.left, row: rows.top + line, columns: rows.columns, rows: 1)
      drawRow(position, columns, slots, in: rect, frame: frame, on: &grid, session: session)
    }
  }

  /// The rectangle of the rows, below the titles of the columns.
  private func rowsRect(_ frame: PaneFrame) -> Rect { frame.inside.split(top: 1).bottom }

  /// A step of the selection changes two rows and the footer; if it scrolls, the other rows are moved.
  func redraw(on grid: inout CellGrid, after former: any Pane, frame: PaneFrame, session: Session) -> Bool {
    guard let former = former as? TablePane, opened != nil, problem == nil, rangeStart == nil else { return false }
    var stepped = former
    (stepped.list, stepped.pendingRows, stepped.window) = (list, pendingRows, window)
    let (rows, count, scrolled) = (rowsRect(frame), count(session), list.top - former.list.top)
    guard stepped == self, rows.rows > 0, count > 0, abs(scrolled) < rows.rows else { return false }
    grid.scroll(rows, by: scrolled)
    let shown = list.top..<list.top + rows.rows
    let entered = scrolled > 0 ? shown.upperBound - scrolled..<shown.upperBound : list.top..<list.top - scrolled
    let columns = visibleColumns(session)
    let slots = TableGeometry.slots(
      columns, frozen: frozen(session), offset: columnOffset, width: rows.columns - TableGeometry.signs)
    for position in Set(entered).union([former.list.selection, list.selection]) where shown.contains(position) {
      let rect = Rect(column: rows.left, row: rows.top + position - list.top, columns: rows.columns, rows: 1)
      grid.fill(rect)
      guard position < count else { continue }
      drawRow(position, columns, slots, in: rect, frame: frame, on: &grid, session: session)
    }
    grid.lowerEdge(frame, footer: footer(frame: frame, session), theme: session.theme)
    return true
  }

  private func emptyText(_ session: Session) -> String {
    if scan?.isRunning == true { return "searching…" }
    if scan?.isCutShort == true { return session.gaps[.filter] ?? "stopped before the first row; Esc again shows all" }
    if let reason = reasonForNoRows(session) { return reason }
    return source?.filter == nil && source?.range == nil ? "no records" : "no record matches"
  }

  /// The state of the filter: `INDEX population · 812 records`, `SCAN · 40 % read · 3 so far`; nil without a filter.
  func filterStatus(_ session: Session) -> String? {
    guard source?.filter != nil, let scan else { return nil }
    let dot = session.theme.dot
    guard scan.isRunning || scan.isCutShort else {
      return "\(scan.plan) \(dot) \(NumberFormat.counted(ranks?.count ?? 0, "record"))"
    }
    guard !scan.plan.isEmpty else { return "" }
    if let known = scan.known { return "\(scan.plan) \(dot) \(NumberFormat.counted(known, "record"))" }
    let share = scan.total.map { $0 > 0 ? scan.read * 100 / $0 : 100 }
    let read = share.map { "\($0) % read" } ?? "\(NumberFormat.count(scan.read)) read"
    return "\(scan.plan) \(dot) \(read) \(dot) \(NumberFormat.count(renewal?.ranks.count ?? storedCount)) so far"
  }

  /// Why nothing matches, if it is known: the filter names a field that no record has, or compares lists with a value.
  func reasonForNoRows(_ session: Session) -> String? {
    guard let filter = try? source?.condition else { return nil }
    if let unknown = unknownName(in: filter.paths, session) { return unknown }
    let list = filter.pathsOfPlainValues.first { path in
      columns.seen.contains { $0.path == path.description && $0.kind == .list }
    }
    return list.map { "\($0.shortText) is a list: \($0.shortText) has … finds its elements" }
  }

  /// The first of some paths that no record has, as far as records were read, in a sentence; nil if there is none.
  func unknownName(in paths: [DocumentPath], _ session: Session) -> String? {
    let derived = (source?.computed.map(\.path) ?? []) + (source?.joined.map(\.path) ?? [])
    let known = columns.seen.compactMap { try? DocumentPath(parsing: $0.path) } + derived
    guard !known.isEmpty else { return nil }
    for path in paths where !known.contains(path) {
      if let column = columns.column(above: path) {
        let part = DocumentPath(Array(path.components.dropFirst(column.components.count))).shortText
        return "\(column.shortText) has no part “\(part)”"
      }
      guard case .member(let name)? = path.components.first,
        !known.contains(where: { $0.components.first == .member(name) })
      else { continue }
      let text = "no record that was read has “\(name)”"
      let indexes = session.current?.indexes.map(\.descriptor) ?? []
      if let index = indexes.first(where: { $0.name == name })?.documentPath {
        return "\(text): the index of that name is of \(index.shortText)"
      }
      let names = known.map(\.shortText) + indexes.map(\.name)
      return text + UnknownName.question(UnknownName.nearest(to: name, among: names))
    }
    return nil
  }

  /// The title: the datastore and its order.
  private func title(_ session: Session) -> String {
    guard let source else { return "Records" }
    guard let index = source.sort.first.map({ $0.path.drop { $0 == "." } }) ?? source.index.map({ $0[...] }) else {
      return source.datastore
    }
    let isStale = source.sort.isEmpty && session.current?.index(source.index)?.descriptor.isStale == true
    return "\(source.datastore) by \(index)\(isStale ? " \(session.theme.warningSign) stale" : "")"
  }

  private static let leastOfFilter = 12

  /// The foot: the selected row and the marks, then the conditions and the plan. If there is too little room, the parts
  /// that the user sees elsewhere too are left out first, then the middle of the filter. The plan and the row stay.
  private func footer(frame: PaneFrame, _ session: Session) -> String {
    guard opened != nil, let source else { return "" }
    let (room, separator) = (frame.rect.columns - 6, " \(session.theme.dot) ")
    let age = areAllOlder(session) ? "an older version\(session.rewriteHint)" : nil
    let range = source.range.map { "range \($0)" }
    let orders = source.sort.map { "\($0.path.drop { $0 == "." })\($0.isDescending ? " ▼" : " ▲")" }
    let sort = orders.count > 1 ? "sorted by \(orders.joined(separator: ", "))" : nil
    let limit = source.limit.map { "limit \(NumberFormat.count($0))" }
    func text(_ filter: String?, isShort: Bool) -> String {
      // The number of rows is also that of the filter's records, if all were found.
      let isCounted = isShort && source.limit == nil && scan?.isRunning == false
      let standing = isCounted ? source.filter.flatMap { _ in scan?.plan } : filterStatus(session)
      let row = place(isShort: isShort, hasBar: frame.columns >= 70, session)
      return [row, isShort ? nil : age, range, filter, standing, limit, sort].compactMap {
        $0?.isEmpty == true ? nil : $0
      }
      .joined(separator: separator)
    }
    let whole = text(source.filter.map { "filter \($0)" }, isShort: false)
    guard SafeText.width(whole) > room else { return whole }
    let left = room - SafeText.width(text(nil, isShort: true)) - 3
    return text(
      left < Self.leastOfFilter ? nil : source.filter.map { SafeText.cutInTheMiddle($0, to: left) }, isShort: true)
  }

  /// The selected row of how many, and what is marked.
  private func place(isShort: Bool, hasBar: Bool, _ session: Session) -> String {
    let count = count(session)
    var text: String
    if let scan, scan.isRunning || scan.isCutShort {
      let total = scan.total.map { " of \(NumberFormat.count($0))" } ?? ""
      text =
        "row \(wanted == nil ? NumberFormat.count(min(count, list.selection + 1)) : "…") of \(NumberFormat.count(count))\(renewal == nil ? "+" : "") "
        + "\(session.theme.dot) read \(NumberFormat.count(scan.read))\(total)\(scan.isRunning ? "" : ", stopped")"
    } else if count == 0 {
      text = "0 rows"
    } else {
      text = "row \(NumberFormat.count(list.selection + 1)) of \(NumberFormat.count(count))"
      if !isShort {
        let percent = count > 1 ? list.selection * 100 / (count - 1) : 100
        let bar = Bars.progress(list.selection + 1, of: count, width: 12, isASCII: session.theme.isASCII, empty: " ")
        text += (hasBar ? " ▕\(bar)▏" : "") + " \(percent)%"
      }
    }
    if pendingRows != nil, problem == nil, row(at: list.selection) == nil { text += " \(session.theme.dot) reading…" }
    if !marks.isEmpty { text += " \(session.theme.dot) \(marks.count) marked" }
    if let range { text += " \(session.theme.dot) range of \(NumberFormat.count(range.count))" }
    if !changed.isEmpty { text += " \(session.theme.dot) \(changed.count) changed" }
    return text
  }

  private func drawHeader(
    _ columns: [TableColumn], _ slots: [TableGeometry.Slot], in inside: Rect, on grid: inout CellGrid, session: Session
  ) {
    grid.titles(
      of: columns.count, slots, selected: column, in: inside, from: TableGeometry.signs, theme: session.theme,
      isTrailing: { columns[$0].isTrailing }
    ) { slot in
      let column = columns[slot.column]
      let order = isOrder(column) ? isDescending(column) ? " ▼" : " ▲" : ""
      let isShort = slot.width < 12
      return (isShort ? column.title : SafeText.cutInTheMiddle(column.title, to: slot.width - order.count)) + order
    }
  }

  private func isOrder(_ column: TableColumn) -> Bool {
    switch column.source {
    case .identifier: source?.index == nil && source?.sort.isEmpty == true
    case .key: source?.sort.isEmpty == true
    case .field(let path): source?.sort.contains { $0.path == path } == true
    }
  }

  private func isDescending(_ column: TableColumn) -> Bool {
    if case .field(let path) = column.source, let order = source?.sort.first(where: { $0.path == path }) {
      return order.isDescending
    }
    return source?.isDescending ?? false
  }

  /// Whether the selected column orders the rows, ascending.
  func isAscending(_ session: Session) -> Bool {
    selectedColumn(session).map { isOrder($0) && !isDescending($0) } == true
  }

  private func drawRow(
    _ position: Int, _ columns: [TableColumn], _ slots: [TableGeometry.Slot], in rect: Rect, frame: PaneFrame,
    on grid: inout CellGrid, session: Session
  ) {
    let theme = session.theme
    let look = look(at: position, session)
    let isSelected = position == list.selection && wanted == nil
    if isSelected { grid.write(theme.cursor, at: rect.origin, width: 1) }
    grid.write(look.sign, at: rect.at(1), width: 1, style: theme.style(look.signRole))
    for slot in slots {
      let column = columns[slot.column]
      let value = formatted(
        look.value(column), of: column, width: slot.width, leadingTo: column.path.flatMap { look.targets[$0] }, session)
      var style = theme.style(isSelected ? .text : value.cellRole)
      if look.isDeleted { style = style.with(Attributes.strike) }
      var text = column.isName ? SafeText.cutInTheMiddle(value.text, to: slot.width) : value.fitting(slot.width)
      if column.fraction > 0, value.isTrailing {
        text = NumberFormat.aligned(text, fraction: column.fraction, in: slot.width)
      }
      if let before = before(of: look.identifier, column) {
        style = theme.style(.changed).with(.bold)
        let both =
          "\(formatted(before, of: column, width: slot.width, leadingTo: nil, session).text)\(theme.arrow)\(value.text)"
        if SafeText.width(both) <= slot.width { text = both }
      }
      grid.write(
        text, at: rect.at(TableGeometry.signs + slot.x), width: slot.width, style: style,
        alignment: column.isTrailing || value.isTrailing ? .trailing : .leading)
      if let marked = session.markedText, searchColumn == nil || searchColumn == column.source {
        let left = rect.left + TableGeometry.signs + slot.x
        let (shown, stored) = (value.text, look.value(column).text)
        // A hit in digits that are shown with separators or in another form marks the whole value.
        grid.mark(in: Rect(column: left, row: rect.top, columns: slot.width, rows: 1)) { line in
          shown == stored
            ? marked.places(in: line) : marked.occurs(in: stored) ? [line.indices] : []
        }
      }
    }
    if let problem = look.problem, let key = slots.first {
      // Behind the key, also if no other column is known.
      let left = TableGeometry.signs + (slots.dropFirst().first?.x ?? key.x + key.width + 2)
      grid.write(
        "\(theme.problemSign) \(problem)", at: rect.at(left), width: max(0, rect.columns - left),
        style: theme.style(.problem))
    }
    guard isSelected else { return }
    let cell = slots.first { $0.column == self.column }
    grid.select(
      rect, frame: frame, theme: theme, cursorColumn: cell.map { rect.left + TableGeometry.signs + $0.x })
    if frame.isFocused, let cell {
      grid.restyle(
        Rect(column: rect.left + TableGeometry.signs + cell.x, row: rect.top, columns: cell.width, rows: 1)
      ) { $0.attributes.formUnion([.bold, .underline]) }
    }
  }

  /// Returns a cell's value as of the previously shown commit, or nil if it was the same.
  private func before(of identifier: StoredKey?, _ column: TableColumn) -> ValueText? {
    guard let identifier, case .field(let path) = column.source else { return nil }
    return step?.before[identifier]?[path]
  }

  /// The appearance of a row with its staged edit.
  struct Look {
    var sign = ""
    var signRole = Role.dim
    var isDeleted = false
    var entry: IndexEntry?
    /// The key that the row gets from its staged edit.
    var key: ValueText?
    var cells: [String: ValueText] = [:]
    var identifier: StoredKey?
    var problem: String?
    /// The targets of references, as far as the references are the stored ones.
    var targets: [String: ReferenceTarget] = [:]

    func value(_ column: TableColumn) -> ValueText {
      switch column.source {
      case .identifier: identifier.map { ValueText(key: $0.value) } ?? .missing
      case .key: key ?? entry.map { ValueText(key: $0.value) } ?? .missing
      case .field(let path): cells[path] ?? .missing
      }
    }
  }

  func look(at position: Int, _ session: Session) -> Look {
    if position >= storedCount {
      let edit = insertions(session)[position - storedCount]
      let cells = cells(of: edit.new, session)
      return Look(
        sign: "+", signRole: .inserted, key: keyField(session).flatMap { cells[$0] }, cells: cells,
        identifier: edit.identifier)
    }
    guard let row = row(at: position) else { return Look() }
    let identifier = row.entry.identifier
    var look = Look(
      entry: row.entry, cells: row.cells, identifier: identifier, problem: row.problem, targets: row.targets)
    let isMarked = isMarked(identifier) || range?.contains(position) == true
    let staged = session.asOf == nil ? session.staged[source?.datastore ?? "", identifier] : nil
    if let edit = staged ?? row.written {
      if staged != nil { (look.sign, look.signRole) = StoresPane.sign(of: edit.kind) }
      look.isDeleted = edit.kind == .delete
      if edit.kind != .delete {
        // The changed cells, over the cells that are stored now.
        let (old, new) = (cells(of: edit.old, session), cells(of: edit.new, session))
        // Of a record that cannot be read any more the edit has all that is known.
        if row.problem != nil, !new.isEmpty { (look.cells, look.problem) = (new, nil) }
        for path in Set(old.keys).union(new.keys) where old[path] != new[path] { look.cells[path] = new[path] }
        if let field = keyField(session), old[field] != new[field] { look.key = new[field] ?? .missing }
        // The target of a changed reference is read after the commit.
        for join in source?.joined ?? [] where old[join.field.description] != new[join.field.description] {
          look.cells = look.cells.filter { !WorkContext.isPath($0.key, in: join.path) }
        }
        look.targets = look.targets.filter { look.cells[$0.key] == row.cells[$0.key] }
      }
    } else if let change = changed[identifier] {
      (look.sign, look.signRole) = change == .insert ? ("+", .inserted) : ("~", .changed)
    } else if isOlder(row, session), !areAllOlder(session) {
      (look.sign, look.signRole) = ("°", .warning)
    }
    if isMarked { (look.sign, look.signRole) = (session.theme.mark, .marked) }
    return look
  }

  /// The field whose value is the key of the index that orders the rows; nil if a record has several keys.
  func keyField(_ session: Session) -> String? {
    guard let index = session.current?.index(source?.index)?.descriptor, !index.kind.hasManyValues else { return nil }
    return index.documentPath?.description
  }

  /// Whether a row's record has another version than the app writes now.
  private func isOlder(_ row: Row, _ session: Session) -> Bool {
    row.version != session.current?.descriptor.version && row.problem == nil && !row.version.isEmpty
  }

  /// Whether all read rows are of an older version: then the title says so once, and no row does.
  private func areAllOlder(_ session: Session) -> Bool {
    !rows.isEmpty && rows.values.allSatisfy { isOlder($0, session) }
  }

  /// The meaning of the selected row's sign, for the status line.
  func signMeaning(_ session: Session) -> String? {
    guard let row = selectedRow else { return nil }
    let look = look(at: list.selection, session)
    if let cell = selectedColumn(session).map(look.value), cell.kind == .problem { return cell.text }
    switch look.sign {
    case "°":
      return
        "° version \(row.version); the app writes \(session.current?.descriptor.version ?? "another")\(session.rewriteHint)"
    case "~", "+", "-":
      if session.asOf == nil, session.staged[source?.datastore ?? "", row.entry.identifier] != nil {
        return row.problem.map { "\(look.sign) staged; what is stored cannot be read: \($0)" }
      }
      if let request = step?.request {
        return "\(look.sign) differs between \(request.from) and \(request.to); Enter shows the fields"
      }
      return "\(look.sign) another program has just changed this record"
    case session.theme.mark where range == nil: return "\(session.theme.mark) marked: Space takes the mark off"
    default: return nil
    }
  }

  private func cells(of content: RecordContent?, _ session: Session) -> [String: ValueText] {
    guard let content, let source, let document = try? session.current?.descriptor.document(of: content)
    else { return [:] }
    return Dictionary(source.cells(of: document), uniquingKeysWith: { first, _ in first })
  }

  mutating func click(at point: Point, frame: PaneFrame, in session: inout Session) {
    let slots = TableGeometry.slots(
      visibleColumns(session), frozen: frozen(session), offset: columnOffset,
      width: frame.columns - TableGeometry.signs)
    if let slot = slots.last(where: { point.column - TableGeometry.signs >= $0.x }) { column = slot.column }
    guard point.row > 0 else { return session.intend(.run(.sort, argument: nil)) }
    let position = list.top + point.row - 1
    guard position < count(session) else { return }
    if position == list.selection { session.intend(.run(.open, argument: nil)) }
    list.selection = position
  }
}

extension Session {
  /// The key that rewrites records of older versions, if the app's formats are available for it.
  fileprivate var rewriteHint: String { configuration.canWarmUp && writingRefusal == nil ? ", M then a rewrites" : "" }
}
