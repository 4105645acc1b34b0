/// Copying a commit: its links lead to the copied ones among the commits that they name.
extension GenerationCopy {
  /// Copies one commit: its entries, its nodes and its record, as a frame after the last one. `names`: those that it is to set.
  func copy(_ commit: CommitRecord, names: [NameChange]) throws(StorageError) {
    let parent = try keptAncestor(of: commit.links.parents.first)
    let newParent = try parent.map { parent throws(StorageError) in try copiedRecord(parent.number) }
    let draft = nextFrame()
    var state = CommitCopy(
      from: View(commit: parent ?? .beginning(of: source.header), file: source),
      to: View(commit: commit, file: source), onto: newParent ?? .beginning(of: target.header), draft: draft,
      in: self)

    try state.copyEntries()
    let changesEnd = draft.position
    let catalog = try state.copyNodes()
    let stateBytes = changesEnd - draft.start - UInt64(FrameHeader.size) + state.nodeBytes
    var writer = NodeWriter(draft: draft)
    let namesRoot = try writer.write(names, to: newest.links.names) {
      $0 == commit.number ? draft.start : copied.offset(of: $0)
    }

    var record = commit
    record.counts = state.counts
    record.parents = []
    record.liveBytes = state.liveBytes
    record.deadBytes = Int64(truncatingIfNeeded: (newParent?.liveBytes ?? 0) &+ stateBytes &- state.liveBytes)
    if parent?.number != commit.parents.first { record.flags.insert(.squashed) }
    record.links = try links(of: &record, commit, parent, newParent, draft.start)
    record.links.catalog = catalog
    record.links.names = namesRoot

    // The copy gets the data's name once all of it is durable, so a frame of it proves all frames before it.
    let tail = RecordTail(pedigree: try pedigree(of: commit), undurable: 0, clock: try source.tail(of: commit).clock)
    let newChain = try draft.finish(
      &record, superseded: state.orphans, tail: tail, after: chain, changesEnd: changesEnd)
    add(record, chain: newChain)
  }

  private func copiedRecord(_ number: UInt64) throws(StorageError) -> CommitRecord {
    if number == newest.number { return newest }
    guard let offset = copied.offset(of: number) else { throw .noSuchCommit(number: number) }
    return try target.record(at: offset)
  }

  /// The newest copied commit at or before a link, along first parents. Returns nil if none was copied.
  private func keptAncestor(of link: CommitLink?) throws(StorageError) -> CommitRecord? {
    guard let link, link.number > 0 else { return nil }
    var record = try source.record(link)
    while !copied.contains(record.number) {
      // No ancestor between this one and the newest copied number before it was copied.
      guard let limit = copied.newest(before: record.number) else { return nil }
      let search = CommitSearch(file: source, newest: record)
      guard let next = try search.ancestor(of: record, where: { $0.number <= limit }) else { return nil }
      record = next
    }
    return record
  }

  private func links(
    of record: inout CommitRecord, _ commit: CommitRecord, _ parent: CommitRecord?, _ newParent: CommitRecord?,
    _ offset: FileOffset
  ) throws(StorageError) -> CommitLinks {
    var parents = newParent.map { [$0] } ?? []
    if let newParent, commit.links.parents.count > 1, let second = try keptAncestor(of: commit.links.parents[1]),
      second.number != newParent.number
    {
      parents.append(try copiedRecord(second.number))
    }
    var links = try CommitLinks(
      of: commit.number, at: offset, date: commit.date, behind: newest, parents: parents
    ) { link, isOrder throws(StorageError) in
      let its = try target.record(link).links
      return isOrder ? its.order.jump : its.ancestry.jump
    }
    links.nextTree = commit.links.nextTree
    // A restore among the squashed commits makes this one a place where version chains jump back.
    if let parent, let restore = commit.links.lastRestore, restore.number > parent.number {
      links.lastRestore = links.own
      if record.restores == nil { record.restores = try source.record(restore).restores }
    }
    if commit.links.head.number == 0 {
      links.head = .beginning
    } else if commit.links.head.number != commit.number {
      let head = try keptAncestor(of: commit.links.head)
      links.head = try head.map { head throws(StorageError) in try copiedRecord(head.number).links.own } ?? links.own
    }
    record.parents = links.parents.map(\.number)
    return links
  }
}
