import StrataEngine

struct SentFlush: Sendable {
  fileprivate let flush: Flush
  fileprivate let statements: Flush.Statements
  fileprivate let connection: Connection
  /// If sending failed, the flush may still have succeeded: all of it may have arrived.
  fileprivate let expected: Result<[Connection.Expected], StorageError>

  /// Whether its answer comes within a millisecond. For the thread that has sent it.
  func isAnswered() -> Bool { connection.isAnswered() }
}

/// Sends flushes and finds out their outcome, even if the connection is lost on the way.
///
/// One thread at a time uses it.
final class FlushWorker: @unchecked Sendable {
  // `@unchecked`: its owner has one thread at a time call it.
  private let pool: ConnectionPool
  private let tables: Tables
  private let options: ServerOptions
  private var connection: Connection?
  /// Whether a transaction was begun over its connection: what was done in it, such as taking numbers for trees, is lost with it.
  private let isBegun: Bool
  private var lastNotification: Int64 = 0
  private var owesNotification = false
  /// Whether the last transaction failed: its locks are released, and the next exchange ends it.
  private var owesRollback = false

  init(_ pool: ConnectionPool, _ tables: Tables, _ options: ServerOptions, over connection: Connection? = nil) {
    self.pool = pool
    self.tables = tables
    self.options = options
    self.connection = connection
    isBegun = connection != nil
  }

  /// Commits some transactions that are independent of each other; returns the outcome of each.
  ///
  /// - Parameter sent: The flush that `send` returned for them.
  func run(_ drafts: [CommitDraft], for store: ServerStore, sent: SentFlush? = nil) -> [ServerCommitQueue.Outcome] {
    do throws(StorageError) {
      let commits = try flush(drafts, for: store, sent: sent)
      owesNotification = true
      for (draft, commit) in zip(drafts, commits) { draft.appended(commit.number) }
      return commits.map { .success($0) }
    } catch {
      // One that fails must not take others with it, unless it is the server that fails.
      if drafts.count > 1, !isOfServer(error) {
        return drafts.map { run([$0], for: store)[0] }
      }
      return drafts.map { _ in .failure(error) }
    }
  }

  /// Sends the flush of a transaction without waiting for its answer; returns nil if the flush needs more than that.
  func send(_ draft: CommitDraft, for store: ServerStore) -> SentFlush? {
    guard !owesRollback, let connection, !connection.isLost else { return nil }
    let flush = flush([draft], for: store)
    guard flush.copiedTrees.isEmpty, let statements = try? flush.statements() else { return nil }
    let expected = Result { () throws(StorageError) in try connection.begin(statements.all) }
    return SentFlush(flush: flush, statements: statements, connection: connection, expected: expected)
  }

  private func flush(_ drafts: [CommitDraft], for store: ServerStore) -> Flush {
    Flush(
      tables: tables, drafts: drafts, token: .token(), options: options,
      clocks: drafts.map { $0.info.clock ?? $0.info.date ?? wallClock() }, catalog: store.knownCatalog)
  }

