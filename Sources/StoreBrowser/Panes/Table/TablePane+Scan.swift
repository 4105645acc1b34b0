import StrataModel
import StrataExpressions

/// The rows in a requested order, and the place for the selection among them.
struct AwaitedOrder: Sendable, Equatable {
  var source: RowSource
  var anchor: TableRequest.Anchor
}

/// Filters and sorts: the list of their rows, and how it is filled.
extension TablePane {
  /// Applies another filter to the open rows. The selection stays on its row if that matches, otherwise it moves to the first.
  mutating func refilter(_ filter: String?) {
    let (rank, row) = (selectedRank, selectedRow)
    source?.filter = filter
    forgetRows()
    if let rank, let row, let source, source.needsScan, Self.isKept(row, of: source) {
      wanted = Wanted(at: rank, row.entry, position: list.selection)
    }
    list.selection = 0
    guard let source, !source.needsScan, let rank, bounds.contains(rank) else { return }
    list.selection = source.isDescending ? bounds.upperBound - 1 - rank : rank - bounds.lowerBound
  }

  /// Whether a filter keeps a row. Returns false if its record was not read as a whole.
  private static func isKept(_ row: Row, of source: RowSource) -> Bool {
    guard let filter = source.filter else { return true }
    guard let test = try? Filter(typed: filter), let document = try? row.record?.document() else { return false }
    // Only the reader of the rows knows the values of joined columns.
    return source.joined.isEmpty && test.matches(source.adding(to: document))
  }

  /// Requests another order: from an index that has it, otherwise by gathering and sorting keys.
  mutating func order(by sort: [SortOrder], anchor: TableRequest.Anchor, in session: inout Session) {
    guard var source else { return }
    source.sort = sort
    awaitedOrder = AwaitedOrder(source: source, anchor: anchor)
    session.start(OrderRequest.slot, OrderRequest(source: source, commit: session.shown), label: "order")
  }

  /// Requests the awaited order for the commit that is shown now. The former one may be gone.
  mutating func orderAgain(in session: inout Session) {
    guard let awaitedOrder, awaitedOrder.source.datastore == source?.datastore else { return }
    order(by: awaitedOrder.source.sort, anchor: awaitedOrder.anchor, in: &session)
  }

  mutating func applyOrder(_ reply: OrderRequest.Reply, in session: inout Session) {
    guard let anchor = awaitedOrder?.anchor, var wanted = source,
      wanted.datastore == reply.request.source.datastore
    else { return }
    awaitedOrder = nil
    if let index = reply.index, !index.isEmpty, reply.request.commit != session.shown,
      let shown = session.outline?.datastore(wanted.datastore), shown.index(index) == nil
    {
      return order(by: reply.request.source.sort, anchor: anchor, in: &session)
    }
    if let unknown = reply.unknown.first { return session.warn("not sorted: \(unknown.sentence)") }
    wanted.sort = reply.request.source.sort
    wanted.isDescending = reply.isDescending
    let along = reply.index.map { $0.isEmpty ? nil : $0 }
    if let along, wanted.range == nil || along == wanted.index {
      (wanted.index, wanted.sort) = (along, [])
      session.say("INDEX \(along ?? "identifier"): in order at once")
    } else {
      // A range is of its own index: its rows are sorted by their keys.
      wanted.isDescending = false
    }
    session.intend(.show(wanted, anchor: anchor))
  }

  mutating func demandScan(_ source: RowSource, in session: inout Session) {
    if ranksAreFor == nil {
      // Work for other rows would go on to fill these, and what it left out is not left out here.
      for slot in [WorkSlot.filter, .sort] { session.cancel(slot) }
      session.gaps[.filter] = nil
    }
    guard source.needsScan, renewal == nil else { return }
    let key = ScanKey(source: source, commit: commit(session))
    guard ranksAreFor != key else { return }
    // A search in the rows before would only delay these.
    session.cancel(.search)
    session.cancel(MatchesRequest.slot)
    ranksAreFor = key
    ranks = []
    if wanted != nil {
      list.selection = 0
      wanted?.selection = 0
    }
    startScan(source, key.commit, bounds, plan: "", in: &session)
  }

