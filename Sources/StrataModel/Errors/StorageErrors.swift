package import StrataEngine

extension ModelError {
  /// Converts an error of the engine for users of the model.
  package init(_ error: StorageError) {
    switch error {
    case .notFound(let path): self = .noSuchStore(path: path, reason: "there is nothing at this path")
    case .notAStore(let path): self = .noSuchStore(path: path, reason: "this is not a Strata store")
    case .locked(let hold): self = .locked(WriterHold(hold))
    case .readOnly(let reason): self = .readOnly(reason: reason)
    case .noSuchCommit(let number): self = .noSuchCommit("#\(number)")
    case .prunedCommit(let number, let nearest):
      self = .noSuchCommit(
        "#\(number)", reason: "it was removed from the history; the nearest one kept is #\(nearest)")
    case .damaged, .dataMissing: self = .storage(error.description, kind: .damaged)
    case .newerFormat: self = .unreadable(what: "the store", where: error.description)
    case .io(let error) where error.isAway: self = .away(error.path)
    case .server(.unreachable, _): self = .storage(error.description, kind: .unreachable)
    case .cancelled: self = .cancelled
    default: self = .storage(error.description, kind: .failed)
    }
  }

  /// The error of opening a store: with its path, and the command that saves the rest of a damaged one.
  package func opening(_ path: String) -> ModelError {
    guard case .storage(let text, kind: .damaged) = self, !text.contains(path) else { return self }
    return .storage("\(path): \(text); strata salvage \(path.shellWord) NEW saves what can be read", kind: .damaged)
  }

  /// A store on another computer that cannot be reached at present.
  package static func away(_ path: String) -> ModelError {
    .storage("\(path) cannot be reached at present", kind: .unreachable)
  }
}

extension WriterHold {
  init(_ hold: LockHold) {
    self.init(processIdentifier: hold.processIdentifier, program: hold.program, since: hold.since)
  }
}

/// Runs code that reads or writes the engine, and throws its errors as those of the model.
package func onStorage<Value>(_ body: () throws -> Value) throws(ModelError) -> Value {
  do { return try body() } catch { throw modelError(for: error) }
}

/// Runs calls that throw errors of any kind, and converts those that are not the model's to failures of the storage.
package func onFailures<Value>(_ body: () throws -> Value) throws(ModelError) -> Value {
  do { return try body() } catch { throw error as? ModelError ?? .storage("\(error)", kind: .failed) }
}

/// The error of the model for one of the engine, or for a key of the app's types that cannot be made.
private func modelError(for error: any Error) -> ModelError {
  switch error {
  case let error as ModelError: error
  case let error as StorageError: ModelError(error)
  default: .unreadable(what: "a key", where: "\(error)")
  }
}
