import StrataModel

/// Which rows are there, and reading those around the screen.
extension TablePane {
  /// Shows other rows, the selection where the anchor says.
  ///
  /// - Parameter keepsOrder: Whether the order that waits for its index goes on waiting.
  mutating func show(_ source: RowSource, anchor: TableRequest.Anchor, keepsOrder: Bool = false) {
    if self.source?.datastore != source.datastore {
      columns = TableColumns()
      column = 0
      columnOffset = 0
      rows = [:]
      clearMarks()
      changed = [:]
    }
    if self.source?.index != source.index { columns.key = ColumnExtent() }
    self.source = source
    self.anchor = anchor
    if !keepsOrder { setAside = nil }
    (opened, pending) = (nil, nil)
    forgetRows()
  }

  /// Forgets which rows are there, and what waits for them.
  mutating func forgetRows() {
    forgetScan()
    (ranks, scan, rangeStart, problem, wanted, waiting) = (nil, nil, nil, nil, nil, nil)
  }

  /// Whether the bounds are those of this source, whatever its filter.
  func isOpen(_ source: RowSource) -> Bool {
    opened?.source == source.unscanned && pending == nil
  }

  /// Goes on in the order by identifier at a commit that has not the index of the order, and comes back to it at one that has.
  /// Answers what there is to say of it.
  mutating func adjustOrder(to outline: Outline) -> String? {
    guard let source, let datastore = outline.datastore(source.datastore) else { return nil }
    if let index = source.index, datastore.index(index) == nil {
      var other = source
      (other.index, other.range) = (nil, nil)
      let kept = setAside ?? source
      show(other, anchor: keepingIdentifier())
      setAside = kept
      return "\(outline.commit.number) has no index \(index): in the order of the identifiers"
    }
    guard let kept = setAside, kept.datastore == source.datastore, datastore.index(kept.index) != nil else {
      return nil
    }
    // Everything else may have been changed since.
    var other = source
    (other.index, other.range) = (kept.index, kept.range)
    show(other, anchor: keepingIdentifier())
    return nil
  }

  /// The anchor that keeps the selection on its record in another order.
  func keepingIdentifier() -> TableRequest.Anchor {
    // The rows at hand may be those before.
    let kept = anchor ?? keepingAnchor()
    guard case .entry(let entry, _) = kept else { return kept }
    return .identifier(entry.identifier)
  }

  /// The anchor that keeps the selection on its record.
  func keepingAnchor() -> TableRequest.Anchor {
    if let entry = wanted?.entry ?? selectedRow?.entry { return .entry(entry, position: list.selection) }
    if let staged = wanted?.staged { return .staged(staged) }
    let isStaged = wanted == nil && opened != nil && scan?.isRunning != true && list.selection >= storedCount
    return isStaged ? .staged(list.selection - storedCount) : .position(list.selection)
  }

  mutating func demand(frame: PaneFrame, in session: inout Session) {
    arrangeColumns(session)
    if let wanted, list.selection != wanted.selection { self.wanted = nil }
    updateDerivedColumns(session)
    guard let source, session.outline != nil, session.outline?.datastore(source.datastore) != nil else { return }
    guard problem == nil else { return }
    let screen = max(8, frame.rows)
    let base = source.unscanned
    let naming = session.naming
    if renewal != nil, session.asOf != nil { forgetScan() }
    let commit = isFilling(source, session) ? commit(session) : renewal?.commit ?? session.shown
    if opened?.source != base || opened?.commit != commit || opened?.naming != naming {
      guard pending?.source != base || pending?.commit != commit || pending?.naming != naming else { return }
      let request = TableRequest(
        source: base, commit: commit, anchor: anchor ?? keepingAnchor(), screen: screen, naming: naming,
        rangeStart: rangeStart == nil ? nil : rangeEntry)
      pending = request
      session.start(.table, request)
      return
    }
    demandTaken(in: &session)
    demandScan(source, in: &session)
    seeStaged(session)
    if frame != .hidden { layOut(frame: frame, session) }
    demandRows(base, frame: frame, in: &session)
  }

