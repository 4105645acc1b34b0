import StrataModel
import StrataDocuments
import StrataTerminal

/// The handlers of the reports of work.
extension Browser {
  mutating func hear(_ report: WorkReport, of id: WorkID) {
    guard session.running[id.slot]?.id == id else { return }
    switch report {
    case .progress(let progress):
      session.running[id.slot]?.update(progress, at: session.now)
      session.updateRun(id, progress)
      for pane in listeners(of: id.slot) { with(pane) { $0.progressed(progress, of: id.slot, in: &$1) } }
    case .finished(let reply):
      session.running[id.slot] = nil
      session.endRun(id, (reply as? any EndingReply)?.ending ?? .done("done"))
      answered(reply, of: id.slot)
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

  /// Handles work that ended at a request; nothing of it was written.
  private mutating func ended(_ slot: WorkSlot) {
    guard slot == .commit, var review = overlays.last as? ReviewOverlay else { return }
    review.stopCommitting()
    overlays[overlays.count - 1] = review
    session.say("cancelled: nothing was written, and what is staged stays staged")
  }

  /// The panes and open overlays that receive the reports of a kind of work.
  private func listeners(of slot: WorkSlot) -> [PaneID] {
    PaneTable.listeners(of: slot).filter { pane($0) != nil }
  }

  private mutating func answered(_ reply: any Sendable, of slot: WorkSlot) {
    for pane in listeners(of: slot) { with(pane) { $0.answered(reply, in: &$1) } }
    switch reply {
    case let saved as LeaveReply: hasLeft(saved)
    case let reply as ImportReply: imported(reply)
    case let reply as RepeatsRequest.Reply: build(after: reply)
    case is TypingPause.Reply: showTyped()
    case let explained as ExplainRequest.Reply where slot == .typedPlan: preview?.plan = explained
    case let explained as ExplainRequest.Reply: show(explained)
    case let reply as JoinRequest.Reply: joined(reply)
    case let reply as QueryRequest.Reply: heard(reply)
    case let reply as OutlineRequest.Reply: show(reply.outline, reply.status)
    case let answer as RefreshAnswer: follow(answer)
    case let resolved as ResolvedCommit: go(to: resolved.commit, for: resolved.purpose)
    case let place as RecordPlace: show(place)
    case let found as FollowRequest.Reply:
      if let place = found.place { show(place) } else { show(found.request.value, of: found.request.field) }
    case let answer as GatherAnswer: gathered(answer)
    case let answer as EditedDocumentsAnswer:
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
    case let answer as RangeAnswer:
      recordJump()
      table.setRange(answer.range)
      session.say("\(answer.range.map(\.description) ?? "all"): \(NumberFormat.count(answer.count)) entries")
    case let answer as VerifyAnswer: say(answer)
    case let answer as ReferrersAnswer: showReferrers(answer)
    case let reply as CommitReply: committed(reply.commit, reply.request)
    case let reply as UndoCandidateRequest.Reply: reviewUndo(reply.commit, isRedo: reply.isRedo)
    case let pins as [Pin]:
      session.outline?.pins = pins
      session.say("pins: \(pins.isEmpty ? "none" : pins.map(\.name).joined(separator: ", "))")
    case let answer as ExportAnswer where answer.unasked != nil:
      guard var request = answer.unasked else { break }
      request.replaces = true
      present(
        MenuOverlay(
          title: "\(answer.file) is there already",
          items: [
            .init(title: "leave it"),
            .init(title: "choose another name", choice: .ask(.export)),
            .init(
              title: "replace it", detail: "what it holds is lost",
              choice: Intent { [request] in
                $0.session.start(.export, request, label: "export to \(request.file)")
              }),
          ]))
    case let answer as ExportAnswer: session.say(answer.sentence)
    case let reply as ListExport.Reply: session.say(reply.sentence)
    case let kept as KeptStaged: haveRead(kept.staged, problem: kept.problem)
    case is SaveStagedRequest.Reply: session.keeping.problem = nil
    case let remembered as Remembered: session.remembered = remembered
    case is WarmUpAnswer: look()
    case let reply as RewriteReply: rewritten(reply)
    case IndexChangeRequest.Reply.changed(let report):
      let change = report.change
      session.say("\(change.title): commit \(report.commit)\(change.wayBack.map { " — :\($0)" } ?? "")")
      look()
    default: break
    }
  }

  /// Whether an edit would replace another staged new record.
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
    case .query where external != nil: reopenExternal(error.description)
    default: if listeners.isEmpty { session.complain(error) }
    }
  }

