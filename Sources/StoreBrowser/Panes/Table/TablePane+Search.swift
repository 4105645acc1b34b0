import Documents
import DatastoreModel
import TerminalKit

/// Looking for a text in the rows, also while it is typed.
extension TablePane {
  mutating func beginSearch() {
    searchOrigin = list.selection
    matches = nil
  }

  /// Goes to the first row with the text from where the search began, and counts all of them.
  mutating func search(typed text: String, in session: inout Session) {
    guard let source, let searchOrigin, text != searchText || matches == nil else { return }
    searchText = text.isEmpty ? nil : text
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

  /// Ends a search; where it was given up the selection goes back.
  mutating func endSearch(isTaken: Bool) {
    if !isTaken, let searchOrigin { list.selection = searchOrigin }
    searchOrigin = nil
  }

  /// `3 of 17`; nil where nothing is known yet.
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

  func search(again isBackward: Bool, in session: inout Session) {
    startSearch(isBackward: isBackward, includesPosition: false, in: &session)
  }

  private func startSearch(isBackward: Bool, includesPosition: Bool, in session: inout Session) {
    guard let source, let searchText else { return }
    session.start(
      .search,
      SearchRequest(
        source: source, commit: commit(session), text: searchText, isBackward: isBackward, ranks: ranks,
        bounds: bounds, position: min(list.selection, max(0, storedCount - 1)), includesPosition: includesPosition),
      label: "search “\(searchText)”")
  }
}
