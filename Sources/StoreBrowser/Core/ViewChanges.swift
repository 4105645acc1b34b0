/// The changes of the table's view, for taking the last one back: its filter, order and range, and how its columns are arranged.
struct ViewChanges: Sendable {
  struct State: Sendable, Hashable {
    var source: RowSource
    var columns: ColumnChoice
  }

  /// The states of the open datastore's view; the present one is last.
  private var states: [State] = []

  private static let limit = 100

  /// Notes the present state. The list starts again with another datastore.
  mutating func record(_ state: State) {
    guard state != states.last else { return }
    if state.source.datastore != states.last?.source.datastore { states = [] }
    states.append(state)
    if states.count > Self.limit { states.removeFirst() }
  }

  /// Forgets earlier states that cannot be shown any more.
  mutating func forget(where isGone: (State) -> Bool) {
    let kept = states.filter { !isGone($0) }
    states = []
    kept.forEach { record($0) }
  }

  /// Returns the present state and the one before, which is the present one from now on.
  mutating func stepBack() -> (now: State, before: State)? {
    guard states.count > 1, let now = states.popLast(), let before = states.last else { return nil }
    return (now, before)
  }
}

extension ViewChanges.State {
  /// The change from another state to this one.
  fileprivate func change(from before: Self) -> String {
    if source.filter != before.source.filter {
      return source.filter.map { "filter \($0)" } ?? "the end of the filter"
    }
    if source.range != before.source.range { return "the range" }
    if source.limit != before.source.limit { return "the limit" }
    if source != before.source { return "the order" }
    if columns.computed != before.columns.computed { return "a computed column" }
    if columns.joined != before.columns.joined { return "joined columns" }
    return columns.formats != before.columns.formats
      ? "the form of a column" : "the arrangement of the columns"
  }
}

extension Browser {
  /// Notes a change of the table's view. A filter that is being typed is none yet, and the past may lack the index of an order.
  mutating func recordView() {
    guard overlays.isEmpty, session.asOf == nil, var source = table.source else { return }
    (source.computed, source.joined) = ([], [])
    viewChanges.record(.init(source: source, columns: session.columnChoice(source.datastore)))
  }

  mutating func undoViewChange() {
    guard session.asOf == nil else { return session.warn("this is as of \(session.shown); :travel head returns") }
    // Its index may have been dropped.
    if let current = session.current {
      viewChanges.forget { $0.source.index != nil && current.index($0.source.index) == nil }
    }
    guard let (now, before) = viewChanges.stepBack() else { return session.warn("nothing of this view was changed") }
    if now.columns != before.columns { session.arrange(before.columns, of: before.source.datastore) }
    if now.source != before.source {
      var source = before.source
      (source.computed, source.joined) = (table.source?.computed ?? [], table.source?.joined ?? [])
      table.show(source, anchor: table.keepingIdentifier())
    }
    session.say("taken back: \(now.change(from: before))")
  }
}
