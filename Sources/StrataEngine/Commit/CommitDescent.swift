/// A commit's identity and parents: all of its record that a graph of commits reads.
package struct CommitDescent: Sendable, Hashable {
  package var number: UInt64
  package var identity: CommitIdentity
  package var flags: CommitFlags
  /// The commit that it undoes.
  package var undoes: UInt64?
  /// The numbers of the commits that its links name, the first one first; 0 if there is none.
  package var firstParent: UInt64
  package var secondParent: UInt64
  /// The descent beyond the links; nil if the links describe all of it.
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
