package import StorageEngine

/// What can go wrong with a store on a server. `description` is one sentence that a user can act on; no password ever stands in it.
package enum ServerError: Error, Hashable, Sendable {
  /// A text that is no URL of a server.
  case invalidURL(reason: String)
  /// No connection came about: no server, a wrong password, TLS refused. The server as it is shown, and what it or libpq said.
  case unreachable(server: String, reason: String)
  /// A connection that was there is gone, and another did not come about in time; nothing was written.
  case connectionLost(server: String, reason: String)
  /// The connection was lost during a commit, and the server did not come back in time to be asked about it.
  case unknownOutcome(token: CommitToken, reason: String)
  /// The role lacks a right.
  case noRights(reason: String)
  /// The schema holds nothing of ours.
  case noStore(schema: String)
  /// The schema holds tables of something else.
  case notAStore(schema: String, tables: [String])
  case newerFormat(version: Int, features: UInt64)
  /// Tables of an earlier version, which is not read any more.
  case olderFormat(version: Int)
  case readOnly(reason: String)
  /// Others changed what the transaction read.
  case conflict(TransactionConflict)
  /// The lease that a transaction was made under belongs to somebody else by now.
  case leaseLost(what: String)
  case prunedCommit(number: UInt64, oldest: UInt64)
  case noSuchCommit(number: UInt64)
  case noSuchTree(name: String)
  case treeExists(name: String)
  case wrongTree(name: String, reason: String)
  /// A tree whose keys only the app can order.
  case unordered(name: String)
  case keyTooLong(count: Int, limit: Int)
  case valueTooLong(count: Int, limit: Int)
  case invalidText(what: String)
  case transactionEnded
  /// Something that stores on a server do not do.
  case refusedHere(reason: String)
  /// There is no room on the server's disk; nothing was written.
  case full(reason: String)
  /// Another session holds a row, or a table, for longer than it is waited for: the table, and which session.
  case held(table: String, by: String?)
  /// What the tables hold is not what was written.
  case damaged(what: String)
  /// Something else that the server said.
  case refused(SQLError)
}

/// An error as a server tells it.
package struct SQLError: Error, Hashable, Sendable {
  /// The five characters of the standard.
  package var state: String
  package var message: String
  /// Which statement of an exchange failed, from 0.
  var statement = 0
  /// The table that it was about, where the engine tells.
  var table = ""
  /// What the server was at.
  var context = ""
}

/// A commit's random name, by which its outcome is found out after a connection was lost.
package struct CommitToken: Hashable, Sendable {
  package var bytes: [UInt8]

  static func random() -> CommitToken {
    var bytes: [UInt8] = []
    for _ in 0..<2 { SQLValue.append(UInt64.random(in: .min ... .max), to: &bytes) }
    return CommitToken(bytes: bytes)
  }
}

extension ServerError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .invalidURL(let reason): "this is no URL of a server: \(reason)"
    case .unreachable(let server, let reason): "no connection to \(server): \(reason)"
    case .connectionLost(let server, let reason):
      "the connection to \(server) was lost (\(reason)); nothing was written, try again"
    case .unknownOutcome(_, let reason):
      "the connection was lost during a commit and the server did not come back (\(reason)); "
        + "whether the commit is kept is found out when it can be reached again"
    case .noRights(let reason): "the role lacks a right: \(reason)"
    case .noStore(let schema): "there is no store in schema “\(schema)”; strata copy PATH URL puts one there"
    case .notAStore(let schema, let tables):
      "schema “\(schema)” holds something else (\(tables.prefix(4).joined(separator: ", "))\(tables.count > 4 ? ", …" : "")); "
        + "give another one with ?schema=NAME"
    case .newerFormat(let version, let features):
      features == 0
        ? "the store has format version \(version), which is newer than this program"
        : "the store needs features (0x\(String(features, radix: 16))) that this program does not know"
    case .olderFormat(let version):
      "the store has format version \(version), which this program no longer reads: "
        + "strata copy URL PATH of the program that made it, and strata copy PATH URL of this one, bring it here"
    case .readOnly(let reason): "the store can only be read: \(reason)"
    case .conflict(let conflict):
      "somebody else changed what was read since commit #\(conflict.asOf)"
        + (conflict.places.isEmpty
          ? "" : ": " + conflict.places.map { "\($0.tree)\($0.key == nil ? " itself" : "")" }.joined(separator: ", "))
    case .leaseLost(let what): "“\(what)” was taken over by another program meanwhile; nothing was written"
    case .prunedCommit(let number, let oldest):
      "commit #\(number) was removed from the history; the oldest one kept is #\(oldest)"
    case .noSuchCommit(let number): "there is no commit #\(number)"
    case .noSuchTree(let name): "there is no tree \(name)"
    case .treeExists(let name): "there is a tree \(name) already"
    case .wrongTree(let name, let reason): "tree \(name): \(reason)"
    case .unordered(let name):
      "the keys of \(name) are ordered as only its app knows, and a server orders bytes: "
        + "give the type one of the orders that are kept as bytes, or conform it to OrderedKey"
    case .keyTooLong(let count, let limit):
      "a key of \(count) bytes is longer than the \(limit) that a server takes"
    case .valueTooLong(let count, let limit):
      "a value of \(count) bytes is longer than the \(limit) that are allowed"
    case .invalidText(let what): "the \(what) cannot be kept on a server: it holds a zero character or is too long"
    case .transactionEnded: "the transaction has ended"
    case .refusedHere(let reason): reason
    case .full(let reason): "there is no room on the server (\(reason)); nothing was written"
    case .held(let table, let session):
      "another session holds \(table.isEmpty ? "what is to be written" : "a row of table “\(table)”")"
        + (session.map { ": process \($0)" } ?? "")
        + "; nothing was written: end its transaction, or try again"
    case .damaged(let what): "damaged: \(what)"
    case .refused(let error): "the server says: \(error.message) (\(error.state))"
    }
  }

  /// 1 failed, 2 usage, 3 newer format or damaged.
  package var exitStatus: Int32 {
    switch self {
    case .invalidURL: 2
    case .newerFormat, .olderFormat, .damaged: 3
    default: 1
    }
  }
}
