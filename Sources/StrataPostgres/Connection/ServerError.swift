import StrataEngine

struct SQLError: Error, Hashable, Sendable {
  /// The five characters of the standard.
  var state: String
  var message: String
  /// The place of the failed statement in its exchange, from 0.
  var statement = 0
  /// The table that it concerns, if the server names it.
  var table = ""
  /// The work of the server when the error occurred.
  var context = ""

  static let full = "53100"
  static let held = "55P03"

  /// The table whose row was waited for, if the server names it.
  var heldTable: String? { Tables.names.first { context.contains("\"\($0)\"") } }

  /// The wait for a lock was in vain.
  ///
  /// - Parameter session: The session that holds it, if that is known.
  func heldRow(by session: String?) -> StorageError {
    .refused(
      "another session holds \(heldTable.map { "a row of table “\($0)”" } ?? "what is to be written")"
        + (session.map { ": process \($0)" } ?? "") + "; nothing was written: end its transaction, or try again")
  }
}

extension [UInt8] {
  /// A random name, such as that of a commit, which serves to find out its outcome after a connection was lost.
  static func token() -> [UInt8] {
    // Each random number is a call of the system.
    Swift.withUnsafeBytes(of: (UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max)), Array.init)
  }
}

// Errors that only a server has, one sentence each that a user can act on; none contains a password.
extension StorageError {
  static func refused(_ reason: String) -> StorageError { .server(.refused, reason: reason) }

  static func damagedOnServer(_ what: String) -> StorageError { .server(.damaged, reason: "damaged: \(what)") }

  static let withoutStoreRow = damagedOnServer("the row of the store is missing")

  /// No connection was made: no server, a wrong password, TLS refused.
  static func noConnection(to url: ServerURL, _ reason: String) -> StorageError {
    .server(.unreachable, reason: "no connection to \(url): \(reason)")
  }

  /// A connection was lost, and no other was made in time.
  ///
  /// - Parameter remedy: The way to find out what was written; nil if nothing was.
  static func lostConnection(to url: ServerURL, _ reason: String, _ remedy: String? = nil) -> StorageError {
    .server(
      remedy == nil ? .unreachable : .outcomeUnknown,
      reason: "the connection to \(url) was lost (\(reason)); "
        + (remedy.map { "whether it was written is not known: \($0)" } ?? "nothing was written, try again"))
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
