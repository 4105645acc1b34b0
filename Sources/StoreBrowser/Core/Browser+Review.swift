import DatastoreModel
import TerminalKit

/// After the commit.
extension Browser {
  mutating func committed(_ commit: CommitNumber, _ request: CommitRequest) {
    if overlays.last is ReviewOverlay { dismiss() }
    if case .staged = request.subject {
      session.staged = StagedChanges()
      table.wrote(request.changes)
      session.keepStaged()
    }
    table.clearMarks()
    session.say("committed \(commit) “\(request.name)” — u takes it back")
    // What this browser wrote is not marked as another's change; what another wrote just before is.
    if commit.rawValue == session.head.rawValue + 1 { adopt(head: commit, newCommits: session.asOf == nil ? 1 : 0) }
    look()
  }
}
