/// Writes a new store from the readable parts of a damaged one.
///
/// Commit by commit, in the order of the file: the new store gets the same state, with the same date, program, author, action and names, on
/// top of the commit that replaced its parent. Unreadable parts of a commit's trees are taken from the commit before, and from the changes
/// in its own frame that a check proves. A record whose value cannot be read keeps the value it had before. The past stays readable, and
/// the new store has an origin of its own.
final class Salvage {
  let source: DataFile
  let survey: FrameSurvey
  let target: FileStore
  var report = SalvageReport()
  /// The commit of the new store that replaced one of the old.
  var places: [UInt64: UInt64] = [:]
  /// Records of the old store's commits that could be read.
  var records: [UInt64: CommitRecord] = [:]
  /// The names of trees, as far as they are known from catalogs, by identifier.
  var treeNames: [UInt32: TreeName] = [:]
  /// Unreadable records, so that each is reported once.
  var lostRecords: Set<FileOffset> = []
  var newest: UInt64 = 0
  /// Whether the saved commits stay outside `head` and its names, and leave both unchanged.
  var isBeside = false
  /// The number of the first commit in the surveyed range.
  var firstNumber: UInt64

  init(source: DataFile, survey: FrameSurvey, target: FileStore) {
    self.source = source
    self.survey = survey
    self.target = target
    firstNumber = source.header.firstNumber
  }

  func lose(_ kind: SalvageLoss.Kind, commit: UInt64, tree: TreeName? = nil, key: [UInt8]? = nil) {
    report.losses.append(SalvageLoss(kind: kind, commit: commit, tree: tree, key: key))
  }

