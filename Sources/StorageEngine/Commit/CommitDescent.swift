/// Who a commit is and what it was made on: of its record, all that a graph of commits reads.
package struct CommitDescent: Sendable, Hashable {
  package var number: UInt64
  package var identity: CommitIdentity
  package var flags: CommitFlags
  /// The commit that it takes back.
  package var undoes: UInt64?
  /// The numbers of the commits that its links name, the first one first; 0 where there is none.
  package var firstParent: UInt64
  package var secondParent: UInt64
  /// What the links do not tell; nil where they tell all.
  package var pedigree: Pedigree?

  package init(
    number: UInt64, identity: CommitIdentity, flags: CommitFlags, undoes: UInt64?, firstParent: UInt64,
    secondParent: UInt64, pedigree: Pedigree? = nil
  ) {
    self.number = number
    self.identity = identity
    self.flags = flags
    self.undoes = undoes
    self.firstParent = firstParent
    self.secondParent = secondParent
    self.pedigree = pedigree
  }

  package init(of commit: CommitRecord, _ pedigree: Pedigree?) {
    self.init(
      number: commit.number, identity: commit.identity, flags: commit.flags, undoes: commit.undoes,
      firstParent: commit.parents.first ?? 0, secondParent: commit.parents.dropFirst().first ?? 0, pedigree: pedigree)
  }
}
