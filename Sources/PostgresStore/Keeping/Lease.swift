import Dispatch
import Locks
package import StorageEngine

/// Long work that one program does for all: warm-up, building an index. The others see that it is being done, by whom, and how far it is.
///
/// A row with a heartbeat. A lease whose holder has been silent for ten seconds, by the server's clock, is taken over; a transaction that
/// requires a lease finds out in its flush, before anything is written, that it belongs to somebody else.
package final class Lease: Sendable {
  let claim: Claim
  private let store: ServerStore
  private let state: Mutex<State>
  // Dispatch sources may be used from any thread; their protocol does not say so.
  private nonisolated(unsafe) let timer: any DispatchSourceTimer

  /// What proves that a lease is held.
  struct Claim: Hashable, Sendable {
    var what: String
    var holder: [UInt8]
  }

  /// Who holds a lease.
  package struct Holder: Hashable, Sendable {
    package var what: String
    package var program: String
    /// Nanoseconds since 1970, by the server's clock.
    package var since: Int64
    /// What the holder says of how far it is.
    package var progress: [UInt8]
  }

  private struct State {
    var progress: [UInt8] = []
    var isLost = false
  }

  /// A lease is taken over when its holder has been silent for so long, in seconds.
  package static let silence = 10

  init(_ claim: Claim, _ store: ServerStore) {
    self.claim = claim
    self.store = store
    state = Mutex(State())
    timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "strata.lease"))
    timer.schedule(deadline: .now() + .seconds(1), repeating: .seconds(1))
    timer.setEventHandler { [weak self] in _ = try? self?.beat() }
    timer.resume()
  }

  deinit {
    timer.cancel()
    try? release()
  }

  /// Says how far the work is; others read it with the next heartbeat, or at once where `isDueNow`.
  package func tell(_ progress: [UInt8], isDueNow: Bool = false) throws(StorageError) {
    state.withLock { $0.progress = progress }
    if isDueNow { try beat() }
  }

  /// Says that the holder is there; false where somebody else holds the lease by now.
  @discardableResult
  package func beat() throws(StorageError) -> Bool {
    let progress = state.withLock { $0.progress }
    let rows = try store.pool.read([
      store.tables.statement(
        """
        update {lease} set heartbeat = current_timestamp, progress = $3
        where what = $1 and holder = $2 and \(store.tables.boundsWaiting)
        """,
        [.text(claim.what), .bytes(claim.holder), .bytes(progress)])
    ])
    if rows[0].changed == 0 { state.withLock { $0.isLost = true } }
    return rows[0].changed == 1
  }

  /// Whether somebody else was seen to hold it.
  package var isLost: Bool { state.withLock { $0.isLost } }

  /// Gives the lease back.
  package func release() throws(StorageError) {
    timer.cancel()
    _ = try store.pool.read([
      store.tables.statement(
        "delete from {lease} where what = $1 and holder = $2 and \(store.tables.boundsWaiting)",
        [.text(claim.what), .bytes(claim.holder)])
    ])
  }
}

extension ServerStore {
  /// Takes a lease; nil where another program holds it. One round trip.
  package func take(_ what: String) throws(StorageError) -> Lease? {
    try requireWritable()
    let claim = Lease.Claim(what: what, holder: CommitToken.random().bytes)
    // It may run twice, and then finds itself the holder.
    let rows = try pool.read([
      tables.statement(
        """
        insert into {lease} as l (what, holder, program, since, heartbeat, progress)
        select $1, $2, $3, current_timestamp, current_timestamp, ''::bytea where \(tables.boundsWaiting)
        on conflict (what) do update set holder = excluded.holder, program = excluded.program, since = excluded.since,
          heartbeat = excluded.heartbeat, progress = excluded.progress
        where l.heartbeat < current_timestamp - interval '\(Lease.silence) seconds' or l.holder = excluded.holder
        """, [.text(what), .bytes(claim.holder), .text(options.program)])
    ])
    return rows[0].changed == 1 ? Lease(claim, self) : nil
  }

  /// The leases that are held, by anybody whose heart beats.
  package func leases() throws(StorageError) -> [Lease.Holder] {
    let rows = try pool.read([
      tables.statement(
        """
        select l.what, l.program, (extract(epoch from l.since) * 1000000)::bigint, l.progress from {lease} l
        where l.heartbeat >= current_timestamp - interval '\(Lease.silence) seconds' order by l.since, l.what
        """)
    ])
    return (0..<rows[0].count).map { row in
      Lease.Holder(
        what: rows[0].text(row, 0), program: rows[0].text(row, 1), since: rows[0].int(row, 2) * 1000,
        progress: rows[0].bytes(row, 3) ?? [])
    }
  }
}
