/// A commit that another one names: by number, by place, and with what a search wants to know before it goes there.
struct CommitLink: Hashable, Sendable {
  var number: UInt64
  var offset: FileOffset
  /// Commits from the first one to this.
  var depth: UInt64
  var date: Int64

  /// To what stands before the first commit.
  static let beginning = CommitLink(number: 0, offset: 0, depth: 0, date: 0)
}

/// How one order of commits (by first parents, or of the file) is walked: one step back, and far back.
struct Lineage: Hashable, Sendable {
  /// The commit before; nil for the first.
  var previous: CommitLink?
  /// Myers's skew-binary jump, and that of the commit before.
  var jump: CommitLink?
  var previousJump: CommitLink?

  static let none = Lineage(previous: nil, jump: nil, previousJump: nil)

  /// The lineage of a commit on top of `previous`, whose own lineage is `its`. `jump` tells the jump of a commit.
  init(
    after previous: CommitLink, its: Lineage, jumpOf: (CommitLink) throws(StorageError) -> CommitLink?
  ) throws(StorageError) {
    self.previous = previous
    previousJump = its.jump
    jump = previous
    // Two trees of equal size in front, and this commit becomes the root above both.
    guard let near = its.jump else { return }
    let far = near == its.previous ? its.previousJump : try jumpOf(near)
    if let far, previous.depth &- near.depth == near.depth &- far.depth { jump = far }
  }

  init(previous: CommitLink?, jump: CommitLink?, previousJump: CommitLink?) {
    self.previous = previous
    self.jump = jump
    self.previousJump = previousJump
  }

  /// The next commit on the way to the newest one that `isWanted`, where wanted ones are all those before some point;
  /// nil where there is none. `isWanted` of the commit itself must be false.
  func step(towards isWanted: (CommitLink) -> Bool) -> CommitLink? {
    guard let previous else { return nil }
    if isWanted(previous) { return previous }
    if let jump, !isWanted(jump) { return jump }
    if let previousJump, !isWanted(previousJump) { return previousJump }
    return previous
  }
}

/// The pointers of a commit into the file.
struct CommitLinks: Hashable, Sendable {
  /// The commit itself.
  var own: CommitLink
  /// Where its frame ends.
  var frameEnd: FileOffset
  /// Its depth in the order of the file.
  var orderDepth: UInt64
  var parents: [CommitLink]
  var ancestry: Lineage
  var order: Lineage
  /// The newest commit at or before this one that restored by roots.
  var lastRestore: CommitLink?
  /// `head` after this commit.
  var head: CommitLink
  var catalog: NodePointer
  var names: NodePointer
  var nextTree: UInt32
  /// Where the changes end.
  var changesEnd: FileOffset
  /// The list of superseded entries, as it lies in the record.
  var superseded: SupersededList
}

/// Entries of a frame that a later change of the same commit took the place of: where their list lies in the file.
struct SupersededList: Hashable, Sendable {
  var count: UInt64
  var offset: FileOffset
  var length: Int

  static let none = SupersededList(count: 0, offset: 0, length: 0)
}