  private mutating func startScan(
    _ source: RowSource, _ commit: CommitNumber, _ bounds: Range<Int>, plan: String, in session: inout Session
  ) {
    scan = ScanState(plan: plan, read: 0, total: bounds.count, isRunning: true)
    if source.filter != nil {
      session.start(.filter, FilterRequest(source: source, commit: commit, bounds: bounds), label: "filter")
    } else {
      session.start(.sort, SortRequest(source: source, commit: commit, ranks: nil), label: "sort")
    }
  }

  /// Whether rows are still to come, or their order.
  private func lacksRows(_ session: Session) -> Bool {
    guard let source, problem == nil else { return false }
    guard opened?.source == source.unscanned else { return true }
    let isRunning = session.isRunning(.filter) || session.isRunning(.sort)
    return source.needsScan && renewal == nil && (isRunning || ranksAreFor?.source != source)
  }

  fileprivate mutating func waits(_ command: Command, _ argument: String?, in session: inout Session) -> Bool {
    guard lacksRows(session) else { return false }
    waiting = AwaitedCommand(command: command, argument: argument)
    session.say("the rows are still being found; \(CommandTable.entry(command).name) follows")
    return true
  }

  mutating func goOn(in session: inout Session) {
    guard let waiting, !lacksRows(session) else { return }
    self.waiting = nil
    session.intend(Intent { CommandTable.entry(waiting.command).handler?(&$0, waiting.argument) })
  }

  // MARK: A newer commit

  /// Whether a list is being filled. That continues when a newer commit is shown, so that commits in quick succession do not keep the list
  /// empty.
  func isFilling(_ source: RowSource, _ session: Session) -> Bool {
    guard ranksAreFor?.source == source, session.asOf == nil else { return false }
    return renewal?.isWhole == false || session.isRunning(.filter) || session.isRunning(.sort)
  }

  /// Begins to fill a new list beside the shown one, if that is of an older commit. Returns false if there is no such list.
  mutating func beginRenewal(_ answer: TableAnswer, in session: inout Session) -> Bool {
    guard let source, source.needsScan, renewal == nil, session.asOf == nil, let ranksAreFor,
      ranksAreFor.source == source, ranksAreFor.commit < answer.request.commit
    else { return false }
    renewal = Renewal(commit: answer.request.commit)
    startScan(source, answer.request.commit, answer.bounds, plan: scan?.plan ?? "", in: &session)
    return true
  }

  /// Shows the new list while its table is open.
  mutating func endRenewal(in session: inout Session) {
    guard let source, let renewal else { return }
    self.renewal = nil
    ranksAreFor = ScanKey(source: source, commit: renewal.commit)
    ranks = []
    put(renewal.ranks, isWhole: true, in: &session)
  }

  /// Prepares to show another commit: the shown list is not kept, and the list being filled is abandoned.
  mutating func forgetScan() {
    renewal = nil
    ranksAreFor = nil
  }

  /// Shows this browser's newest changes in the rows of the previous commit, until the rows of the new one arrive.
  mutating func wrote(_ changes: ChangeSet) {
    ownDeletions = Set(changes.changes.lazy.filter { $0.kind == .delete }.map(\.identifier))
    guard source?.needsScan == true else { return }
    let edits = Dictionary(
      changes.changes.filter { $0.datastore == source?.datastore }.map { ($0.identifier, $0) },
      uniquingKeysWith: { $1 })
    for (rank, row) in rows {
      guard let edit = edits[row.entry.identifier] else { continue }
      rows[rank]?.written = edit
    }
  }

  // MARK: Replies

  mutating func scanned(_ answer: ScanAnswer, in session: inout Session) {
    guard answer.source == source, ranksAreFor != nil, answer.commit == renewal?.commit ?? commit(session) else {
      return
    }
    scan = ScanState(
      plan: answer.ranks == nil ? answer.plan : scan?.plan ?? "", read: answer.rowsRead, total: answer.rowsRead,
      isRunning: false)
    let found = answer.ranks ?? renewal?.ranks ?? ranks ?? []
    if answer.ranks == nil, !answer.source.sort.isEmpty {
      let request = SortRequest(source: answer.source, commit: answer.commit, ranks: found)
      session.start(.sort, request, label: "sort")
    } else if renewal == nil {
      put(found, isWhole: true, in: &session)
    } else {
      renewal?.ranks = found
      renewal?.isWhole = true
    }
  }

