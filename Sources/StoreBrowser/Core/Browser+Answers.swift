import DatastoreModel
import Documents
import TerminalKit

/// What work reports, and who hears it.
extension Browser {
  mutating func hear(_ report: WorkReport, of id: WorkID) {
    guard session.running[id.slot]?.id == id else { return }
    switch report {
    case .progress(let progress):
      session.running[id.slot]?.note(progress, at: session.now)
      session.noteRun(id, progress)
      for pane in listeners(of: id.slot) { with(pane) { $0.progressed(progress, of: id.slot, in: &$1) } }
    case .finished(let answer):
      session.running[id.slot] = nil
      session.endRun(id, answer.ending(for: session.time))
      answered(answer, of: id.slot)
    case .failed(let error):
      session.running[id.slot] = nil
      session.endRun(id, error == .cancelled ? .cancelled : .failed(error.description))
      if error == .cancelled { ended(id.slot) } else { fail(id.slot, error) }
    case .cancelled:
      session.running[id.slot] = nil
      session.endRun(id, .cancelled)
      ended(id.slot)
    }
    leaveWhenKept()
  }

  /// Work that was asked to end has ended, and nothing of it was written.
  private mutating func ended(_ slot: WorkSlot) {
    guard slot == .commit, var review = overlays.last as? ReviewOverlay else { return }
    review.stopCommitting()
    overlays[overlays.count - 1] = review
    session.say("cancelled: nothing was written, and what is staged stays staged")
  }

  /// The panes and open overlays that hear of a kind of work.
  private func listeners(of slot: WorkSlot) -> [PaneID] {
    PaneTable.listeners(of: slot).filter { pane($0) != nil }
  }

  private mutating func answered(_ answer: Answer, of slot: WorkSlot) {
    for pane in listeners(of: slot) { with(pane) { $0.answered(answer, in: &$1) } }
    switch answer {
    case .reply(let saved as LeaveReply): hasLeft(saved)
    case .reply(let reply as ImportReply): imported(reply)
    case .reply(let reply as RepeatsRequest.Reply): build(after: reply)
    case .reply(is TypingPause.Reply): showTyped()
    case .reply(let explained as ExplainRequest.Reply) where slot == .typedPlan: preview?.plan = explained
    case .reply(let explained as ExplainRequest.Reply): show(explained)
    case .outline(let outline, let standing): show(outline, standing)
    case .refreshed(let answer): follow(answer)
    case .resolved(let commit, let purpose): go(to: commit, for: purpose)
    case .identified(let place): show(place)
    case .reply(let found as FollowRequest.Reply):
      if let place = found.place { show(place) } else { show(found.request.value, of: found.request.field) }
    case .gathered(let answer): gathered(answer)
    case .editedDocuments(let answer):
      guard !answer.edits.isEmpty else {
        external = nil
        session.say("nothing changed")
        break
      }
      if let twice = answer.edits.first(where: isStagedAlready) {
        reopenExternal("\(twice.identifier) is staged as a new record already; give this one another identifier")
        break
      }
      external = nil
      let isOne = answer.edits.count == 1
      let verb = answer.edits[0].old == nil ? "new" : "edited"
      stage(
        StagedStep(
          title: isOne ? "\(verb) \(answer.edits[0].identifier)" : "\(answer.edits.count) records", edits: answer.edits)
      )
    case .range(let answer):
      noteJump()
      table.setRange(answer.range)
      session.say("\(answer.range.map(\.description) ?? "all"): \(NumberFormat.count(answer.count)) entries")
    case .verified(let answer): say(answer)
    case .referrers(let answer): showReferrers(answer)
    case .committed(let commit, let request): committed(commit, request)
    case .undoCandidate(let commit, let isRedo): reviewUndo(commit, isRedo: isRedo)
    case .pinned(let pins):
      session.outline?.pins = pins
      session.say("pins: \(pins.isEmpty ? "none" : pins.map(\.name).joined(separator: ", "))")
    case .exported(let answer) where answer.unasked != nil:
      guard var request = answer.unasked else { break }
      request.replaces = true
      present(
        MenuOverlay(
          title: "\(answer.file) is there already",
          items: [
            .init(title: "leave it", detail: "", choice: .nothing),
            .init(title: "choose another name", detail: "", choice: .exportElsewhere),
            .init(title: "replace it", detail: "what it holds is lost", choice: .export(request)),
          ]))
    case .exported(let answer):
      session.say(
        "\(NumberFormat.count(answer.records)) records, \(NumberFormat.bytes(answer.bytes)) in \(answer.file)")
    case .staged(let staged, let problem): haveRead(staged, problem: problem)
    case .saved: session.keeping.problem = nil
    case .remembered(let remembered): session.remembered = remembered
    case .warmedUp: look()
    case .rewritten(let rewrite, let report): rewritten(rewrite, report)
    case .indexChanged(let report):
      let change = report.change
      session.say("\(change.title): commit \(report.commit)\(change.wayBack.map { " — :\($0)" } ?? "")")
      look()
    default: break
    }
  }

  /// Whether an edit would take the place of another new record that is staged.
  private func isStagedAlready(_ edit: RecordEdit) -> Bool {
    guard edit.old == nil, let staged = session.staged.edits[edit.place], staged.kind == .insert else { return false }
    return external?.subject.identifier != edit.identifier
  }

