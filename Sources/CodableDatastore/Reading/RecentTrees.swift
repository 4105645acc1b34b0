import StrataLocks
import StrataEngine

/// The trees of the newest state that was read, so that a run of reads looks each up once.
final class RecentTrees: Sendable {
  private let state = Mutex<(view: View, trees: [TreeName: Tree?])?>(nil)
  /// The last visible state that fits the declaration, by its number: see `StoreConnection.visibleState(forWriter:)`.
  private let visible = Mutex<Visible?>(nil)

  struct Visible: Sendable {
    var number: UInt64
    var state: ReadState
    /// Nil if it was not looked up yet.
    var records: Tree??
  }

  /// The state that is visible under a number, if it is known.
  func visible(_ number: UInt64) -> Visible? { visible.withLock { $0?.number == number ? $0 : nil } }

  func keep(_ state: ReadState, number: UInt64) {
    visible.withLock { $0 = Visible(number: number, state: state, records: nil) }
  }

  func keep(records: Tree?, number: UInt64) {
    visible.withLock { visible in
      if visible?.number == number { visible?.records = .some(records) }
    }
  }

  func tree(_ name: TreeName, of state: ReadState) throws -> Tree? {
    guard case .view(let view) = state else { return try state.tree(name) }
    if let known = self.state.withLock({ $0?.view.isSame(as: view) == true ? $0?.trees[name] : nil }) { return known }
    let tree = try state.tree(name)
    self.state.withLock { recent in
      if recent?.view.isSame(as: view) != true { recent = (view, [:]) }
      recent?.trees[name] = .some(tree)
    }
    return tree
  }
}
