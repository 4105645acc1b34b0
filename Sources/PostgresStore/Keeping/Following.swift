import Dispatch
import Locks
import StorageEngine

/// Calls back after each commit of any process until it is let go, and where what somebody is busy with has changed; several may be told as
/// one.
///
/// The newest number and the heartbeats of those at work are asked for every second, and at once where the server passes on a notification. A
/// server that is gone is asked again until it is back; both are told.
package final class ServerFollowing: Sendable {
  init(_ store: ServerStore, _ change: @escaping @Sendable () -> Void) {
    let isOver = IsOver()
    flag = isOver
    // The thread waits most of its life, so it is none of a pool.
    let thread = DispatchQueue(label: "strata.following")
    let pool = store.pool
    let tables = store.tables
    let known = store.newest.asOf
    let absence = store.absence
    thread.async { Self.work(pool, tables, known, absence, isOver, change) }
  }

  private let flag: IsOver

  private final class IsOver: Sendable {
    let value = Atomic<Bool>(false)
  }

  deinit { flag.value.store(true, ordering: .relaxed) }

  private static func work(
    _ pool: ConnectionPool, _ tables: Tables, _ known: UInt64, _ absence: Absence, _ isOver: IsOver,
    _ change: @Sendable () -> Void
  ) {
    var contact = Contact.made
    defer { if contact != .made { absence.end() } }
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
        let isBack = contact != .made
        if isBack {
          contact = .made
          absence.end()
        }
        if now != known || isBack {
          known = now
          change()
        }
        _ = try open.waitForNotification(milliseconds: 1_000)
      } catch {
        // One that ends may be that one alone: it is told again where none can be had.
        let loss = connection == nil ? Contact.none : .lost
        connection = nil
        if contact == .made { absence.begin() }
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
    /// The connection has ended, and no other has been tried.
    case lost
    /// There is none to be had.
    case none
  }

  private static func listening(_ pool: ConnectionPool, _ tables: Tables) throws(StorageError) -> Connection {
    let connection = try pool.connect()
    // A pooler that hands connections on after each transaction passes nothing on: then it is asking alone.
    do throws(StorageError) {
      try connection.exchange([Statement("listen \(tables.channel)")])
    } catch {
      if connection.isLost { throw error }
    }
    return connection
  }
}

/// How many of those who follow a store have lost the server.
final class Absence: Sendable {
  private let count = Atomic(0)

  var isAway: Bool { count.load(ordering: .acquiring) > 0 }
  func begin() { count.add(1, ordering: .acquiringAndReleasing) }
  func end() { count.subtract(1, ordering: .acquiringAndReleasing) }
}
