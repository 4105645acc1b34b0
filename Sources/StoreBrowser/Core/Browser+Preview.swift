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
    table.setFilter(text)
  }

  /// Leaves the prompt with nothing changed.
  mutating func abandonPreview() {
    guard let preview else { return }
    self.preview = nil
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
  mutating func takeFilter(_ filter: String?) {
    let place = preview.map(\.place) ?? here
    preview = nil
    place.map { places.leave($0) }
    if let filter { remember(filter: filter) }
    if filter == nil { unfilter() } else if table.source?.filter != filter { table.setFilter(filter) }
    if focus == .index || focus == .frequency { focusPane(.table) }
  }
}
