import StrataModel
import StrataTerminal

extension HistoryPane {
  func drawingKey(_ session: Session) -> String { title(session) }

  func short(_ command: Command) -> String? {
    command == .history ? followedNext?.rawValue ?? "store" : nil
  }

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    let title = "History of \(title(session))"
    guard
      grid.begin(
        frame, digit: 4, title: title, footer: footer, problem: problem,
        note: count > 0 ? nil : isAtEnd ? "no commits" : "reading…", theme: theme)
    else { return }
    let inside = frame.inside
    if headerRows(frame) > 0 {
      strip.draw(
        in: Rect(column: inside.left + 1, row: inside.top, columns: inside.columns - 2, rows: HistoryStrip.rows),
        selected: selected?.commit.number, on: &grid, session: session)
    }
    // The commits on which the selected one was made, found from its row down.
    var ancestors = Set([selected?.commit.number].compactMap(\.self))
    drawLines(on: &grid, frame: frame, session: session) { grid, line, rect in
      guard let row = row(line) else { return }
      let above = line == list.top ? nil : self.row(line - 1)?.commit.date
      let isAncestor = line >= list.selection && ancestors.contains(row.commit.number)
      if isAncestor { ancestors.formUnion(row.parents) }
      draw(row, below: above, isAncestor: isAncestor, in: rect, on: &grid, session: session)
    }
  }

  private func title(_ session: Session) -> String {
    switch scope {
    case .store: "the whole store"
    case .datastore(let key): key
    case .record(let place): "\(place.datastore)/\(session.name(of: place))"
    case .field(let place, let path): "\(place.datastore)/\(session.name(of: place)) \(path)"
    }
  }

  private var footer: String {
    guard count > 0 else { return "" }
    let more = (isAtEnd ? "" : "+") + (seeks.map { " · looking for “\($0.text.typed)”" } ?? "")
    return (follows == nil ? "" : "follows the selection · ")
      + "\(NumberFormat.count(list.selection + 1)) of \(NumberFormat.count(count))\(more)"
      + (base.map { " · base \($0)" } ?? "") + (selected?.commit.changes.isEmpty == true ? " · no record differs" : "")
  }

  private func draw(
    _ row: HistoryRow, below above: Int64?, isAncestor: Bool, in rect: Rect, on grid: inout CellGrid, session: Session
  ) {
    let theme = session.theme
    let commit = row.commit
    var sign = ""
    if commit.number == session.head { sign = theme.mark }
    if session.outline?.pins.contains(where: { $0.commit == commit.number }) == true { sign = theme.pinned }
    if commit.number == base { sign = "B" }
    if commit.number == session.asOf { sign = "@" }
    let number = commit.number.description
    let numberWidth = max(6, session.head.description.count)
    var x = rect.left + 1
    func put(_ text: String, _ width: Int, _ role: Role, _ alignment: Alignment = .leading) {
      guard x < rect.right else { return }
      grid.write(
        text, at: Point(column: x, row: rect.top), width: min(width, rect.right - x), style: theme.style(role),
        alignment: alignment)
      x += width + 1
    }
    if lanes > 1, let graph = row.graph {
      let node = commit.number == session.head ? theme.mark : theme.isASCII ? "o" : "○"
      let look = isAncestor ? theme.style(.text).with(.bold) : theme.style(.dim)
      grid.write(
        graph.text(node: node, isASCII: theme.isASCII), at: Point(column: x, row: rect.top),
        width: min(2 * min(lanes, HistoryLanes.most), rect.right - x), style: look)
      x += 2 * min(lanes, HistoryLanes.most)
    }
    put(number, numberWidth, .key, .trailing)
    put(sign, 1, .marked)
    let isNarrow = rect.columns < 64
    let time = session.time.under(above, commit.date, now: session.now, isNarrow: isNarrow)
    put(time, isNarrow ? 5 : 16, .dim, .trailing)
    let author = rect.columns >= 90 && authors.count > 1 ? "  \(commit.who)" : ""
    let counts = counts(of: commit, room: (rect.right - x) / 2 - SafeText.width(author))
    let tail = row.value?.text ?? (counts ?? Self.summary(of: commit, scope: scope)) + author
    let summaryWidth = max(0, min(SafeText.width(tail), (rect.right - x) / 2))
    let nameWidth = max(0, rect.right - x - summaryWidth - 1)
    let name = commit.action.isEmpty ? "(no name)" : commit.action
    let names = session.outline?.pins.filter { $0.commit == commit.number }.map { "[\($0.name)] " }.joined() ?? ""
    let isMuted = commit.isMaintenance || commit.isSquashed || commit.action.isEmpty || commit.isNamedByLibrary
    put(names + name + (counts == nil ? "" : Self.notes(on: commit)), nameWidth, isMuted ? .dim : .text)
    put(tail, summaryWidth, row.value?.role ?? .dim, .trailing)
  }

  /// The changed counts with a column for each datastore; nil if there is no room for all columns.
  private func counts(of commit: CommitDetails, room: Int) -> String? {
    guard countWidths.values.reduce(0, { $0 + $1 + 2 }) - 2 <= room else { return nil }
    return countWidths.sorted { $0.key < $1.key }.map { datastore, width in
      let text = commit.changes.first { $0.datastore == datastore }.map(Self.counts) ?? ""
      return text + String(repeating: " ", count: max(0, width - text.count))
    }.joined(separator: "  ")
  }

  /// `City ~212 +3 -1`.
  static func counts(_ change: ChangeCount) -> String {
    var parts = [change.datastore]
    if change.updated > 0 { parts.append("~\(NumberFormat.count(change.updated))") }
    if change.inserted > 0 { parts.append("+\(NumberFormat.count(change.inserted))") }
    if change.deleted > 0 { parts.append("-\(NumberFormat.count(change.deleted))") }
    return parts.joined(separator: " ")
  }

  /// The counts of several datastores one after the other, and the notes.
  static func summary(of commit: CommitDetails, scope: HistoryScope) -> String {
    let changes = commit.changes.filter { scope.datastore == nil || $0.datastore == scope.datastore }
    return changes.map(counts).joined(separator: ", ") + notes(on: commit)
  }

  private static func notes(on commit: CommitDetails) -> String {
    var text = ""
    if let undone = commit.undoes { text += " (undoes \(undone))" }
    if let restored = commit.restores { text += " (restores \(restored))" }
    if commit.isMaintenance { text += " (maintenance)" }
    if commit.isSquashed { text += " (squashed)" }
    return text
  }
}

extension CommitDetails {
  /// The author, or the program of a commit without one.
  var who: String { author.isEmpty ? program : author }

  /// Whether the original library made up the name because the app gave none: `Persist Books Instance`.
  fileprivate var isNamedByLibrary: Bool {
    let words = action.split(separator: " ")
    guard words.count > 2, words.last == "Instance", let verb = words.first else { return false }
    return ["Persist", "Delete", "Migrate"].contains(verb)
  }
}
