import Dispatch
import Locks

/// Calls back after each commit of any process until it is let go, and where what somebody is busy with has changed; several may be told as
/// one.
///
/// The newest number and the heartbeats of those at work are asked for every second, and at once where the server passes on a notification. A
/// server that is gone is asked again until it is back.
package final class ServerFollowing: Sendable {
  init(_ store: ServerStore, _ change: @escaping @Sendable () -> Void) {
    let isOver = IsOver()
    flag = isOver
    // The thread waits most of its life, so it is none of a pool.
    let thread = DispatchQueue(label: "strata.following")
    let pool = store.pool
    let tables = store.tables
    let known = store.head.asOf
    thread.async { Self.work(pool, tables, known, isOver, change) }
  }

  private let flag: IsOver

  private final class IsOver: Sendable {
    let value = Atomic<Bool>(false)
  }

  deinit { flag.value.store(true, ordering: .relaxed) }

  private static func work(
    _ pool: ConnectionPool, _ tables: Tables, _ known: UInt64, _ isOver: IsOver, _ change: @Sendable () -> Void
  ) {
    var known = (newest: known, work: Int64(0))
    var connection: Connection?
    while !isOver.value.load(ordering: .relaxed) {
      do {
        let open = try connection ?? listening(pool, tables)
        connection = open
        let rows = try open.exchange([
          tables.statement(
            "newest",
            """
            select s.newest, coalesce((
              select sum((extract(epoch from l.heartbeat) * 1000000)::bigint)::bigint from {lease} l
              where l.progress <> ''::bytea
                and l.heartbeat >= current_timestamp - interval '\(Lease.silence) seconds'), 0)
            from {store} s where s.one
            """, [])
        ])[0]
        let now = (newest: rows.number(0, 0), work: rows.int(0, 1))
        if now != known {
          known = now
          change()
        }
        _ = try open.waitForNotification(milliseconds: 1_000)
      } catch {
        connection = nil
        Clock.sleep(milliseconds: 500)
      }
    }
  }

  private static func listening(_ pool: ConnectionPool, _ tables: Tables) throws(ServerError) -> Connection {
    let connection = try pool.open()
    // A pooler that hands connections on after each transaction passes nothing on: then it is asking alone.
    do throws(ServerError) {
      try connection.exchange([Statement("listen \(tables.channel)")])
    } catch {
      if connection.isLost { throw error }
    }
    return connection
  }
}

extension ServerStore {
  /// Calls `change` from another thread after each commit, of any process, until the answer is let go.
  package func follow(_ change: @escaping @Sendable () -> Void) -> ServerFollowing { ServerFollowing(self, change) }
}