  /// Asks which staged new records are stored by now, once for each commit and each change of what is staged.
  private mutating func demandTaken(in session: inout Session) {
    // After this browser's own commit the staged changes are gone, and it is asked again.
    guard session.asOf == nil, !session.isRunning(.commit),
      session.staged.totals.inserted > 0 || !session.taken.isEmpty
    else { return }
    let state = TakenState(commit: session.shown, stagedRevision: session.stagedRevision)
    guard takenState != state else { return }
    if takenState?.commit != state.commit { lookedUp = [] }
    takenState = state
    let inserted = session.staged.edits.values.filter { $0.kind == .insert }.map(\.place)
    let places = inserted.filter { !lookedUp.contains($0) }
    // An edit that was taken out may be staged again.
    lookedUp.formIntersection(inserted)
    // The answers for the others stay, as long as they are staged.
    if !session.taken.isEmpty { session.taken.formIntersection(inserted) }
    guard !places.isEmpty else { return session.cancel(TakenRequest.slot) }
    session.start(TakenRequest.slot, TakenRequest(places: places, commit: session.shown)) { browser, found in
      let taken = found.union(browser.session.taken.subtracting(places))
      browser.table.lookedUp.formUnion(places)
      let selected = browser.table.selectedPlace(browser.session)
      let new = taken.subtracting(browser.session.taken).filter { browser.session.staged.edits[$0]?.kind == .insert }
      browser.session.taken = taken
      guard let first = new.first else { return }
      let others = new.count > 1 ? " and \(NumberFormat.count(new.count - 1)) more" : ""
      browser.session.warn("\(first.identifier)\(others), staged as new, is stored by another program — w decides")
      // The cursor goes with its record.
      guard let selected, new.contains(selected), let source = browser.table.source else { return }
      browser.table.show(source, anchor: .identifier(selected.identifier), keepsOrder: true)
    }
  }

  mutating func layOut(frame: PaneFrame, _ session: Session) {
    list.reveal(rows: max(1, frame.rows - 1), count: count(session))
    let visible = visibleColumns(session)
    column = max(0, min(column, visible.count - 1))
    columnOffset = TableGeometry.offset(
      of: column, in: visible, frozen: frozen(session), width: frame.columns - TableGeometry.signs, from: columnOffset)
  }

  func frozen(_ session: Session) -> Int {
    max(source?.index == nil ? 1 : 2, session.columnChoice(source?.datastore ?? "").frozen)
  }

  /// Asks for the rows around the screen where they are missing, or soon will be: then no picture waits for them.
  private mutating func demandRows(_ source: RowSource, frame: PaneFrame, in session: inout Session) {
    let screen = max(8, frame.rows)
    let isAhead = !lacksRow(in: list.top..<list.top + screen)
    // The range may have begun at a row that was not read yet.
    let start = rangeEntry == nil ? rangeStart.flatMap(rank(at:)).map { [$0] } ?? [] : []
    guard !isAhead || !start.isEmpty || lacksRow(in: list.top - screen / 2..<list.top + screen + screen / 2) else {
      return
    }
    if let pendingRows, pendingRows.commit == commit(session), pendingRows.source == source {
      let asked = Set(pendingRows.ranks)
      let visible = ranks(of: list.top..<list.top + screen) + start
      let isAsked = visible.allSatisfy { rows.index(forKey: $0) != nil || asked.contains($0) }
      // Asks again for rows that were asked ahead and are missing, so that the picture waits for them.
      if isAsked, isAhead || session.isRunning(.rows) { return }
    }
    let first = max(0, list.top - screen)
    window = first..<first + 3 * screen
    let request = RowsRequest(
      source: source, commit: commit(session), first: first,
      ranks: ranks(of: window).filter { rows.index(forKey: $0) == nil } + start, naming: session.naming)
    pendingRows = request
    session.cancel(.rows)
    session.cancel(.rowsAhead)
    session.start(isAhead ? .rowsAhead : .rows, request)
  }

  /// Forgets rows that could not be read, so that they are read again.
  mutating func askAgain(in session: inout Session) {
    (problem, pending, pendingRows) = (nil, nil, nil)
    rows = rows.filter { $0.value.problem == nil }
  }

  private func lacksRow(in positions: Range<Int>) -> Bool {
    positions.clamped(to: 0..<storedCount).contains { rank(at: $0).map { rows.index(forKey: $0) == nil } ?? false }
  }

  private func ranks(of positions: Range<Int>) -> [Int] {
    positions.clamped(to: 0..<storedCount).compactMap(rank(at:))
  }

  // MARK: Answers

