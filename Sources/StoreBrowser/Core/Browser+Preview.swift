import StrataDocuments
import StrataExpressions
import StrataModel
import StrataTerminal

/// The state of the table before a filter was typed, for going back.
struct FilterPreview: Sendable {
  var source: RowSource
  var anchor: TableRequest.Anchor
  var jump: Jump?
  /// The plan for the records of the filter that was typed last.
  var plan: ExplainRequest.Reply?
}

/// The state of a filter that is being typed: its plan, and the number of its records.
struct FilterStatus: Sendable, Hashable {
  var filter: String
  var text: String
}

/// The filter while it is typed: its plan follows each key, the table each pause, and Esc restores the earlier rows.
extension Browser {
  mutating func beginPreview() {
    preview = table.source.map { FilterPreview(source: $0, anchor: table.keepingAnchor(), jump: here) }
  }

  /// Requests the data of the table that a prompt shows: the plan of a filter at once, the rows after a pause.
  mutating func requestPreview(of prompt: Prompt) {
    if prompt.isSearch, focus == .table {
      awaitPause()
      return
    }
    guard prompt.kind == .argument(.filter) else { return }
    session.cancel(.typing)
    guard var source = preview?.source, let filter = previewedFilter(prompt), filter != table.source?.filter ?? ""
    else {
      return
    }
    if !filter.isEmpty {
      source.filter = filter
      session.start(.typedPlan, ExplainRequest(source: source, commit: session.shown)) { $0.preview?.plan = $1 }
    }
    awaitPause()
  }

  /// Waits until the user stops typing. The next key cancels it, so that each key sends no more than the typed line.
  private mutating func awaitPause() {
    session.start(.typing, Inquiry { context throws(ModelError) in try context.pause() }) { browser, _ in
      browser.showTyped()
    }
  }

  /// Shows the rows of the typed filter, after the pause.
  private mutating func showTyped() {
    guard let prompt = overlays.lazy.compactMap({ $0 as? Prompt }).last else { return }
    if prompt.isSearch {
      with(TablePane.self) { $0.search(typed: prompt.field.text, in: &$1) }
    } else if prompt.kind == .argument(.filter), let filter = previewedFilter(prompt) {
      if filter.isEmpty { unfilter() } else if filter != table.source?.filter { table.setFilter(filter) }
    }
  }

  /// The typed text if it is already a filter; empty for none. A word that is only the beginning of a comparison is not a filter, except
  /// the name of a column of booleans.
  private func previewedFilter(_ prompt: Prompt) -> String? {
    let text = prompt.field.text.trimmed
    guard !text.isEmpty else { return "" }
    guard let source = preview?.source, !Self.isRange(text), text != "=", table.source?.datastore == source.datastore,
      let test = try? Filter(typed: text), test.barePaths.allSatisfy({ table.columns.isTruth(at: $0.description) })
    else { return nil }
    return text
  }

  /// The plan and the count of the typed filter, or which of its names no record has.
  var standingOfFilter: FilterStatus? {
    guard let preview else { return nil }
    if let plan = preview.plan, session.isRunning(.typing), let filter = plan.request.source.filter {
      return FilterStatus(filter: filter, text: plan.standing(session))
    }
    guard let filter = table.source?.filter else { return nil }
    if table.scan?.isRunning == false, table.storedCount == 0, let reason = table.reasonForNoRows(session) {
      return FilterStatus(filter: filter, text: reason)
    }
    return table.filterStatus(session).map { FilterStatus(filter: filter, text: $0) }
  }

  /// Requests the plan for the rows of the table.
  mutating func explain() {
    guard let source = table.source else { return }
    let request = ExplainRequest(source: source, commit: session.shown)
    session.start(ExplainRequest.slot, request, label: "explain") { $0.show($1) }
  }

  private mutating func show(_ explained: ExplainRequest.Reply) {
    var lines = explained.parts
    if let scan = table.scan, explained.request.source == table.source {
      lines.append("records read \(NumberFormat.count(scan.read)), kept \(NumberFormat.count(table.storedCount))")
    }
    presentLate(TextOverlay(title: "Plan", lines: lines))
  }

  /// Leaves the prompt with nothing changed.
  mutating func abandonPreview() {
    session.cancel(.typing)
    table.endSearch(isTaken: false)
    session.markedText = nil
    guard let preview else { return }
    self.preview = nil
    // Another datastore may be open by now.
    guard let source = table.source, source.datastore == preview.source.datastore,
      source.filter != preview.source.filter
    else { return }
    session.cancel(.filter)
    table.show(preview.source, anchor: preview.anchor, keepsOrder: true)
    adjustOrder()
  }

  /// Shows all rows again.
  mutating func unfilter() {
    guard table.source?.filter != nil else { return }
    session.cancel(.filter)
    table.setFilter(nil)
  }

  /// Takes the typed filter. The rows that the preview has found stay, and its work continues.
  mutating func keepFilter(_ filter: String?) {
    let jump = preview.map(\.jump) ?? here
    preview = nil
    session.cancel(.typing)
    jump.map { jumps.leave($0) }
    if let filter { remember(filter, in: \.knownFilters) }
    if filter == nil { unfilter() } else if table.source?.filter != filter { table.setFilter(filter) }
    if focus == .index || focus == .frequency { focusPane(.table) }
    if filter != nil, !session.isRunning(.filter), let gap = session.gaps[.filter] { session.complain(gap) }
  }
}
