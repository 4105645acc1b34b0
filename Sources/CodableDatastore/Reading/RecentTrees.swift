import StrataLocks
import StrataEngine

/// The trees of the newest commit that was read, so that a run of reads looks each up once.
final class RecentTrees: Sendable {
  private let state = Mutex<(commit: Place, trees: [TreeName: Tree?])?>(nil)
  /// The last visible state that fits the declaration, by its number: see `StoreConnection.visibleState(forWriter:)`.
  private let visible = Mutex<Visible?>(nil)

  private struct Visible: Sendable {
    var number: UInt64
    var state: ReadState
    /// Nil if it was not looked up yet.
    var records: Tree??
  }

  /// The state that is visible under a number, if it is known.
  func state(_ number: UInt64) -> ReadState? {
    visible.withLock { visible in visible?.number == number ? visible?.state : nil }
  }

  /// The records' tree of the state that is visible under a number, if it is known.
  func records(_ number: UInt64) -> Tree?? {
    visible.withLock { visible in visible?.number == number ? visible?.records : nil }
  }

  func keep(_ state: ReadState, number: UInt64) {
    visible.withLock { $0 = Visible(number: number, state: state, records: nil) }
  }

  func keep(records: Tree?, number: UInt64) {
    visible.withLock { visible in
      if visible?.number == number { visible?.records = .some(records) }
    }
  }

  /// A commit's lasting identity, and its place in this store.
  private struct Place: Equatable, Sendable {
    var number: UInt64
    var origin: UInt64
    var originNumber: UInt64

    init(_ commit: CommitRecord) {
      number = commit.number
      origin = commit.origin
      originNumber = commit.originNumber
    }
  }

  func tree(_ name: TreeName, of state: ReadState) throws -> Tree? {
    guard case .view(let view) = state else { return try state.tree(name) }
    let place = Place(view.commit)
    if let known = known(name, at: place) { return known }
    let tree = try state.tree(name)
    self.state.withLock { recent in
      if recent?.commit == place { recent?.trees[name] = .some(tree) } else { recent = (place, [name: tree]) }
    }
    return tree
  }

  private func known(_ name: TreeName, at place: Place) -> Tree?? {
    state.withLock { recent in recent?.commit == place ? recent?.trees[name] : nil }
  }
}
