/// All commits that a file knows of, by who they are: those that lie in it, and those that the pedigrees of these tell of.
///
/// A commit has links to two others at most, and none to one that came after it, as one that was left out and was sent again. What else it
/// was made on is known by identity alone, and its past may be told by another commit. So who leaves commits out looks them up here.
///
/// Made by reading the descent of every commit once. Memory: some 50 bytes for each, and the runs that are told.
struct KnownAncestors {
  private let file: DataFile
  private var places: [CommitIdentity: (number: UInt64, offset: FileOffset)] = [:]
  /// In their order, and none of them in two.
  private let runs: [Pedigree.Run]

  init(file: DataFile, newest: CommitLink) throws(StorageError) {
    self.file = file
    var places: [CommitIdentity: (number: UInt64, offset: FileOffset)] = [:]
    var runs: [Pedigree.Run] = []
    try file.forEachDescent(from: newest) { descent, offset throws(StorageError) in
      guard !descent.flags.contains(.bookkeeping) else { return true }
      places[descent.identity] = (descent.number, offset)
      runs += descent.pedigree?.squashed ?? []
      return true
    }
    self.places = places
    self.runs = Pedigree.runs(runs)
  }

  /// Tells of some commits and all that they were made on, up to those that `isKept`; it hears numbers of this file.
  func leftOut(
    before commits: [CommitIdentity], isKept: (UInt64) -> Bool
  ) throws(StorageError) -> [Pedigree.Run] {
    var left: [Pedigree.Run] = []
    var seen: Set<CommitIdentity> = []
    var open = commits
    while let next = open.popLast() {
      guard seen.insert(next).inserted else { continue }
      let parents: [CommitIdentity]
      if let place = places[next] {
        if isKept(place.number) { continue }
        let record = try file.record(at: place.offset)
        parents = try file.parents(of: record, try file.pedigree(of: record))
        left.append(Pedigree.Run(next, parents: parents))
      } else if let run = run(upTo: next) {
        parents = run.parents
        left.append(run)
      } else {
        continue
      }
      open += parents
    }
    return left
  }

  /// The run that tells of a commit, up to that one.
  private func run(upTo commit: CommitIdentity) -> Pedigree.Run? {
    let index = runs.partitionIndex { $0.first > commit }
    guard index > 0, runs[index - 1].origin == commit.origin, runs[index - 1].numbers.contains(commit.number) else {
      return nil
    }
    var run = runs[index - 1]
    run.numbers = run.numbers.lowerBound...commit.number
    return run
  }
}
