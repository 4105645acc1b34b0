package import StrataEngine
public import StrataFoundation
import StrataModel

/// An error of the store itself: it cannot be opened, read or written.
public struct StoreError: LocalizedError, Hashable, Sendable, CustomStringConvertible {
  /// The kind of an error.
  public enum Kind: Hashable, Sendable {
    /// Nothing lies at the location.
    case notFound
    /// The location holds something other than a store.
    case notAStore
    /// The store was written in a format that is newer than this library.
    case newerFormat
    /// Bytes of the store differ from those that were written.
    case damaged
    /// Another process is writing.
    case locked(processIdentifier: Int32, program: String)
    /// The store can only be read.
    case readOnly
    /// The disk is full; nothing was written.
    case full
    /// A system call failed; nothing was written.
    case inputOutput
    /// A write failed in a way that leaves its outcome unknown: close the persistence and open it again.
    case outcomeUnknown
    /// There is no such commit, or it was removed from the history.
    case noSuchCommit
    /// The persistence was closed.
    case closed
    /// A server cannot be reached; nothing was written.
    case unreachable
    /// The request would break a promise.
    case refused
  }

  /// The kind of the error.
  public var kind: Kind
  /// One sentence for a person.
  public var message: String

  init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }

  /// One sentence for a person.
  public var errorDescription: String? { message }

  /// One sentence for a person.
  public var description: String { message }

  static let closed = StoreError(.closed, "The persistence is closed.")

  static let besideNestedTransaction = StoreError(
    .refused,
    "A write of a transaction was begun beside a transaction nested in it, which may be waiting for it: await the write before "
      + "the nested transaction begins, or begin it inside.")

  static func silentTransaction(_ action: String, for silence: Duration) -> StoreError {
    StoreError(
      .refused,
      "The transaction “\(action)” has the store to itself and has neither read nor written for \(silence): its closure may be waiting "
        + "for this write. Await nothing in it that writes outside of it.")
  }

  static func lastingTransaction(_ action: String?, for time: Duration) -> StoreError {
    let holder = action.map { "The transaction “\($0)”" } ?? "A change of this process"
    return StoreError(.refused, "\(holder) has not ended within \(time): the process is not ready to be suspended.")
  }

  static func writing(whileConverting datastore: String) -> StoreError {
    StoreError(.refused, "A migration of \(datastore) cannot write: it may only read and convert.")
  }

  static func withinTransaction(_ what: String) -> StoreError {
    StoreError(.refused, "\(what) within a transaction.")
  }

  package init(_ error: StorageError) { self.init(Self.kind(of: error), describedAs: error.description) }

  /// - Parameter text: the description of an error, which is part of a sentence.
  private init(_ kind: Kind, describedAs text: String) {
    self.init(kind, text.prefix(1).uppercased() + text.dropFirst() + ".")
    guard case .locked = kind else { return }
    message = "The store is \(text): one process writes at a time, so try again when that one is done."
  }

  private static func kind(of error: StorageError) -> Kind {
    switch error {
    case .notFound: .notFound
    case .notAStore, .alreadyExists, .otherFiles, .danglingLink: .notAStore
    case .newerFormat: .newerFormat
    case .damaged, .dataMissing, .noSuchTree, .treeExists, .wrongTree: .damaged
    case .locked(let hold): .locked(processIdentifier: hold.processIdentifier, program: hold.program)
    case .readOnly: .readOnly
    case .full: .full
    case .io: .inputOutput
    case .poisoned, .replaced: .outcomeUnknown
    case .prunedCommit, .noSuchCommit, .noCommitAsOld: .noSuchCommit
    case .closed: .closed
    case .server(.unreachable, _): .unreachable
    case .server(.outcomeUnknown, _): .outcomeUnknown
    case .server(.damaged, _): .damaged
    default: .refused
    }
  }
}

extension StoreError {
  init(_ error: ModelError) {
    let kind: Kind =
      switch error {
      case .noSuchStore: .notFound
      case .noSuchCommit: .noSuchCommit
      case .locked(let hold): .locked(processIdentifier: hold.processIdentifier, program: hold.program)
      case .readOnly: .readOnly
      case .unreadable, .storage(_, kind: .damaged): .damaged
      case .storage: .inputOutput
      default: .refused
      }
    self.init(kind, describedAs: error.description)
  }
}

/// Runs calls to the engine, the model, or the writer of records and entries, and converts their errors to those of this library. Records
/// are read through it one by one, so only the conversion is a call.
@inline(__always)
func throwingStoreErrors<R>(_ body: () throws -> R) throws -> R {
  do { return try body() } catch { throw libraryError(for: error) }
}

/// The error of this library for one of the disk, the engine or the model; any other as it is.
func libraryError(for error: any Error) -> any Error {
  switch error {
  case StorageError.transactionEnded: return DatastoreInterfaceError.transactionInactive
  case StorageError.conflict(let conflict): return TransactionConflict(conflict)
  case let error as StorageError: return StoreError(error)
  case let error as DiskError: return StoreError(StorageError.io(error))
  case ModelError.disorder(let datastore, let index, let keys):
    return DisorderedKeysError(datastore: DatastoreKey(datastore), index: index.map { IndexName($0) }, keys: keys)
  case ModelError.notUnique(let conflicts):
    guard let first = conflicts.first else { return StoreError(.refused, "A value must be unique.") }
    return UniquenessError(
      datastore: DatastoreKey(first.datastore), index: IndexName(first.index),
      values: conflicts.filter { $0.index == first.index }.map(\.value.description))
  case ModelError.cancelled: return CancellationError()
  case let error as ModelError: return StoreError(error)
  default: return error
  }
}
