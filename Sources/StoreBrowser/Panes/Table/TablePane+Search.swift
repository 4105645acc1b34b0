import StrataDocuments

/// The search for a text in the rows, also while the user types it.
extension TablePane {
  mutating func beginSearch(_ command: Command, _ session: Session) {
    searchColumn = command == .searchColumn ? selectedColumn(session)?.source : nil
    searchOrigin = SearchOrigin(position: list.selection, anchor: keepingAnchor(), opened: opened)
    matches = nil
    hit = nil
  }

  /// Selects the first row with the text, from the start of the search on, and counts all of them.
  mutating func search(typed text: String, in session: inout Session) {
    guard let source, let searchOrigin, text != searchText?.typed || matches == nil else { return }
    searchText = text.isEmpty ? nil : try? SearchText(text)
    session.markedText = searchText
    matches = nil
    list.selection = searchOrigin.position
    session.cancel(.search)
    session.cancel(MatchesRequest.slot)
    guard let searchText else { return }
    let request = request(searchText, from: searchOrigin.position, in: source, session)
    session.start(.search, request)
    session.start(MatchesRequest.slot, MatchesRequest(search: request))
  }

  /// Ends a search. If it was abandoned, the selection goes back to its record.
  mutating func endSearch(isTaken: Bool) {
    guard let origin = searchOrigin.take(), !isTaken, let source else { return }
    if opened == origin.opened, pending == nil {
      list.selection = origin.position
    } else if origin.opened?.source != source.unscanned {
      // The position and the entry are those of other rows.
    } else if source.needsScan {
      show(source, anchor: origin.anchor, keepsOrder: true)
    } else {
      (opened, pending, anchor) = (nil, nil, origin.anchor)
    }
  }

  /// `3 of 17`; nil if nothing is known yet.
  func searchStanding(_ session: Session) -> String? {
    guard searchOrigin != nil, searchText != nil, let matches else { return nil }
    let total = NumberFormat.count(matches.count)
    guard matches.count > 0 else { return "no match in \(NumberFormat.counted(storedCount, "row"))" }
    guard let index = matches.positions.firstIndex(of: list.selection) else { return "\(total) rows match" }
    return "\(NumberFormat.count(index + 1)) of \(total)"
  }

  private func request(
    _ text: SearchText, from position: Int, in source: RowSource, _ session: Session
  ) -> SearchRequest {
    SearchRequest(
      source: source, commit: commit(session), text: text, column: searchColumn, isBackward: false,
      rows: shownRanks, position: min(position, max(0, storedCount - 1)), includesPosition: true)
  }

  mutating func search(_ command: Command, _ text: String?, in session: inout Session) {
    guard let text, !text.isEmpty else { return }
    searchText = try? SearchText(text)
    searchColumn = command == .searchColumn ? selectedColumn(session)?.source : nil
    startSearch(isBackward: false, includesPosition: true, in: &session)
  }

  mutating func startSearch(isBackward: Bool, includesPosition: Bool, in session: inout Session) {
    guard let source, let searchText else { return }
    session.markedText = searchText
    var request = request(searchText, from: list.selection, in: source, session)
    (request.isBackward, request.includesPosition) = (isBackward, includesPosition)
    session.start(.search, request, label: "search “\(searchText.typed)”")
    if matches?.request.search.finds(theSameAs: request) != true {
      matches = nil
      session.start(MatchesRequest.slot, MatchesRequest(search: request))
    }
  }

  /// Whether a search is the one whose hits are shown.
  func isCurrent(_ search: SearchRequest) -> Bool { search.text == searchText && search.column == searchColumn }

  /// Goes to a hit, unless there is none, and says where it is.
  mutating func found(_ answer: SearchAnswer, in session: inout Session) {
    // A position in other rows means nothing in these.
    guard let source, answer.request.source == source else { return }
    let isTyped = searchOrigin != nil
    guard let position = answer.position else {
      // While the user types, the prompt says so.
      if !isTyped { session.warn(missing(answer, session)) }
      return
    }
    if answer.request.commit != commit(session) || (!source.needsScan && pending != nil) {
      // Another commit comes or came meanwhile, at which the position may be that of another record.
      if !isTyped { foundBefore(answer, position, source, in: &session) }
      return
    }
    // Rows that were found or sorted meanwhile may stand before it.
    let rank = answer.request.rows[position]
    let isThere = self.rank(at: position) == rank
    guard let place = isThere ? position : shownRanks.firstIndex(of: rank) else {
      // It is behind the limit by now.
      if !isTyped { foundBefore(answer, position, source, in: &session) }
      return
    }
    (list.selection, wanted) = (place, nil)
    guard !isTyped else { return }
    hit = isThere ? answer : nil
    isHitUnread = selectedRow == nil
    if let row = selectedRow { showColumn(ofHitIn: row, session) }
    session.say(sentence(on: answer, session))
  }

  /// Goes to the record of a hit at another commit. Among the rows of a scan, whose ranks are not known there, the search begins again.
  private mutating func foundBefore(
    _ answer: SearchAnswer, _ position: Int, _ source: RowSource, in session: inout Session
  ) {
    guard !source.needsScan, let entry = answer.entry else {
      return startSearch(
        isBackward: answer.request.isBackward, includesPosition: answer.request.includesPosition, in: &session)
    }
    (opened, pending, hit) = (nil, nil, nil)
    anchor = .entry(entry, position: position)
    session.say(sentence(on: answer, session))
  }

  /// Says that no value has the text. If the name of a column has it, the cursor goes there.
  private mutating func missing(_ answer: SearchAnswer, _ session: Session) -> String {
    let text = answer.request.text
    let words = "no match for “\(text.typed)” in \(NumberFormat.counted(answer.rowsRead, "row"))"
    let names = visibleColumns(session).map(\.title)
    // From the column after the cursor on and round to it.
    let places = names.indices.filter { $0 > column } + names.indices.filter { $0 <= column }
    if let place = places.first(where: { text.occurs(in: names[$0]) }) {
      column = place
      return "\(words); the column \(names[place]) has the name"
    }
    guard let hidden = session.columnChoice(answer.request.source.datastore).hidden.first(where: text.occurs) else {
      return words
    }
    return "\(words); the hidden column \(hidden) has the name (= shows it)"
  }

  /// Moves the cursor to the first column that shows the text or its beginning, unless it stands on one already.
  mutating func showColumn(ofHitIn row: Row, _ session: Session) {
    guard let searchText else { return }
    let columns = visibleColumns(session)
    let path = hit?.path.flatMap { try? DocumentPath(parsing: $0) }
    func shows(_ place: Int) -> Bool {
      if let searchColumn { return columns[place].source == searchColumn }
      if searchText.occurs(in: row.text(of: columns[place])) { return true }
      guard let path, let shown = columns[place].path.flatMap({ try? DocumentPath(parsing: $0) }) else { return false }
      return shown.contains(path)
    }
    if columns.indices.contains(column), shows(column) { return }
    if let first = columns.indices.first(where: shows) { column = first }
  }

  /// How a hit was found, and which of how many it is, as far as they are counted: `SCAN: 12 rows read · hit 3 of 412 · in .name`.
  func sentence(on answer: SearchAnswer, _ session: Session) -> String {
    guard let position = answer.position else { return "" }
    var parts = [
      answer.wasSeek
        ? "INDEX \(answer.request.source.index ?? "id"): row \(NumberFormat.count(position + 1))"
        : "SCAN: \(NumberFormat.counted(answer.rowsRead, "row")) read"
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
    text == other.text && column == other.column && source == other.source && commit == other.commit
      && rows == other.rows
  }
}
