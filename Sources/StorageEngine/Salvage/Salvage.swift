/// Writes a new store from what is readable of a damaged one.
///
/// Commit by commit, in the order of the file: the new store gets the same state, with the same date, program, author,
/// action and names, on top of the commit that took the place of its parent. What cannot be read of a commit's trees is
/// taken from the commit before and from the changes in its own frame that a check proves; a record whose value cannot be read
/// keeps the value it had before. The past stays readable, and the new store has an origin of its own.
struct Salvage {
  let source: DataFile
  let survey: FrameSurvey
  let target: FileStore
  var report = SalvageReport()
  /// The commit of the new store that took the place of one of the old.
  var places: [UInt64: UInt64] = [:]
  /// Records of the old store's commits that could be read.
  var records: [UInt64: CommitRecord] = [:]
  /// The names of trees, as far as they are known from catalogs, by identifier.
  var treeNames: [UInt32: TreeName] = [:]
  /// Records that cannot be read, so that each is told once.
  var lostRecords: Set<FileOffset> = []
  var newest: UInt64 = 0
  /// Whether what is saved lies beside the head and its names, and leaves them alone.
  var isBeside = false
  /// The number that the first commit of what is surveyed has.
  var firstNumber: UInt64

  init(source: DataFile, survey: FrameSurvey, target: FileStore) {
    self.source = source
    self.survey = survey
    self.target = target
    firstNumber = source.header.firstNumber
  }

  mutating func run(_ progress: (VerifyProgress) -> Bool) throws(StorageError) {
    learnNames()
    var last = survey.start
    for (index, frame) in survey.frames.enumerated() {
      if index % 16 == 0,
        !progress(VerifyProgress(phase: .trees, done: UInt64(index), total: UInt64(survey.frames.count)))
      {
        return try countRecords()
      }
      if frame.offset > last { try mend(gap: last..<frame.offset, before: frame) }
      last = frame.end
      if let record = records[frame.header.number] {
        try save(record, frame)
      } else {
        try mend(frame)
      }
    }
    if let gap = survey.leftover { try mend(gap: gap, before: nil) }
    if isBeside { return }
    try mendNames()
    try tellCommitsBeyondTheEnd()
    try countRecords()
  }

  /// Where the file was cut short a slot still tells how far it went.
  private mutating func tellCommitsBeyondTheEnd() throws(StorageError) {
    let known = max(survey.frames.last?.header.number ?? 0, report.losses.map(\.commit).max() ?? 0)
    let slots = try Opening(file: source, limit: source.end).readSlots()
    guard let promised = slots.map(\.number).max(), promised > known else { return }
    report.losses.append(SalvageLoss(.commits(to: promised), commit: known + 1))
  }

  /// Reads what needs no order: records, and which tree has which identifier.
  private mutating func learnNames() {
    for frame in survey.frames {
      guard let record = try? source.record(at: frame.offset) else { continue }
      records[record.number] = record
      for count in record.counts { treeNames[count.identifier] = count.tree }
    }
  }

  // MARK: A commit whose record can be read

  private mutating func save(_ record: CommitRecord, _ frame: FrameSurvey.Frame) throws(StorageError) {
    let base = self.base(of: record)
    let transaction = try target.beginBlocking(on: base == 0 ? nil : base)
    var state = try StateSalvage(
      salvage: self, transaction: transaction, record: record, frame: frame, base: base,
      oldParent: record.parents.first.flatMap { records[$0] }.flatMap { places[$0.number] == base ? $0 : nil })
    try state.run()
    report.losses += state.losses
    lostRecords = state.lostRecords
    treeNames.merge(state.treeNames) { _, new in new }
    let committed = try transaction.commit(description(of: record, base: base))
    finish(record.number, committed?.number ?? base)
    // Nil if nothing of what it changed can be read.
    if committed != nil { report.savedCommits += 1 }
  }

  private mutating func finish(_ old: UInt64, _ new: UInt64) {
    places[old] = new
    newest = max(newest, new)
  }

