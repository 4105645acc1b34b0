import StrataModel
import StrataTerminal

/// The state of the file that keeps the staged changes. The kept changes are read before new ones overwrite them.
struct Keeping: Sendable {
  /// Whether the changes kept last time have been read.
  var isRead = false
  /// A command that needs the staged changes and waits until the kept ones have been read; the keys after it wait, too.
  var waiting: (command: Command, argument: String?)?
  /// Why the staged changes are not on the disk; nil if they are.
  var problem: String?
  /// Whether the user wants to leave once everything is kept.
  var isLeaving = false
  /// Whether the user left without waiting for that.
  fileprivate(set) var isAbandoned = false

  /// Makes a command wait until the kept changes have been read. Returns false if they have been read, or if that failed.
  mutating func holds(_ command: Command, _ argument: String?) -> Bool {
    guard !isRead, problem == nil else { return false }
    waiting = (command, argument)
    return true
  }
}

extension Session {
  /// Saves the staged changes. A save that has not begun yet is skipped if a later one follows.
  mutating func keepStaged() {
    guard keeping.isRead else { return }
    let save = Inquiry { [staged] context throws(ModelError) in try context.files.save(staged) }
    start(.staging, save) { browser, _ in browser.session.keeping.problem = nil }
  }

  /// The unfinished work that saves what the user did.
  fileprivate var unkept: RunningWork? {
    running.values
      .filter { $0.id.slot.isKept && $0.id.slot != .remembered && (keeping.isRead || $0.id.slot != .staging) }
      .max { $0.id.serial < $1.id.serial }
  }

  /// The state of keeping the staged changes, for the status line; nil if they are on the disk.
  var keepingWords: String? {
    let work = running[.staging]
    guard keeping.isRead else {
      guard let count = work?.progress?.total, count > 0 else { return keeping.problem.map { _ in "staged not read" } }
      return "\(NumberFormat.counted(count, "staged change")) \(count == 1 ? "is" : "are") being read"
    }
    if keeping.problem != nil { return "staged NOT on disk" }
    guard let work, now - work.startedAt >= 1_000_000_000 else { return nil }
    return "staged not on disk yet, \((now - work.startedAt) / 1_000_000_000) s"
  }
}

extension Browser {
  /// Reads the changes kept last time, as soon as the types of identifiers are known.
  mutating func readKept(for outline: Outline) {
    guard !session.keeping.isRead, session.keeping.problem == nil, !session.isRunning(.staging) else { return }
    session.start(.staging, LoadStagedRequest(descriptors: outline.datastores.map(\.descriptor))) {
      $0.haveRead($1.staged, problem: $1.problem)
    }
  }

  mutating func haveRead(_ kept: KeptRemembered) {
    var early = session.remembered
    let builds = early.builds.take()
    session.remembered = kept.remembered
    // A build may have ended meanwhile.
    if let builds { session.remember { $0.builds = ($0.builds ?? []) + builds } }
    viewChanges = ViewChanges()
    if let problem = kept.problem {
      session.warn(problem)
    } else if early != Remembered() {
      session.warn("columns, views and bookmarks were read only now; those set before are not kept")
    }
  }

  private mutating func haveRead(_ kept: StagedChanges, problem: String?) {
    var all = kept
    // No command stages earlier. Changes that were staged all the same follow the kept ones.
    for step in session.staged.steps { all.add(step) }
    let hasMore = !session.staged.steps.isEmpty
    session.staged = all
    session.keeping.isRead = true
    if hasMore { session.keepStaged() }
    if let problem {
      session.warn(problem)
    } else if !kept.isEmpty {
      // The sentence about the commits of an opened file stays before it.
      let words = session.configuration.documentFile == nil ? nil : session.configuration.greeting
      let staged = "\(NumberFormat.counted(kept.count, "staged change")) from before — w reviews"
      session.say([words, staged].compactMap { $0 }.joined(separator: " · "))
    }
    guard let (command, argument) = session.keeping.waiting else { return }
    session.keeping.waiting = nil
    run(command, argument: argument)
  }

  /// Handles a failure: the kept changes could not be read, and stay as they are; or the staged changes could not be saved.
  mutating func keepingFailed(_ error: ModelError) {
    session.keeping.problem = error.description
    if session.keeping.waiting != nil { (session.keeping.waiting, typeAhead) = (nil, []) }
    session.complain((session.keeping.isLeaving ? "Q again leaves without it: " : "") + error.description)
  }

  // MARK: Leaving

  /// Leaves when everything is kept. A second press leaves at once, and the shell shows what is not kept.
  mutating func quit() {
    if let menu = leavingMenu() {
      // In too small a window Q comes here from an editor or the menu itself.
      while !overlays.isEmpty { dismiss() }
      return present(menu)
    }
    if session.keeping.isLeaving {
      session.keeping.isAbandoned = true
    } else {
      if session.keeping.problem != nil { session.keepStaged() }
      if let work = session.unkept {
        session.keeping.isLeaving = true
        session.say("waiting for \(Self.name(of: work)); Q again leaves without waiting")
        return
      }
    }
    session.emit(.quit())
  }

  private static func name(of work: RunningWork) -> String {
    switch work.id.slot {
    case .staging: "the disk to take what is staged"
    case .settings: "the disk to take columns, bookmarks and drafts"
    case .commit: "the commit"
    default: work.label.isEmpty ? work.id.slot.name : work.label
    }
  }

  mutating func leaveWhenKept() {
    guard session.keeping.isLeaving, session.keeping.problem == nil, session.unkept == nil else { return }
    session.keeping.isLeaving = false
    session.emit(.quit())
  }

  /// The sentence for the shell: `3 staged changes kept for Atlas.strata`.
  package var farewell: String? {
    if let left = session.left { return SafeText.shown(left) }
    let count = session.keeping.isRead ? session.staged.count : session.running[.staging]?.progress?.total ?? 0
    guard count > 0, session.configuration.documentFile == nil else { return nil }
    let changes = "\(count) staged \(count == 1 ? "change" : "changes")"
    let isUnkept = session.keeping.problem != nil || session.keeping.isAbandoned && session.isRunning(.staging)
    guard session.keeping.isRead, isUnkept else {
      let commit = session.isCommitting ? "; the commit that was not waited for may have them" : ""
      return "\(changes) kept for \(SafeText.shown(session.storeName))\(commit)"
    }
    return
      "\(changes) of \(SafeText.shown(session.storeName)) NOT kept: \(session.keeping.problem ?? "the disk did not answer")"
  }

  /// Whether the program ends without waiting for running saves.
  var leavesAtOnce: Bool { session.keeping.isAbandoned }
}
