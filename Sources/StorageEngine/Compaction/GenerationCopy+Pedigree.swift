/// What a copy keeps of the commits that it leaves out: who they were, and on what they were made. A later exchange with another store
/// goes by that (`Pedigree`).
extension GenerationCopy {
  /// The pedigree of a commit in the copy; nil where its links tell all. It tells of each commit that is left out between it and the kept
  /// ones that it was made on. Of two commits beside each other both tell what is left out before them: either may go, and one may be
  /// sent without the other. Called for each commit in the order of the copy, before it is taken.
  func pedigree(of commit: CommitRecord) throws(StorageError) -> Pedigree? {
    let known = try source.pedigree(of: commit)
    var left: [(identity: CommitIdentity, parents: [CommitIdentity])] = []
    var runs = known?.squashed ?? []
    var told: Set<UInt64> = []
    var open = commit.links.parents.filter { !copied.contains($0.number) }
    let hasLostParent = !open.isEmpty
    while let link = open.popLast() {
      guard told.insert(link.number).inserted else { continue }
      let record = try source.record(link)
      let its = try source.pedigree(of: record)
      left.append((record.identity, try parents(of: record, its)))
      // Two that were beside each other tell the same.
      for run in its?.squashed ?? [] where !runs.contains(run) { runs.append(run) }
      open += record.links.parents.filter { !copied.contains($0.number) }
    }
    runs += Pedigree.runs(left)
    var undoes = known?.undoes
    if undoes == nil, let number = commit.undoes, number < commit.number, !copied.contains(number) {
      undoes = try? CommitSearch(file: source, newest: commit).commit(number).identity
    }
    guard known != nil || hasLostParent || undoes != nil else { return nil }
    let madeOn = hasLostParent ? try parents(of: commit, known) : known?.parents
    return Pedigree(parents: madeOn, undoes: undoes, squashed: runs)
  }

  private func parents(of commit: CommitRecord, _ pedigree: Pedigree?) throws(StorageError) -> [CommitIdentity] {
    if let parents = pedigree?.parents { return parents }
    var identities: [CommitIdentity] = []
    for link in commit.links.parents { identities.append(try source.record(link).identity) }
    return identities
  }
}
