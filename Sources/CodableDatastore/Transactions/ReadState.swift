import StorageEngine

/// A state that reads begin with.
enum ReadState: Sendable {
  /// There is no store.
  case nothing
  /// A commit.
  case view(View)
  /// What a transaction has written so far, and whatever it will write.
  case open(TransactionScope)
  /// What a transaction had written at one moment.
  case trees([TreeName: Tree])

  init(_ view: View?) { self = view.map { .view($0) } ?? .nothing }

  /// One tree, or nil where there is none. What it shows never changes.
  func tree(_ name: TreeName) throws -> Tree? {
    switch self {
    case .nothing: nil
    case .view(let view): try throwingStoreErrors { () throws(StorageError) in try view.tree(name) }
    case .open(let scope):
      try scope.step { transaction in
        try throwingStoreErrors { () throws(StorageError) in try transaction.tree(name) }
      }
    case .trees(let trees): trees[name]
    }
  }

  /// Two trees of one moment.
  func trees(_ first: TreeName, _ second: TreeName) throws -> (Tree?, Tree?) {
    guard case .open(let scope) = self else { return (try tree(first), try tree(second)) }
    return try scope.step { transaction in
      try throwingStoreErrors { () throws(StorageError) in (try transaction.tree(first), try transaction.tree(second)) }
    }
  }
}
