import StrataDocuments
import StrataModel
import StrataTerminal

extension RecordPane {
  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    let note: String? =
      if place == nil {
        "no record is selected"
      } else if answer?.record == nil, document == nil {
        answer == nil ? "reading…" : absence(session)
      } else {
        nil
      }
    let remedy = answer?.record == nil ? "an older commit may have it (,)" : "t shows the bytes"
    // A staged edit is shown, whatever has become of the record that it changes.
    let isShown = form == .hex ? answer?.record != nil : document != nil
    let problem = isShown ? nil : answer?.problem.map { "\($0) — \(remedy)" }
    guard
      grid.begin(
        frame, digit: 3, title: title(session, room: frame.rect.columns - 8), footer: footer(session),
        problem: problem, note: note, theme: theme)
    else { return }
    drawLines(on: &grid, frame: frame, session: session, hasSign: false) { grid, line, rect in
      switch form {
      case .tree: drawTree(tree.lines[line], in: rect, isFocused: frame.isFocused, on: &grid, session: session)
      case .json: grid.write(text[line], at: rect.origin, width: rect.columns)
      case .hex: grid.write(hexLine(line), at: rect.origin, width: rect.columns)
      }
    }
    if form == .tree { drawFacts(in: frame.inside, isFocused: frame.isFocused, on: &grid, session: session) }
  }

  /// The record's name, and as many details of its form and storage as there is room for.
  private func title(_ session: Session, room: Int) -> String {
    let separator = " \(session.theme.dot) "
    var text = "Record"
    // While another record is read, the fields are those of the one before.
    if let shown = answer?.request.place ?? place {
      let label = document.flatMap { session.naming.label(of: $0, in: shown.datastore) }
      text += separator + named(shown.identifier, label)
    }
    var further: [String] = []
    if form != .tree { further.append(form.rawValue) }
    if showsBlame {
      // The older commit from which blame starts, after b was pressed again.
      let from = blaming.answered.map { $0.from == session.shown ? "" : " from \($0.from)" }
      further.append("blame\(from ?? "…")")
    }
    if let record = answer?.record {
      let isOld = record.version != session.outline?.datastore(place?.datastore)?.descriptor.version
      further.append("v\(record.version)\(isOld ? " \(session.theme.warningSign) older version" : "")")
      further.append(NumberFormat.bytes(record.content.count))
    }
    for part in further where SafeText.width(text + separator + part) <= room { text += separator + part }
    return text
  }

  private func footer(_ session: Session) -> String {
    var parts: [String] = []
    if let place, session.asOf == nil, let edit = session.staged.edits[place] {
      switch edit.kind {
      case .update: parts.append("~ staged")
      case .insert: parts.append("+ staged new")
      case .delete: parts.append("- staged delete")
      }
      if let problem = answer?.problem {
        parts.append("\(session.theme.problemSign) \(problem)")
      } else if isOvertaken {
        parts.append("\(session.theme.warningSign) changed meanwhile")
      }
    }
    let unit = form == .tree && tree.isFlat ? "fields" : "lines"
    if count > 0 { parts.append("\(list.selection + 1) of \(count) \(unit)") }
    return parts.joined(separator: " \(session.theme.dot) ")
  }

  private func drawTree(
    _ line: TreeLine, in rect: Rect, isFocused: Bool, on grid: inout CellGrid, session: Session
  ) {
    let theme = session.theme
    let edit = place.flatMap { session.asOf == nil ? session.staged.edits[$0] : nil }
    let before = edit?.kind == .update ? before(line.path) : nil
    let isChanged = before != nil
    let sign =
      line.isBranch ? (line.isFolded ? theme.folded : theme.unfolded) : isChanged ? "~" : line.isDerived ? "=" : ""
    // A deep tree is scrolled to the indentation of its selected line; parts to the left of it are hidden.
    let shift = max(0, (selectedLine?.depth ?? 0) * 2 - rect.columns / 4)
    let indent = line.depth * 2 - shift
    let nameWidth = max(8, min(tree.nameColumns - shift, rect.columns / 2))
    if indent >= 0, indent < nameWidth {
      grid.write(sign, at: rect.at(indent), width: 1, style: theme.style(isChanged ? .changed : .dim))
    }
    let nameRoom = min(rect.columns - 2, nameWidth - max(0, indent))
    if nameRoom > 2 {
      let start = rect.left + max(0, indent) + 2
      grid.write(
        indent < 0 ? "‹" : SafeText.cutInTheMiddle(line.name, to: nameRoom), at: Point(column: start, row: rect.top),
        width: nameRoom, style: theme.style(.key))
    } else {
      grid.write("›", at: rect.at(nameWidth), width: 1, style: theme.style(.dim))
    }
    // In a narrow pane the value is more important than its type.
    var trailing = trailingText(of: line, isChanged: isChanged, isNarrow: rect.columns < 40)
    if isFocused, rect.columns >= 60, !isChanged, !showsBlame, !line.isDerived {
      let indexes = session.outline?.datastore(place?.datastore)?.words(onIndexesOf: line.path) ?? []
      trailing = ([trailing] + indexes).filter { !$0.isEmpty }.joined(separator: " \(theme.dot) ")
    }
    let trailingWidth = min(SafeText.width(trailing), max(0, rect.columns * (isFocused ? 5 : 4) / 12))
    let valueColumn = rect.left + 2 + nameWidth + 1
    let room = rect.right - valueColumn - trailingWidth - 1
    var spans: [Span] = []
    // A branch shows what it holds now; what it held is with its changed parts, and would take the room of both.
    if isChanged, !line.isBranch {
      // The new value is shown whole if there is room for it, and the old one is cut.
      let old = before.flatMap(\.self).map { ValueText(literal: $0).text } ?? "(new)"
      let left = max(0, room - SafeText.width(line.value.text) - 3)
      let shown = left > 3 || left >= SafeText.width(old) ? SafeText.cut(old, to: left) + " " : ""
      spans.append(Span("\(shown)\(theme.arrow) ", theme.style(.dim).with(.strike)))
    }
    var style = theme.style(line.value.cellRole)
    if edit?.kind == .delete { style = theme.style(.deleted) }
    if isChanged { style = style.with(.bold) }
    spans.append(Span(line.value.text, style))
    if let target = target(of: line) {
      spans = Self.spans(spans, leadingTo: target, room: max(0, room), theme: theme)
    }
    grid.write(spans, at: Point(column: valueColumn, row: rect.top), width: max(0, room))
    grid.write(
      trailing, at: Point(column: rect.right - trailingWidth, row: rect.top), width: trailingWidth,
      style: theme.style(isChanged ? .changed : .dim))
  }

  /// A value and its target, `"JP" → Country Japan`; without the datastore in a narrow pane. A dangling reference is marked by a sign and
  /// in words.
  private static func spans(_ value: [Span], leadingTo target: ReferenceTarget, room: Int, theme: Theme) -> [Span] {
    guard target.isThere else {
      return value + [Span(" \(theme.problemSign) not in \(target.datastore)", theme.style(.problem))]
    }
    let label = target.label ?? ""
    let used = value.reduce(0) { $0 + SafeText.width($1.text) } + SafeText.width(label) + 4
    let datastore = used + SafeText.width(target.datastore) <= room || label.isEmpty ? target.datastore + " " : ""
    return value + [Span(" \(theme.arrow) ", theme.style(.dim)), Span(datastore, theme.style(.dim)), Span(label)]
  }

  private func trailingText(of line: TreeLine, isChanged: Bool, isNarrow: Bool) -> String {
    if isChanged { return isNarrow ? "" : "staged" }
    if line.isDerived { return isNarrow || line.isBranch ? "" : "derived" }
    if showsBlame, let commit = blame?.commits[line.path.description] {
      if isNarrow { return "\(commit.number)" }
      return earlierValue(of: line) + "\(commit.number) \(commit.action.isEmpty ? commit.who : commit.action)"
    }
    if let target = target(of: line), target.isThere || isNarrow { return "" }
    return (line.isBranch && line.valuePath == line.path) || isNarrow ? "" : line.type
  }

  /// The value that blame begins at, after b was pressed again: the line has the shown one.
  private func earlierValue(of line: TreeLine) -> String {
    guard let point = blame?.lives[line.valuePath.description]?.last,
      point.value != whole?[line.valuePath].map(ValueText.init(literal:))
    else { return "" }
    return "was \(point.value.text)  "
  }

  /// Draws, below the fields if there is room: index entries, and the life of the selected field.
  private func drawFacts(in inside: Rect, isFocused: Bool, on grid: inout CellGrid, session: Session) {
    let theme = session.theme
    var lines: [[Span]] = []
    let life = selectedLine.flatMap { blame?.lives[$0.valuePath.description] } ?? []
    // Without blame, only a field with earlier values shows its life.
    let showsLife = showsBlame || isFocused && life.count > 1
    if showsLife, let line = selectedLine {
      if !life.isEmpty { lines.append(lifeLine(line, life, theme: theme)) }
      if let commit = blame?.commits[line.path.description] {
        let who = [commit.author, commit.program].filter { !$0.isEmpty }.joined(separator: " by ")
        lines.append([
          Span("changed by ", theme.style(.dim)),
          Span("\(commit.number) “\(commit.action)” \(session.time.dayAndClock(commit.date)) \(who)"),
        ])
      }
    }
    // Beside the table the fields above say the same, and each step in the table would rewrite them.
    let indexes = isFocused ? session.outline?.datastore(place?.datastore)?.descriptor.indexes ?? [] : []
    for index in indexes {
      guard let value = index.documentPath.flatMap({ answer?.document?[$0] }) else { continue }
      lines.append([
        Span("index \(index.name) \(theme.arrow) ", theme.style(.dim)), Span(ValueText(literal: value).text),
        Span("  \(index.kind.short)\(index.rules)", theme.style(.dim)),
      ])
    }
    let free = inside.rows - count - 1
    guard free > 0, list.top == 0 else { return }
    if showsLife, let chart = LifeChart(life, until: session.outline?.commit.date) {
      let rows = min(LifeChart.rows.upperBound, free - lines.count)
      chart.draw(
        in: Rect(
          column: inside.left + 2, row: inside.top + count + lines.count + 1, columns: inside.columns - 3,
          rows: max(0, rows)),
        on: &grid, session: session)
    }
    for (offset, spans) in lines.prefix(free).enumerated() {
      grid.write(spans, at: inside.at(2, count + 1 + offset), width: inside.columns - 2)
    }
  }

  private func lifeLine(_ line: TreeLine, _ life: [LifePoint], theme: Theme) -> [Span] {
    var spans = [Span("\(line.name) over time  ", theme.style(.dim))]
    let numbers = life.compactMap(\.number)
    if numbers.count == life.count, numbers.count > 1 {
      let least = numbers.min() ?? 0
      let spread = max((numbers.max() ?? 0) - least, .leastNonzeroMagnitude)
      spans.append(
        Span(Bars.spark(numbers.map { ($0 - least) / spread + 0.1 }, isASCII: theme.isASCII) + "  ", theme.style(.bar)))
    }
    for point in life.suffix(4) {
      spans.append(Span("\(point.commit) ", theme.style(.dim)))
      spans.append(Span("\(point.value.text)  ", theme.style(point.value.role)))
    }
    return spans
  }

  /// `000010  4a 46 …  JF…`
  private func hexLine(_ line: Int) -> String {
    guard let bytes = answer?.record?.content, line * 16 < bytes.count else { return "" }
    let part = bytes[line * 16..<min(bytes.count, line * 16 + 16)]
    var text = String(line * 16, radix: 16).zeroFilled(6) + " "
    var plain = ""
    for (position, byte) in part.enumerated() {
      text += (position == 8 ? "  " : " ") + Hexadecimal.text(of: byte)
      plain.append(byte >= 0x20 && byte < 0x7F ? Character(Unicode.Scalar(byte)) : "·")
    }
    return text + String(repeating: " ", count: max(0, 57 - text.count)) + " " + plain
  }
}
