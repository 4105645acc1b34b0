import DatastoreModel
import TerminalKit

/// How what is staged stands with the file that keeps it: one story, in which what was kept is read before anything is
/// saved over it.
struct Keeping: Sendable {
  /// Whether what was kept from the last time has been read.
  var isRead = false
  /// A command that touches what is staged and waits until that has been read, and the keys after it with it.
  var waiting: (command: Command, argument: String?)?
  /// Why what is staged is not on the disk, if so.
  var problem: String?
  /// Whether the person wants to leave once everything is kept.
  var isLeaving = false
  /// Whether the person left without waiting for that.
  fileprivate(set) var isAbandoned = false

  /// Lets a command wait until what was kept has been read; false where that has been read.
  mutating func holds(_ command: Command, _ argument: String?) -> Bool {
    guard !isRead, problem == nil else { return false }
    waiting = (command, argument)
    return true
  }
}

extension Session {
  /// Saves what is staged. A saving that has not begun yet is left out where a later one follows.
  mutating func keepStaged() { if keeping.isRead { start(.staging, SaveStagedRequest(staged: staged)) } }

  /// The work that keeps what a person did, and is not done yet.
  fileprivate var unkept: RunningWork? {
    running.values.filter { $0.id.slot.isKept && (keeping.isRead || $0.id.slot != .staging) }
      .max { $0.id.serial < $1.id.serial }
  }

  /// What is to be known of what is staged beside what it is; nil where it lies on the disk.
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
  /// Reads what was kept from the last time, as soon as it is known what the identifiers mean.
  mutating func readKept(for outline: Outline) {
    guard !session.keeping.isRead, session.keeping.problem == nil, !session.isRunning(.staging) else { return }
    session.start(.staging, LoadStagedRequest(descriptors: outline.datastores.map(\.descriptor)))
  }

  mutating func haveRead(_ kept: StagedChanges, problem: String?) {
    var all = kept
    // Nothing stages before; what did all the same comes after what was kept.
    for step in session.staged.steps { all.add(step) }
    let hasMore = !session.staged.steps.isEmpty
    session.staged = all
    session.keeping.isRead = true
    if hasMore { session.keepStaged() }
    if let problem {
      session.warn(problem)
    } else if !kept.isEmpty {
      session.say("\(NumberFormat.counted(kept.count, "staged change")) from before — w reviews")
    }
    guard let (command, argument) = session.keeping.waiting else { return }
    session.keeping.waiting = nil
    run(command, argument: argument)
  }

  /// What was kept could not be read, and stays as it is; or what is staged could not be saved.
  mutating func keepingFailed(_ error: ModelError) {
    session.keeping.problem = error.description
    session.keeping.waiting = nil
    let leaving = session.keeping.isLeaving ? " — Q again leaves without it" : ""
    session.complain(error.description + leaving)
  }

  // MARK: Leaving

  /// Leaves when everything is kept. Pressed once more it leaves at once, and the shell is told what is not kept.
  mutating func quit() {
    if let menu = leavingMenu() { return present(menu) }
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
    session.emit(.quit(status: 0, farewell: farewell))
  }

  private static func name(of work: RunningWork) -> String {
    switch work.id.slot {
    case .staging: "the disk to take what is staged"
    case .settings: "the disk to take columns and bookmarks"
    case .commit: "the commit"
    default: work.label.isEmpty ? work.id.slot.name : work.label
    }
  }

  mutating func leaveWhenKept() {
    guard session.keeping.isLeaving, session.keeping.problem == nil, session.unkept == nil else { return }
    session.keeping.isLeaving = false
    session.emit(.quit(status: 0, farewell: farewell))
  }

  /// What the shell is told: `3 staged changes kept for Atlas.strata`.
  package var farewell: String? {
    if let left = session.left { return SafeText.shown(left) }
    let count = session.keeping.isRead ? session.staged.count : session.running[.staging]?.progress?.total ?? 0
    guard count > 0, session.configuration.documentFile == nil else { return nil }
    let changes = "\(count) staged \(count == 1 ? "change" : "changes")"
    let isUnkept = session.keeping.problem != nil || session.keeping.isAbandoned && session.isRunning(.staging)
    guard session.keeping.isRead, isUnkept else { return "\(changes) kept for \(SafeText.shown(storeName))" }
    return
      "\(changes) of \(SafeText.shown(storeName)) NOT kept: \(session.keeping.problem ?? "the disk did not answer")"
  }

  /// Whether what is being saved need not be waited for.
  var leavesAtOnce: Bool { session.keeping.isAbandoned }
}
