import DatastoreModel
import TerminalKit

/// From the review to the commit.
extension Browser {
  mutating func takeReview(_ answer: ReviewAnswer) {
    guard case .review(var review)? = overlays.last, review.subject == answer.request.subject else { return }
    review.take(answer)
    replaceTop(.review(review))
  }

  mutating func committed(_ commit: CommitNumber, _ request: CommitRequest) {
    if case .review? = overlays.last { overlays.removeLast() }
    if case .staged = request.subject {
      session.staged = StagedChanges()
      session.start(.staging, .saveStaged(session.staged))
    }
    table.clearMarks()
    session.say("committed \(commit) “\(request.name)” — u takes it back")
    // What this browser wrote is not marked as another's change.
    session.start(.refresh, .refresh(since: session.head, shown: nil))
  }

  /// Decides one field in conflict, and reviews what that makes.
  mutating func resolveConflict(_ review: ReviewOverlay, takesMine: Bool) {
    guard case .staged = review.subject else { return }
    guard let (place, conflict, field) = review.selectedConflict else {
      session.warn("choose a field in conflict first")
      return
    }
    guard let edit = session.staged.edits[place], let theirs = conflict.theirs, let mine = edit.new,
      let coding = session.outline?.datastore(place.datastore)?.descriptor.coding,
      let base = try? conflict.base.map({ content throws(ModelError) in try coding.document(of: content.bytes) }) ?? .object([]),
      let theirDocument = try? coding.document(of: theirs.bytes), var myDocument = try? coding.document(of: mine.bytes)
    else { return }
    // The fields that were not decided stay in conflict: only this one is put on the new state.
    let rest = conflict.fields.filter { $0.path != field.path }
    do throws(ModelError) {
      if !takesMine {
        if let value = field.theirs { myDocument = try myDocument.setting(field.path, to: value) } else { myDocument = try myDocument.removing(field.path) }
      }
      var old = base
      if let value = field.theirs { old = try base.setting(field.path, to: value) } else { old = try base.removing(field.path) }
      if rest.isEmpty {
        old = theirDocument
        for change in Document.difference(base, theirDocument) where !conflict.fields.contains(where: { $0.path == change.path }) {
          if let value = change.new { myDocument = try myDocument.setting(change.path, to: value) } else { myDocument = try myDocument.removing(change.path) }
        }
      }
      let oldBytes = rest.isEmpty ? theirs.bytes : try coding.encode(old)
      let newBytes = try coding.encode(myDocument, keeping: mine.bytes)
      session.staged.replace(
        RecordEdit(
          datastore: place.datastore, identifier: place.identifier,
          old: RecordContent(version: theirs.version, bytes: oldBytes),
          new: RecordContent(version: mine.version, bytes: newBytes)))
      session.start(.staging, .saveStaged(session.staged))
      overlays.removeLast()
      overlays.append(.review(ReviewOverlay(subject: .staged(session.staged.changes))))
      session.say("\(field.path.shortText): \(takesMine ? "mine" : "theirs")")
    } catch { session.complain(error.description) }
  }
}

extension StagedChanges {
  /// Puts another edit in the place of what is staged of its record, old state and all, as one step.
  mutating func replace(_ edit: RecordEdit) {
    var edits = changes.changes
    guard let place = edits.firstIndex(where: { $0.place == edit.place }) else { return }
    edits[place] = edit
    self = StagedChanges(base: base, steps: [StagedStep(title: "decided \(edit.identifier)", edits: edits)])
  }
}
