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

  package init(of commit: CommitRecord, _ pedigree: Pedigree?) {
    (number, identity, flags, undoes) = (commit.number, commit.identity, commit.flags, commit.undoes)
    firstParent = commit.parents.first ?? 0
    secondParent = commit.parents.dropFirst().first ?? 0
    self.pedigree = pedigree
  }
}
