import StorageEngine
import Synchronization

/// The trees of the newest commit that was read, so that a run of reads looks each up once.
final class RecentTrees: Sendable {
  private let state = Mutex<(commit: CommitRecord, trees: [TreeName: Tree?])?>(nil)

  /// A tree of a state, or nil where there is none.
  func tree(_ name: TreeName, of state: ReadState) throws -> Tree? {
    guard case .view(let view) = state else { return try state.tree(name) }
    if let known = known(name, of: view) { return known }
    let tree = try state.tree(name)
    self.state.withLock { recent in
      if let commit = recent?.commit, Self.isSame(commit, view.commit) {
        recent?.trees[name] = .some(tree)
      } else {
        recent = (view.commit, [name: tree])
      }
    }
    return tree
  }

  private func known(_ name: TreeName, of view: View) -> Tree?? {
    state.withLock { recent in
      guard let recent, Self.isSame(recent.commit, view.commit) else { return nil }
      return recent.trees[name]
    }
  }

  /// A commit's lasting identity, and its place in this store.
  private static func isSame(_ left: CommitRecord, _ right: CommitRecord) -> Bool {
    left.number == right.number && left.origin == right.origin && left.originNumber == right.originNumber
  }
}
