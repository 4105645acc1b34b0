/// The facts that a copy keeps about the commits that it leaves out: their identities, and those of their parents. A later exchange with
/// another store uses them (`Pedigree`).
extension GenerationCopy {
  /// The pedigree of a commit in the copy. Returns nil if its links describe its whole descent. It lists the commits left out between it
  /// and its kept ancestors, whether links or only identities lead there. Two commits side by side both list them, because either may be
  /// pruned, or sent alone. Called for each commit in the order of the copy, before it is taken.
  func pedigree(of commit: CommitRecord) throws(StorageError) -> Pedigree? {
    // It is in no history.
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