  private mutating func fail(_ slot: WorkSlot, _ error: ModelError) {
    let listeners = listeners(of: slot)
    for pane in listeners { with(pane) { $0.failed(error, of: slot, in: &$1) } }
    switch slot {
    case .staging: keepingFailed(error)
    case .commit: look()
    case .refresh:
      if case .storage(_, kind: .unreachable) = error { session.awaySince = session.awaySince ?? session.now }
      session.warn(error.description)
    case .editedDocuments: reopenExternal(error.description)
    default: if listeners.isEmpty { session.complain(error) }
    }
  }

  private mutating func show(_ place: RecordPlace) {
    select(place)
    if focus != .table { focusPane(.table) }
  }

  /// Shows a plain value whole.
  private mutating func show(_ value: Document, of field: String) {
    present(TextOverlay(title: field.isEmpty ? "Value" : field, value: value))
  }

  // MARK: The store

  private mutating func show(_ outline: Outline, _ standing: StoreStanding) {
    note(standing)
    readKept(for: outline)
    guard outline.commit.number == session.shown else { return }
    session.outline = outline
    if let words = table.settleOrder(of: outline) { session.warn(words) }
    guard !isStarted else {
      if session.datastore == nil || outline.datastore(session.datastore) == nil {
        if let first = outline.datastores.first { openDatastore(first.key, index: nil) }
      }
      return
    }
    isStarted = true
    let start = session.configuration.start
    if let key = start.datastore, outline.datastore(key) == nil {
      session.warn("there is no datastore “\(key)” here")
    }
    let key = start.datastore.flatMap { outline.datastore($0)?.key } ?? outline.datastores.first?.key
    guard let key else { return }
    openDatastore(key, index: nil)
    stores.reveal(session)
    if let commit = start.commit { session.start(.resolve, .resolve(commit, for: .travel)) }
    if let identifier = start.identifier {
      session.start(.identify, .identify(datastore: key, text: identifier, commit: session.shown))
    }
  }

  private mutating func note(_ standing: StoreStanding) {
    let hadWriter = session.facts.writer != nil
    session.facts.access = standing.access
    session.facts.writer = standing.writer
    session.facts.activity = standing.activity
    session.facts.nextPruning = standing.nextPruning
    session.hear(standing.activity)
    guard hadWriter, standing.writer == nil, renewReview() else { return }
    session.say("the lock is free again")
  }

  /// Has a review made again that could not be made or committed; whether there was one.
  private mutating func renewReview() -> Bool {
    guard var review = overlays.last as? ReviewOverlay, review.problem != nil else { return false }
    review.renew()
    overlays[overlays.count - 1] = review
    return true
  }

  private mutating func follow(_ answer: RefreshAnswer) {
    note(answer.standing)
    if session.awaySince != nil { comeBack() }
    guard answer.head != session.head else { return }
    guard adopt(head: answer.head, newCommits: answer.newCommits) else { return }
    guard let changed = answer.changed else {
      session.say("many records changed")
      return
    }
    for (identifier, kind) in changed { table.changed[identifier] = kind }
    if let selected = table.selectedIdentifier(session), changed[selected] == .delete {
      session.warn("\(selected) was deleted by another program")
    }
  }

  /// The server can be reached again: what could not be read meanwhile is asked for anew.
  private mutating func comeBack() {
    session.awaySince = nil
    table.clearFailure()
    _ = renewReview()
    session.start(.outline, .outline(session.shown))
    session.say("the server is back")
  }

  /// Takes note of a new head. Answers whether it is shown from now on.
  @discardableResult
  mutating func adopt(head: CommitNumber, newCommits: Int = 1) -> Bool {
    session.head = head
    if let file = session.configuration.documentFile {
      session.start(.keptCommits, .ask(KeepCommitsRequest(file: file)))
    }
    guard session.isFollowing, session.asOf == nil else {
      session.unseen += newCommits
      return false
    }
    session.shown = head
    session.start(.outline, .outline(head))
    return true
  }

  private mutating func go(to commit: CommitNumber, for purpose: ResolvePurpose) {
    switch purpose {
    case .travel: travel(to: commit)
    case .pin(let name): session.start(.pin, .pin(name, commit), label: "pin")
    case .restore(let datastore):
      present(ReviewOverlay(subject: .restore(commit, datastore: datastore)))
    case .differenceBase(let newer):
      guard let newer else {
        showDifference(commit, session.shown)
        return
      }
      session.start(.resolve, .resolve(newer, for: .difference(from: commit)))
    case .difference(let older): showDifference(older, commit)
    case .merge: showMerge(of: commit)
    }
  }

  private mutating func say(_ answer: VerifyAnswer) {
    guard !answer.isClean else { return session.say(answer.sentence) }
    session.complain(answer.sentence)
    let lines =
      answer.orphans.map { "entry without its record: \($0.value) → \($0.identifier)" }
      + answer.missing.map { "record without its entry: \($0)" } + answer.unreadable.map { "cannot be read: \($0)" }
      + [answer.staleness].compactMap(\.self)
    present(TextOverlay(title: "Verify \(answer.request.datastore)", lines: lines))
  }
}
