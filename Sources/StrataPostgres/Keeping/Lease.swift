import Dispatch
import StrataLocks
package import StrataEngine

/// Long work that one program does for all: warm-up, building an index. The others see that it runs, in which program, and its progress.
///
/// A row with a heartbeat. If the holder of a lease has been silent for ten seconds, by the server's clock, another program takes it over.
/// A transaction that requires a lease finds out in its flush, before anything is written, that another program holds it.
package final class Lease: Sendable {
  let claim: Claim
  private let store: ServerStore
  private let progress = Mutex<[UInt8]>([])
  // Dispatch sources may be used from any thread; their protocol does not say so.
  private nonisolated(unsafe) let timer: any DispatchSourceTimer

  /// The proof that a lease is held.
  struct Claim: Hashable, Sendable {
    var what: String
    var holder: [UInt8]
  }

  /// The name of the row that holds the result of the last work.
  static let result = "result"

  /// The seconds of silence of its holder after which a lease is taken over.
  package static let silence = 10

  init(_ claim: Claim, _ store: ServerStore) {
    self.claim = claim
    self.store = store
    timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "strata.lease"))
    timer.schedule(deadline: .now() + .seconds(1), repeating: .seconds(1))
    timer.setEventHandler { [weak self] in _ = try? self?.beat() }
    timer.resume()
  }

  deinit {
    timer.cancel()
    try? release()
  }

  /// Reports the progress of the work; others read it with the next heartbeat, or at once if `isDueNow`.
  package func tell(_ progress: [UInt8], isDueNow: Bool = false) throws(StorageError) {
    self.progress.withLock { $0 = progress }
    if isDueNow { try beat() }
  }

  /// Sends a heartbeat; returns false if another program holds the lease by now.
  @discardableResult
  package func beat() throws(StorageError) -> Bool {
    let rows = try store.pool.read(
      store.tables.statement(
        """
        update {lease} set heartbeat = current_timestamp, progress = $3
        where what = $1 and holder = $2 and \(store.tables.boundsWaiting)
        """,
        [.text(claim.what), .bytes(claim.holder), .bytes(progress.withLock { $0 })]))
    return rows.changed == 1
  }

  /// Gives the lease back.
  package func release() throws(StorageError) {
    timer.cancel()
    _ = try store.pool.read(
      store.tables.statement(
        "delete from {lease} where what = $1 and holder = $2 and \(store.tables.boundsWaiting)",
        [.text(claim.what), .bytes(claim.holder)]))
  }
}

extension ServerStore {
  /// Takes a lease; returns nil if another program holds it. One round trip.
  package func acquireLease(_ what: String) throws(StorageError) -> Lease? {
    try requireWritable()
    let claim = Lease.Claim(what: what, holder: .token())
    // It may run twice, and then finds itself the holder.
    let rows = try pool.read(
      tables.statement(
        """
        insert into {lease} as l (what, holder, program, since, heartbeat, progress)
        select $1, $2, $3, current_timestamp, current_timestamp, ''::bytea where \(tables.boundsWaiting)
        on conflict (what) do update set holder = excluded.holder, program = excluded.program, since = excluded.since,
          heartbeat = excluded.heartbeat, progress = excluded.progress
        where l.heartbeat < current_timestamp - interval '\(Lease.silence) seconds' or l.holder = excluded.holder
        """, [.text(what), .bytes(claim.holder), .text(options.program)]))
    return rows.changed == 1 ? Lease(claim, self) : nil
  }

  /// Stores the result of long work instead of the result before: a lease without a holder, whose heartbeat is never current.
  func keepResult(_ bytes: [UInt8]) throws(StorageError) {
    _ = try pool.read(
      tables.statement(
        """
        insert into {lease} as l (what, holder, program, since, heartbeat, progress)
        select $1, ''::bytea, $2, current_timestamp, '-infinity'::timestamptz, $3 where \(tables.boundsWaiting)
        on conflict (what) do update set program = excluded.program, since = excluded.since, progress = excluded.progress
        """, [.text(Lease.result), .text(options.program), .bytes(bytes)]))
  }

  /// Returns the progress of the work that runs, otherwise the result of the last; nil if there is neither.
  func workInSight() throws(StorageError) -> [UInt8]? {
    let rows = try pool.read(
      tables.statement(
        """
        select l.progress from {lease} l where l.progress <> ''::bytea
          and (l.what = $1 or l.heartbeat >= current_timestamp - interval '\(Lease.silence) seconds')
        order by l.what = $1, l.since, l.what limit 1
        """, [.text(Lease.result)]))
    return rows.count == 0 ? nil : rows.bytes(0, 0)
  }
}
