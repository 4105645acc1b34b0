import StrataDocuments
package import StrataModel
import StrataExchange

/// The subject of a review: the changes to be written.
package enum ReviewSubject: Sendable, Hashable {
  case staged(ChangeSet)
  /// A commit that undoes this one.
  case undo(CommitNumber, isRedo: Bool)
  /// A commit with the state of an older one: of one datastore, or of the whole store.
  case restore(CommitNumber, datastore: String?)
  /// A migration that makes these changes of failing records first.
  case migration(ChangeSet)
  /// The changes of a letter in the inbox.
  case letter(LetterNotice)

  /// The key that takes the commit back: for an undo, redo.
  var undoKey: String { if case .undo(_, isRedo: false) = self { "^r" } else { "u" } }

  /// Whether a part of it can be left out, or all of it can be deleted.
  var canLeaveOut: Bool {
    switch self {
    case .staged, .letter: true
    case .undo, .restore, .migration: false
    }
  }
}

package struct ReviewRequest: Question, Hashable {
  package var subject: ReviewSubject
  package var naming = Naming()

  package func reply(in context: WorkContext) throws(ModelError) -> ReviewAnswer {
    let editable = try context.editable()
    let head = try context.store.refresh().commit
    var answer = ReviewAnswer(request: self, head: head)
    let (first, second) = (pass(0, of: 2, context.goingOn), pass(1, of: 2, context.goingOn))
    var options = EditOptions(detailLimit: WorkContext.reviewLimit, progress: second, proving: context.proving)
    var restoresState = false
    switch subject {
    case .staged(let changes): answer.rebased = try editable.rebase(changes, onto: head, progress: first)
    case .migration(let changes):
      answer.changes = changes
      options.progress = context.goingOn
    case .letter(let letter):
      answer.rebased = try editable.rebase(context.changes(of: letter), onto: head, progress: first)
    case .undo(let commit, _):
      let undone = try context.store.commit(commit)
      answer.subjectCommit = undone
      let state = try editable.stateBroughtBack(byUndoing: commit)
      if let state, undone.changes.reduce(0, { $0 + $1.total }) > WorkContext.reviewLimit {
        try context.describeRestore(
          to: state, of: nil, from: commit, counts: undone.changes.map(\.takenBack), in: &answer)
        return answer
      }
      (options.bringsBackContents, restoresState) = (true, state != nil)
      answer.changes = try editable.undoPreview(of: commit, progress: first)
      if state == nil {
        answer.kept = try context.kept(byUndoing: commit, from: head, answer.changes)
      }
      if undone.parents.count > 1, commit == head, let exchange = try? context.exchange() {
        answer.isMergeSent = try onExchange { try exchange.isSent(commit) }
      }
    case .restore(let commit, let datastore):
      answer.subjectCommit = try context.store.commit(commit)
      try context.describeRestore(to: commit, of: datastore, from: head, in: &answer)
      return answer
    }
    answer.changes = answer.rebased?.changes ?? answer.changes
    answer.counts = answer.changes.counts
    answer.isCut = answer.changes.count > WorkContext.reviewLimit
    var preview = try editable.preview(answer.changes, options: options)
    // No record is written, and the indexes come back too.
    if restoresState { (preview.refusals, preview.marked) = ([], []) }
    answer.preview = preview
    answer.preview?.dangling += try context.danglingReferences(after: answer.changes, at: head, naming)
    let entries = Dictionary(preview.records.map { ($0.place, $0.entries) }) { _, last in last }
    let conflicts = Dictionary(((answer.rebased?.conflicts ?? []) + preview.conflicts).map { ($0.place, $0) }) {
      first, _ in first
    }
    for edit in answer.changes.changes.prefix(WorkContext.reviewLimit) {
      try context.goOn()
      let descriptor = try context.view(head).datastore(edit.datastore)?.descriptor
      answer.records.append(
        ReviewRecord(
          place: edit.place, kind: edit.kind, label: naming.label(of: edit, descriptor) ?? "",
          fields: descriptor.map(edit.fields) ?? [],
          entries: entries[edit.place] ?? [],
          conflict: conflicts[edit.place]))
    }
    return answer
  }
}

