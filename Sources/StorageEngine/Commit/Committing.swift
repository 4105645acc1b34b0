/// Turns a transaction's state into a frame: nodes, record, and the chain that ends with it.
struct Committing {
  private let transaction: FileTransaction
  private let info: CommitInfo
  private let file: DataFile
  private let draft: FrameDraft
  private let newest: CommitRecord
  private let number: UInt64
  private let own: FileOffset

  init(_ transaction: FileTransaction, _ info: CommitInfo) {
    self.transaction = transaction
    self.info = info
    file = transaction.file
    draft = transaction.draft
    newest = transaction.beginning.newest
    number = transaction.number
    own = transaction.draft.start
  }

  /// What the store is with the new commit, or nil where there is nothing to commit.
  func run() throws(StorageError) -> Publication.State? {
    let names = try nameChanges()
    let parents = try parentRecords()
    guard
      transaction.state.pointee.isChanged || !names.isEmpty || parents.count > 1 || info.parents != nil
        || info.identity != nil || info.head != nil
    else { return nil }
    try checkTexts()
    try checkFeatures()

    let changesEnd = draft.position
    let counts = try changeCounts()
    let entryBytes = changesEnd - own - UInt64(FrameHeader.size)
    var writer = NodeWriter(draft: draft, file: file)
    let (catalog, liveBytes) = try writeTrees(&writer)
    let stateBytes = entryBytes + writer.nodeBytes
    let namesRoot = try writeNames(names, &writer)
    let nodesEnd = draft.position

    var record = CommitRecord.beginning(of: file.header)
    record.number = number
    record.origin = info.identity?.origin ?? transaction.origin
    record.originNumber = info.identity?.number ?? number
    record.parents = parents.map(\.number)
    let clock = info.clock ?? info.date ?? transaction.store.disk.now()
    record.date = parents.reduce(info.date ?? clock) { max($0, $1.date) }
    record.program = info.program ?? transaction.store.options.program
    record.author = info.author ?? transaction.store.options.author
    record.action = info.writtenAction
    record.flags = flags
    record.undoes = info.undoes?.nonzero
    // What a merge takes from its second parent by roots is no restore for people.
    record.restores = parents.count > 1 ? nil : transaction.state.pointee.restores?.nonzero
    record.names = names
    record.counts = counts
    record.liveBytes = liveBytes
    // What the parent had and what came, less what is still there.
    record.deadBytes = Int64(truncatingIfNeeded: transaction.base.liveBytes &+ stateBytes &- liveBytes)
    record.links = try links(of: record, parents: parents, catalog: catalog, names: namesRoot)

    // Read before the frame is whole: what fails leaves no frame behind that would be taken for a commit.
    let known = transaction.beginning.head
    let link = record.links.head
    let head = link.number == number ? nil : link.number == known.number ? known : try record.head(in: file)

    let buffer = ByteBuffer(capacity: 1024)
    let superseded = transaction.state.pointee.superseded.sorted()
    let durable = min(own, transaction.store.writing.durableEnd)
    let tail = RecordTail(
      pedigree: info.pedigree, undurable: own - durable, clock: clock < record.date ? clock : nil)
    let list = record.encode(into: buffer, superseded: superseded, tail: tail)
    _ = try draft.append(buffer.bytes)
    let chain = try draft.finish(
      number: number, after: transaction.beginning.chain, changesEnd: changesEnd, nodesEnd: nodesEnd,
      recordCheck: file.header.check(buffer.bytes))

    // What the frame says besides the record, so that the record is what others will read.
    record.frameBytes = chain.end - own
    record.links.frameEnd = chain.end
    record.links.changesEnd = changesEnd
    record.links.superseded = SupersededList(
      count: UInt64(superseded.count), offset: nodesEnd + UInt64(list), length: buffer.count - list)
    return Publication.State(file: file, newest: record, head: head ?? record, chain: chain)
  }

  // MARK: Trees

  private func writeTrees(_ writer: inout NodeWriter) throws(StorageError) -> (catalog: NodePointer, liveBytes: UInt64)
  {
    var live = LiveBytes(transaction.state.pointee.liveBytes)
    for treeIndex in transaction.state.pointee.trees.indices {
      let tree = transaction.state.pointee.trees[treeIndex]
      guard tree.isChanged else { continue }
      let before = writer.nodeBytes
      if tree.isDropped {
        // A new tree of the name comes after it, and is set then.
        if !tree.isNew {
          live.subtract(tree.entry.liveBytes)
          try removeFromCatalog(tree.name)
        }
        continue
      }
      var entry = tree.entry
      entry.root = try writer.write(tree.primary.root)
      entry.gone = try writer.write(tree.gone.root)
      let nodeChange =
        Int64(writer.nodeBytes - before) + Int64(tree.settledBytes) - Int64(tree.primary.replacedNodeBytes)
        - Int64(tree.gone.replacedNodeBytes)
      entry.nodeBytes = LiveBytes(entry.nodeBytes, changedBy: nodeChange).count
      entry.entryBytes = LiveBytes(entry.entryBytes, changedBy: tree.tally.entryBytes).count
      live.change(by: nodeChange + tree.tally.entryBytes)
      transaction.state.pointee.trees[treeIndex].entry = entry
      try setInCatalog(tree.name, .bytes(entry.encoded()))
    }
    let before = writer.nodeBytes
    let root = try writer.write(transaction.state.pointee.catalog.root)
    live.change(by: Int64(writer.nodeBytes - before) - Int64(transaction.state.pointee.catalog.replacedNodeBytes))
    return (root, live.count)
  }

