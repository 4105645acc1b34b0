import Documents
import DatastoreModel
import TerminalKit

/// After the commit.
extension Browser {
  mutating func committed(_ commit: CommitNumber, _ request: CommitRequest) {
    if overlays.last is ReviewOverlay { dismiss() }
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
