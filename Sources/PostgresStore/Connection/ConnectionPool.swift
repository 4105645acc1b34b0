import Locks
import StorageEngine

/// The connections of one store: an exchange takes one that is idle, or a new one.
final class ConnectionPool: Sendable {
  let url: ServerURL
  private let options: ServerOptions
  let counters = RoundTrips()
  private let idle = Mutex<[Connection]>([])
  /// So many are kept open for the next.
  private static let mostIdle = 8

  init(_ url: ServerURL, _ options: ServerOptions) {
    self.url = url
    self.options = options
  }

  /// Makes a connection, or says at once why there is none.
  func connect() throws(StorageError) -> Connection {
    try Connection(url, program: options.program, counters: counters)
  }

  /// Makes a connection. A server that is gone is waited for, where reads do; one that is there and lets nobody in is not.
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
    monotonicClock() + (options.waitsToRead ? Int64(options.patience * 1_000_000_000) : 0)
  }

  /// Runs statements that may run twice, such as those that only read: where a connection turns out to be gone, they are tried on
  /// another one.
  func read(_ statements: [Statement]) throws(StorageError) -> [Rows] {
    let deadline = deadline
    while true {
      let known = takeIdle()
      let connection: Connection
      if let known { connection = known } else { connection = try open(until: deadline) }
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

  /// Sends statements that only read, without waiting for their answers; nil where no connection is idle that could.
  func ask(_ statements: [Statement]) -> (connection: Connection, expected: [Connection.Expected])? {
    guard let connection = takeIdle(), let expected = try? connection.begin(statements) else { return nil }
    return (connection, expected)
  }

  /// Calls `body` with a connection that is its own for the time. Nothing is tried again.
  func with<R>(_ body: (Connection) throws(StorageError) -> R) throws(StorageError) -> R {
    let connection: Connection
    if let known = takeIdle() { connection = known } else { connection = try open() }
    defer { keep(connection) }
    return try body(connection)
  }

  /// Runs statements as one transaction: all of them, or none. Nothing is tried again.
  @discardableResult
  func inTransaction(_ statements: [Statement]) throws(StorageError) -> [Rows] {
    try with { connection throws(StorageError) in
      do throws(StorageError) {
        return try connection.exchange([Statement("begin")] + statements + [Statement("commit")])
      } catch {
        connection.rollBack()
        throw error
      }
    }
  }

  private func takeIdle() -> Connection? { idle.withLock { $0.popLast() } }

  func keep(_ connection: Connection) {
    guard !connection.isLost else { return }
    idle.withLock { if $0.count < Self.mostIdle { $0.append(connection) } }
  }

  /// Closes those that nobody uses.
  func close() { idle.withLock { $0.removeAll() } }
}

/// How often a server was waited for.
final class RoundTrips: Sendable {
  private let number = Atomic<Int>(0)

  var count: Int { number.load(ordering: .relaxed) }

  func add() { number.add(1, ordering: .relaxed) }
}
