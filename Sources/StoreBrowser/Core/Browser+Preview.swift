import Documents
import Expressions
import DatastoreModel
import TerminalKit

/// What the table showed before a filter was typed, to go back to.
struct FilterPreview: Sendable {
  var source: RowSource
  var anchor: TableRequest.Anchor
  var place: Place?
}

/// The filter while it is typed: the table follows each key, and Esc brings back what was there.
extension Browser {
  mutating func beginPreview() {
    preview = table.source.map { FilterPreview(source: $0, anchor: table.keepingAnchor(), place: here) }
  }

  /// Filters by what is typed so far, where that is a filter already. A word that is only the beginning of a comparison
  /// is none, save the name of a column that is true or false.
  mutating func previewFilter(_ prompt: Prompt) {
    if prompt.kind == .argument(.search), focus == .table {
      with(TablePane.self) { $0.search(typed: prompt.field.text, in: &$1) }
      return
    }
    guard prompt.kind == .argument(.filter), let source = preview?.source, !Self.isRange(prompt.field.text) else {
      return
    }
    let text = prompt.field.text.trimmed
    if text.isEmpty {
      unfilter()
      return
    }
    guard text != "=", table.source?.datastore == source.datastore, text != table.source?.filter,
      let test = try? RowTest(text), test.filter.barePaths.allSatisfy({ table.columns.isTruth(at: $0.description) })
    else { return }
    table.isTyping = true
    table.setFilter(text)
  }

  /// Asks how the rows of the table are found.
  mutating func explain() {
    guard let source = table.source else { return }
    session.start(.explain, .ask(ExplainRequest(source: source, commit: session.shown)), label: "explain")
  }

  mutating func show(_ explained: ExplainRequest.Reply) {
    var lines = explained.plan.parts
    let source = explained.request.source
    if let range = source.range { lines.append("WITHIN \(source.index ?? "identifier") \(range)") }
    if source.filter == nil, source.sort.isEmpty {
      lines = ["INDEX \(source.index ?? "identifier") \(source.range?.description ?? "...")", "SORT no"]
    }
    if let scan = table.scan, source == table.source {
      lines.append("records read \(NumberFormat.count(scan.read)), kept \(NumberFormat.count(table.storedCount))")
    }
    present(TextOverlay(title: "Plan", lines: lines))
  }

  /// Leaves the prompt with nothing changed.
  mutating func abandonPreview() {
    table.endSearch(isTaken: false)
    guard let preview else { return }
    self.preview = nil
    table.isTyping = false
    guard let source = table.source, source.filter != preview.source.filter else { return }
    session.cancel(.filter)
    table.show(preview.source, anchor: preview.anchor)
  }

  /// Shows all rows again.
  mutating func unfilter() {
    guard table.source?.filter != nil else { return }
    session.cancel(.filter)
    table.setFilter(nil)
  }

  /// Takes the filter that was typed; what the preview has found already stays, and its work goes on.
  mutating func keepFilter(_ filter: String?) {
    let place = preview.map(\.place) ?? here
    preview = nil
    table.isTyping = false
    place.map { places.leave($0) }
    if let filter { remember(filter: filter) }
    if filter == nil { unfilter() } else if table.source?.filter != filter { table.setFilter(filter) }
    if focus == .index || focus == .frequency { focusPane(.table) }
  }
}
