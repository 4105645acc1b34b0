import StrataModel

/// The state after a commit.
extension Browser {
  mutating func committed(_ commit: CommitNumber, _ request: CommitRequest) {
    closeReview()
    if case .staged(let written) = request.subject {
      session.staged = session.staged.without(written)
      table.wrote(request.changes)
      session.keepStaged()
    }
    table.clearMarks()
    session.say("committed \(commit) “\(request.name)” — \(request.subject.undoKey) takes it back")
    wrote(commit)
  }

  /// Takes over a commit of this browser. It is not counted as new, and its changes are not marked as another program's; changes that
  /// another program committed just before are.
  ///
  /// - Parameter before: The head on which it was made; nil for a commit on its parent.
  mutating func wrote(_ commit: CommitNumber, over before: CommitNumber? = nil) {
    tour?.hasWritten = true
    let isNext = before.map { $0 == session.head } ?? (commit.rawValue == session.head.rawValue + 1)
    if isNext { updateHead(to: commit, newCommits: 0) } else { ownMove = HeadMove(from: before, to: commit) }
    look()
  }

  /// Says what a review came to, and closes it.
  mutating func endReview(_ sentence: String) {
    closeReview()
    session.say(sentence)
    session.intend(.look)
  }

  /// Closes the review if it is still the topmost overlay: the user may have closed it and opened another.
  private mutating func closeReview() { if overlays.last is ReviewOverlay { dismiss() } }
}

extension StagedChanges {
  /// The changes that were staged after some that are written now, over these. They are one step.
  fileprivate func without(_ written: ChangeSet) -> StagedChanges {
    let all = changes
    guard all != written, let last = steps.prefix(position).last else { return StagedChanges() }
    let known = Dictionary(written.changes.map { ($0.place, $0) }, uniquingKeysWith: { $1 })
    var rest = all.changes
    for index in rest.indices {
      if let edit = known[rest[index].place], edit.old == rest[index].old { rest[index].old = edit.new }
    }
    rest.removeAll { $0.old == $0.new }
    guard !rest.isEmpty else { return StagedChanges() }
    return StagedChanges(base: base, steps: [StagedStep(title: last.title, edits: rest)])
  }
}