package struct ReviewAnswer: Sendable {
  package var request: ReviewRequest
  /// The changes as they would be made now.
  package var changes = ChangeSet()
  package var records: [ReviewRecord] = []
  package var counts: [ChangeCount] = []
  package var preview: ChangePreview?
  package var rebased: RebasedChanges?
  /// The commit that is undone or restored.
  package var subjectCommit: CommitDetails?
  package var head: CommitNumber
  /// Whether there are more records than are described.
  package var isCut = false
  /// If an older commit is undone: its changes that stay because later commits changed the same.
  var kept: KeptChanges?
  /// If a merge is undone: whether others have it already. Nil for any other commit, and for one that is not the newest.
  package var isMergeSent: Bool?

  /// Whether its commit would write what the commit of an earlier review would have written.
  func writesTheSame(as earlier: ReviewAnswer) -> Bool {
    guard changes.changes == earlier.changes.changes, counts == earlier.counts else { return false }
    // The changes of an undo or of a restore are not all listed.
    switch request.subject {
    case .staged, .letter, .migration: return true
    case .undo, .restore: return head == earlier.head
    }
  }
}

/// One record of a review, or one that a merge changes without a conflict.
package struct ReviewRecord: Sendable, Hashable {
  package var place: RecordPlace
  package var kind: ChangeKind
  /// The record's label: its name or title; empty if it has none.
  var label = ""
  var fields: [FieldRow]
  package var entries: [EntryChange] = []
  package var conflict: EditConflict?
  /// Whether both sides of a merge changed it, in different fields.
  var isBoth = false
}

package struct CommitRequest: Question, Hashable {
  package var subject: ReviewSubject
  package var changes: ChangeSet
  package var name: String
  package var marksIndexesStale: Bool

  package func reply(in context: WorkContext) throws(ModelError) -> CommitNumber {
    let editable = try context.editable()
    switch subject {
    case .staged:
      return try editable.commit(
        changes, named: name,
        options: EditOptions(
          marksIndexesStale: marksIndexesStale, mergesFields: true, detailLimit: 0, progress: context.goingOn,
          proving: context.proving))
    case .migration: throw .refused(reason: "a migration commits by itself")
    case .letter(let letter): return try context.applied(letter)
    case .undo(let commit, _):
      return try editable.undo(
        commit, named: name, options: EditOptions(progress: context.goingOn, proving: context.proving))
    case .restore(let commit, let datastore):
      return try editable.restore(commit, datastore: datastore, named: name)
    }
  }
}

extension WorkContext {
  /// The number of records that a review describes one by one; all are counted.
  static var reviewLimit: Int { 500 }

  /// Reports progress and continues until the work is cancelled.
  private var telling: @Sendable (Progress) -> Bool {
    { [cancellation, report] progress in
      report(progress)
      return !cancellation.isCancelled
    }
  }

  var goingOn: WorkProgress { { [telling] in telling(Progress(done: $0, total: $1)) } }

  /// The same for work that reports its steps, too.
  var going: @Sendable (Activity) -> Bool {
    { [telling] in telling(Progress(done: $0.done, total: $0.total, found: .activity($0))) }
  }

  /// The same for reading the records that prove which fields the indexes are made from.
  fileprivate var proving: WorkProgress { { [telling] in telling(Progress(done: $0, total: $1, found: .proof)) } }

  fileprivate func kept(
    byUndoing commit: CommitNumber, from head: CommitNumber, _ changes: ChangeSet
  ) throws(ModelError) -> KeptChanges {
    let edits = Dictionary(changes.changes.map { ($0.place, $0) }, uniquingKeysWith: { first, _ in first })
    let view = try store.view(at: head)
    return try store.changesKept(byUndoing: commit) { place throws(ModelError) in
      try goOn()
      guard let datastore = try view.datastore(place.datastore) else { return nil }
      guard let edit = edits[place] else { return try datastore.replaceable(place.identifier) }
      return edit.new.map {
        Record(
          identifier: place.identifier, version: $0.version, content: $0.bytes, coding: datastore.descriptor.coding)
      }
    }
  }

  /// - Parameter known: the counts, if they need not be counted.
  fileprivate func describeRestore(
    to commit: CommitNumber, of datastore: String?, from head: CommitNumber, counts known: [ChangeCount]? = nil,
    in answer: inout ReviewAnswer
  ) throws(ModelError) {
    let reader = try store.changes(from: head, to: commit)
    var tally = ChangeTally()
    var read = 0
    while known == nil || !answer.isCut, case let changes = try reader.next(500), !changes.isEmpty {
      try goOn()
      read += changes.count
      report(Progress(done: read, total: nil))
      for change in changes where datastore == nil || change.datastore == datastore {
        tally.count(change.kind, in: change.datastore)
        guard answer.records.count < Self.reviewLimit else {
          answer.isCut = true
          continue
        }
        answer.records.append(
          ReviewRecord(place: change.place, kind: change.kind, fields: change.fieldRows()))
      }
    }
    answer.counts = known ?? tally.counts
  }
}