  /// The commit of the new store on which this one goes: what became of its parent, or the nearest one before it.
  private func base(of record: CommitRecord) -> UInt64 {
    guard let parent = record.parents.first else { return 0 }
    if let place = places[parent] { return place }
    let before = places.keys.filter { $0 < parent }.max()
    if let before, records[before].map({ $0.links.head.number == before }) ?? true { return places[before] ?? 0 }
    let ancestors = [record.links.ancestry.jump, record.links.ancestry.previousJump].compactMap { $0?.number }
    return ancestors.compactMap { places[$0] }.max() ?? newest
  }

  private func description(of record: CommitRecord, base: UInt64) -> CommitInfo {
    var info = CommitInfo(
      date: record.date, action: record.action, program: record.program, author: record.author,
      flags: record.flags.intersection([.squashed, .maintenance, .undo]), undoes: record.undoes.flatMap { places[$0] })
    for change in record.names where Self.isName(change.name) {
      guard let commit = change.commit else {
        info.names[change.name] = .some(nil)
        continue
      }
      if commit == record.number { info.names[change.name] = .some(0) }
      if let place = places[commit] { info.names[change.name] = .some(place) }
    }
    if record.parents.count == 2, let second = places[record.parents[1]], base != 0, second != base {
      info.parents = [base, second]
    }
    info.movesHead = record.links.head.number == record.number
    info.durability = .collated
    if isBeside {
      info.names = [:]
      info.movesHead = false
    }
    return info
  }

  // MARK: A commit whose record cannot be read

  private mutating func mend(_ frame: FrameSurvey.Frame) throws(StorageError) {
    report.losses.append(SalvageLoss(.commit, commit: frame.header.number))
    let changes = try LooseChanges(
      in: source, frame: frame.offset, limit: frame.nodesStart, end: frame.end, isWhole: frame.isWhole)
    try apply(changes, of: frame.header.number)
  }

  /// A frame whose header cannot be read begins where the one before ends, with its changes.
  private mutating func mend(gap: Range<FileOffset>, before next: FrameSurvey.Frame?) throws(StorageError) {
    let before = survey.frames.last { $0.end <= gap.lowerBound }?.header.number
    let first = (before ?? firstNumber &- 1) &+ 1
    guard next != nil || gap.length > UInt64(FrameHeader.size) else { return }
    let changes = try LooseChanges(
      in: source, frame: gap.lowerBound, limit: gap.upperBound, end: gap.upperBound, isWhole: false)
    // The tail of an unfinished commit is no loss: nobody was told of it.
    if next == nil, changes.proven.isEmpty { return }
    for number in lostNumbers(from: first, in: gap, before: next) {
      report.losses.append(SalvageLoss(.commit, commit: number))
    }
    try apply(changes, of: first)
  }

  /// The numbers of the commits that a gap held: not more than it had room for, for numbers may be missing since a compaction.
  private func lostNumbers(
    from first: UInt64, in gap: Range<FileOffset>, before next: FrameSurvey.Frame?
  ) -> ClosedRange<UInt64> {
    let room = gap.length / UInt64(FrameHeader.size + FrameHeader.trailerSize)
    let (most, isBeyond) = first.addingReportingOverflow(max(1, room) - 1)
    let last = next.map { $0.header.number &- 1 } ?? first
    return first...max(first, min(last, isBeyond ? .max : most))
  }

  /// Makes a commit of proven changes alone.
  private mutating func apply(_ changes: LooseChanges, of number: UInt64) throws(StorageError) {
    for change in changes.unproven {
      guard let name = treeNames[change.tree] else { continue }
      report.losses.append(SalvageLoss(.unproven, commit: number, tree: name, key: change.key))
    }
    guard !changes.proven.isEmpty else { return }
    // Which commit it was made on is lost with it: most likely the head of then.
    let head = isBeside ? newest : target.head.commit.number
    let transaction = try target.beginBlocking(on: head == 0 ? nil : head)
    for change in changes.proven {
      guard let name = treeNames[change.tree] else { continue }
      try apply(change, to: name, transaction)
    }
    let info = CommitInfo(
      action: "salvaged from commit #\(number)", flags: .maintenance, movesHead: !isBeside && wasHead(number),
      durability: .collated)
    if let committed = try transaction.commit(info) {
      finish(number, committed.number)
      report.mendedCommits += 1
    }
  }