  /// - Parameter sent: The part of it that was sent already.
  private func flush(
    _ drafts: [CommitDraft], for store: ServerStore, sent begun: SentFlush?
  ) throws(StorageError) -> [ServerCommit] {
    let deadline = monotonicClock() + Int64(options.patience * 1_000_000_000)
    let conflict = StorageError.conflict(TransactionConflict(asOf: drafts[0].asOf, places: []))
    var repeats = 0
    var begun = begun
    while true {
      let under = begun.take()
      let flush = under?.flush ?? flush(drafts, for: store)
      let copies = !flush.copiedTrees.isEmpty
      let statements = if let under { under.statements } else { try flush.statements(isBegun: copies) }
      var sent = statements
      let connection: Connection
      do throws(StorageError) {
        if let under { connection = under.connection } else { connection = try connected() }
      } catch {
        if isBegun { throw conflict }
        guard monotonicClock() < deadline, error.isWorthWaiting else { throw error }
        rest(milliseconds: 100)
        continue
      }
      do throws(StorageError) {
        if copies {
          sent = flush.beginning()
          let number = try exchange(sent.all, over: connection)[sent.take].number(0, 0)
          try flush.copy(over: connection, number: number)
          sent = statements
        }
        let answers =
          if let under { try connection.receive(under.expected.get()) } else {
            try exchange(statements.all, over: connection)
          }
        let rows = answers[statements.commits]
        let commits = try flush.commits(rows)
        guard let last = commits.last else { return [] }
        let trees = statements.trees.map { (rows: answers[$0], since: flush.catalog.upTo) }
        try store.update(head: last, newest: last.number, oldest: nil, trees: trees, changedAt: rows.number(0, 1))
        return commits
      } catch {
        owesRollback = true
        // 40003: the server itself does not know how it ended.
        if connection.isLost || connection.refusal?.state == "40003" {
          if let commits = try claim(flush.token, of: drafts.count, after: error, until: deadline) {
            _ = try? store.refreshed()
            return commits
          }
          if isBegun { throw conflict }
          guard monotonicClock() < deadline else { throw error }
          continue
        }
        guard var refusal = connection.refusal else { throw error }
        if refusal.statement == sent.take, refusal.heldTable == nil { refusal.context = "\"store\"" }
        switch refusal.state {
        case "22012" where sent.lease == refusal.statement:
          throw .refused(
            "“\(drafts.compactMap(\.lease).first?.what ?? "")” was taken over by another program meanwhile; nothing was written"
          )
        case "22012" where sent.checks.contains(refusal.statement),
          // A key or a row that was absent at the look-up is there now.
          "23505" where sent.writes.contains(refusal.statement) && ["", "current"].contains(refusal.table):
          throw .conflict(collisions(of: drafts))
        case "40001", "40P01":
          // Some servers find conflicts by themselves: the checks find ours, so the flush is made again.
          repeats += 1
          guard repeats < 16, !isBegun else { throw conflict }
        case SQLError.held: throw refusal.heldRow(by: holder(of: refusal))
        default: throw error
        }
      }
    }
  }

  /// Whether an error concerns the server, and not the statements that were sent.
  private func isOfServer(_ error: StorageError) -> Bool {
    switch error {
    case .server(.unreachable, _), .server(.outcomeUnknown, _), .readOnly: true
    default: [SQLError.full, SQLError.held].contains(connection?.refusal?.state ?? "")
    }
  }

  /// A description of the session that holds a row; nil if none is found.
  private func holder(of refusal: SQLError) -> String? {
    guard let table = refusal.heldTable else { return nil }
    let rows = try? pool.read(
      tables.statement(
        """
        select a.pid::text || coalesce(' of ' || a.usename::text, '') || coalesce(' (' || nullif(a.application_name, '') || ')', '')
        from pg_catalog.pg_locks l join pg_catalog.pg_stat_activity a on a.pid = l.pid
        where l.relation = $1::text::regclass and l.granted and l.mode not in ('AccessShareLock')
          and coalesce(a.wait_event_type, '') <> 'Lock' order by a.xact_start limit 1
        """, [.text(tables.sql("{\(table)}"))]))
    return rows.flatMap { $0.count > 0 ? $0.text(0, 0) : nil }
  }

  func read(_ statement: Statement) throws(StorageError) -> Rows { try connected().exchange(statement) }

  private func connected() throws(StorageError) -> Connection {
    if let connection {
      if !connection.isLost { return connection }
      if isBegun { throw .lostConnection(to: pool.url, "it was lost before") }
    }
    let new = try pool.connect()
    connection = new
    owesRollback = false
    return new
  }

  private func exchange(
    _ statements: [Statement], over connection: Connection, isCounted: Bool = true
  ) throws(StorageError) -> [Rows] {
    guard owesRollback else { return try connection.exchange(statements, isCounted: isCounted) }
    do throws(StorageError) {
      let rows = try connection.exchange([Statement("rollback", name: "rollback")] + statements, isCounted: isCounted)
      owesRollback = false
      return Array(rows.dropFirst())
    } catch {
      connection.refusal?.statement -= 1
      throw error
    }
  }