  mutating func progressed(_ progress: Progress, of slot: WorkSlot, in session: inout Session) {
    guard slot == .filter || slot == .sort, ranksAreFor != nil else { return }
    if case .plan(let plan, let count) = progress.found {
      // Work that leaves out damaged records begins again.
      if renewal == nil { ranks = [] } else { renewal?.ranks = [] }
      scan?.plan = plan
      scan?.known = count
      return
    }
    scan?.read = progress.done
    scan?.total = progress.total
    guard case .ranks(let found) = progress.found, !found.isEmpty else { return }
    if let known = renewal?.ranks {
      let ranks = merged(known, found)
      renewal?.ranks = ranks
    } else {
      put(merged(ranks ?? [], found), isWhole: false, in: &session)
    }
  }

  /// Adds ranks in ascending order (descending if the table is).
  private func merged(_ known: [Int], _ found: [Int]) -> [Int] {
    let isDescending = source?.isDescending == true
    let isInOrder = !isDescending && (known.last ?? -1) < (found.first ?? 0)
    return isInOrder ? known + found : (known + found).sorted(by: isDescending ? (>) : (<))
  }

  /// Shows other rows. The cursor follows its record to its new position. While that row is missing, the cursor is on no row; once all rows
  /// are known, it moves to the next one.
  private mutating func put(_ ranks: [Int], isWhole: Bool, in session: inout Session) {
    let behind = list.selection - storedCount
    let staged = wanted?.staged ?? (wanted == nil && storedCount > 0 && behind >= 0 ? behind : nil)
    let rank = selectedRank
    let wanted = wanted
    let start = rangeStart.flatMap { self.rank(at: $0) }
    self.ranks = ranks
    // A record behind the limit is not among the rows.
    let shown = ranks.prefix(source?.limit ?? .max)
    if let start { rangeStart = shown.firstIndex(of: start) }
    if let staged, isWhole || wanted == nil {
      (list.selection, self.wanted) = (shown.count + staged, nil)
    } else if staged == nil, let rank, let position = shown.firstIndex(of: rank) {
      (list.selection, self.wanted) = (position, nil)
    } else if isWhole, let wanted {
      self.wanted = nil
      let isDescending = source?.isDescending == true
      let next = shown.firstIndex { isDescending ? $0 < wanted.rank : $0 > wanted.rank } ?? shown.count - 1
      list.selection = max(0, source?.sort.isEmpty == false ? min(wanted.position, shown.count - 1) : next)
      guard let entry = wanted.entry else { return }
      let place = shown.isEmpty ? "" : "; the selection is on its successor"
      session.add("\(entry.identifier) is not among these rows any more\(place)")
    }
  }

  /// Handles a cancelled scan: the rows found so far stay.
  mutating func cancelled(_ slot: WorkSlot, in session: inout Session) {
    if slot == OrderRequest.slot { awaitedOrder = nil }
    stopScan(slot)
  }

  /// A search or another question that ends does not end the scan.
  private mutating func stopScan(_ slot: WorkSlot) {
    guard slot == .filter || slot == .sort else { return }
    scan?.isRunning = false
    renewal?.isWhole = true
    (wanted, waiting) = (nil, nil)
  }

  mutating func failed(_ error: ModelError, of slot: WorkSlot, in session: inout Session) {
    if slot == OrderRequest.slot {
      // If the commit is gone, another one is shown next, and the order is requested for that.
      if case .noSuchCommit = error {} else { awaitedOrder = nil }
    }
    stopScan(slot)
    if [.table, .rows, .rowsAhead].contains(slot) {
      // It is asked again as soon as the problem may be gone.
      if slot == .table { pending = nil }
      problem = source == nil ? nil : error.description
      // It would take the rows found so far.
      if let waiting { session.warn("\(CommandTable.entry(waiting.command).name) is left out: \(error)") }
      waiting = nil
    } else {
      session.complain(error)
    }
  }
}

extension Browser {
  /// Lets a command about all rows of the table wait until they are found, or until another command. Returns whether it waits.
  mutating func waitsForRows(_ command: Command, _ argument: String?) -> Bool {
    with(TablePane.self) { $0.waits(command, argument, in: &$1) }
  }
}
