import StrataEngine

struct TreeKey: Hashable, Sendable {
  var tree: Int32
  var key: [UInt8]
}

struct TreeRange: Hashable, Sendable {
  var tree: Int32
  var keys: KeyRange
}

struct KeyWrite: Hashable, Sendable {
  /// Nil removes the key.
  var payload: ServerPayload?
  /// The commit that wrote the value; nil means this one.
  var written: UInt64?
}

struct DraftWrite: Hashable, Sendable {
  var place: TreeKey
  var write: KeyWrite
  var isRecord: Bool
  /// Whether the key existed before, if the flush proves it; nil if the server must find out.
  var was: Bool?

  init(_ place: TreeKey, _ write: KeyWrite, isRecord: Bool = false, was: Bool? = nil) {
    (self.place, self.write, self.isRecord, self.was) = (place, write, isRecord, was)
  }

  var size: Int {
    if case .bytes(let bytes)? = write.payload { place.key.count + bytes.count } else { place.key.count }
  }
}

enum TreeChange: Hashable, Sendable {
  case create(Int32, TreeName, TreeKind, attributes: [UInt8])
  case setAttributes(Int32, TreeName, TreeKind, [UInt8])
  /// `isCounted`: its records count as deleted.
  case drop(Int32, isCounted: Bool)
}

/// All that a transaction read and wrote: the content of one flush.
struct CommitDraft: Sendable {
  /// The state that the transaction read.
  var asOf: UInt64 = 0
  var keysRead: Set<TreeKey> = []
  /// The keys among them that are presumed, not read: they must be absent when the transaction is committed.
  var keysPresumed: Set<TreeKey> = []
  var rangesRead: [TreeRange] = []
  /// The trees whose existence, kind or attributes the transaction depends on.
  var treesRead: Set<TreeName> = []
  /// Whether the transaction depends on which trees exist.
  var readsCatalog = false
  var treeChanges: [TreeChange] = []
  /// The trees that it makes again, under the numbers that they had before.
  var treesAgain: Set<Int32> = []
  var writes: [DraftWrite] = []
  var lease: Lease.Claim?
  var info = CommitInfo()
  /// Names in the store that equal names of `info` in other bytes. Texts that are equal are one name.
  var otherSpellings: [String] = []
  var restores: UInt64?
  /// Receives the commit's number, in the order of the numbers.
  var appended: @Sendable (UInt64) -> Void = { _ in }

  /// Other commits that it names, which must therefore be kept.
  var namedCommits: [UInt64] {
    (info.names.values.map(\.self) + [info.undoes, restores]).compactMap(\.self).filter { $0 > 0 }
  }

  var bytes: Int { writes.reduce(0) { $0 + $1.size } }

  /// Whether it may share a transaction of the server with others.
  var isShareable: Bool {
    treeChanges.isEmpty && info.names.isEmpty && lease == nil && !readsCatalog && writes.count <= 1_000
  }

  /// The trees that it makes, in which no other transaction has an entry.
  var newTrees: Set<Int32> {
    var trees: Set<Int32> = []
    for case .create(let tree, _, _, _) in treeChanges { trees.insert(tree) }
    for case .drop(let tree, _) in treeChanges { trees.remove(tree) }
    return trees
  }

  /// The keys that it read and that its writes do not prove by themselves: if it puts a key that it found absent, the server refuses the
  /// put if the key exists.
  var keysToProve: Set<TreeKey> {
    if keysRead.isEmpty { return [] }
    return keysRead.subtracting(writes.lazy.filter { $0.was == false && $0.write.payload != nil }.map(\.place))
  }

  /// Whether it read or writes one of some keys.
  func touches(_ written: Set<TreeKey>) -> Bool {
    if written.isEmpty { return false }
    if writes.contains(where: { written.contains($0.place) }) || !keysRead.isDisjoint(with: written) { return true }
    return rangesRead.contains { range in written.contains { $0.tree == range.tree && range.keys.contains($0.key) } }
  }
}
