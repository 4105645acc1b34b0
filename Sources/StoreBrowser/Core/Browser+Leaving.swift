import StrataDocuments
import StrataModel
import StrataTerminal

/// The ways to leave a store in memory. The user always chooses one.
enum Leaving: Sendable, Hashable {
  case asStore(path: String)
  case intoFile
  /// The edits are made in the file, which another program has changed.
  case intoChangedFile
  /// The file stays, and the edits go into another file, as they would go into this one.
  case asFile(path: String)
  case withoutSaving
}

extension Browser {
  /// Returns the menu to show before a changed store in memory is closed, or nil if nothing would be lost.
  func leavingMenu() -> MenuOverlay? {
    guard let file = session.configuration.documentFile else { return nil }
    let commits = session.head.rawValue - min(session.head.rawValue, file.report.commit?.rawValue ?? 0)
    let staged = session.staged.count
    guard commits > 0 || staged > 0 else { return nil }
    let name = DocumentFile.fileName(of: file.path)
    var what: [String] = []
    if commits > 0 { what.append(NumberFormat.counted(commits, "commit")) }
    if staged > 0 { what.append(NumberFormat.counted(staged, "staged change")) }
    let store = DocumentFile.stem(of: file.path) + ".strata"
    let unread = file.report.rejected
    let kept = unread > 0 ? ", with the \(NumberFormat.counted(unread, "row")) that could not be read" : ""
    let after = staged > 0 ? ", after the review" : ""
    /// The staged changes belong to the saved file, so their commit comes first.
    func saving(_ how: Leaving) -> Intent { Intent { staged > 0 ? $0.openReview(then: how) : $0.leave(how) } }
    return MenuOverlay(
      title: "\(name) is open in memory: \(what.joined(separator: ", "))",
      items: [
        .init(title: "stay"),
        .init(title: "save as a store", detail: store + after, choice: saving(.asStore(path: store))),
        .init(title: "write the file anew", detail: name + kept + after, choice: saving(.intoFile)),
        .init(title: "leave without saving", choice: Intent { $0.leave(.withoutSaving) }),
      ])
  }

  /// Offers the choices if another program has changed the file meanwhile; nil stands for one that cannot be read any more.
  private mutating func offer(_ comparison: FileComparison?, for file: DocumentFile) {
    let name = DocumentFile.fileName(of: file.path)
    var title = "\(name) cannot be read any more"
    let other = Self.freePath(for: file.path)
    var items = [MenuOverlay.Item(title: "stay")]
    if let comparison {
      title = "\(name) was changed by another program: \(NumberFormat.counted(comparison.theirs, "row"))"
      let both =
        comparison.overlaps > 0
        ? ", \(NumberFormat.counted(comparison.overlaps, "field")) changed there too" : ""
      items += [
        .init(
          title: "compare", detail: "as it was, as it is, and mine",
          choice: .present(TextOverlay(title: "\(name): three sides", lines: comparison.lines))),
        .init(
          title: "put my edits into it", detail: NumberFormat.counted(comparison.mine, "row") + both,
          choice: Intent { $0.leave(.intoChangedFile) }),
      ]
    }
    let unread = file.report.rejected
    let lost = unread > 0 ? ", without \(NumberFormat.counted(unread, "unreadable row"))" : ""
    items += [
      .init(
        title: other == file.path ? "write it again" : "write another file",
        detail: DocumentFile.fileName(of: other) + lost, choice: Intent { $0.leave(.asFile(path: other)) }),
      .init(title: "leave without saving", choice: Intent { $0.leave(.withoutSaving) }),
    ]
    presentLate(MenuOverlay(title: title, items: items))
  }

  /// `cities.csv` if nothing lies there, otherwise `cities-2.csv`, or the next name that is free.
  private static func freePath(for path: String) -> String {
    let stem = DocumentFile.stem(of: path)
    let names = (2...).lazy.map { "\(stem)-\($0)\(path.dropFirst(stem.count))" }
    return BrowserFiles.none.exists(path) ? names.first { !BrowserFiles.none.exists($0) } ?? path : path
  }

