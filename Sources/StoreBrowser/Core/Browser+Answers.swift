import StrataModel

/// The handlers of the reports of work.
extension Browser {
  mutating func hear(_ report: WorkReport, of id: WorkID) {
    // The last report of cancelled work is what other programs read as well.
    if case .progress(let progress) = report { session.updateRun(id, progress) }
    guard let work = session.running[id.slot], work.id == id else { return }
    switch report {
    case .progress(let progress):
      session.running[id.slot]?.update(progress, at: session.now)
      for pane in listeners(of: id.slot) { with(pane) { $0.progressed(progress, of: id.slot, in: &$1) } }
    case .finished(let reply, let leftOut):
      session.running[id.slot] = nil
      session.gaps[id.slot] = leftOut
      session.endRun(id, (reply as? any EndingReply)?.ending ?? .done("done"))
      for pane in listeners(of: id.slot) { with(pane) { $0.answered(reply, in: &$1) } }
      work.use(&self, reply)
      if work.isAskedToEnd, id.slot.repliesInPart { wasCancelled(work) }
      if let leftOut { session.complain(leftOut) }
    case .failed(let error):
      session.running[id.slot] = nil
      let isGap = error.exitStatus == 3 && id.slot == .filter
      session.gaps[id.slot] = isGap ? error.opening(session.path).description : nil
      session.endRun(id, error == .cancelled ? .cancelled : .failed(error.description))
      if error == .cancelled { ended(work) } else { fail(id.slot, error) }
    }
    if looksAgain, !session.isRunning(.refresh) { look() }
    leaveWhenKept()
  }

  /// Handles work that ended at a request; nothing of it was written.
  private mutating func ended(_ work: RunningWork) {
    if work.id.slot.repliesInPart { wasCancelled(work) }
    guard work.id.slot == .commit else { return }
    look()
    guard var review = overlays.last as? ReviewOverlay else { return }
    review.isCommitting = false
    overlays[overlays.count - 1] = review
    session.say("cancelled: nothing was written, and what is staged stays staged")
  }

  /// Says that work was cancelled, and lets its panes know.
  mutating func wasCancelled(_ work: RunningWork) {
    session.say("cancelled: \(work.label)")
    for pane in listeners(of: work.id.slot) { with(pane) { $0.cancelled(work.id.slot, in: &$1) } }
  }

  /// The panes and open overlays that receive the reports of a kind of work.
  private func listeners(of slot: WorkSlot) -> [PaneID] {
    PaneTable.listeners(of: slot).filter { pane($0) != nil }
  }

  private mutating func fail(_ slot: WorkSlot, _ error: ModelError) {
    let error = slot == .record ? error : error.opening(session.path)
    if case .storage(_, kind: .unreachable) = error { session.lacksAnswers = true }
    let (listeners, isAwaited) = (listeners(of: slot), record.waiting != nil)
    for pane in listeners { with(pane) { $0.failed(error, of: slot, in: &$1) } }
    // Text typed behind the command that waited for a record is meant for that command.
    if isAwaited, record.waiting == nil { typeAhead = [] }
    switch slot {
    case .outline:
      if case .noSuchCommit = error, session.asOf != nil || session.shown != session.head { travel(to: nil) }
      if session.outline == nil { session.outlineProblem = error.description }
      session.complain(error)
    case .staging: keepingFailed(error)
    case .commit: look()
    case .refresh:
      if case .storage(_, kind: .unreachable) = error { session.awaySince = session.awaySince ?? session.now }
      session.warn(error.description)
    case .editedDocuments: reopenExternal(error.description)
    case QueryRequest.slot where external != nil: reopenExternal(error.description)
    default: if listeners.isEmpty { session.complain(error) }
    }
  }

  mutating func show(_ place: RecordPlace) {
    select(place)
    if focus != .table { focusPane(.table) }
  }

  // MARK: The store

