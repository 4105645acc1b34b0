import StrataDocuments
import StrataModel

/// A change of a store that is browsed over a line: made on the side that has the store, at most once.
///
///     {"put":"LINES","letter":"…","options":["merge"]}             the changes of records, as staged changes are kept
///     {"undo":12,"letter":"…","action":"undo …"}
///     {"restore":12,"letter":"…","action":"…","datastore":"City"}
///     {"pin":"name","letter":"…","at":12}                           without `at` the name is removed
///     {"rebuild":"index","letter":"…","datastore":"City"}
///     {"drop":"index","letter":"…","datastore":"City"}
///
/// The letter is the name that the commit notes, as it notes letters of the inbox. The reply to a name that is noted is the commit that has
/// noted it.
struct BrowsedEdit {
  private enum Kind {
    case changes(ChangeSet)
    case undo(CommitNumber)
    case restore(CommitNumber, datastore: String?)
    case pin(String, CommitNumber?)
    case rebuild(String, datastore: String)
    case drop(String, datastore: String)
  }

  private let kind: Kind
  private let action: String
  private let letter: LetterName
  private var options = EditOptions()

  /// Returns nil if a line is not an edit.
  init?(_ line: StreamLine, for store: EngineStore) throws {
    guard let letter = line.text("letter").flatMap({ LetterName($0) }) else { return nil }
    self.letter = letter
    let (datastore, text) = (line.text("datastore"), line.text(line.kind) ?? "")
    let number = line.number(line.kind).map { CommitNumber($0) }
    var action = line.text("action") ?? ""
    switch line.kind {
    case "put":
      let (changes, title) = try ChangeSet.read(line.base64("put") ?? [], for: store.head)
      (kind, action) = (.changes(changes), title)
    case "undo": kind = .undo(number ?? CommitNumber(0))
    case "restore": kind = .restore(number ?? CommitNumber(0), datastore: datastore)
    case "pin": kind = .pin(text, line.number("at").map { CommitNumber($0) })
    case "rebuild": kind = .rebuild(text, datastore: datastore ?? "")
    case "drop": kind = .drop(text, datastore: datastore ?? "")
    default: return nil
    }
    self.action = action
    let names = line.texts("options") ?? []
    options.marksIndexesStale = names.contains("stale")
    options.mergesFields = names.contains("merge")
    options.bringsBackContents = names.contains("back")
    options.leavesFailuresOut = names.contains("leave")
  }

  /// The members by which a request carries options.
  static func members(_ options: EditOptions) -> [Document.Member] {
    let names = [
      ("stale", options.marksIndexesStale), ("merge", options.mergesFields), ("back", options.bringsBackContents),
      ("leave", options.leavesFailuresOut),
    ]
    return [.init("options", .array(names.filter(\.1).map { .string($0.0) }))]
  }

  /// Makes the edit, unless that was done before, and returns the reply.
  func outcome(in store: EngineStore) -> [Document.Member] {
    do throws(ModelError) {
      if try store.commit(recording: letter) == nil { try make(in: store.recording(letter)) }
      let commit =
        if let commit = try store.commit(recording: letter) { commit } else { try store.refresh().commit }
      return [.init("commit", .number(NumberText(commit.rawValue)))]
    } catch {
      return BrowsedRefusal.members(error)
    }
  }

  private func make(in store: EngineStore) throws(ModelError) {
    switch kind {
    case .changes(let changes): _ = try store.commit(changes, named: action, options: options)
    case .undo(let commit): _ = try store.undo(commit, named: action, options: options)
    case .restore(let commit, let datastore): _ = try store.restore(commit, datastore: datastore, named: action)
    case .pin(let name, let commit): try store.pin(name, to: commit)
    case .rebuild(let index, let datastore): _ = try store.rebuildIndex(index, of: datastore, options: options)
    case .drop(let index, let datastore): _ = try store.dropIndex(index, of: datastore)
    }
  }
}

/// The refusal of an edit, as one line says it: kind and sentence, and the holder of the lock.
enum BrowsedRefusal {
  static func members(_ error: ModelError) -> [Document.Member] {
    func refused(_ kind: String, _ text: String) -> [Document.Member] {
      [.init("refused", .string(kind)), .init("reason", .string(text))]
    }
    switch error {
    case .locked(let hold):
      return refused("locked", hold.program) + [
        .init("process", .number(NumberText(hold.processIdentifier))), .init("since", .number(NumberText(hold.since))),
      ]
    case .readOnly(let reason): return refused("read-only", reason)
    case .conflict: return refused("conflict", error.description)
    case .notUnique: return refused("not-unique", error.description)
    case .storage(let text, kind: .damaged): return refused("damaged", text)
    case .storage(let text, _): return refused("failed", text)
    default: return refused("refused", error.description)
    }
  }

  /// The error of a line. A conflict is one of the changes with what is there by now, so the caller looks for it there.
  static func error(_ line: StreamLine) -> ModelError {
    let reason = line.text("reason") ?? "it was refused there"
    switch line.text("refused") {
    case "locked":
      return .locked(
        WriterHold(
          processIdentifier: Int32(clamping: line.number("process") ?? 0), program: reason,
          since: Int64(clamping: line.number("since") ?? 0)))
    case "read-only": return .readOnly(reason: reason)
    case "conflict": return .conflict([])
    case "not-unique": return .notUnique([])
    case "damaged": return .storage(reason, kind: .damaged)
    case "failed": return .storage(reason, kind: .failed)
    default: return .refused(reason: reason)
    }
  }
}
