import Documents
import DatastoreModel
import Expressions
import TerminalKit

/// Filters and sorts: the list of the rows that they keep, and how it is filled.
extension TablePane {
  /// Filters the rows that are open by something else, the selection staying on its row where that is among them, otherwise on the first.
  mutating func refilter(_ filter: String?) {
    let (rank, row) = (selectedRank, selectedRow)
    source?.filter = filter
    wanted = nil
    if let rank, let row, let source, source.needsScan, Self.isKept(row, by: filter) {
      wanted = Wanted(at: rank, row.entry, position: list.selection)
    }
    ranks = nil
    forgetScan()
    scan = nil
    rangeStart = nil
    problem = nil
    list.selection = 0
    guard let source, !source.needsScan, let rank, bounds.contains(rank) else { return }
    list.selection = source.isDescending ? bounds.upperBound - 1 - rank : rank - bounds.lowerBound
  }

  /// Whether a filter keeps a row; false where its record was not read whole.
  private static func isKept(_ row: Row, by filter: String?) -> Bool {
    guard let filter else { return true }
    guard let test = try? RowTest(filter), let document = try? row.record?.document() else { return false }
    return test.filter.matches(document)
  }

  /// Asks for another order; an index that has it is taken, otherwise keys are gathered and sorted.
  mutating func order(by sort: [SortOrder], anchor: TableRequest.Anchor, in session: inout Session) {
    guard var source else { return }
    source.sort = sort
    orderAnchor = anchor
    session.start(.order, OrderRequest(source: source, commit: session.shown))
  }

  mutating func adoptOrder(_ reply: OrderRequest.Reply, in session: inout Session) {
    guard let anchor = orderAnchor, var wanted = source, wanted.datastore == reply.request.source.datastore else {
      return
    }
    orderAnchor = nil
    if let unknown = reply.unknown.first { return session.warn("not sorted: \(unknown.sentence)") }
    wanted.sort = reply.request.source.sort
    wanted.isDescending = reply.isDescending
    if let index = reply.index {
      (wanted.index, wanted.range, wanted.sort) = (index.isEmpty ? nil : index, nil, [])
      session.say("INDEX \(index.isEmpty ? "identifier" : index): in order at once")
    }
    session.intend(.show(wanted, anchor: anchor))
  }

