/// What a copy keeps of the commits that it leaves out: who they were, and on what they were made. A later exchange with another store
/// goes by that (`Pedigree`).
extension GenerationCopy {
  /// The pedigree of a commit in the copy; nil where its links tell all. It tells of each commit that is left out between it and the kept
  /// ones that it was made on, whether links lead there or identities alone. Of two commits beside each other both tell what is left out
  /// before them: either may go, and one may be sent without the other. Called for each commit in the order of the copy, before it is taken.
  func pedigree(of commit: CommitRecord) throws(StorageError) -> Pedigree? {
    // It is in nobody's history.
    if commit.flags.contains(.bookkeeping) { return nil }
    let known = try source.pedigree(of: commit)
    let hasLostParent = commit.links.parents.contains { !copied.contains($0.number) }
    var undoes = known?.undoes
    if undoes == nil, let number = commit.undoes, number < commit.number, !copied.contains(number) {
      undoes = try? CommitSearch(file: source, newest: commit).commit(number).identity
    }
    guard known != nil || hasLostParent || undoes != nil else { return nil }
    var pedigree = Pedigree(parents: known?.parents, undoes: undoes, squashed: known?.squashed ?? [])
    guard hasLostParent || pedigree.parents != nil || !pedigree.squashed.isEmpty else { return pedigree }
    let parents = try source.parents(of: commit, known)
    if hasLostParent { pedigree.parents = parents }
    let left = try knownAncestors().leftOut(before: parents + pedigree.squashed.flatMap(\.parents)) {
      copied.contains($0)
    }
    pedigree.squashed = Pedigree.runs(pedigree.squashed + left)
    return pedigree
  }
}
