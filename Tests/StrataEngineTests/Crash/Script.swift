import DiskSimulation
import StrataEngine

/// One thing that a workload does to a store.
enum Step: Sendable {
  case commit([Edit], on: Base = .head, info: Info = Info())
  /// Transactions that are all appended before any of them is waited for.
  case group([[Edit]])
  /// Durable only with a later commit.
  case collated([Edit])
  case reopen
  /// As `reopen`, without a clean close.
  case abandon
  case compact(Retention)

  enum Base: Sendable {
    case head
    /// The commit whose number is this share of the newest one, in 1/1000.
    case older(Int)
  }

  struct Info: Sendable {
    var setsName: String?
    var removesName: String?
    /// The second parent is head.
    var merges = false
    var movesHead: Bool?
  }
}

/// One change inside a transaction.
enum Edit: Sendable {
  case put(tree: Int, key: Int, size: Int)
  case delete(tree: Int, key: Int)
  /// So many new records from a key on.
  case bulk(tree: Int, from: Int, count: Int, size: Int)
  case create(tree: Int)
  case drop(tree: Int)
  case attributes(tree: Int, Int)
  /// Edits that are made and taken back.
  case rolledBack([Edit])
  /// Brings back a tree (nil: all) of an older commit, given in 1/1000 of the newest.
  case restore(tree: Int?, share: Int)
}

extension [Step] {
  /// A random workload. The same seed gives the same steps.
  ///
  /// `mixes`: between the changes of each transaction any tree may also be dropped, made anew or brought back.
  static func random(
    seed: UInt64, count: Int, keys: Int = 40, reopens: Bool = true, compacts: Bool = false, mixes: Bool = false
  ) -> [Step] {
    var random = RandomSource(seed: seed)
    var steps: [Step] = [.commit([.create(tree: 0), .create(tree: 1), .put(tree: 0, key: 0, size: 10)])]
    while steps.count < count {
      if compacts, steps.count % 12 == 11 {
        steps.append(.compact(Bool.random(using: &random) ? .all : .last(Int.random(in: 1...8, using: &random))))
      }
      let step = Step.random(keys, reopens, &random)
      steps.append(mixes ? step.mixed(&random) : step)
    }
    return steps
  }
}

extension Step {
  fileprivate static func random(_ keys: Int, _ reopens: Bool, _ random: inout RandomSource) -> Step {
    let edits = [Edit].random(keys, &random)
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<50: return .commit(edits)
    case 50..<58: return .group((0..<Int.random(in: 2...5, using: &random)).map { _ in .random(keys, &random) })
    case 58..<66: return .commit(edits, on: .older(Int.random(in: 0...1000, using: &random)))
    case 66..<70:
      let info = Info(setsName: nil, merges: true, movesHead: true)
      return .commit(edits, on: .older(Int.random(in: 500...1000, using: &random)), info: info)
    case 70..<76: return .commit(edits, info: Info(setsName: "pin\(Int.random(in: 0..<4, using: &random))"))
    case 76..<79: return .commit(edits, info: Info(removesName: "pin\(Int.random(in: 0..<4, using: &random))"))
    case 79..<84:
      let tree = Bool.random(using: &random) ? nil : Int.random(in: 0..<3, using: &random)
      return .commit([.restore(tree: tree, share: Int.random(in: 0...1000, using: &random))])
    case 84..<88: return .collated(edits)
    case 88..<94: return reopens ? .reopen : .commit(edits)
    case 94..<97: return reopens ? .abandon : .commit(edits)
    default: return .commit([.rolledBack(edits)] + .random(keys, &random))
    }
  }
}

extension Step {
  /// The step with changes of whole trees among those of its transactions.
  fileprivate func mixed(_ random: inout RandomSource) -> Step {
    switch self {
    case .commit(let edits, let base, let info): .commit(edits.mixed(&random), on: base, info: info)
    case .group(let transactions): .group(transactions.map { $0.mixed(&random) })
    case .collated(let edits): .collated(edits.mixed(&random))
    default: self
    }
  }
}

extension [Edit] {
  fileprivate func mixed(_ random: inout RandomSource) -> [Edit] {
    var mixed = self
    for _ in 0..<Int.random(in: 0...4, using: &random) {
      let tree = Int.random(in: 0..<3, using: &random)
      let edit: Edit =
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<3: .drop(tree: tree)
        case 3..<5: .create(tree: tree)
        case 5..<8: .restore(tree: tree, share: Int.random(in: 0...1000, using: &random))
        case 8: .put(tree: tree, key: 0, size: 12)
        default: .rolledBack([.drop(tree: tree), .put(tree: tree, key: 1, size: 9), .drop(tree: tree)])
        }
      mixed.insert(edit, at: Int.random(in: 0...mixed.count, using: &random))
    }
    return mixed
  }

  static func random(_ keys: Int, _ random: inout RandomSource) -> [Edit] {
    (0..<Int.random(in: 1...4, using: &random)).map { _ in .random(keys, &random) }
  }
}

extension Edit {
  fileprivate static func random(_ keys: Int, _ random: inout RandomSource) -> Edit {
    let tree = [0, 0, 0, 1, 1, 2].randomElement(using: &random) ?? 0
    let key = Int.random(in: 0..<keys, using: &random)
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<55: return .put(tree: tree, key: key, size: Int.random(in: 0...200, using: &random))
    case 55..<60: return .put(tree: tree, key: key, size: Int.random(in: 1_000...6_000, using: &random))
    case 60..<85: return .delete(tree: tree, key: key)
    case 85..<90: return .bulk(tree: tree, from: key, count: Int.random(in: 5...60, using: &random), size: 30)
    case 90..<94: return .create(tree: tree)
    case 94..<96: return .drop(tree: 2)
    default: return .attributes(tree: tree, Int.random(in: 0..<400, using: &random))
    }
  }
}
