import Documents
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
    // What this browser wrote is not marked as another's change; what another wrote just before is.
    if commit.rawValue == session.head.rawValue + 1 { adopt(head: commit, newCommits: session.asOf == nil ? 1 : 0) }
    look()
  }

  /// Decides one field in conflict; once all of a record are decided, the change is put on what lies there now.
  mutating func resolveConflict(_ review: ReviewOverlay, takesMine: Bool) {
    guard case .staged = review.subject else { return }
    guard let (place, conflict, path) = review.selectedConflict else {
      session.warn("choose a field in conflict first")
      return
    }
    var review = review
    review.choices[place, default: [:]][path] = takesMine ? .mine : .theirs
    session.say("\(path.shortText): \(takesMine ? "mine" : "theirs")")
    let choices = review.choices[place] ?? [:]
    guard conflict.fields.allSatisfy({ choices[$0.path] != nil }),
      let coding = session.outline?.datastore(place.datastore)?.descriptor.coding
    else {
      replaceTop(.review(review))
      return
    }
    do throws(ModelError) {
      let edit = try conflict.resolved(by: choices, coding: coding)
      session.staged.settle(place, as: edit)
      session.start(.staging, .saveStaged(session.staged))
      overlays.removeLast()
      guard !session.staged.isEmpty else {
        session.say("what lies there is kept; nothing is staged any more")
        return
      }
      overlays.append(.review(ReviewOverlay(subject: .staged(session.staged.changes))))
    } catch { session.complain(error.description) }
  }
}

extension StagedChanges {
  /// Puts another edit, or none, in the place of what is staged of a record, its old state too. The steps before are
  /// one from then on, because they were made on another state.
  mutating func settle(_ place: RecordPlace, as edit: RecordEdit?) {
    let edits = changes.changes.compactMap { $0.place == place ? edit : $0 }
    let steps = edits.isEmpty ? [] : [StagedStep(title: "decided \(place.identifier)", edits: edits)]
    self = StagedChanges(base: base, steps: steps)
  }
}
