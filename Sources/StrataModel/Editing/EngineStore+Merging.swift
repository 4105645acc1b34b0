package import StrataEngine

/// The changes that a merge makes to the state of its first parent. They are final: committing them decides nothing again.
package struct MergedChanges: Sendable {
  /// Head, on which the merge is made, and the commit that is merged into it.
  package var first: CommitNumber
  package var second: CommitNumber
  /// Datastores that only the second side changed: they are taken over with their indexes.
  package var whole: [String] = []
  /// Records that only the second side changed, in datastores that both sides changed.
  package var adopted: [String: Set<StoredKey>] = [:]
  /// The results for records that both sides changed; the old content is that of the first side.
  package var edits = ChangeSet()
  /// The resulting descriptors that only the second side changed, or both. Indexes that they define differently are marked stale.
  package var descriptors: [DatastoreDescriptor] = []

  package init(first: CommitNumber, second: CommitNumber) {
    (self.first, self.second) = (first, second)
  }
}

extension EngineStore {
  /// Commits a merge, with both parents. Returns nil, and writes nothing, if `head` has moved to another commit.
  ///
  /// - Parameter info: the description of the commit; its parents are set here.
  package func commit(
    _ merge: MergedChanges, _ info: CommitInfo, options: EditOptions
  ) throws(ModelError) -> CommitNumber? {
    if case .readOnly(let reason) = access { throw .readOnly(reason: reason) }
    // The records that prove the rules are read before the lock is taken, and only if records are written and not just taken over.
    let (first, second) = (try engineView(at: merge.first), try engineView(at: merge.second))
    for key in Set(merge.edits.changes.map(\.datastore)).union(merge.adopted.keys).sorted() {
      guard let ours = try first.ownDatastore(key) else { continue }
      let isWritten = merge.edits.changes.contains { $0.datastore == key }
      let theirs = try second.ownDatastore(key)
      let isTakenOver = theirs.map { MergeApplication.hasSameIndexes(ours.descriptor, $0.descriptor) } ?? false
      if isWritten || !isTakenOver { _ = try RecordIndexing(ours, progress: options.progress) }
    }
    defer { if !keepsLock { engine.releaseLock() } }
    let step = Activity.Step(title: "merge", done: 0, total: merge.edits.count, isComplete: false)
    return try whileBusy("merge", [step], progress: options.progress) { meter in
      var info = info
      info.parents = [merge.first.rawValue, merge.second.rawValue]
      return try transactOnce(info) { transaction in
        guard transaction.base.number == merge.first.rawValue else { return false }
        try MergeApplication(store: self, transaction: transaction, options: options).apply(merge, meter)
        return true
      }
    }
  }

  /// Whether a datastore is the same in two commits: records, descriptor, indexes. Costs a few node reads if it is.
  package func isSame(_ datastore: String, in first: CommitNumber, and second: CommitNumber) throws(ModelError) -> Bool
  {
    if first == second { return true }
    let (left, right) = (try engineView(at: first), try engineView(at: second))
    let names = try treeNames(of: datastore, in: left, and: right)
    return try onStorage { try names.allSatisfy { try left.hasSameTree($0, as: right) } }
  }

  /// Returns the descriptor of a datastore as of a commit, or nil if the datastore does not exist there.
  package func descriptor(of datastore: String, at commit: CommitNumber) throws(ModelError) -> DatastoreDescriptor? {
    try engineView(at: commit).ownDatastore(datastore)?.descriptor
  }
}

private struct MergeApplication {
  let store: EngineStore
  let transaction: any WriteTransaction
  let options: EditOptions

  /// Makes all changes; uniqueness is checked by each datastore's writers.
  func apply(_ merge: MergedChanges, _ meter: WorkMeter) throws {
    let (first, second) = (try store.engineView(at: merge.first), try store.engineView(at: merge.second))
    for key in merge.whole.sorted() {
      let names = try store.treeNames(of: key, in: second, and: first)
      try transaction.restore(names, from: second.view)
    }
    var edits = merge.edits
    var writers: [DatastoreWriter] = []
    for key in merge.adopted.keys.sorted() {
      let identifiers = merge.adopted[key] ?? []
      let (ours, theirs) = (try first.requiredDatastore(key), try second.ownDatastore(key))
      guard let theirs, Self.hasSameIndexes(ours.descriptor, theirs.descriptor) else {
        // The rules give the entries of this side's indexes.
        for identifier in identifiers.sorted(by: { $0.bytes.lexicographicallyPrecedes($1.bytes) }) {
          edits.changes.append(
            RecordEdit(
              datastore: key, identifier: identifier, old: try ours.record(identifier)?.stored,
              new: try theirs?.record(identifier)?.stored))
        }
        continue
      }
      writers.append(try copyRecords(identifiers, ours, theirs))
    }
    var options = options
    options.bringsBackContents = true
    var application = EditApplication(store: store, transaction: transaction, options: options, left: [:])
    let descriptors = try descriptors(merge.descriptors, after: edits, on: first)
    for merged in descriptors {
      let indexes = try first.requiredDatastore(merged.key).descriptor.indexes
      application.left?[merged.key] = indexes.filter { merged.index($0.name) != $0 }.map(\.name)
    }
    try meter.expect(edits.count)
    try application.apply(edits, meter)
    // A record may take over a value that an edit removes from another record, so uniqueness is checked after all changes.
    for writer in writers { try writer.finish() }
    for descriptor in descriptors { try store(descriptor, insteadOf: first.requiredDatastore(descriptor.key)) }
  }