  // MARK: After a lost connection

  /// Finds out whether a flush that ended without an answer is committed, and returns its commits; if it is not, it never will be.
  ///
  /// The token is not looked up, for the flush may still be under way: it is taken. The insertion waits for a flush that is under way and
  /// sees its row, or it comes first and makes a late flush fail.
  private func claim(
    _ token: [UInt8], of count: Int, after loss: StorageError, until deadline: Int64
  ) throws(StorageError) -> [ServerCommit]? {
    connection = nil
    while true {
      do throws(StorageError) {
        let connection = try connected()
        let answers = try connection.exchange([
          tables.statement(
            """
            insert into {token} (token, number, count, at) values ($1, null, 0, current_timestamp)
            on conflict (token) do nothing
            """, [.bytes(token)]),
          tables.statement("select t.number from {token} t where t.token = $1", [.bytes(token)]),
          tables.statement(
            """
            select \(tables.commitColumns) from {token} t join {commit} c
              on c.number > t.number - t.count and c.number <= t.number
            where t.token = $1 order by c.number
            """, [.bytes(token)]),
        ])
        guard answers[1].count == 1 else { throw .damagedOnServer("a token that was written is missing") }
        if answers[1].isNull(0, 0) { return nil }
        guard answers[2].count == count else { throw .damagedOnServer("the commits of a token are missing") }
        // Written after it, and answered when durable, so that a standby that has this has the commit too.
        try connection.exchange(
          tables.statement("update {token} set at = current_timestamp where token = $1", [.bytes(token)]))
        return try answers[2].commits()
      } catch {
        guard error.isWorthWaiting, monotonicClock() < deadline else {
          throw .server(
            .outcomeUnknown,
            reason:
              "the connection was lost during a commit and the server did not come back (\(error.isWorthWaiting ? loss : error)); "
              + "whether the commit is kept is found out when it can be reached again")
        }
        connection = nil
        rest(milliseconds: 100)
      }
    }
  }

  // MARK: Conflicts

  /// Some of the places that collided, for the error message.
  private func collisions(of drafts: [CommitDraft]) -> TransactionConflict {
    var conflict = TransactionConflict(asOf: drafts[0].asOf, places: [])
    // The caller repeats the call after a wrong presumption and shows no places.
    guard drafts.count == 1, drafts[0].keysPresumed.isEmpty else { return conflict }
    let statements = Flush.changes(of: drafts, keys: \.keysRead).map { changed in
      tables.statement(
        "select distinct t.name, r.key from (\(changed.text { "$\($0)" }) limit 4) r join {tree} t on t.tree = r.tree",
        changed.parameters)
    }
    guard let answers = try? pool.read(statements) else { return conflict }
    for rows in answers {
      for row in 0..<rows.count {
        let name = TreeName(rows.bytes(row, 0) ?? [])
        conflict.places.append(TransactionConflict.Place(tree: name, key: rows.bytes(row, 1)))
      }
    }
    return conflict
  }

  // MARK: Following

  private var isNotificationDue: Bool { owesNotification && monotonicClock() - lastNotification > 100_000_000 }

  /// Whether there is work to do while no caller waits.
  var isOwing: Bool { connection?.isLost == false && (owesRollback || isNotificationDue) }

  /// Ends a transaction that failed, and notifies the followers of the store, at most ten times a second and outside of every commit's
  /// transaction: inside, a notification would take a lock of the whole server.
  func endFailedTransaction() {
    guard isOwing, let connection else { return }
    let isDue = isNotificationDue
    if isDue { (lastNotification, owesNotification) = (monotonicClock(), false) }
    let statements = isDue ? [Statement("notify \(tables.channel)")] : []
    _ = try? exchange(statements, over: connection, isCounted: false)
  }
}

extension Tables {
  /// The channel that notifies processes of commits.
  var channel: String { Self.quoted("strata " + String(schema.prefix(40))) }
}