  mutating func show(_ outline: Outline, _ standing: StoreStatus) {
    apply(standing)
    readKept(for: outline)
    guard outline.commit.number == session.shown else { return }
    (session.outline, session.outlineProblem) = (outline, nil)
    adjustOrder()
    guard !isStarted else {
      table.problem = nil
      proveIndexes()
      if outline.datastore(session.datastore) == nil { leaveDatastore(for: outline) }
      return
    }
    isStarted = true
    let start = session.configuration.start
    if let key = start.datastore, outline.datastore(key) == nil {
      session.warn(outline.unreadable[key] ?? "there is no datastore “\(key)” here")
    } else if let problem = outline.unreadable.values.min() {
      session.complain(problem)
    }
    let key = start.datastore.flatMap { outline.datastore($0)?.key } ?? outline.datastores.first?.key
    guard let key else { return }
    openDatastore(key, index: nil)
    with(StoresPane.self) { $0.reveal($1) }
    if let commit = start.commit { travel(toNamed: commit) }
    if let identifier = start.identifier { goTo(identifier, in: key) }
  }

  /// Gives up an order whose index the shown commit does not have.
  mutating func adjustOrder() {
    guard let outline = session.outline, outline.commit.number == session.shown,
      let words = table.adjustOrder(to: outline)
    else { return }
    session.warn(words)
  }

  /// Whether the shown commit has a datastore, as far as that is known; if not, says so.
  mutating func isThere(_ datastore: String) -> Bool {
    guard let outline = session.outline, outline.commit.number == session.shown, outline.datastore(datastore) == nil
    else { return true }
    session.warn(outline.unreadable[datastore] ?? "\(outline.commit.number) has no datastore \(datastore)")
    return false
  }

  /// Opens the first datastore if the open one is not in the store, and closes the lists and pictures of its rows.
  private mutating func leaveDatastore(for outline: Outline) {
    let first = outline.datastores.first?.key
    if let gone = session.datastore {
      for pane in CommandTable.rowLists + [.plot] { closeView(of: pane) }
      session.warn("\(outline.commit.number) has no datastore \(gone)\(first.map { ": this is \($0)" } ?? "")")
    }
    if let first { return openDatastore(first, index: nil) }
    session.datastore = nil
    table = TablePane()
  }

  private mutating func apply(_ standing: StoreStatus) {
    let hadWriter = session.status.writer != nil
    let refusal = session.writingRefusal
    session.status = standing
    if let new = session.writingRefusal, isStarted, refusal != new { session.warn(new) }
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

  /// - Parameter datastore: The datastore that the changed records are of.
  mutating func follow(_ answer: RefreshAnswer, changedIn datastore: String?) {
    let generation = session.status.generation
    ownMove = nil
    apply(answer.status)
    if session.lacksAnswers { askAgain() }
    // The commit that is shown may have been removed.
    if session.status.generation != generation { session.readOutline() }
    guard answer.head != session.head else { return }
    guard updateHead(to: answer.head, newCommits: answer.newCommits) else { return }
    guard let changed = answer.changed else { return session.say("many records changed") }
    guard datastore == session.datastore else { return }
    for (identifier, kind) in changed { table.changed[identifier] = kind }
    table.unmark { changed[$0] == .delete }
    if let selected = table.selectedIdentifier(session), changed[selected] == .delete {
      session.warn("\(selected) was deleted by another program")
    }
  }

  /// Handles the return of the server: requests again the data that could not be read meanwhile.
  private mutating func askAgain() {
    session.lacksAnswers = false
    session.returns += 1
    // A view that was closed asks when it is opened.
    let open = PaneTable.panes.filter { entry in
      entry.digit != nil || views.contains { $0.kind.panes.contains(entry.id) }
    }
    for id in open.map(\.id) + overlays.map(\.id) { with(id) { $0.askAgain(in: &$1) } }
    _ = renewReview()
    session.readOutline()
    guard session.awaySince != nil else { return }
    session.awaySince = nil
    session.say("the server is back")
  }

  /// Records a new head. Returns whether it is shown from now on.
  @discardableResult
  mutating func updateHead(to: CommitNumber, newCommits: Int) -> Bool {
    session.head = to
    if let file = session.configuration.documentFile {
      let keep = Inquiry { context throws(ModelError) in try context.keepCommits(of: file) }
      session.start(WorkSlot(name: "kept-commits", isKept: true), keep)
    }
    guard session.isFollowing, session.asOf == nil else {
      session.unseen += newCommits
      return false
    }
    session.shown = to
    session.readOutline()
    return true
  }

  mutating func say(_ answer: VerifyAnswer) {
    guard !answer.isClean else { return session.say(answer.sentence) }
    session.complain(answer.sentence)
    presentLate(
      TextOverlay(
        title: "Verify \(answer.request.datastore)", lines: answer.found.allFindings.map(\.description)))
  }
}
