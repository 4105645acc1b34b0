import StrataDocuments
import StrataExpressions

/// An error of a store, as one sentence that tells the user what to do, with the exit status that a verb returns for it.
package enum ModelError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Nothing exists at a path, or it is not a store.
  case noSuchStore(path: String, reason: String)
  case noSuchDatastore(String, known: [String])
  case noSuchIndex(String, datastore: String, known: [String])
  /// The identifier as the user types it.
  case noSuchRecord(String, datastore: String)
  /// A number, name or time that matches no commit.
  case noSuchCommit(String, reason: String? = nil)
  /// Another process holds the writer's lock.
  case locked(WriterHold)
  /// The store accepts no changes; the reason is a sentence.
  case readOnly(reason: String)
  /// Records that changed since they were read.
  case conflict([EditConflict])
  /// Values that an index with uniqueness switched on would have twice.
  case notUnique([UniquenessConflict])
  /// Records that an index cannot take, with the reasons: the first of them, and the count of all.
  case failures([LeftOutRecord], total: Int)
  /// The request would break a promise; the reason is a sentence.
  case refused(reason: String)
  /// Keys whose order disagrees with the order of their tree.
  case disorder(datastore: String, index: String?, keys: [String])
  /// Invalid bytes of the store, or of a file, and their place.
  case unreadable(what: String, where: String)
  /// An error of the storage below.
  case storage(String, kind: StorageFailure)
  /// Text that a user typed or a file holds. The column counts characters from 1; nil if there is no single place.
  case invalid(text: String, column: Int?, reason: String)
  /// The caller asked to stop; nothing was written.
  case cancelled

  package var description: String {
    switch self {
    case .noSuchStore(let path, let reason): "\(path): \(reason)"
    case .noSuchDatastore(let name, let known):
      "no datastore \(name)" + Self.list(known, lead: "; there are ", none: "; the store has none")
    case .noSuchIndex(let name, let datastore, let known):
      "no index \(name) in \(datastore)" + Self.list(known, lead: "; there are ", none: "; it has none")
    case .noSuchRecord(let identifier, let datastore): "no record \(identifier) in \(datastore)"
    case .noSuchCommit(let name, let reason): "no commit \(name)" + (reason.map { ": \($0)" } ?? "")
    case .locked(let hold): "held by \(hold.name)\(hold.since > 0 ? " since \(hold.sinceTime)" : "")"
    case .readOnly(let reason): "the store is read-only: \(reason)"
    case .conflict(let conflicts): Self.join(conflicts.map(\.sentence), none: "the change conflicts with the store")
    case .notUnique(let conflicts):
      // Only the first are looked for, so they are not counted.
      Self.join(conflicts.prefix(4).map(\.sentence), none: "a unique value would be there twice")
        + (conflicts.count > 4 ? "; and more" : "")
    case .failures(let records, let total):
      Self.join(records.prefix(4).map { "\($0.identifier): \($0.reason)" }, none: "records cannot be indexed")
        + (total > 4 ? "; \(total) records in all" : "")
    case .refused(let reason): reason
    case .disorder(let datastore, let index, let keys):
      "the order of \(index.map { "index \($0) of " } ?? "")\(datastore) disagrees with its type's “<” at "
        + keys.joined(separator: ", ")
    case .unreadable(let what, let place): "\(what) cannot be read: \(place)"
    case .storage(let text, _): text
    case .invalid(_, let column, let reason): column.map { "column \($0): \(reason)" } ?? reason
    case .cancelled: "cancelled; nothing was written"
    }
  }

  /// 1 failed or not found, 2 usage, 3 damaged or of a newer format, 4 locked.
  package var exitStatus: Int32 {
    switch self {
    case .invalid: 2
    case .unreadable, .storage(_, kind: .damaged): 3
    case .locked: 4
    default: 1
    }
  }

  private static func list(_ names: [String], lead: String, none: String) -> String {
    names.isEmpty ? none : lead + names.prefix(12).joined(separator: ", ") + (names.count > 12 ? ", …" : "")
  }

  private static func join(_ sentences: [String], none: String) -> String {
    sentences.isEmpty
      ? none
      : sentences.prefix(4).joined(separator: "; ") + (sentences.count > 4 ? "; and \(sentences.count - 4) more" : "")
  }
}

/// The kind of a failure below the model.
package enum StorageFailure: Hashable, Sendable {
  /// The disk failed, or something is missing.
  case failed
  /// The store is damaged.
  case damaged
  /// The server that has the store cannot be reached; it may come back.
  case unreachable
}

extension WriterHold {
  /// The program and its process, which are not known in the moment in which it takes the lock.
  package var name: String { processIdentifier == 0 ? "another process" : "\(program) (pid \(processIdentifier))" }

  /// The local time of day since which the lock is held, with the date if that was not today: `09:14`.
  package var sinceTime: String {
    let since = LocalTime.civil(at: since)
    let today = LocalTime.civil(at: LocalTime.now).dateText
    return since.dateText == today ? since.minuteText : "\(since.dateText) \(since.minuteText)"
  }
}