  /// The merged descriptors, with each index marked stale that cannot hold a merged record: the side that wrote the record did not have
  /// the index.
  private func descriptors(
    _ merged: [DatastoreDescriptor], after edits: ChangeSet, on first: EngineView
  ) throws -> [DatastoreDescriptor] {
    var descriptors = Dictionary(merged.map { ($0.key, $0) }) { first, _ in first }
    for (key, edits) in Dictionary(grouping: edits.changes, by: \.datastore) {
      let ours = try first.requiredDatastore(key)
      let refused = try RecordIndexing(ours).indexes(refusing: edits)
      guard !refused.isEmpty else { continue }
      descriptors[key, default: ours.descriptor].markStale(refused)
    }
    return descriptors.values.sorted { $0.key < $1.key }
  }

  /// Stores a merged descriptor. Indexes that it no longer has are dropped. Indexes that it defines differently, or that are stale, are
  /// created empty and marked stale.
  private func store(_ merged: DatastoreDescriptor, insteadOf old: EngineDatastore) throws {
    var merged = merged
    for index in old.descriptor.indexes where merged.index(index.name) == nil {
      try transaction.dropTree(.index(index.name, of: merged.key))
      try DatastoreWriter(merged, in: transaction, format: store.formats[merged.key])
        .removeFromLeftOut(ofIndex: index.name)
    }
    let changed = merged.indexes.filter { $0.isStale || old.descriptor.index($0.name) != $0 }
    merged.markStale(changed.map(\.name))
    for index in changed { try DatastoreWriter.createIndex(index, of: merged, in: transaction) }
    try DatastoreWriter.store(merged, in: transaction)
  }

  static func hasSameIndexes(_ left: DatastoreDescriptor, _ right: DatastoreDescriptor) -> Bool {
    // An entry depends neither on the app's version that evaluated the index nor on uniqueness, which the writer checks.
    func shape(_ index: IndexDescriptor) -> IndexDescriptor {
      var shape = index
      (shape.version, shape.isUnique) = ("", false)
      return shape
    }
    return left.indexes.map(shape) == right.indexes.map(shape) && left.identifierEncoding == right.identifierEncoding
  }

  /// Takes over records from the other parent, with their entries in its indexes, without evaluating a rule.
  ///
  /// - Returns: The writer, which is not finished yet.
  private func copyRecords(
    _ identifiers: Set<StoredKey>, _ ours: EngineDatastore, _ theirs: EngineDatastore
  ) throws -> DatastoreWriter {
    let key = ours.descriptor.key
    let wanted = Set(identifiers.map(\.bytes))
    let writer = DatastoreWriter(ours.descriptor, in: transaction, format: store.formats[key])
    let leftOut = try theirs.view.tree(.leftOut(of: key))
    for bytes in wanted {
      try writer.recordOrder.place(of: bytes).withProbe { probe in
        let place = writer.recordOrder.isBytes ? nil : probe
        if try !transaction.copyRecord(bytes, in: .records(of: key), from: theirs.view.view, probe: place) {
          // A commit that arrived as a whole, or that another store had compacted, has no trace of records deleted before it.
          try transaction.delete(bytes, in: .records(of: key), probe: place)
        }
        if case .bytes(let reason)? = try leftOut?.payload(probe) {
          try writer.leaveOut(bytes, String(decoding: reason.array, as: UTF8.self))
        } else {
          try writer.removeFromLeftOut(bytes)
        }
      }
    }
    for index in ours.descriptor.indexes where !index.isStale {
      var cursor = try difference(ours.view.view, theirs.view.view, tree: .index(index.name, of: key))
      var inserted: [[UInt8]] = []
      while let found = try cursor.next() {
        guard let identifier = found.key.withUnsafeBytes({ EntryKey.identifier($0) }),
          wanted.contains(identifier)
        else { continue }
        if found.new == nil {
          try writer.removeEntry(found.key.array, in: index.name)
        } else {
          inserted.append(found.key.array)
        }
      }
      for entry in inserted { try writer.insertEntry(entry, in: index.name) }
    }
    return writer
  }
}
