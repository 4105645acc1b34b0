/// A commit's identity, which is the same in every store that has it: the origin that made it, and its number there.
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

/// The descent of a commit beyond its links: its original parents, if compaction has left one out or another store never sent it, and the
/// commits that were left out and are contained in it.
///
/// It lies behind the list of superseded entries in the commit's record (FORMAT.md).
package struct Pedigree: Hashable, Sendable {
  /// The parents that it was made on, or nil for those that its links name.
  package var parents: [CommitIdentity]?
  /// The commit that it undoes, if that is not in the file.
  package var undoes: CommitIdentity?
  /// Its ancestors that are not in the file since a compaction.
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

  /// The smallest number of runs that contain the same commits, in their order, without overlaps.
  package static func runs(_ runs: [Run]) -> [Run] {
    var merged: [Run] = []
    for run in runs.sorted(by: { $0.first < $1.first }) {
      guard let last = merged.last, last.origin == run.origin, last.meets(run) else {
        merged.append(run)
        continue
      }
      let upper = max(last.numbers.upperBound, run.numbers.upperBound)
      merged[merged.count - 1].numbers = last.numbers.lowerBound...upper
    }
    return merged
  }
}

extension Pedigree.Run {
  /// A run of one commit.
  package init(_ commit: CommitIdentity, parents: [CommitIdentity]) {
    self.init(origin: commit.origin, numbers: commit.number...commit.number, parents: parents)
  }

  var first: CommitIdentity { CommitIdentity(origin: origin, number: numbers.lowerBound) }

  /// Whether a later run of the same origin begins within this one, or goes on where it ends.
  fileprivate func meets(_ later: Self) -> Bool {
    if later.numbers.lowerBound <= numbers.upperBound { return true }
    return later.numbers.lowerBound == numbers.upperBound &+ 1
      && later.parents == [CommitIdentity(origin: origin, number: numbers.upperBound)]
  }
}
