import StorageEngine

/// An error as a server tells it.
struct SQLError: Error, Hashable, Sendable {
  /// The five characters of the standard.
  var state: String
  var message: String
  /// Which statement of an exchange failed, from 0.
  var statement = 0
  /// The table that it was about, where the engine tells.
  var table = ""
  /// What the server was at.
  var context = ""

  static let full = "53100"
  static let held = "55P03"

  /// The table whose row was waited for, where that is told.
  var heldTable: String? { Tables.names.first { context.contains("\"\($0)\"") } }

  /// A lock was waited for in vain.
  ///
  /// - Parameter session: who holds it, where that is known.
  func heldRow(by session: String?) -> StorageError {
    .refused(
      "another session holds \(heldTable.map { "a row of table “\($0)”" } ?? "what is to be written")"
        + (session.map { ": process \($0)" } ?? "") + "; nothing was written: end its transaction, or try again")
  }
}

/// A commit's random name, by which its outcome is found out after a connection was lost.
struct CommitToken: Hashable, Sendable {
  var bytes: [UInt8]

  static func random() -> CommitToken {
    var bytes: [UInt8] = []
    for _ in 0..<2 { SQLValue.append(UInt64.random(in: .min ... .max), to: &bytes) }
    return CommitToken(bytes: bytes)
  }
}

// What only a server has to say, one sentence each that a user can act on; no password ever stands in it.
extension StorageError {
  static func refused(_ reason: String) -> StorageError { .server(.refused, reason: reason) }

  static func damagedOnServer(_ what: String) -> StorageError { .server(.damaged, reason: "damaged: \(what)") }

  static let withoutStoreRow = damagedOnServer("the row of the store is missing")

  /// No connection came about: no server, a wrong password, TLS refused.
  static func noConnection(to url: ServerURL, _ reason: String) -> StorageError {
    .server(.unreachable, reason: "no connection to \(url): \(reason)")
  }

  /// A connection that was there is gone, and another did not come about in time; nothing was written.
  static func lostConnection(to url: ServerURL, _ reason: String) -> StorageError {
    .server(
      .unreachable, reason: "the connection to \(url) was lost (\(reason)); nothing was written, try again")
  }

  static func unordered(_ name: TreeName) -> StorageError {
    .refused(
      "the keys of \(name) are ordered as only its app knows, and a server orders bytes: "
        + "give the type one of the orders that are kept as bytes, or conform it to OrderedKey")
  }

  static func keyTooLong(_ count: Int) -> StorageError { .keyTooLong(count: count, limit: Limits.servedKey) }

  static func valueTooLong(_ count: some BinaryInteger) -> StorageError {
    .valueTooLong(count: UInt64(count), limit: UInt64(ServerLimits.value))
  }

  static func invalidText(_ what: String) -> StorageError {
    .refused("the \(what) cannot be kept on a server: it holds a zero character or is too long")
  }

  /// Whether the server may come back.
  var isWorthWaiting: Bool {
    if case .server(.unreachable, _) = self { true } else { false }
  }
}
