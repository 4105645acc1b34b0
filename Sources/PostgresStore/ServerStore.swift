import Locks
import StorageEngine

/// How a store on a server is used.
package struct ServerOptions: Sendable {
  /// The program and the person that commits name, unless they say otherwise.
  package var program: String
  package var author: String
  /// How long a server that is gone is waited for, in seconds; the URL may say another time (`wait`).
  package var patience: Double
  /// Whether reads wait for it, too. Commits always do.
  package var waitsToRead: Bool
  /// How long a row that another session holds is waited for, in seconds.
  package var rowPatience: Double
  /// Hears what no call throws, a sentence each: that a server is waited for, and what cannot be kept for people with `psql`. Any thread.
  package var notice: @Sendable (String) -> Void

  package init(
    program: String = "", author: String = "", patience: Double = 30, waitsToRead: Bool = true,
    rowPatience: Double = 30, notice: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    self.program = program
    self.author = author
    self.patience = patience
    self.waitsToRead = waitsToRead
    self.rowPatience = rowPatience
    self.notice = notice
  }
}

/// An open store on a database server: any number of processes read and write it at the same time.
///
/// A view is a number: reading holds no transaction of the server, not across calls and not across pauses. Transactions are optimistic and
/// go out at their end in one flush (`ServerTransaction`). Safe from any thread; calls block on the network, and say so.
package final class ServerStore: Sendable {
  package let url: ServerURL
  package let options: ServerOptions
  /// Why the store cannot be written, or nil where it can.
  package let readOnlyReason: String?
  /// Which store it is: 16 bytes.
  package let identity: [UInt8]
  /// What commits that are made here name as their origin.
  package let origin: UInt64
  /// Nanoseconds since 1970.
  package let created: Int64
  let tables: Tables
  let pool: ConnectionPool
  let commits: CommitQueue
  private let known: Mutex<Known>
  /// Touched by the threads that follow.
  let absence = Absence()

  /// The newest state that this process knows.
  private struct Known {
    var head: ServerCommit?
    var newest: UInt64 = 0
    var catalog = ServerCatalog()
  }

  init(
    url: ServerURL, tables: Tables, pool: ConnectionPool, options: ServerOptions, readOnlyReason: String?,
    identity: [UInt8], origin: UInt64, created: Int64
  ) {
    self.url = url
    self.tables = tables
    self.pool = pool
    self.options = options
    self.readOnlyReason = readOnlyReason
    self.identity = identity
    self.origin = origin
    self.created = created
    commits = CommitQueue(pool, tables, options: options)
    known = Mutex(Known())
  }

  /// How often the server was waited for since the store was opened.
  package var roundTrips: Int { pool.counters.count }

  /// The newest state known to this process. Asks nobody.
  package var head: ServerView {
    let known = known.withLock { $0 }
    return ServerView(store: self, commit: known.head ?? .beginning(created), asOf: known.newest)
  }

  var knownCatalog: ServerCatalog { known.withLock { $0.catalog } }

  /// Asks for the newest state: one round trip.
  @discardableResult
  package func refresh() throws(ServerError) -> ServerView {
    let question = question(nil)
    return try take(pool.read(question.statements(tables)), of: question).view
  }

  /// What is asked for to hear of the newest state.
  func question(_ ahead: ReadAhead?) -> NewestQuestion {
    let known = known.withLock { $0 }
    return NewestQuestion(ahead: ahead, head: known.head, newest: known.newest, catalog: known.catalog)
  }

  /// Takes note of what the server said: its head, the newest state, and what happened to the trees since a commit.
  func take(head: ServerCommit?, newest: UInt64, trees: Rows, since: UInt64) {
    known.withLock { known in
      if since <= known.catalog.upTo, newest >= known.catalog.upTo { known.catalog.take(trees, upTo: newest) }
      if newest >= known.newest { (known.head, known.newest) = (head, newest) }
    }
  }

  /// The same where no tree was asked for: only of which commit the last change of one is. Where that is news, who wants a tree asks.
  func take(head: ServerCommit?, newest: UInt64, treesChangedAt change: UInt64) {
    known.withLock { known in
      known.catalog.take(changedAt: change, of: newest)
      if newest >= known.newest { (known.head, known.newest) = (head, newest) }
    }
  }

  /// Begins a transaction on a view, the newest that is known where none is given. Asks nobody.
  package func begin(on view: ServerView? = nil) throws(ServerError) -> ServerTransaction {
    if let readOnlyReason { throw .readOnly(reason: readOnlyReason) }
    return ServerTransaction(self, on: view ?? head)
  }

  /// Makes a change and commits it; where others changed what it read, it is made anew on what there is then, `attempts` times at most.
  package func change<R>(
    _ info: ServerCommitInfo = ServerCommitInfo(), attempts: Int = 32,
    _ body: (ServerTransaction) throws(ServerError) -> R
  ) throws(ServerError) -> R {
    var left = attempts
    while true {
      let transaction = try begin()
      let result = try body(transaction)
      do throws(ServerError) {
        try transaction.commit(info)
        return result
      } catch {
        left -= 1
        guard case .conflict = error, left > 0 else { throw error }
        try refresh()
      }
    }
  }

  /// Whether those who follow the store have lost the server, and not found it again.
  package var isAway: Bool { absence.isAway }

  /// Closes the connections that nobody uses.
  package func close() { pool.close() }
}
