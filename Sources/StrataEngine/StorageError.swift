/// An error of a store. `description` is one sentence that a user can read.
package enum StorageError: Error, Hashable, Sendable, CustomStringConvertible {
  case notFound(path: String)
  case alreadyExists(path: String)
  /// A symbolic link lies at the path, and its target does not exist.
  case danglingLink(path: String)
  /// A store would be made in the folder of another.
  case inStore(path: String, store: String)
  /// A store would be made in a folder that holds a file of others.
  case otherFiles(path: String, name: String)
  case notAStore(path: String)
  /// A store of a later format, or one with features that this program must know and does not.
  case newerFormat(version: UInt32, requiredFeatures: UInt64)
  /// Bytes that are not those that were written: their kind, and their offset.
  case damaged(what: String, offset: FileOffset)
  case locked(LockHold)
  case readOnly(reason: String)
  case io(DiskError)
  /// There is no room: nothing of the transaction is kept, the store stays usable.
  case full(DiskError)
  /// A write or sync failed earlier in a way that leaves the outcome unknown: open the store again.
  case poisoned(cause: DiskError)
  /// The name of a file that the store is written through leads to another file, or to none: further commits would be in no store.
  case replaced(path: String)
  /// The data of a store is missing, and the files beside it show that there was a store.
  case dataMissing(path: String, trace: String)
  /// The commit was removed by compaction; `nearest` is the closest one that is kept.
  case prunedCommit(number: UInt64, nearest: UInt64)
  case noSuchCommit(number: UInt64)
  /// No commit is as old as the date (nanoseconds since 1970).
  case noCommitAsOld(date: Int64)
  case noSuchTree(TreeName)
  case treeExists(TreeName)
  /// A tree of the other kind or order than the call needs.
  case wrongTree(TreeName, reason: String)
  case keyTooLong(count: Int, limit: Int)
  case valueTooLong(count: UInt64, limit: UInt64)
  case payloadTooLong(count: Int, limit: Int)
  case textTooLong(what: String, limit: Int)
  /// No tree or commit can have this name: it is empty, or means something else.
  case invalidName(String)
  case transactionEnded
  /// The caller's order and the tree's do not agree at these two neighbouring keys.
  case disorder(first: Bytes, second: Bytes)
  case closed
  case cancelled
  /// Others made a long operation impossible to continue; it can be tried again.
  case busy(what: String)
  /// On a server, others changed data that the transaction read.
  case conflict(TransactionConflict)
  /// A failure that a server, or the connection to it, reports: a sentence without its password.
  case server(ServerFailure, reason: String)

  package var description: String {
    switch self {
    case .notFound(let path): "there is no store at \(path)"
    case .alreadyExists(let path): "something lies at \(path) already"
    case .danglingLink(let path):
      "\(path) is a symbolic link that leads to nothing: make the folder that it shall lead to, or take the link away"
    case .inStore(let path, let store):
      "\(path) lies in the folder of the store \(store): choose a location outside of it"
    case .otherFiles(let path, let name):
      "\(path) holds other files, such as \(name): a store needs a folder of its own"
    case .notAStore(let path): "\(path) is not a store"
    case .newerFormat(let version, let features):
      features == 0
        ? "the store has format version \(version), which is newer than this program"
        : "the store needs features (\(StoreFeature.words(features))) that this program does not know"
    case .damaged(let what, let offset): "damaged \(what) at byte \(offset)"
    case .locked(let hold): "held by \(hold)"
    case .readOnly(let reason): "the store can only be read: \(reason)"
    case .io(let error): error.description
    case .full(let error): "there is no room for the change; nothing was written (\(error))"
    case .poisoned(let cause):
      "an earlier \(cause.operation) failed (\(cause.cause)), so whether the last changes are kept is unknown: open the store again"
    case .replaced(let path):
      "\(path) was taken away or replaced by another file while it was being written; the last changes may not be in what lies there now: open the store again"
    case .dataMissing(let path, let trace):
      "the data of the store at \(path) is missing, while \(trace) is there: put the file “data” back, or take away what is left to begin a new store"
    case .prunedCommit(let number, let nearest):
      "commit #\(number) was removed from the history; the nearest one kept is #\(nearest)"
    case .noSuchCommit(let number): "there is no commit #\(number)"
    case .noCommitAsOld: "no commit is that old"
    case .noSuchTree(let name): "there is no tree \(name)"
    case .treeExists(let name): "there is a tree \(name) already"
    case .wrongTree(let name, let reason): "tree \(name): \(reason)"
    case .keyTooLong(let count, let limit): "a key of \(count) bytes is longer than the \(limit) that are allowed"
    case .valueTooLong(let count, let limit): "a value of \(count) bytes is longer than the \(limit) that are allowed"
    case .payloadTooLong(let count, let limit):
      "a payload of \(count) bytes is longer than the \(limit) that are allowed"
    case .textTooLong(let what, let limit): "the \(what) is longer than the \(limit) bytes that are allowed"
    case .invalidName(let name): name.isEmpty ? "a name has at least one byte" : "“\(name)” cannot be given as a name"
    case .transactionEnded: "the transaction has ended"
    case .disorder: "two keys of the tree lie in another order than the one asked for"
    case .closed: "the store is closed"
    case .cancelled: "it was cancelled"
    case .busy(let what): "\(what); try again"
    case .conflict(let conflict):
      "another writer changed what was read since commit #\(conflict.asOf)"
        + (conflict.places.isEmpty
          ? "" : ": " + conflict.places.map { "\($0.tree)\($0.key == nil ? " itself" : "")" }.joined(separator: ", "))
    case .server(_, let reason): reason
    }
  }
}

/// The kind of a failure of a server.
package enum ServerFailure: Hashable, Sendable {
  /// It cannot be reached; nothing was written.
  case unreachable
  /// It was lost during a commit, and could not be reached in time to ask for the outcome.
  case outcomeUnknown
  /// The role lacks a right, or there is no room: the server itself refuses.
  case refused
  /// Its contents cannot be read.
  case damaged
}