  mutating func demandScan(_ source: RowSource, in session: inout Session) {
    guard source.needsScan, renewal == nil else { return }
    let key = ScanKey(source: source, commit: commit(session))
    guard ranksAreFor != key else { return }
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
      session.start(.sort, SortRequest(source: source, commit: commit, bounds: bounds, ranks: nil), label: "sort")
    }
  }

  // MARK: A newer commit

  /// Whether a list is being filled; that goes on when a newer commit is shown, so that commits in quick succession do not keep
  /// it empty.
  func isFilling(_ source: RowSource, _ session: Session) -> Bool {
    guard ranksAreFor?.source == source, session.asOf == nil else { return false }
    return renewal?.isWhole == false || session.isRunning(.filter) || session.isRunning(.sort)
  }

  /// Begins to fill a new list beside the one that is shown, if there is one of an older commit; false if there is none.
  mutating func beginRenewal(_ answer: TableAnswer, in session: inout Session) -> Bool {
    guard let source, source.needsScan, renewal == nil, session.asOf == nil, let ranksAreFor,
      ranksAreFor.source == source, ranksAreFor.commit < answer.request.commit
    else { return false }
    renewal = Renewal(commit: answer.request.commit, bounds: answer.bounds)
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

  /// Another moment is to be shown: what is shown is no longer kept, and what is being filled is not waited for.
  mutating func forgetScan() {
    renewal = nil
    ranksAreFor = nil
  }

  /// Shows what this browser has just written in the rows of the commit before, until those of the new one are there.
  mutating func wrote(_ changes: ChangeSet) {
    guard source?.needsScan == true else { return }
    let edits = Dictionary(
      changes.changes.filter { $0.datastore == source?.datastore }.map { ($0.identifier, $0) },
      uniquingKeysWith: { $1 })
    for (rank, row) in rows {
      guard let edit = edits[row.entry.identifier] else { continue }
      rows[rank]?.written = edit
    }
  }

  // MARK: Answers

  mutating func filtered(_ answer: FilterAnswer, in session: inout Session) {
    guard ranksAreFor != nil, answer.commit == renewal?.commit ?? commit(session) else { return }
    scan = ScanState(plan: answer.plan, read: answer.rowsRead, total: answer.rowsRead, isRunning: false)
    guard let source, !source.sort.isEmpty, answer.source == source else {
      return filled(renewal?.ranks ?? ranks ?? [], in: &session)
    }
    let request = SortRequest(
      source: source, commit: answer.commit, bounds: renewal?.bounds ?? bounds, ranks: renewal?.ranks ?? ranks)
    session.start(.sort, request, label: "sort")
  }

  mutating func sorted(_ answer: SortAnswer, in session: inout Session) {
    guard answer.source == source, answer.commit == renewal?.commit ?? commit(session) else { return }
    filled(answer.ranks, in: &session)
    scan = ScanState(
      plan: source?.filter == nil ? "" : scan?.plan ?? "", read: answer.rowsRead, total: answer.rowsRead,
      isRunning: false)
  }

  private mutating func filled(_ ranks: [Int], in session: inout Session) {
    guard renewal != nil else { return put(ranks, isWhole: true, in: &session) }
    renewal?.ranks = ranks
    renewal?.isWhole = true
  }

  mutating func progressed(_ progress: Progress, of slot: WorkSlot, in session: inout Session) {
    guard slot == .filter || slot == .sort, ranksAreFor != nil else { return }
    if case .plan(let plan, let count) = progress.found {
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

  /// Adds ranks, keeping them ascending (descending where the table is).
  private func merged(_ known: [Int], _ found: [Int]) -> [Int] {
    let isDescending = source?.isDescending == true
    let isInOrder = !isDescending && (known.last ?? -1) < (found.first ?? 0)
    return isInOrder ? known + found : (known + found).sorted(by: isDescending ? (>) : (<))
  }

  /// Shows other rows. The cursor follows its record to its place among them; while that is not there it is on no row, and once all are
  /// there, on the next one.
  private mutating func put(_ ranks: [Int], isWhole: Bool, in session: inout Session) {
    let behind = list.selection - storedCount
    let staged = wanted?.staged ?? (wanted == nil && storedCount > 0 && behind >= 0 ? behind : nil)
    let rank = selectedRank
    let wanted = wanted
    self.ranks = ranks
    if let staged, isWhole || wanted == nil {
      (list.selection, self.wanted) = (ranks.count + staged, nil)
    } else if staged == nil, let rank, let position = ranks.firstIndex(of: rank) {
      (list.selection, self.wanted) = (position, nil)
    } else if isWhole, let wanted {
      self.wanted = nil
      let isDescending = source?.isDescending == true
      let next = ranks.firstIndex { isDescending ? $0 < wanted.rank : $0 > wanted.rank } ?? ranks.count - 1
      list.selection = max(0, source?.sort.isEmpty == false ? min(wanted.position, ranks.count - 1) : next)
      guard let entry = wanted.entry else { return }
      session.say("\(entry.identifier) is not among these rows any more; the selection is on its successor")
    }
  }

  /// A scan that was cancelled: the rows found so far stay.
  mutating func cancelled(_ slot: WorkSlot, in session: inout Session) { stopScan() }

  private mutating func stopScan() {
    scan?.isRunning = false
    renewal?.isWhole = true
    wanted = nil
  }

  mutating func failed(_ error: ModelError, of slot: WorkSlot, in session: inout Session) {
    stopScan()
    if [.table, .rows, .rowsAhead].contains(slot) {
      problem = error.description
    } else {
      session.complain(error)
    }
  }
}
