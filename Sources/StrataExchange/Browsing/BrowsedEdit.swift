import StrataDocuments
import StrataModel

/// A change of a store that is browsed over a line: made on the side that has the store, at most once.
///
/// It travels with a letter: the name that the commit notes, as it notes letters of the inbox. The reply to a name that is noted is the
/// commit that has noted it.
struct BrowsedEdit: Codable {
  enum Kind: Codable {
    /// The changes of records, which the line has beside the edit, as staged changes are kept.
    case changes
    case undo(CommitNumber)
    case restore(CommitNumber, datastore: String?)
    /// Without a commit the name is removed.
    case pin(String, CommitNumber?)
    case rebuild(String, datastore: String)
    case drop(String, datastore: String)
  }

  private let kind: Kind
  private let action: String
  private let marks: [String]

  init(_ kind: Kind, named action: String = "", options: EditOptions = EditOptions()) {
    (self.kind, self.action) = (kind, action)
    marks = Self.marks.filter { options[keyPath: $0.field] }.map(\.name)
  }

  /// The options that travel, by name.
  private static var marks: [(name: String, field: WritableKeyPath<EditOptions, Bool>)] {
    [
      ("stale", \.marksIndexesStale), ("merge", \.mergesFields), ("back", \.bringsBackContents),
      ("leave", \.leavesFailuresOut),
    ]
  }

  /// Makes the edit, unless that was done before, and returns the reply.
  ///
  /// - Parameter changes: the changes of records, if it is an edit of them.
  func outcome(in store: EngineStore, recording letter: LetterName, changes: [UInt8]) -> Document.Member {
    do throws(ModelError) {
      if try store.commit(recording: letter) == nil { try make(in: store.recording(letter), changes) }
      let commit =
        if let commit = try store.commit(recording: letter) { commit } else { try store.refresh().commit }
      return .init("commit", .number(NumberText(commit.rawValue)))
    } catch {
      return .init("refused", coding: BrowsedRefusal(error))
    }
  }

  private func make(in store: EngineStore, _ text: [UInt8]) throws(ModelError) {
    var options = EditOptions()
    for mark in Self.marks where marks.contains(mark.name) { options[keyPath: mark.field] = true }
    switch kind {
    case .changes:
      let (changes, title) = try ChangeSet.read(text, for: store.head)
      _ = try store.commit(changes, named: title, options: options)
    case .undo(let commit): _ = try store.undo(commit, named: action, options: options)
    case .restore(let commit, let datastore): _ = try store.restore(commit, datastore: datastore, named: action)
    case .pin(let name, let commit): try store.pin(name, to: commit)
    case .rebuild(let index, let datastore): _ = try store.rebuildIndex(index, of: datastore, options: options)
    case .drop(let index, let datastore): _ = try store.dropIndex(index, of: datastore)
    }
  }
}

/// The refusal of an edit, as far as it travels.
enum BrowsedRefusal: Codable {
  case locked(WriterHold)
  case readOnly(String)
  case conflict
  case notUnique
  case damaged(String)
  case failed(String)
  case refused(String)

  init(_ error: ModelError) {
    switch error {
    case .locked(let hold): self = .locked(hold)
    case .readOnly(let reason): self = .readOnly(reason)
    case .conflict: self = .conflict
    case .notUnique: self = .notUnique
    case .storage(let text, kind: .damaged): self = .damaged(text)
    case .storage(let text, _): self = .failed(text)
    default: self = .refused(error.description)
    }
  }

  /// The error here. A conflict is one of the changes with what is there by now, so the caller looks for it there.
  var error: ModelError {
    switch self {
    case .locked(let hold): .locked(hold)
    case .readOnly(let reason): .readOnly(reason: reason)
    case .conflict: .conflict([])
    case .notUnique: .notUnique([])
    case .damaged(let text): .storage(text, kind: .damaged)
    case .failed(let text): .storage(text, kind: .failed)
    case .refused(let reason): .refused(reason: reason)
    }
  }
}
