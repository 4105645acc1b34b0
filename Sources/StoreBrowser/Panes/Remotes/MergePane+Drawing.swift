import StrataModel
import StrataDocuments
import StrataExchange
import StrataTerminal

/// The drawing of a merge: base, ours and theirs of each field side by side, and the result.
extension MergePane {
  /// Makes the lines of a merge: its conflicts with their fields, and the records that merge without a conflict.
  mutating func rebuild(_ reply: MergePlanReply) {
    lines = []
    for (position, row) in reply.conflicts.enumerated() {
      lines.append(.conflict(position))
      lines += row.fields.indices.map { .field(position, $0) }
      if let reason = row.conflict.reason { lines.append(.note(reason)) }
    }
    lines += (collisions ?? []).map { .note($0) }
    if !lines.isEmpty { lines.append(.blank) }
    if reply.plan.kind == .fastForward {
      lines.append(.note("nothing of ours lies beside it: the head moves to \(reply.theirs.number), without a commit"))
    }
    lines += reply.plan.remarks.map { .note($0) }
    if !reply.clean.isEmpty {
      let cut = reply.plan.cleanCount > reply.clean.count ? ", the first \(NumberFormat.count(reply.clean.count)):" : ""
      let merge = reply.plan.cleanCount == 1 ? "merges by itself" : "merge by themselves"
      lines.append(.heading("\(NumberFormat.counted(reply.plan.cleanCount, "record")) that \(merge)\(cut)"))
      lines += reply.clean.indices.map { .clean($0) }
    }
    if lines.last == .blank { lines.removeLast() }
    list.select(list.selection, count: lines.count)
  }

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    guard
      grid.begin(
        frame, title: title(session), footer: state, problem: reading.problem,
        note: reply == nil ? "looking at what would change…" : nil, theme: theme), let reply
    else { return }
    let inside = frame.inside
    let columns = TextColumns.ofMerge(width: inside.columns - 2)
    grid.write(parents(reply, session), at: inside.at(1), width: inside.columns - 2)
    if !reply.conflicts.isEmpty {
      columns.write(
        ["conflicts", "base", "ours", "theirs", "result"], at: inside.at(2, 1),
        on: &grid, styles: Array(repeating: theme.style(.header), count: 5))
    }
    drawLines(on: &grid, frame: frame, session: session) { grid, line, rect in
      draw(lines[line], reply, columns, in: rect, on: &grid, session: session)
    }
    if lines.isEmpty {
      let room = Rect(column: inside.left, row: inside.top + 2, columns: inside.columns, rows: max(0, inside.rows - 2))
      grid.writeWrapped("everything of \(reply.theirs.number) is merged already", in: room, style: theme.style(.dim))
    }
  }

  private func title(_ session: Session) -> String {
    guard let reply else { return "Merge" }
    return "Merge  \(sourceName(reply, session)) \(session.theme.arrow) here"
  }

  private var state: String {
    guard let reply else { return "" }
    let (open, all) = (openCount, reply.conflicts.count)
    let conflicts = all == 0 ? "no conflicts" : "\(all - open) of \(NumberFormat.counted(all, "conflict")) settled"
    return "\(conflicts) · \(NumberFormat.count(reply.plan.cleanCount)) clean"
  }

  /// The three commits: the common base, ours, theirs.
  private func parents(_ reply: MergePlanReply, _ session: Session) -> [Span] {
    let theme = session.theme
    func commit(_ name: String, _ commit: CommitDetails) -> [Span] {
      let who = commit.author.isEmpty ? "" : " \(commit.author)"
      return [
        Span("\(name) ", theme.style(.dim)), Span("\(commit.number) ", theme.style(.key)),
        Span("\(session.time.short(commit.date, now: session.now))\(who)   ", theme.style(.dim)),
      ]
    }
    let base: [Span]
    if reply.plan.isTwoWay {
      base = [Span("base pruned: every difference is a conflict   ", theme.style(.warning))]
    } else {
      let none = lines.isEmpty ? [] : [Span("no common commit   ", theme.style(.dim))]
      base = reply.base.map { commit("base", $0) } ?? none
    }
    return base + commit("ours", reply.ours) + commit("theirs", reply.theirs)
  }

  private func draw(
    _ line: Line, _ reply: MergePlanReply, _ columns: TextColumns, in rect: Rect, on grid: inout CellGrid,
    session: Session
  ) {
    let theme = session.theme
    let at = rect.at(2)
    switch line {
    case .conflict(let position):
      let row = reply.conflicts[position]
      let name = "\(row.place.datastore)/\(named(row.place.identifier, row.label))"
      guard row.isWhole else {
        grid.write(name, at: at, width: rect.columns - 2, style: theme.style(.title))
        return
      }
      func state(_ content: RecordContent?) -> String {
        content == nil ? (row.conflict.base == nil ? "—" : "deleted") : row.conflict.base == nil ? "new" : "edited"
      }
      columns.write(
        [
          name, row.conflict.base == nil ? "—" : theme.mark, state(row.conflict.ours), state(row.conflict.theirs),
          wholeResult(row),
        ], at: at, on: &grid, styles: styles(decision(row, nil), theme, name: .title))
    case .field(let position, let index):
      let row = reply.conflicts[position]
      let field = row.fields[index]
      let (sides, decided) = (field.sides, decision(row, field))
      columns.write(
        [
          "  " + field.path.shortText, text(sides.base), sides.mine == sides.base ? "=" : text(sides.mine),
          sides.theirs == sides.base ? "=" : text(sides.theirs), result(field, decided),
        ], at: at, on: &grid,
        styles: field.isConflict ? styles(decided, theme) : Array(repeating: theme.style(.dim), count: 5))
      if field.isConflict, decided == nil {
        grid.write(theme.problemSign, at: rect.at(1), width: 1, style: theme.style(.problem))
      }
    case .heading(let text):
      grid.write(text, at: at, width: rect.columns - 2, style: theme.style(.header))
    case .note(let text):
      grid.write("\(theme.warningSign) \(text)", at: at, width: rect.columns - 2, style: theme.style(.warning))
    case .clean(let position): draw(reply.clean[position], in: rect, on: &grid, theme: theme)
    case .blank: break
    }
  }

  /// The chosen side is highlighted; an open conflict has a sign.
  private func styles(_ decision: MergeDecision?, _ theme: Theme, name: Role = .key) -> [Style] {
    var roles: [Role] = [name, .text, .text, .text, decision == nil ? .problem : .inserted]
    if decision != nil { for column in 1...3 { roles[column] = .dim } }
    if case .side(let side)? = decision { roles[[.base: 1, .mine: 2, .theirs: 3][side] ?? 1] = .inserted }
    return roles.map { theme.style($0) }
  }

  /// The result of an open conflict.
  private func open(_ later: MergeSide?) -> String { later.map { "?  later: \($0.name)" } ?? "?" }

  /// A value on one side; a member that is not there is not null.
  private func text(_ value: Document?) -> String {
    value.map { $0 == .null ? "null" : ValueText(cell: $0).visible.text } ?? "—"
  }

  private func result(_ field: MergeField, _ decision: MergeDecision?) -> String {
    switch field.status {
    case .merges(let value): return text(value)
    case .follows: return decision.map { text($0.value(of: field.sides)) } ?? ""
    case .conflict: break
    }
    guard let decision else { return open(field.later) }
    let value = text(decision.value(of: field.sides))
    switch decision {
    case .value: return "\(value)  by hand"
    case .side(let side): return "\(value)  \(side == field.later ? "later: " : "")\(side.name)"
    }
  }

  private func wholeResult(_ row: MergeRow) -> String {
    if row.conflict.isCollision, row.settlement(decisions[row.place] ?? [:]) != nil { return "by hand" }
    guard let decision = decision(row, nil) else { return open(row.later) }
    let content = row.settlement([.root: decision])?.result
    switch decision {
    case .side(.base): return content == nil ? "no record" : "as it was"
    case .side(let side): return content == nil ? "keep the delete" : "keep \(side.name)"
    case .value: return "by hand"
    }
  }

  private func draw(_ row: ReviewRecord, in rect: Rect, on grid: inout CellGrid, theme: Theme) {
    let (sign, role) = StoresPane.sign(of: row.kind)
    grid.write(sign, at: rect.at(2), width: 1, style: theme.style(role))
    let side = row.isBoth ? "both" : "theirs"
    var spans = [
      Span(
        "\(row.place.datastore)/\(named(row.place.identifier, SafeText.cut(row.label, to: 24)))  ",
        theme.style(row.kind == .delete ? .deleted : .text))
    ]
    if row.kind == .update, let field = row.fields.first {
      spans += FieldText.spans(field, theme: theme)
      if row.fields.count > 1 { spans.append(Span("+\(row.fields.count - 1) fields", theme.style(.dim))) }
    }
    grid.write(spans, at: rect.at(4), width: max(0, rect.columns - 12))
    grid.write(side, at: rect.origin, width: rect.columns, style: theme.style(.dim), alignment: .trailing)
  }
}

extension TextColumns {
  /// The columns of a merge: the name takes the width that the four values leave.
  fileprivate static func ofMerge(width: Int) -> Self {
    let value = max(8, min(24, width * 17 / 100))
    let result = max(12, min(34, width * 24 / 100))
    return TextColumns(
      widths: [max(8, width - 3 * (value + 1) - result - 1), value, value, value, result], gap: 1)
  }
}
