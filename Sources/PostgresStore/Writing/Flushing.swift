import StorageEngine

/// A flush that is under way.
struct SentFlush: Sendable {
  fileprivate let flush: Flush
  fileprivate let statements: Flush.Statements
  fileprivate let connection: Connection
  /// A failure here is no failure of the flush: all of it may have arrived.
  fileprivate let expected: Result<[Connection.Expected], StorageError>

  /// Whether its answer comes within a millisecond. For who has sent it.
  func isAnswered() -> Bool { connection.isAnswered() }
}

/// Sends flushes and finds out what became of them, also where the connection is lost on the way.
///
/// Used by one thread at a time.
final class Flushing: @unchecked Sendable {
  // `@unchecked`: its owner has one thread at a time call it.
  private let pool: ConnectionPool
  private let tables: Tables
  private let options: ServerOptions
  private var connection: Connection?
  private var lastNotification: Int64 = 0
  private var owesNotification = false
  /// Whether the last transaction failed: its locks are gone, and the next exchange says so.
  private var owesRollback = false

  init(_ pool: ConnectionPool, _ tables: Tables, _ options: ServerOptions) {
    self.pool = pool
    self.tables = tables
    self.options = options
  }

  /// Commits some transactions, which have nothing to do with each other; what became of each.
  ///
  /// - Parameter sent: what `send` answered for them.
  func run(_ drafts: [CommitDraft], for store: ServerStore, sent: SentFlush? = nil) -> [CommitQueue.Outcome] {
    do throws(StorageError) {
      let commits = try flush(drafts, for: store, sent: sent)
      owesNotification = true
      return commits.map { .success($0) }
    } catch {
      // One that fails must not take others with it, where it is not the server that fails.
      if drafts.count > 1, !isOfServer(error) {
        return drafts.map { run([$0], for: store)[0] }
      }
      return drafts.map { _ in .failure(error) }
    }
  }

  /// Sends the flush of a transaction without waiting for its answer; nil where more than that is to be done.
  func send(_ draft: CommitDraft, for store: ServerStore) -> SentFlush? {
    guard !owesRollback, let connection, !connection.isLost else { return nil }
    let flush = flush([draft], for: store)
    guard flush.copiedTrees.isEmpty, let statements = try? flush.statements() else { return nil }
    let expected = Result { () throws(StorageError) in try connection.begin(statements.all) }
    return SentFlush(flush: flush, statements: statements, connection: connection, expected: expected)
  }

  private func flush(_ drafts: [CommitDraft], for store: ServerStore) -> Flush {
    Flush(
      tables: tables, drafts: drafts, token: .random(), options: options,
      clocks: drafts.map { $0.info.clock ?? $0.info.date ?? wallClock() }, catalog: store.knownCatalog)
  }

  /// - Parameter sent: what was sent of it already.
  private func flush(
    _ drafts: [CommitDraft], for store: ServerStore, sent begun: SentFlush?
  ) throws(StorageError) -> [ServerCommit] {
    let deadline = monotonicClock() + Int64(options.patience * 1_000_000_000)
    var repeats = 0
    var begun = begun
    while true {
      let under = begun.take()
      let flush = under?.flush ?? flush(drafts, for: store)
      let copies = !flush.copiedTrees.isEmpty
      let statements: Flush.Statements
      if let under { statements = under.statements } else { statements = try flush.statements(isBegun: copies) }
      var sent = statements
      let connection: Connection
      do throws(StorageError) {
        if let under { connection = under.connection } else { connection = try connected() }
      } catch {
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
        let answers: [Rows]
        if let under {
          answers = try connection.receive(under.expected.get())
        } else {
          answers = try exchange(statements.all, over: connection)
        }
        return try take(answers, statements, flush, store)
      } catch {
        owesRollback = true
        if connection.isLost {
          if try claim(flush.token, after: error, until: deadline) {
            return try committed(flush.token, drafts.count, store)
          }
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
          // What was not there when it was looked for is there.
          "23505" where sent.writes.contains(refusal.statement) && ["", "current"].contains(refusal.table):
          throw .conflict(collisions(of: drafts))
        case "40003":
          if try claim(flush.token, after: error, until: deadline) {
            return try committed(flush.token, drafts.count, store)
          }
        case "40001", "40P01":
          // Engines that find conflicts by themselves: ours is found by the checks, so the flush is made again.
          repeats += 1
          guard repeats < 16 else { throw .conflict(TransactionConflict(asOf: drafts[0].asOf, places: [])) }
        case SQLError.held: throw refusal.heldRow(by: holder(of: refusal))
        default: throw error
        }
      }
    }
  }

  /// Whether an error tells of the server, and not of what was asked of it.
  private func isOfServer(_ error: StorageError) -> Bool {
    switch error {
    case .server(.unreachable, _), .server(.outcomeUnknown, _), .readOnly: true
    default: [SQLError.full, SQLError.held].contains(connection?.refusal?.state ?? "")
    }
  }

  /// The session that holds a row, for people; nil where none is found.
  private func holder(of refusal: SQLError) -> String? {
    guard let table = refusal.heldTable else { return nil }
    let rows = try? pool.read([
      tables.statement(
        """
        select a.pid::text || coalesce(' of ' || a.usename::text, '') || coalesce(' (' || nullif(a.application_name, '') || ')', '')
        from pg_catalog.pg_locks l join pg_catalog.pg_stat_activity a on a.pid = l.pid
        where l.relation = $1::text::regclass and l.granted and l.mode not in ('AccessShareLock')
          and coalesce(a.wait_event_type, '') <> 'Lock' order by a.xact_start limit 1
        """, [.text(tables.sql("{\(table)}"))])
    ])[0]
    return rows.flatMap { $0.count > 0 ? $0.text(0, 0) : nil }
  }

