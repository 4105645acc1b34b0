import StorageEngine

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
    var restores: UInt64?
  }

  /// By number; the numbers of the file's order, without gaps until something is compacted away.
  private(set) var commits: [UInt64: Commit] = [:]
  private(set) var newest: UInt64 = 0

  var head: UInt64 { commits[newest]?.head ?? 0 }
  var names: [String: UInt64] { commits[newest]?.names ?? [:] }

  subscript(number: UInt64) -> Commit? { commits[number] }

  func state(at number: UInt64) -> State { commits[number]?.state ?? [:] }

  mutating func add(_ commit: Commit) {
    commits[commit.number] = commit
    newest = max(newest, commit.number)
  }

  /// Forgets what a failure took with it.
  mutating func cut(after number: UInt64) {
    commits = commits.filter { $0.key <= number }
    newest = min(newest, number)
  }
}