  mutating func answered(_ reply: any Sendable, in session: inout Session) {
    switch reply {
    case let answer as TableAnswer: open(answer, in: &session)
    case let answer as RowsAnswer where answer.request == pendingRows:
      pendingRows = nil
      add(answer, in: session)
      if let rangeStart, rangeEntry == nil { rangeEntry = row(at: rangeStart)?.entry }
      let near = Set(ranks(of: window))
      rows = rows.filter { near.contains($0.key) }
    case let answer as ScanAnswer: scanned(answer, in: &session)
    case let answer as SearchAnswer: found(answer, in: &session)
    case let reply as StepChangesReply
    where reply.request.to == session.shown && reply.request.datastore == source?.datastore:
      changed = reply.changed
      step = reply
    case let reply as OrderRequest.Reply: applyOrder(reply, in: &session)
    case let reply as MatchesRequest.Reply where isCurrent(reply.request.search):
      matches = reply
      if searchOrigin == nil, let hit, hit.position == list.selection { session.say(sentence(on: hit, session)) }
    default: break
    }
  }

  private mutating func open(_ answer: TableAnswer, in session: inout Session) {
    guard answer.request == pending else { return }
    pending = nil
    guard !beginRenewal(answer, in: &session) else { return }
    let behind = opened?.commit == answer.request.commit ? nil : rangeStart.map { $0 - storedCount }
    let hasRows = source?.needsScan != true || renewal != nil
    opened = answer.request
    bounds = answer.bounds
    rows = [:]
    pendingRows = nil
    add(answer.rows, in: session)
    defer { anchor = nil }
    // The same list of rows in other words.
    if let source, source.needsScan, ranksAreFor == ScanKey(source: source, commit: answer.request.commit) { return }
    let position = answer.position
    let rank = answer.request.source.isDescending ? bounds.upperBound - 1 - position : bounds.lowerBound + position
    var wanted: Wanted?
    list.selection = position
    switch answer.request.anchor {
    case .position: break
    case .staged(let staged):
      let insertions = insertions(session)
      guard insertions.indices.contains(staged) else { break }
      wanted = Wanted(rank: rank, staged: staged, identifier: insertions[staged].identifier)
      list.selection = bounds.count + staged
    case .entry(let entry, let before) where answer.anchorIsGone:
      wanted = Wanted(rank: rank, position: before)
      // The user knows what was deleted here, and reads which commit did it.
      guard !ownDeletions.contains(entry.identifier) else { break }
      session.add(
        "\(entry.identifier) is not here any more\(bounds.isEmpty ? "" : "; the selection is on its successor")")
    case .entry(_, let before): wanted = Wanted(at: rank, rows[rank]?.entry, position: before)
    case .identifier: wanted = Wanted(at: rank, answer.anchorIsGone ? nil : rows[rank]?.entry, position: position)
    }
    wanted?.selection = list.selection
    self.wanted = source?.needsScan == true ? wanted : nil
    endRenewal(in: &session)
    if let behind { moveRange(to: hasRows ? answer.rangeStart : nil, behind: behind, in: &session) }
  }

  /// Puts the beginning of the range on its record at another commit. If the record is gone, the range ends.
  private mutating func moveRange(to rank: Int?, behind: Int, in session: inout Session) {
    guard behind < 0 else { return rangeStart = storedCount + behind }
    rangeStart = rank.flatMap { shownRanks.position(of: $0) ?? ranks?.firstIndex(of: $0) }
    if rangeStart == nil { session.add("the range has ended: its first record is not here any more") }
  }

  private mutating func add(_ answer: RowsAnswer, in session: Session) {
    for row in answer.rows { rows[row.rank] = row }
    if isHitUnread, let hit, hit.position == list.selection, let row = selectedRow {
      isHitUnread = false
      showColumn(ofHitIn: row, session)
    }
    if columns.identifierPath == nil { columns.identifierPath = session.current?.descriptor.identifierPath }
    columns.widen(for: answer.columns, rows: answer.rows)
    stagedColumns = nil
  }

  /// Makes room for what is staged of the rows at hand and for the first of the new records, after each change of either.
  private mutating func seeStaged(_ session: Session) {
    guard stagedColumns != session.stagedRevision, !session.staged.isEmpty, session.asOf == nil, let source,
      let current = session.current
    else { return }
    stagedColumns = session.stagedRevision
    let stored = rows.keys.sorted().compactMap { rows[$0]?.entry.identifier }
    let edits = stored.compactMap { session.staged[source.datastore, $0] } + insertions(session).prefix(1_000)
    var scan = ColumnScan()
    for content in edits.compactMap(\.new) {
      if let document = try? current.descriptor.document(of: content) { scan.add(source.cells(of: document)) }
    }
    columns.widen(for: scan.seen, staged: edits.map(\.identifier), keyPath: keyField(session))
  }
}

extension TablePane.Wanted {
  /// A record that is stored.
  init(at rank: Int, _ entry: IndexEntry?, position: Int) {
    self.init(rank: rank, entry: entry, identifier: entry?.identifier, position: position)
  }
}
