import StrataEngine

/// A state that reads begin with.
enum ReadState: Sendable {
  case nothing
  case view(View)
  /// An open transaction: its writes so far, and its later ones.
  case open(TransactionScope)
  /// The trees of a transaction at one moment.
  case trees([TreeName: Tree])

  init(_ view: View?) { self = view.map { .view($0) } ?? .nothing }

  /// One tree, or nil if there is none. The returned tree never changes.
  func tree(_ name: TreeName) throws -> Tree? {
    switch self {
    case .nothing: nil
    case .view(let view): try throwingStoreErrors { try view.tree(name) }
    case .open(let scope): try scope.step { try $0.tree(name) }
    case .trees(let trees): trees[name]
    }
  }

  /// The state of some trees at one moment, whatever a transaction writes meanwhile.
  func moment(of names: [TreeName]) throws -> ReadState {
    guard case .open(let scope) = self else { return self }
    return try scope.step { transaction in
      var trees: [TreeName: Tree] = [:]
      for name in names { trees[name] = try transaction.tree(name) }
      return .trees(trees)
    }
  }
}
