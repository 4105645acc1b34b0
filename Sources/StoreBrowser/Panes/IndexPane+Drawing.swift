import StrataDocuments
import StrataModel
import StrataTerminal

extension IndexPane {
  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    guard
      grid.begin(
        frame, digit: 5, title: title(session), footer: frame.isFocused ? footer(session) : "", problem: problem,
        note: datastore == nil ? "no datastore is open" : nil, theme: theme)
    else { return }
    let inside = frame.inside
    let header = headerRows(frame)
    drawHeader(in: inside, rows: header, hasKeys: frame.isFocused, on: &grid, session: session)
    guard header < inside.rows else { return }
    // Beside the table the sign is enough: a whole line for each step there would cost more than the step.
    drawLines(on: &grid, frame: frame, session: session, selects: frame.isFocused) { grid, line, rect in
      draw(rows[line], before: line > 0 ? rows[line - 1] : nil, in: rect, on: &grid, session: session)
    }
    if rows.isEmpty, let bounds, bounds.isEmpty {
      let line = inside.split(top: header).bottom.split(top: 1).top
      grid.writeWrapped("no entries in this range", in: line, style: theme.style(.dim))
    }
  }

  /// Beside the table, where it is all picture, only the bin is seen of where it stands: most steps leave it as it was.
  func isDrawn(like other: any Pane, frame: PaneFrame) -> Bool {
    guard let other = other as? Self else { return false }
    guard !frame.isFocused, headerRows(frame) >= frame.rows else { return self == other }
    return picture == other.picture
  }

  /// The pane without what is not seen of it in a picture.
  private var picture: Self {
    var pane = self
    pane.histogram.stand(at: selected?.rank)
    (pane.rows, pane.pending, pane.followed) = ([], nil, nil)
    pane.list = ListWindow()
    return pane
  }

  private func title(_ session: Session) -> String {
    guard let datastore else { return "Index" }
    guard let index, let descriptor = session.outline?.datastore(datastore)?.index(index)?.descriptor else {
      return "Index  \(datastore) by identifier"
    }
    var text =
      "Index  \(index) (\(descriptor.kind.short)) \(descriptor.documentPath?.description ?? "computed"): \(descriptor.valueType)"
    if descriptor.isUnique { text += " unique" }
    if descriptor.isStale { text += " \(session.theme.warningSign) stale" }
    return text
  }

  private func footer(_ session: Session) -> String {
    guard let selected else { return "" }
    return "entry \(NumberFormat.count(selected.rank + 1)) of \(NumberFormat.count(total))"
  }

  private func drawHeader(in inside: Rect, rows: Int, hasKeys: Bool, on grid: inout CellGrid, session: Session) {
    let theme = session.theme
    var spans = [
      Span("range  ", theme.style(.dim)), Span(range?.description ?? "all", theme.style(.title)),
    ]
    if let bounds {
      var text = "   \(NumberFormat.counted(bounds.count, "entry", "entries"))"
      if let distinct { text += " · \(NumberFormat.counted(distinct, "key"))" }
      if inside.columns < 110, let bin = histogram.summary(rank: selected?.rank) {
        text += "   \(theme.isASCII ? "^" : "▲") \(bin)"
      }
      spans.append(Span(text))
    }
    grid.write(spans, at: inside.at(1), width: inside.columns - 1)
    guard rows > 1 else { return }
    if let verified { drawVerified(verified, at: inside.top, in: inside, on: &grid, session) }
    histogram.draw(
      in: Rect(column: inside.left, row: inside.top + 1, columns: inside.columns, rows: rows - 2),
      range: range == nil ? nil : bounds, interval: range, rank: selected?.rank, hasKeys: hasKeys, on: &grid,
      session: session)
    guard rows < inside.rows else { return }
    let titles = inside.top + rows - 1
    let isTrailing = self.rows.first.map { ValueText(key: $0.key).isTrailing } ?? false
    grid.write(
      "key", at: Point(column: inside.left + 2, row: titles), width: keyWidth(inside), style: theme.style(.header),
      alignment: isTrailing ? .trailing : .leading)
    grid.write(
      "n  records", at: Point(column: inside.left + keyWidth(inside) + 2 + countWidth, row: titles),
      width: max(0, inside.columns - keyWidth(inside) - 2 - countWidth), style: theme.style(.header))
  }

  private func drawVerified(
    _ answer: VerifyAnswer, at row: Int, in inside: Rect, on grid: inout CellGrid, _ session: Session
  ) {
    let theme = session.theme
    guard answer.request.datastore == datastore, answer.request.index == index else { return }
    let isOfNow = answer.request.commit == session.shown
    let sign = answer.isClean ? theme.check : theme.problemSign
    let text =
      isOfNow
      ? "verify \(sign) " + (answer.outcome + [answer.amount]).joined(separator: " · ")
      : "verified at \(answer.request.commit), not at \(session.shown); V verifies it"
    let width = min(SafeText.width(text), inside.columns / 2)
    grid.write(
      text, at: Point(column: inside.right - width - 1, row: row), width: width,
      style: theme.style(isOfNow ? answer.isClean ? .inserted : .problem : .dim))
  }

  private func keyWidth(_ inside: Rect) -> Int { max(3, min(keys.width, inside.columns / 2)) }

  /// The columns of the counts, which are never cut.
  private var countWidth: Int { max(6, rows.lazy.map { NumberFormat.count($0.count).utf8.count }.max() ?? 0) }

  /// A key as it is shown: texts in quotes, so that blanks at their ends are seen.
  static func text(of key: KeyValue) -> String {
    let value = ValueText(key: key)
    return value.kind == .string ? "\"\(value.text)\"" : value.text
  }

  private func draw(_ row: KeyRow, before: KeyRow?, in rect: Rect, on grid: inout CellGrid, session: Session) {
    let theme = session.theme
    let width = keyWidth(rect)
    let value = ValueText(key: row.key)
    let text =
      value.isTrailing ? NumberFormat.aligned(value.text, fraction: keys.fraction, in: width) : Self.text(of: row.key)
    grid.write(
      text, at: rect.at(2), width: width, style: theme.style(value.role),
      alignment: value.isTrailing ? .trailing : .leading)
    grid.write(
      NumberFormat.count(row.count), at: rect.at(width + 3), width: countWidth, style: theme.style(.number),
      alignment: .trailing)
    // A label that is the key itself says nothing new.
    var records = row.identifiers.enumerated().map { place, identifier in
      let label = row.labels.indices.contains(place) ? row.labels[place] : nil
      return named(identifier, label == value.text ? nil : label)
    }.joined(separator: "  ")
    if row.count > row.identifiers.count { records += "  +\(NumberFormat.count(row.count - row.identifiers.count))" }
    if let before, Self.looksAlike(before.key, row.key) {
      records += "   \(theme.warningSign) sorts apart from \(before.key)"
    }
    let left = width + 5 + countWidth
    grid.write(records, at: rect.at(left), width: max(0, rect.columns - left))
  }

  /// Whether two keys differ only in case or spaces, which a person may take for one.
  private static func looksAlike(_ left: KeyValue, _ right: KeyValue) -> Bool {
    guard case .string(let left) = left, case .string(let right) = right else { return false }
    return left != right
      && left.lowercased().filter { !$0.isWhitespace } == right.lowercased().filter { !$0.isWhitespace }
  }
}
