import StrataLocks

/// The state that readers of this process see: the file, and the newest visible commit in it.
final class Publication: Sendable {
  /// A class, because it is handed on several times with every commit, and copying it costs much.
  final class State: Sendable {
    let file: DataFile
    /// The newest commit in the order of the file.
    let newest: CommitRecord
    let view: View
    /// The end of the frames known here.
    let chain: ChainEnd

    init(file: DataFile, newest: CommitRecord, head: CommitRecord, chain: ChainEnd) {
      self.file = file
      self.newest = newest
      view = View(commit: head, file: file)
      self.chain = chain
    }

    var head: CommitRecord { _read { yield view.commit } }

    /// Creates a chain's state from its newest commit, which says which commit `head` is.
    convenience init(file: DataFile, newest: CommitRecord, chain: ChainEnd) throws(StorageError) {
      self.init(file: file, newest: newest, head: try newest.head(in: file), chain: chain)
    }
  }

  private let state: Mutex<State>
  /// Numbers the states that are shown, of all stores of the process.
  private static let states = Atomic<UInt64>(0)
  private let shown: Atomic<UInt64>

  init(_ state: State) {
    self.state = Mutex(state)
    shown = Atomic(Self.nextNumber)
  }

  private static var nextNumber: UInt64 { states.add(1, ordering: .relaxed).newValue }

  var current: State { state.withLock { $0 } }

  var head: View { state.withLock { $0.view } }

  /// Stays the same as long as the shown state does; no state of another store ever has the same number. Data read after the number is at
  /// least as new as the state that it stands for.
  var number: UInt64 { shown.load(ordering: .acquiring) }

  /// Shows a newer state; an older one of the same file changes nothing. `known`: the state that a mere reader began from. Returns false if
  /// another file has been shown since, because then it is unknown which of the two is newer.
  @discardableResult
  func show(_ new: State, after known: State? = nil) -> Bool {
    state.withLock { state in
      if state.file === new.file {
        guard new.newest.number >= state.newest.number else { return true }
      } else if let known, state.file !== known.file {
        return false
      }
      state = new
      shown.store(Self.nextNumber, ordering: .releasing)
      return true
    }
  }
}

extension CommitRecord {
  /// The state before the first commit: number 0, no trees.
  static func beginning(of header: FileHeader) -> CommitRecord {
    let own = CommitLink(number: 0, offset: 0, depth: 0, date: header.identity.created)
    return CommitRecord(
      number: 0, origin: 0, originNumber: 0, date: own.date,
      links: CommitLinks(own: own, frameEnd: header.firstFrame))
  }

  /// The commit that was `head` after this one.
  func head(in file: DataFile) throws(StorageError) -> CommitRecord {
    if links.head.number == number { return self }
    if links.head.number == 0 { return .beginning(of: file.header) }
    return try file.record(links.head)
  }
}
