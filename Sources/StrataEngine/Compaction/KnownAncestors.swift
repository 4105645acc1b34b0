/// All commits that a file knows, by identity: those that lie in it, and those in their pedigrees.
///
/// A commit has links to at most two others, and none to one that came after it, such as one that was left out and sent again. Its other
/// parents are known by identity alone, and another commit may describe their past. So a copy that leaves commits out looks them up here.
///
/// Made by reading the descent of every commit once. Memory: some 50 bytes for each, and the runs of the pedigrees.
struct KnownAncestors {
  private let file: DataFile
  private var places: [CommitIdentity: (number: UInt64, offset: FileOffset)] = [:]
  /// In their order, and without overlaps.
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

  /// The runs of commits and all their ancestors, up to those that `isKept`, which gets numbers of this file.
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
