import Documents
import DatastoreModel
import TerminalKit

/// The search for a text in the rows, also while the user types it.
extension TablePane {
  mutating func beginSearch() {
    searchOrigin = list.selection
    matches = nil
    hit = nil
  }

  /// Selects the first row with the text, from the start of the search on, and counts all of them.
  mutating func search(typed text: String, in session: inout Session) {
    guard let source, let searchOrigin, text != searchText || matches == nil else { return }
    searchText = text.isEmpty ? nil : text
    session.markedText = searchText
    matches = nil
    list.selection = searchOrigin
    session.cancel(.search)
    session.cancel(.matches)
    guard !text.isEmpty else { return }
    let request = SearchRequest(
      source: source, commit: commit(session), text: text, isBackward: false, ranks: ranks, bounds: bounds,
      position: min(searchOrigin, max(0, storedCount - 1)), includesPosition: true)
    session.start(.search, request)
    session.start(.matches, MatchesRequest(search: request))
  }

  /// Ends a search. If it was abandoned, the selection goes back.
  mutating func endSearch(isTaken: Bool) {
    if !isTaken, let searchOrigin { list.selection = searchOrigin }
    searchOrigin = nil
  }

  /// `3 of 17`; nil if nothing is known yet.
  func searchStanding(_ session: Session) -> String? {
    guard searchOrigin != nil, searchText != nil, let matches else { return nil }
    let total = NumberFormat.count(matches.count)
    guard matches.count > 0 else { return "no match in \(NumberFormat.counted(storedCount, "row"))" }
    guard let index = matches.positions.firstIndex(of: list.selection) else { return "\(total) rows match" }
    return "\(NumberFormat.count(index + 1)) of \(total)"
  }

  mutating func search(_ text: String?, in session: inout Session) {
    guard let text, !text.isEmpty else { return }
    searchText = text
    startSearch(isBackward: false, includesPosition: true, in: &session)
  }

  mutating func search(again isBackward: Bool, in session: inout Session) {
    startSearch(isBackward: isBackward, includesPosition: false, in: &session)
  }

  private mutating func startSearch(isBackward: Bool, includesPosition: Bool, in session: inout Session) {
    guard let source, let searchText else { return }
    session.markedText = searchText
    let request = SearchRequest(
      source: source, commit: commit(session), text: searchText, isBackward: isBackward, ranks: ranks, bounds: bounds,
      position: min(list.selection, max(0, storedCount - 1)), includesPosition: includesPosition)
    session.start(.search, request, label: "search “\(searchText)”")
    if matches?.request.search.finds(theSameAs: request) != true {
      matches = nil
      session.start(.matches, MatchesRequest(search: request))
    }
  }

  /// Goes to a hit, unless there is none, and says where it is.
  mutating func found(_ answer: SearchAnswer, in session: inout Session) {
    let isTyped = searchOrigin != nil
    guard let position = answer.position else {
      // While the user types, the prompt says so.
      if !isTyped {
        session.warn("no match for “\(answer.request.text)” in \(NumberFormat.count(answer.rowsRead)) rows")
      }
      return
    }
    (list.selection, wanted) = (position, nil)
    guard !isTyped else { return }
    hit = answer
    if let row = selectedRow { showColumn(ofHitIn: row, session) }
    session.say(sentence(on: answer, session))
  }

  /// Moves the cursor to the first column that shows the text, unless it stands on one already.
  mutating func showColumn(ofHitIn row: Row, _ session: Session) {
    guard let needle = searchText?.lowercased() else { return }
    let columns = visibleColumns(session)
    func shows(_ place: Int) -> Bool { row.text(of: columns[place]).lowercased().contains(needle) }
    if columns.indices.contains(column), shows(column) { return }
    if let first = columns.indices.first(where: shows) { column = first }
  }

  /// How a hit was found, and which of how many it is, as far as they are counted: `SCAN: 12 rows read · hit 3 of 412 · in .name`.
  func sentence(on answer: SearchAnswer, _ session: Session) -> String {
    guard let position = answer.position else { return "" }
    var parts = [
      answer.wasSeek
        ? "INDEX \(answer.request.source.index ?? "id"): row \(NumberFormat.count(position + 1))"
        : "SCAN: \(NumberFormat.count(answer.rowsRead)) rows read"
    ]
    if let matches, matches.request.search.finds(theSameAs: answer.request),
      let place = matches.positions.firstIndex(of: position)
    {
      parts.append("hit \(NumberFormat.count(place + 1)) of \(NumberFormat.count(matches.count))")
    }
    if let path = answer.path { parts.append("in \(path)") }
    let start = answer.request.position
    if !answer.wasSeek, answer.request.isBackward ? position > start : position < start {
      parts.append(answer.request.isBackward ? "from the end again" : "from the top again")
    }
    return parts.joined(separator: " \(session.theme.dot) ")
  }
}

extension SearchRequest {
  /// Whether both look for the same text in the same rows.
  fileprivate func finds(theSameAs other: SearchRequest) -> Bool {
    text == other.text && source == other.source && commit == other.commit && bounds == other.bounds
      && ranks == other.ranks
  }
}