  func run(_ progress: (VerifyProgress) -> Bool) throws(StorageError) {
    // The parts that need no order: records, and the identifiers of trees.
    for frame in survey.frames {
      guard let record = try? source.record(at: frame.offset) else { continue }
      records[record.number] = record
      for count in record.counts { treeNames[count.identifier] = count.tree }
    }
    var last = survey.start
    for (index, frame) in survey.frames.enumerated() {
      if index % 16 == 0, !progress((UInt64(index), UInt64(survey.frames.count))) {
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
    if let newest = survey.frames.lazy.compactMap({ self.records[$0.header.number] }).last {
      try mendHeadAndNames(newest)
    }
    // If the file was cut short, a slot still says how far it went.
    let known = max(survey.frames.last?.header.number ?? 0, report.losses.map(\.commit).max() ?? 0)
    let slots = try HeadSearch(file: source, limit: source.end).readSlots()
    if let promised = slots.map(\.number).max(), promised > known { lose(.commits(to: promised), commit: known + 1) }
    try countRecords()
  }

  // MARK: A commit whose record can be read

  private func save(_ record: CommitRecord, _ frame: FrameSurvey.Frame) throws(StorageError) {
    let base = self.base(of: record)
    let transaction = try target.beginBlocking(on: base)
    var restored: (old: CommitRecord, new: View)?
    if let number = record.restores, let old = records[number], let place = places[number] {
      restored = (old, try target.view(at: place))
    }
    var state = StateSalvage(
      salvage: self, transaction: transaction, record: record, frame: frame,
      oldParent: record.parents.first.flatMap { records[$0] }.flatMap { places[$0.number] == base ? $0 : nil },
      restored: restored)
    try state.run()
    let committed = try transaction.commit(description(of: record, base: base))
    finish(record.number, committed?.number ?? base)
    // Nil if nothing that it changed can be read.
    if committed != nil { report.savedCommits += 1 }
  }

  private func finish(_ old: UInt64, _ new: UInt64) {
    places[old] = new
    newest = max(newest, new)
  }

  /// The commit of the new store to build this one on: the copy of its parent, or of the nearest commit before that.
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

  private func mend(_ frame: FrameSurvey.Frame) throws(StorageError) {
    lose(.commit, commit: frame.header.number)
    let changes = try FrameChangeReader(
      in: source, frame: frame.offset, limit: frame.nodesStart, end: frame.end, isWhole: frame.isWhole)
    try apply(changes, of: frame.header.number)
  }

  /// A frame whose header cannot be read begins at the end of the one before, with its changes.
  private func mend(gap: Range<FileOffset>, before next: FrameSurvey.Frame?) throws(StorageError) {
    let before = survey.frames.last { $0.end <= gap.lowerBound }?.header.number
    let first = (before ?? firstNumber &- 1) &+ 1
    guard next != nil || gap.length > UInt64(FrameHeader.size) else { return }
    let changes = try FrameChangeReader(
      in: source, frame: gap.lowerBound, limit: gap.upperBound, end: gap.upperBound, isWhole: false)
    // The tail of an unfinished commit is not a loss: the commit was never reported.
    if next == nil, changes.proven.isEmpty { return }
    for number in lostNumbers(from: first, in: gap, before: next) {
      lose(.commit, commit: number)
    }
    try apply(changes, of: first)
  }

  /// The numbers of the commits that a gap held: at most as many as it had room for, because numbers may be missing since a compaction.
  private func lostNumbers(
    from first: UInt64, in gap: Range<FileOffset>, before next: FrameSurvey.Frame?
  ) -> ClosedRange<UInt64> {
    let room = gap.length / UInt64(FrameHeader.size + FrameHeader.trailerSize)
    let (most, isBeyond) = first.addingReportingOverflow(max(1, room) - 1)
    let last = next.map { $0.header.number &- 1 } ?? first
    return first...max(first, min(last, isBeyond ? .max : most))
  }

  /// Makes a commit of proven changes alone.
  private func apply(_ changes: FrameChangeReader, of number: UInt64) throws(StorageError) {
    for change in changes.unproven {
      guard let name = treeNames[change.tree] else { continue }
      lose(.unproven, commit: number, tree: name, key: change.key)
    }
    guard !changes.proven.isEmpty else { return }
    // The commit that it was made on is lost with it: most likely the `head` of that time.
    let head = isBeside ? newest : target.head.number
    let transaction = try target.beginBlocking(on: head == 0 ? nil : head)
    for change in changes.proven {
      guard let name = treeNames[change.tree], try acceptsChanges(name, transaction) else { continue }
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

  /// Whether a commit whose record cannot be read was the head, according to the next readable record.
  private func wasHead(_ number: UInt64) -> Bool {
    let next = survey.frames.lazy.compactMap { self.records[$0.header.number] }.first { $0.number > number }
    guard let next else { return true }
    if next.links.head.number != next.number { return next.links.head.number >= number }
    return next.parents.contains { $0 >= number }
  }

  /// Whether a tree takes changes that its nodes do not contain: a tree of records in byte order. Creates the tree if it is missing.
  func acceptsChanges(_ name: TreeName, _ transaction: FileTransaction) throws(StorageError) -> Bool {
    if try transaction.tree(name) == nil { try transaction.createTree(name, kind: .records) }
    guard let tree = try transaction.tree(name) else { return false }
    return tree.kind == .records && tree.order == .bytes
  }

  func apply(
    _ change: FrameChangeReader.Found, to name: TreeName, _ transaction: FileTransaction
  ) throws(StorageError) {
    switch change.kind {
    case .put: try transaction.put(change.key, change.value.array, in: name)
    case .delete: try transaction.delete(change.key, in: name)
    case .attributes: try transaction.setAttributes(change.value.array, of: name)
    }
  }

  // MARK: The end

  /// Sets `head` to the one that the newest commit records, because an exchange moves it by a commit that changes nothing else. Sets the
  /// names to that commit's list of names, because commits that set or removed names may be lost.
  private func mendHeadAndNames(_ newest: CommitRecord) throws(StorageError) {
    let present = try target.names
    var info = CommitInfo(
      action: "mend head and names", flags: [.maintenance, .bookkeeping], movesHead: false, durability: .collated)
    if !places.keys.contains(where: { $0 > newest.number }) { info.head = places[newest.links.head.number] }
    let list = TolerantWalk(newest.links.names, in: source)
    // If a part of the list cannot be read, names that are missing in it may have been there.
    if list.gapCount == 0 { info.names = present.mapValues { _ -> UInt64? in nil } }
    for item in list.items {
      guard case .entry(let key, let payload) = item,
        let named = try? NamedCommit(payload, at: newest.links.names.offset)
      else { continue }
      let name = String(decoding: key, as: UTF8.self)
      guard Self.isName(name) else { continue }
      let place = places[named.number]
      if place == nil { lose(.name(name), commit: named.number) }
      info.names[name] = place == present[name] ? nil : .some(place)
    }
    guard !info.names.isEmpty || info.head ?? target.head.number != target.head.number else { return }
    _ = try target.beginBlocking().commit(info)
  }

  /// Whether a commit can have this name: a store with forged bytes may have others.
  private static func isName(_ name: String) -> Bool { !name.isEmpty && name.utf8.count <= 1024 && name != "head" }

  private func countRecords() throws(StorageError) {
    for name in try target.head.trees() {
      if let tree = try target.head.tree(name), tree.kind == .records { report.records += try tree.count }
    }
  }
}

extension FileStore {
  /// Writes a new store at `newPath` from the readable parts of the one at `path`, which is only read. The new one has an identity and an
  /// origin of its own.
  ///
  /// `progress` is called every few commits on the calling thread. If it returns false, salvage ends, and what was saved by then stays.
  /// `finishing` may add to the new store before it is closed and gets its name.
  /// Throws if nothing at all can be read, if `newPath` exists, or if the disk fails; then nothing is left there.
  package static func salvage(
    from path: String, to newPath: String, options: StoreOptions, disk: any Disk,
    progress: (VerifyProgress) -> Bool = { _ in true }, finishing: (FileStore) -> Void = { _ in }
  ) throws(StorageError) -> SalvageReport {
    let raw = try RawStore(at: path, disk: disk)
    let survey = try FrameSurvey(of: raw.file, limit: raw.end) { progress(($0, raw.end.bytes)) }
    let draft = try StoreDraft(at: newPath, on: disk)
    defer { draft.cancel() }
    let target = try FileStore.create(at: draft.workPath, options: options, disk: disk)
    let salvage = Salvage(source: raw.file, survey: survey, target: target)
    try salvage.run(progress)
    for aside in try CutBytes.all(at: path, on: disk) { try salvage.save(aside) }
    finishing(target)
    try target.close()
    try draft.finish()
    return salvage.report
  }
}
