import Dispatch
import StrataEngine

/// Calls back after each commit of any process and after each change of the progress of work, until it is released. One call may stand for
/// several changes.
///
/// It asks every second for the newest number and the heartbeats of work, and at once if the server passes on a notification. It goes on
/// asking a server that is gone until it is back; it calls back for both, and once if a reply takes seconds.
package final class ServerFollowing: Sendable {
  init(_ store: ServerStore, _ change: @escaping @Sendable () -> Void) {
    let (pool, tables, known, absence) = (store.pool, store.tables, store.newest.asOf, store.absence)
    // The thread waits most of its life, so it does not belong to a pool.
    DispatchQueue(label: "strata.following").async { [isOver] in
      Self.work(pool, tables, known, absence, isOver, change)
    }
  }

  private let isOver = SharedCount()

  deinit { isOver.add(1) }

  private static func work(
    _ pool: ConnectionPool, _ tables: Tables, _ known: UInt64, _ absence: SharedCount, _ isOver: SharedCount,
    _ change: @Sendable () -> Void
  ) {
    var contact = Contact.made
    defer { if contact != .made { absence.add(-1) } }
    var known = (newest: known, work: Int64(0))
    var connection: Connection?
    while isOver.value == 0 {
      do {
        let open = try connection ?? listening(pool, tables)
        connection = open
        let asked = try open.begin([
          tables.statement(
            "newest",
            """
            select s.newest, coalesce((
              select sum((extract(epoch from l.heartbeat) * 1000000)::bigint)::bigint from {lease} l
              where l.progress <> ''::bytea
                and l.heartbeat >= current_timestamp - interval '\(Lease.silence) seconds'), 0)
            from {store} s where s.one
            """, [])
        ])
        // Callers that read now wait for a server that keeps its connections and is silent, and can show it.
        if !open.isAnswered(within: 3_000) { change() }
        let rows = try open.receive(asked)[0]
        let now = (newest: rows.bits(0, 0), work: rows.int(0, 1))
        let isBack = contact != .made
        if isBack {
          contact = .made
          absence.add(-1)
        }
        if now != known || isBack {
          known = now
          change()
        }
        _ = try open.waitForNotification(milliseconds: 1_000)
      } catch {
        // Perhaps only this connection has ended: if no other can be made, it calls back again.
        let loss = connection == nil ? Contact.none : .lost
        connection = nil
        if contact == .made { absence.add(1) }
        if contact != .none, contact != loss {
          contact = loss
          change()
        }
        rest(milliseconds: 500)
      }
    }
  }

  private enum Contact {
    case made
    /// The connection has ended, and no other was tried yet.
    case lost
    /// No connection can be made.
    case none
  }

  private static func listening(_ pool: ConnectionPool, _ tables: Tables) throws(StorageError) -> Connection {
    let connection = try pool.connect()
    // A pooler that hands connections on after each transaction passes no notification on: then only asking is left.
    do throws(StorageError) {
      try connection.exchange(Statement("listen \(tables.channel)"))
    } catch {
      if connection.isLost { throw error }
    }
    return connection
  }
}
