extension Salvage {
  /// Saves the commits that were kept aside, as a branch of their own beside the head: the store has gone on without them, so they
  /// change nothing of what it holds. The last of them has the file's name for a name.
  mutating func save(_ aside: KeptAside) throws(StorageError) {
    let (frames, seed) = try aside.wholeFrames()
    guard let last = frames.last else { return }
    guard seed == source.header.seed, let start = end(ofCommit: aside.number) else {
      report.losses.append(SalvageLoss(.keptAside(aside.name, count: frames.count), commit: aside.number &+ 1))
      return
    }
    let whole = try DataFile(
      file: MendedFile(source.file, with: aside.file, at: start, size: aside.size), header: source.header,
      readsMapped: false, counters: Counters())
    whole.extend(to: start + aside.size)
    var branch = Salvage(
      source: whole, survey: try FrameSurvey(of: whole, from: start, limit: whole.end) { _ in true }, target: target)
    branch.places = places.filter { $0.key <= aside.number }
    branch.records = records.filter { $0.key <= aside.number }
    branch.treeNames = treeNames
    branch.newest = branch.places[aside.number] ?? branch.places.values.max() ?? 0
    branch.isBeside = true
    branch.firstNumber = aside.number &+ 1
    try branch.run { _ in true }
    report.losses += branch.report.losses
    report.savedCommits += branch.report.savedCommits
    report.mendedCommits += branch.report.mendedCommits
    guard let place = branch.places[last.header.number] else { return }
    try name(place, aside.name)
    report.notes.append(
      "\(frames.count == 1 ? "a commit" : "\(frames.count) commits") that lay in \(aside.name) \(frames.count == 1 ? "is" : "are") kept beside the head, under that name"
    )
  }

  /// Where the frame of a commit ends; nil where it is not in the file.
  private func end(ofCommit number: UInt64) -> FileOffset? {
    number == source.header.firstNumber &- 1 ? FileLayout.firstFrame : survey.frame(number: number)?.end
  }

  private func name(_ commit: UInt64, _ name: String) throws(StorageError) {
    _ = try target.beginBlocking().commit(
      CommitInfo(action: "name what was kept aside", flags: .maintenance, names: [name: commit], durability: .collated))
  }
}
