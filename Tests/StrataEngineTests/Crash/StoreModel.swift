import StrataEngine

/// What a store must hold after each commit, kept in dictionaries that nobody can get wrong.
struct StoreModel: Sendable {
  typealias Key = [UInt8]
  typealias Value = [UInt8]

  struct TreeState: Hashable, Sendable {
    var kind: TreeKind
    var attributes: [UInt8]
    var entries: [Key: Value] = [:]
  }

  typealias State = [TreeName: TreeState]

  struct Commit: Sendable {
    var number: UInt64
    var parents: [UInt64]
    var action: String
    var state: State
    /// The names of the store, and its head, once this commit is the newest one of the file.
    var names: [String: UInt64]
    var head: UInt64
    /// The keys that this commit put or deleted, as its journal has them in the end.
    var touched: [TreeName: Set<Key>] = [:]
    /// The trees that it changed in any way.
    var changed: Set<TreeName> = []
    var restores: UInt64?
  }

  /// By number; the numbers of the file's order, without gaps until something is compacted away.
  private(set) var commits: [UInt64: Commit] = [:]
  private(set) var newest: UInt64 = 0
  /// What a compaction may have taken away: there or not, before and after it is done.
  private(set) var prunable: Set<UInt64> = []

  var head: UInt64 { commits[newest]?.head ?? 0 }
  var names: [String: UInt64] { commits[newest]?.names ?? [:] }

  subscript(number: UInt64) -> Commit? { commits[number] }

  func state(at number: UInt64) -> State { commits[number]?.state ?? [:] }

  mutating func add(_ commit: Commit) {
    commits[commit.number] = commit
    newest = max(newest, commit.number)
  }

  /// Notes what a compaction that keeps so many commits of head's ancestry may take away.
  mutating func compact(keeping count: Int) {
    var kept = Set(names.values).union([head, newest])
    var number = head
    for _ in 0..<max(1, count) {
      kept.insert(number)
      guard let parent = commits[number]?.parents.first else { break }
      number = parent
    }
    prunable.formUnion(commits.keys.filter { !kept.contains($0) })
  }

  /// The newest commit at or before this one that no compaction takes away; else the head.
  func kept(before number: UInt64) -> UInt64 {
    commits.keys.filter { $0 <= number && !prunable.contains($0) }.max() ?? head
  }

  /// Forgets what a failure took with it.
  mutating func cut(after number: UInt64) {
    commits = commits.filter { $0.key <= number }
    newest = min(newest, number)
  }
}