  private func connected() throws(StorageError) -> Connection {
    if let connection, !connection.isLost { return connection }
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

  private func take(
    _ answers: [Rows], _ statements: Flush.Statements, _ flush: Flush, _ store: ServerStore
  ) throws(StorageError) -> [ServerCommit] {
    let rows = answers[statements.commits]
    let commits = try flush.commits(rows, origin: store.origin)
    guard let last = commits.last else { return [] }
    if let trees = statements.trees {
      store.take(head: last, newest: last.number, trees: answers[trees], since: flush.catalog.upTo)
    } else {
      store.take(head: last, newest: last.number, treesChangedAt: rows.number(0, 3))
    }
    return commits
  }

  // MARK: After a lost connection

  /// Finds out whether a flush of which the end was not heard is committed; where it is not, it never will be.
  ///
  /// The token is not looked up, for the flush may still be under way: it is taken. That waits for the one under way and sees it, or wins,
  /// and makes a late one fail.
  private func claim(
    _ token: CommitToken, after loss: StorageError, until deadline: Int64
  ) throws(StorageError) -> Bool {
    connection = nil
    while true {
      do throws(StorageError) {
        let connection = try connected()
        let answers = try connection.exchange([
          tables.statement(
            """
            insert into {token} (token, number, count, at) values ($1, null, 0, current_timestamp)
            on conflict (token) do nothing
            """, [.bytes(token.bytes)]),
          tables.statement("select t.number from {token} t where t.token = $1", [.bytes(token.bytes)]),
        ])
        guard answers[1].count == 1 else { throw .damagedOnServer("a token that was written is missing") }
        let isCommitted = !answers[1].isNull(0, 0)
        // Written after it, and answered when it is durable, so that a standby that has this has the commit too.
        if isCommitted {
          try connection.exchange([
            tables.statement("update {token} set at = current_timestamp where token = $1", [.bytes(token.bytes)])
          ])
        }
        return isCommitted
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

  /// The commits of a flush that turned out to be there.
  private func committed(
    _ token: CommitToken, _ count: Int, _ store: ServerStore
  ) throws(StorageError) -> [ServerCommit] {
    let rows = try pool.read([
      tables.statement(
        """
        select \(tables.commitColumns) from {token} t join {commit} c
          on c.number > t.number - t.count and c.number <= t.number
        where t.token = $1 order by c.number
        """, [.bytes(token.bytes)])
    ])
    guard rows[0].count == count else { throw .damagedOnServer("the commits of a token are missing") }
    let commits = (0..<count).map { ServerCommit(rows[0], $0) }
    _ = try? store.refreshed()
    return commits
  }

  // MARK: Conflicts

  /// What collided: some of it, for people.
  private func collisions(of drafts: [CommitDraft]) -> TransactionConflict {
    var conflict = TransactionConflict(asOf: drafts[0].asOf, places: [])
    // Nobody hears of what was only presumed.
    guard drafts.count == 1, drafts[0].keysPresumed.isEmpty else { return conflict }
    let draft = drafts[0]
    let since = Int64(bitPattern: draft.asOf)
    var statements: [Statement] = []
    let keys = Array(draft.keysRead)
    statements.append(
      tables.statement(
        "select t.name, r.key from (select r.tree, r.key from \(Flush.changedKeys { "$\($0)" }) limit 4) r join {tree} t on t.tree = r.tree and t.died = \(Tables.never)",
        [
          .int32s(keys.map(\.tree)), .byteArrays(keys.map(\.key)), .ints(keys.map { _ in since }),
        ]))
    statements.append(
      tables.statement(
        """
        select t.name, h.key from unnest($1::integer[], $2::bytea[], $3::bytea[], $4::bigint[]) as r (tree, lower, upper, since)
          join {tree} t on t.tree = r.tree and t.died = \(Tables.never), lateral (
            select h.key from {history} h where h.tree = r.tree and h.died > r.since
              and \(Tables.unindexed("h")) >= r.lower and \(Tables.unindexed("h")) < r.upper
            union select c.key from {current} c
            where c.tree = r.tree and \(Tables.isInserted("c", after: "r.since")) and \(Tables.unindexed("c")) >= r.lower
              and \(Tables.unindexed("c")) < r.upper limit 4) h limit 4
        """,
        [
          .int32s(draft.rangesRead.map(\.tree)), .byteArrays(draft.rangesRead.map(\.keys.lower)),
          .byteArrays(draft.rangesRead.map { $0.keys.upper ?? KeyRange.beyond }),
          .ints(draft.rangesRead.map { _ in since }),
        ]))
    let names = Array(draft.treesRead)
    statements.append(
      tables.statement(
        "select distinct r.name, null::bytea from \(Flush.changedTrees { "$\($0)" }) limit 4",
        [.byteArrays(names.map(\.bytes)), .ints(names.map { _ in since })]))
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

  /// Whether there is something to do when nobody waits.
  var isOwing: Bool { connection?.isLost == false && (owesRollback || isNotificationDue) }

  /// Ends a transaction that failed, and tells those that follow the store, at most ten times a second, and outside of every commit's
  /// transaction: inside, a notification would take a lock of the whole server.
  func settle() {
    guard isOwing, let connection else { return }
    guard isNotificationDue else {
      _ = try? exchange([], over: connection, isCounted: false)
      return
    }
    lastNotification = monotonicClock()
    owesNotification = false
    _ = try? exchange([Statement("notify \(tables.channel)")], over: connection, isCounted: false)
  }
}

extension Tables {
  /// The channel by which processes hear of commits.
  var channel: String { Self.quoted("strata " + String(schema.prefix(40))) }
}
