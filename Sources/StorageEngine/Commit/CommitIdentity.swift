/// As what a commit is known in every store that has it: the origin that made it, and the number it had there.
package struct CommitIdentity: Hashable, Comparable, Sendable {
  package var origin: UInt64
  package var number: UInt64

  package init(origin: UInt64, number: UInt64) {
    self.origin = origin
    self.number = number
  }

  package static func < (left: Self, right: Self) -> Bool {
    (left.origin, left.number) < (right.origin, right.number)
  }
}

/// Where a commit comes from, as far as its links do not tell: its parents as it was made, where compaction has left one out or another
/// store never sent it, and the commits that were left out and are contained in it.
///
/// It lies behind the list of superseded entries in the commit's record (FORMAT.md).
package struct Pedigree: Hashable, Sendable {
  /// The parents that it was made on; nil: those that its links name.
  package var parents: [CommitIdentity]?
  /// The commit that it takes back, where that is not in the file.
  package var undoes: CommitIdentity?
  /// Commits that are its ancestors, and not in the file since a compaction.
  package var squashed: [Run]

  /// Commits of one origin, each but the first made on the one before.
  package struct Run: Hashable, Sendable {
    package var origin: UInt64
    package var numbers: ClosedRange<UInt64>
    /// The parents of the first.
    package var parents: [CommitIdentity]

    package init(origin: UInt64, numbers: ClosedRange<UInt64>, parents: [CommitIdentity]) {
      self.origin = origin
      self.numbers = numbers
      self.parents = parents
    }
  }

  package init(parents: [CommitIdentity]? = nil, undoes: CommitIdentity? = nil, squashed: [Run] = []) {
    self.parents = parents
    self.undoes = undoes
    self.squashed = squashed
  }

  /// As few runs as tell of these commits, by their identities.
  static func runs(_ commits: [(identity: CommitIdentity, parents: [CommitIdentity])]) -> [Run] {
    var runs: [Run] = []
    for commit in commits.sorted(by: { $0.identity < $1.identity }) {
      if let last = runs.last, last.origin == commit.identity.origin,
        last.numbers.upperBound &+ 1 == commit.identity.number,
        commit.parents == [CommitIdentity(origin: last.origin, number: last.numbers.upperBound)]
      {
        runs[runs.count - 1].numbers = last.numbers.lowerBound...commit.identity.number
      } else {
        let number = commit.identity.number
        runs.append(Run(origin: commit.identity.origin, numbers: number...number, parents: commit.parents))
      }
    }
    return runs
  }
}