  /// Whether a commit whose record cannot be read was the head, by what the next one that can says of it.
  private func wasHead(_ number: UInt64) -> Bool {
    let next = survey.frames.lazy.compactMap { records[$0.header.number] }.first { $0.number > number }
    guard let next else { return true }
    if next.links.head.number != next.number { return next.links.head.number >= number }
    return next.parents.contains { $0 >= number }
  }

  private func apply(
    _ change: LooseChanges.Found, to name: TreeName, _ transaction: FileTransaction
  ) throws(StorageError) {
    if try transaction.tree(name) == nil {
      try transaction.createTree(name, kind: .records, attributes: [])
    }
    guard let tree = try transaction.tree(name), tree.kind == .records, tree.order == .bytes else { return }
    switch change.kind {
    case .put: try transaction.put(change.key, change.value.array, in: name)
    case .delete: try transaction.delete(change.key, in: name)
    case .attributes: try transaction.setAttributes(change.value.array, of: name)
    }
  }

  // MARK: The end

  /// Brings the names to what the last list of them says, where commits that set or took them cannot be read: each commit lists all.
  private mutating func mendNames() throws(StorageError) {
    guard let frame = survey.frames.last(where: { records[$0.header.number] != nil }),
      let newest = records[frame.header.number]
    else { return }
    let present = try target.names
    var info = CommitInfo(action: "mend names", flags: .maintenance, durability: .collated)
    let list = TolerantWalk(newest.links.names, in: source)
    // Where a part of the list cannot be read, what is not in it may have been.
    if list.gapCount == 0 { info.names = present.mapValues { _ -> UInt64? in nil } }
    for item in list.items {
      guard case .entry(let key, let payload) = item,
        let named = try? NamedCommit(payload, at: newest.links.names.offset)
      else { continue }
      let name = String(decoding: key, as: UTF8.self)
      guard Self.isName(name) else { continue }
      let place = places[named.number]
      if place == nil { report.losses.append(SalvageLoss(.name(name), commit: named.number)) }
      info.names[name] = place == present[name] ? nil : .some(place)
    }
    guard !info.names.isEmpty else { return }
    _ = try target.beginBlocking().commit(info)
  }

  /// Whether a commit can have this name: a store whose bytes were made up may have others.
  private static func isName(_ name: String) -> Bool { !name.isEmpty && name.utf8.count <= 1024 && name != "head" }

  private mutating func countRecords() throws(StorageError) {
    for name in try target.head.trees() {
      if let tree = try target.head.tree(name), tree.kind == .records { report.records += try tree.count }
    }
  }
}

extension FileStore {
  /// Writes a new store at `newPath` from what is readable of the one at `path`, which is only read. The new one has an
  /// identity and an origin of its own.
  ///
  /// `progress` is called every few commits on the calling thread; false ends it, and what was saved by then stays. `finishing` may
  /// add to the new store before it is closed and gets its name.
  /// Throws where nothing at all can be read, where something lies at `newPath`, or where the disk fails; then nothing is left there.
  package static func salvage(
    from path: String, to newPath: String, options: StoreOptions, disk: any Disk,
    progress: (VerifyProgress) -> Bool = { _ in true }, finishing: (FileStore) -> Void = { _ in }
  ) throws(StorageError) -> SalvageReport {
    let raw = try RawStore(at: path, disk: disk)
    let survey = try FrameSurvey(of: raw.file, limit: raw.end) { done in
      progress(VerifyProgress(phase: .frames, done: done, total: raw.end.bytes))
    }
    let draft = try StoreDraft(at: newPath, on: disk)
    do {
      let target = try FileStore.create(at: draft.workPath, options: options, disk: disk)
      var salvage = Salvage(source: raw.file, survey: survey, target: target)
      try salvage.run(progress)
      for aside in try KeptAside.all(at: path, on: disk) { try salvage.save(aside) }
      finishing(target)
      try target.close()
      try draft.finish()
      return salvage.report
    } catch {
      draft.cancel()
      throw error
    }
  }
}
