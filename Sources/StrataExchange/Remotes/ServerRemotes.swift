import StrataLocks

/// The functions that open stores on servers as remotes. This module knows no server: `PostgresPersistence` installs them, in programs that
/// have libpq.
package struct ServerRemotes: Sendable {
  /// The program and the author, for the commits that a push makes there.
  package struct Client: Sendable {
    package var program: String
    package var author: String
    /// Nanoseconds since 1970.
    package var now: Int64
    /// Called on any thread with a sentence when a server is waited for.
    package var notice: @Sendable (String) -> Void = { _ in }
  }

  /// Throws a sentence, which quotes no password, if a text is not the URL of a store.
  package var check: @Sendable (_ url: String) throws(ExchangeError) -> Void
  /// Opens the store of a URL as a peer.
  package var open: @Sendable (_ url: String, _ name: String, _ client: Client) throws -> any Peer

  package init(
    check: @escaping @Sendable (_ url: String) throws(ExchangeError) -> Void,
    open: @escaping @Sendable (_ url: String, _ name: String, _ client: Client) throws -> any Peer
  ) {
    self.check = check
    self.open = open
  }

  private static let current = Mutex<ServerRemotes?>(nil)

  /// Nil if the program has no part that speaks with servers.
  package static var installed: ServerRemotes? { current.withLock { $0 } }

  package static func install(_ remotes: ServerRemotes) { current.withLock { $0 = remotes } }

  static let missing =
    "it lies on a database server, and this program was built without PostgreSQL; an app calls PostgresRemotes.enable() of PostgresPersistence first"
}