  mutating func tell(of file: DocumentFile) {
    let report = file.report
    let identifier = "by row, identified by \(file.identifier?.shortText ?? "no column") (--id COLUMN chooses)"
    if let rejection = report.rejections.first {
      let rows = NumberFormat.counted(report.rejected, "row")
      session.warn("\(rows) left out, the first: \(rejection); the others \(identifier)")
    } else if let column = file.columns.first(where: { $0.exceptions != nil }), let others = column.exceptions {
      let first = others.first.first.map { ": \($0.place) “\($0.text)”" } ?? ""
      session.warn(
        "\(column.path.shortText) is text: \(NumberFormat.count(others.others)) of \(NumberFormat.counted(others.cells, "cell")) "
          + "\(others.others == 1 ? "is" : "are") not \(others.type)\(first)")
    } else {
      let records = NumberFormat.counted(report.new, "record")
      session.say("\(records) \(identifier); the file stays as it is")
    }
    if let note = file.notes.first { session.warn(note) }
  }

  mutating func leave(_ how: Leaving) {
    guard let file = session.configuration.documentFile else { return }
    let label =
      switch how {
      case .withoutSaving: "leaving"
      case .asStore(let path): "saving as \(path)"
      case .intoFile, .intoChangedFile: "writing \(file.path)"
      case .asFile(let path): "writing \(path)"
      }
    let (head, revision) = (session.head, session.stagedRevision)
    session.start(LeaveRequest.slot, LeaveRequest(file: file, how: how), label: label) { browser, reply in
      let session = browser.session
      let isWhole = session.head == head && session.stagedRevision == revision && !session.isCommitting
      browser.hasLeft(reply, isWhole: isWhole || how == .withoutSaving)
    }
  }

  /// - Parameter isWhole: Whether nothing was staged or committed since saving began.
  private mutating func hasLeft(_ reply: LeaveReply, isWhole: Bool) {
    if !reply.isDone, let file = session.configuration.documentFile {
      if let problem = reply.problem { session.warn(problem) }
      return offer(reply.comparison, for: file)
    }
    if let farewell = reply.farewell, !isWhole {
      // The state that is kept for a hang-up was discarded.
      session.keepStaged()
      return session.warn("without what was done meanwhile (q asks what becomes of it): \(farewell)")
    }
    let staged = session.staged.count
    let lost = staged > 0 ? ", without \(NumberFormat.counted(staged, "staged change"))" : ""
    session.left = reply.farewell.map { $0 + lost }
    session.emit(.quit())
  }
}

/// Saves the contents of a store in memory.
struct LeaveRequest: Question {
  static let slot = WorkSlot(name: "leave", isLong: true, isKept: true, isInCockpit: true)
  var file: DocumentFile
  var how: Leaving

  func reply(in context: WorkContext) throws(ModelError) -> LeaveReply {
    let reply = try answer(in: context)
    // The state that is kept for a hang-up was discarded or is saved elsewhere.
    if reply.isDone {
      try context.files.save(StagedChanges())
      try context.files.keepCommits([])
    }
    return reply
  }

  private func answer(in context: WorkContext) throws(ModelError) -> LeaveReply {
    guard let store = context.store as? EngineStore else { return LeaveReply() }
    switch how {
    case .withoutSaving: return LeaveReply()
    case .asStore(let path):
      let (commits, isByRow) = try file.save(store, as: path, progress: context.goingOn)
      let rows =
        isByRow ? ", by the numbers of the rows: \(file.identifier?.shortText ?? "") does not tell all apart" : ""
      return LeaveReply(farewell: "saved as \(path), \(NumberFormat.counted(commits, "commit"))\(rows)")
    case .intoFile, .intoChangedFile:
      switch try file.rewritten(from: store, progress: context.goingOn) {
      case .bytes(let bytes, let keepsRows):
        let reply = try write(bytes, to: file.path, in: context)
        if keepsRows { context.files.moveRemembered(to: FileBytes.digest(of: bytes)) }
        return reply
      case .changed(let comparison):
        guard how == .intoChangedFile else { return LeaveReply(comparison: comparison) }
        return try write(comparison.merged, to: file.path, in: context)
      case .lost(let reason): return LeaveReply(problem: reason)
      }
    case .asFile(let path):
      return try write(file.bytes(from: store, progress: context.goingOn), to: path, in: context)
    }
  }

  private func write(_ bytes: [UInt8], to path: String, in context: WorkContext) throws(ModelError) -> LeaveReply {
    let copy = try context.files.write(path) { output throws(ModelError) in
      try context.goOn()
      _ = try output.add(bytes)
    }
    return LeaveReply(
      farewell: "\(path) was written anew" + (copy.map { ", in its place; what it was lies at \($0)" } ?? ""))
  }
}

struct LeaveReply: Sendable {
  var farewell: String?
  /// Set if nothing was written because another program has changed the file.
  var comparison: FileComparison?
  /// Why the file cannot be read any more, if nothing was written because of that.
  var problem: String?
  var isDone: Bool { comparison == nil && problem == nil }
}
