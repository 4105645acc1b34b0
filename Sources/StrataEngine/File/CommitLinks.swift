/// A commit that another one names: its number, its place, and the values that a search needs before it goes there.
struct CommitLink: Hashable, Sendable {
  var number: UInt64
  var offset: FileOffset
  /// Commits from the first one to this.
  var depth: UInt64
  var date: Int64

  /// The link to the state before the first commit.
  static let beginning = CommitLink(number: 0, offset: 0, depth: 0, date: 0)
}

/// The steps along one order of commits (by first parents, or of the file): one step back, and far back.
struct Lineage: Hashable, Sendable {
  /// The commit before; nil for the first.
  var previous: CommitLink?
  /// Myers's skew-binary jump, and that of the commit before.
  var jump: CommitLink?
  var previousJump: CommitLink?

  /// The next commit on the way to the newest one that `isWanted`, which must be true of all commits before some point and of no others.
  /// Returns nil if there is none. `isWanted` of the commit itself must be false.
  func step(towards isWanted: (CommitLink) -> Bool) -> CommitLink? {
    guard let previous else { return nil }
    if isWanted(previous) { return previous }
    if let jump, !isWanted(jump) { return jump }
    if let previousJump, !isWanted(previousJump) { return previousJump }
    return previous
  }
}

extension Lineage {
  /// The lineage of a commit on top of `previous`, whose own lineage is `its`. `jumpOf` returns the jump of a commit.
  init(
    after previous: CommitLink, its: Lineage, jumpOf: (CommitLink) throws(StorageError) -> CommitLink?
  ) throws(StorageError) {
    self.init(previous: previous, jump: previous, previousJump: its.jump)
    // Two trees of equal size in front, and this commit becomes the root above both.
    guard let near = its.jump else { return }
    let far = near == its.previous ? its.previousJump : try jumpOf(near)
    if let far, previous.depth &- near.depth == near.depth &- far.depth { jump = far }
  }
}

/// The pointers of a commit into the file.
struct CommitLinks: Hashable, Sendable {
  var own: CommitLink
  var frameEnd: FileOffset = 0
  var orderDepth: UInt64 = 0
  var parents: [CommitLink] = []
  var ancestry = Lineage()
  var order = Lineage()
  /// The newest commit at or before this one that restored by roots.
  var lastRestore: CommitLink?
  var head = CommitLink.beginning
  var catalog = NodePointer.none
  var names = NodePointer.none
  var nextTree: UInt32 = 1
  var changesEnd: FileOffset = 0
  /// The list of superseded entries, as it lies in the record.
  var superseded = SupersededList.none
}

extension CommitLinks {
  /// The links of a commit in the frame behind that of `newest`, which is its own head. `jumpOf` returns the jump of a commit, among its
  /// ancestors or in the order of the file.
  init(
    of number: UInt64, at offset: FileOffset, date: Int64, behind newest: CommitRecord, parents: [CommitRecord],
    jumpOf: (CommitLink, _ isOrder: Bool) throws(StorageError) -> CommitLink?
  ) throws(StorageError) {
    let first = parents.first?.links
    own = CommitLink(number: number, offset: offset, depth: (first?.own.depth ?? 0) &+ 1, date: date)
    head = own
    self.parents = parents.map(\.links.own)
    orderDepth = newest.links.orderDepth &+ 1
    lastRestore = first?.lastRestore
    if let first {
      ancestry = try Lineage(after: first.own, its: first.ancestry) { link throws(StorageError) in
        try jumpOf(link, false)
      }
    }
    if newest.number > 0 {
      order = try Lineage(after: newest.orderLink, its: newest.links.order) { link throws(StorageError) in
        try jumpOf(link, true)
      }
    }
  }
}

/// Entries of a frame that a later change of the same commit replaced: the place of their list in the file.
struct SupersededList: Hashable, Sendable {
  var count: UInt64
  var offset: FileOffset
  var length: Int

  static let none = SupersededList(count: 0, offset: 0, length: 0)
}