  private mutating func show(_ place: RecordPlace) {
    select(place)
    if focus != .table { focusPane(.table) }
  }

  /// Shows a plain value in full.
  private mutating func show(_ value: Document, of field: String) {
    present(TextOverlay(title: field.isEmpty ? "Value" : field, value: value))
  }

  // MARK: The store

  private mutating func show(_ outline: Outline, _ standing: StoreStatus) {
    apply(standing)
    readKept(for: outline)
    guard outline.commit.number == session.shown else { return }
    session.outline = outline
    if let words = table.adjustOrder(to: outline) { session.warn(words) }
    guard !isStarted else {
      proveIndexes()
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
    if let commit = start.commit { session.start(.resolve, ResolveRequest(name: commit, purpose: .travel)) }
    if let identifier = start.identifier {
      session.start(.identify, IdentifyRequest(datastore: key, text: identifier, commit: session.shown))
    }
  }

  private mutating func apply(_ standing: StoreStatus) {
    let hadWriter = session.facts.writer != nil
    session.facts.access = standing.access
    session.facts.writer = standing.writer
    session.facts.activity = standing.activity
    session.facts.nextPruning = standing.nextPruning
    session.facts.letters = standing.letters
    session.hear(standing.activity)
    guard hadWriter, standing.writer == nil, renewReview() else { return }
    session.say("the lock is free again")
  }

  /// Requests a review again that could not be made or committed. Returns whether there was one.
  private mutating func renewReview() -> Bool {
    guard var review = overlays.last as? ReviewOverlay, review.problem != nil else { return false }
    review.renew()
    overlays[overlays.count - 1] = review
    return true
  }

  private mutating func follow(_ answer: RefreshAnswer) {
    apply(answer.status)
    if session.awaySince != nil { comeBack() }
    guard answer.head != session.head else { return }
    guard updateHead(to: answer.head, newCommits: answer.newCommits) else { return }
    guard let changed = answer.changed else { return session.say("many records changed") }
    for (identifier, kind) in changed { table.changed[identifier] = kind }
    if let selected = table.selectedIdentifier(session), changed[selected] == .delete {
      session.warn("\(selected) was deleted by another program")
    }
  }

  /// Handles the return of the server: requests again the data that could not be read meanwhile.
  private mutating func comeBack() {
    session.awaySince = nil
    table.clearFailure()
    _ = renewReview()
    session.start(.outline, OutlineRequest(commit: session.shown))
    session.say("the server is back")
  }

  /// Records a new head. Returns whether it is shown from now on.
  @discardableResult
  mutating func updateHead(to: CommitNumber, newCommits: Int = 1) -> Bool {
    session.head = to
    if let file = session.configuration.documentFile {
      session.start(.keptCommits, KeepCommitsRequest(file: file))
    }
    guard session.isFollowing, session.asOf == nil else {
      session.unseen += newCommits
      return false
    }
    session.shown = to
    session.start(.outline, OutlineRequest(commit: to))
    return true
  }

  private mutating func go(to commit: CommitNumber, for purpose: ResolvePurpose) {
    switch purpose {
    case .travel: travel(to: commit)
    case .pin(let name): session.start(.pin, PinRequest(name: name, commit: commit), label: "pin")
    case .restore(let datastore):
      present(ReviewOverlay(subject: .restore(commit, datastore: datastore)))
    case .differenceBase(let newer):
      guard let newer else {
        showDifference(commit, session.shown)
        return
      }
      session.start(.resolve, ResolveRequest(name: newer, purpose: .difference(from: commit)))
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
