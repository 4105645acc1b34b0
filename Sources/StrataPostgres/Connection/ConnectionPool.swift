import StrataLocks
import StrataEngine

/// The connections of one store: an exchange takes one that is idle, or a new one.
final class ConnectionPool: Sendable {
  let url: ServerURL
  private let options: ServerOptions
  let roundTrips = SharedCount()
  private let idle = Mutex<[Connection]>([])
  /// The number of connections that are kept open for the next exchanges.
  private static let mostIdle = 8

  init(_ url: ServerURL, _ options: ServerOptions) {
    self.url = url
    self.options = options
  }

  /// Makes a connection, or throws at once.
  func connect() throws(StorageError) -> Connection {
    try Connection(url, program: options.program, roundTrips: roundTrips)
  }

  /// Makes a connection. Waits for a server that is gone, if reads do so; does not wait for one that refuses the connection.
  func open(until deadline: Int64? = nil) throws(StorageError) -> Connection {
    let deadline = deadline ?? self.deadline
    var isTold = false
    while true {
      do throws(StorageError) {
        return try connect()
      } catch {
        guard error.isWorthWaiting, monotonicClock() < deadline,
          !Connection.isRefused(url, program: options.program)
        else { throw error }
        if !isTold { options.notice("\(error); the server is waited for") }
        isTold = true
        rest(milliseconds: 100)
      }
    }
  }

  private var deadline: Int64 {
    monotonicClock() + (options.waitsToRead && !ReadPatience.isNone ? Int64(options.patience * 1_000_000_000) : 0)
  }

  /// Runs statements that may run twice, such as those that only read: if a connection turns out to be gone, another one runs them.
  func read(_ statements: [Statement]) throws(StorageError) -> [Rows] {
    let deadline = deadline
    while true {
      let known = popIdle()
      let connection = if let known { known } else { try open(until: deadline) }
      do throws(StorageError) {
        let rows = try connection.exchange(statements)
        keep(connection)
        return rows
      } catch {
        keep(connection)
        guard connection.isLost, known != nil || monotonicClock() < deadline else { throw error }
      }
    }
  }

  func read(_ statement: Statement) throws(StorageError) -> Rows { try read([statement])[0] }

  /// Sends statements that only read, without waiting for their answers; returns nil if no idle connection could send them.
  func ask(_ statements: [Statement]) -> (connection: Connection, expected: [Connection.Expected])? {
    guard let connection = popIdle(), let expected = try? connection.begin(statements) else { return nil }
    return (connection, expected)
  }

  /// Calls `body` with a connection of its own for the time. Nothing is tried again.
  func with<R>(_ body: (Connection) throws(StorageError) -> R) throws(StorageError) -> R {
    let connection = if let known = popIdle() { known } else { try open() }
    defer { keep(connection) }
    return try body(connection)
  }

  /// Runs statements as one transaction: all of them, or none. Nothing is tried again.
  @discardableResult
  func inTransaction(_ statements: [Statement]) throws(StorageError) -> [Rows] {
    try with { connection throws(StorageError) in
      try connection.inTransaction { () throws(StorageError) in try connection.exchange(statements) }
    }
  }

  private func popIdle() -> Connection? { idle.withLock { $0.popLast() } }

  func keep(_ connection: Connection) {
    guard !connection.isLost else { return }
    idle.withLock { if $0.count < Self.mostIdle { $0.append(connection) } }
  }

  func close() { idle.withLock { $0.removeAll() } }
}

/// A number that several threads count.
final class SharedCount: Sendable {
  private let number = Atomic(0)

  var value: Int { number.load(ordering: .acquiring) }

  func add(_ count: Int) { number.add(count, ordering: .acquiringAndReleasing) }
}

/// Whether an answer was slow lately, so that callers do not wait for the next ones.
final class Slowness: Sendable {
  private let left = Atomic(0)

  /// Large enough that callers seldom wait for a server that always takes longer, and small enough that one slow reply by chance costs
  /// little.
  private static let countAfterSlow = 16

  func recordSlowCall() { left.store(Self.countAfterSlow, ordering: .relaxed) }

  /// Whether the caller must not wait for the next one.
  func consume() -> Bool {
    guard left.load(ordering: .relaxed) > 0 else { return false }
    left.subtract(1, ordering: .relaxed)
    return true
  }
}
