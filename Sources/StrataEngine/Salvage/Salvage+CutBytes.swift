extension Salvage {
  /// Saves the commits that were kept aside, as a branch of their own beside the head: the store has gone on without them, so they
  /// change nothing of what it holds. The last of them has the file's name for a name.
  func save(_ aside: CutBytes) throws(StorageError) {
    let (frames, seed) = try aside.wholeFrames()
    guard let last = frames.last else { return }
    let isFirst = aside.number == source.header.firstNumber &- 1
    guard seed == source.header.seed,
      let start = isFirst ? source.header.firstFrame : survey.frame(number: aside.number)?.end
    else {
      lose(.keptAside(aside.name, count: frames.count), commit: aside.number &+ 1)
      return
    }
    let mended = MendedFile(source.file, with: aside.file, at: start, size: aside.size)
    let whole = try DataFile(reading: mended, source.header, to: start + aside.size)
    let branch = Salvage(
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
    _ = try target.beginBlocking().commit(
      CommitInfo(
        action: "name what was kept aside", flags: .maintenance, names: [aside.name: place], durability: .collated))
    report.notes.append(
      "\(frames.count == 1 ? "a commit" : "\(frames.count) commits") that lay in \(aside.name) \(frames.count == 1 ? "is" : "are") kept beside the head, under that name"
    )
  }
}