  private func setInCatalog(_ name: TreeName, _ payload: Payload) throws(StorageError) {
    let result = name.bytes.withUnsafeBytes { key in
      Result { () throws(StorageError) in
        try transaction.state.pointee.catalog.set(key, at: .bytes(key), in: file) { _ throws(StorageError) in payload }
      }
    }
    _ = try result.get()
  }

  private func removeFromCatalog(_ name: TreeName) throws(StorageError) {
    let result = name.bytes.withUnsafeBytes { key in
      Result { () throws(StorageError) in try transaction.state.pointee.catalog.remove(at: .bytes(key), in: file) }
    }
    _ = try result.get()
  }

  /// The transaction's own counts; what a restore by roots changed is counted by the difference.
  private func changeCounts() throws(StorageError) -> [ChangeCounts] {
    var counts = transaction.state.pointee.changeCounts
    if transaction.state.pointee.restores != nil {
      counts += try RestoreCounts(transaction).counts(besides: Set(counts.map(\.identifier)))
    }
    return counts.sorted { $0.identifier < $1.identifier }
  }

  // MARK: Names

  private func nameChanges() throws(StorageError) -> [NameChange] {
    var changes: [NameChange] = []
    for (name, target) in info.names.sorted(by: { $0.key < $1.key }) {
      guard !name.isEmpty, name != "head" else { throw .invalidName(name) }
      guard name.utf8.count <= Limits.name else { throw .textTooLong(what: "name", limit: Limits.name) }
      changes.append(NameChange(name: name, commit: target == 0 ? number : target))
    }
    return changes
  }

  private func writeNames(_ changes: [NameChange], _ writer: inout NodeWriter) throws(StorageError) -> NodePointer {
    guard !changes.isEmpty else { return newest.links.names }
    var editor = NamesEditor(newest.links.names, in: file)
    for change in changes {
      var named: NamedCommit?
      if let target = change.commit {
        named = NamedCommit(number: target, offset: target == number ? own : try find(target).links.own.offset)
      }
      try editor.set(change.name, to: named)
    }
    return try editor.write(&writer)
  }

  // MARK: Record

  private var flags: CommitFlags {
    var flags = info.flags
    if transaction.state.pointee.restores != nil, info.parents?.count ?? 0 < 2, info.identity == nil {
      flags.insert(.restore)
    }
    if info.undoes != nil { flags.insert(.undo) }
    return flags
  }

  private func find(_ number: UInt64) throws(StorageError) -> CommitRecord {
    if number == transaction.base.number { return transaction.base }
    return try CommitSearch(file: file, newest: newest).commit(number)
  }

  private func parentRecords() throws(StorageError) -> [CommitRecord] {
    guard let numbers = info.parents else { return transaction.base.number == 0 ? [] : [transaction.base] }
    if numbers.isEmpty, transaction.base.number == 0 { return [] }
    guard numbers.count <= 2, numbers.first == transaction.base.number, !numbers.contains(0) else {
      throw .noSuchCommit(number: numbers.first ?? 0)
    }
    var records: [CommitRecord] = []
    for number in numbers { records.append(try find(number)) }
    return records
  }

  /// An older program would lose what commits of other stores need: it must refuse the store before the first one is in it.
  private func checkFeatures() throws(StorageError) {
    guard info.identity != nil || info.pedigree != nil, !file.header.has(.commitsOfOthers) else { return }
    throw .readOnly(reason: "it is not ready yet for commits of other stores")
  }

  private func checkTexts() throws(StorageError) {
    let texts = [
      ("program", info.program ?? transaction.store.options.program),
      ("author", info.author ?? transaction.store.options.author),
    ]
    for (what, text) in texts where text.utf8.count > Limits.text { throw .textTooLong(what: what, limit: Limits.text) }
  }

  private func links(
    of record: CommitRecord, parents: [CommitRecord], catalog: NodePointer, names: NodePointer
  ) throws(StorageError) -> CommitLinks {
    let writing = transaction.store.writing
    let first = parents.first
    let link = CommitLink(number: number, offset: own, depth: (first?.links.own.depth ?? 0) &+ 1, date: record.date)
    var ancestry = Lineage.none
    if let first {
      ancestry = try Lineage(after: first.links.own, its: first.links.ancestry) { jump throws(StorageError) in
        try writing.jump(of: jump, isOrder: false, in: file)
      }
    }
    var order = Lineage.none
    if newest.number > 0 {
      order = try Lineage(after: newest.orderLink, its: newest.links.order) { jump throws(StorageError) in
        try writing.jump(of: jump, isOrder: true, in: file)
      }
    }
    let movesHead = info.movesHead ?? !transaction.isFork
    let head = try info.head.map { head throws(StorageError) in try find(head).links.own }
    let jumpsBack = transaction.state.pointee.restores != nil || transaction.state.pointee.adopts
    return CommitLinks(
      own: link, frameEnd: 0, orderDepth: newest.links.orderDepth &+ 1, parents: parents.map(\.links.own),
      ancestry: ancestry, order: order,
      lastRestore: jumpsBack ? link : first?.links.lastRestore,
      head: head ?? (movesHead ? link : newest.links.head), catalog: catalog, names: names,
      nextTree: transaction.state.pointee.nextTree,
      changesEnd: 0, superseded: .none)
  }
}
