import StrataEngine

extension EngineStore {
  package func commit(
    _ changes: ChangeSet, named action: String, options: EditOptions
  ) throws(ModelError) -> CommitNumber {
    try commit(changes, CommitInfo(action: action), options: options)
  }

  /// - Parameter info: the name, the flags and the other metadata of the commit.
  func commit(_ changes: ChangeSet, _ info: CommitInfo, options: EditOptions) throws(ModelError) -> CommitNumber {
    try prepareRules(of: Set(changes.changes.map(\.datastore)), options)
    let step = Activity.Step(title: info.action, done: 0, total: changes.count, isComplete: false)
    return try whileBusy(info.action, [step], progress: options.progress, activity: options.activity) {
      meter in
      try transact(info) { transaction in
        try EditApplication(store: self, transaction: transaction, options: options).apply(changes, meter)
        try meter.finish()
      }
    }
  }

  /// Deletes all records that match a query, read one by one: memory does not grow with their number.
  ///
  /// - Parameter action: the commit's name; nil makes a name with their number.
  /// - Throws: `ModelError.refused` if no record matches.
  package func delete(
    _ query: RecordQuery, from datastore: String, named action: String?, options: EditOptions
  ) throws(ModelError) -> CommitNumber {
    try prepareRules(of: [datastore], options)
    while true {
      let view = view(try onStorage { try engine.refresh() })
      var (count, first): (Int, StoredKey?) = (0, nil)
      func read(_ leaveOut: (@Sendable (String) -> Void)?) throws(ModelError) {
        (count, first) = (0, nil)
        try view.forEachRecord(query, of: datastore, leaveOut) { record in
          count += 1
          if count == 1 { first = record.identifier }
        }
      }
      var leaveOut: (@Sendable (String) -> Void)?
      do { try read(nil) } catch {
        leaveOut = options.leaveOut
        guard case .storage(_, kind: .damaged) = error, leaveOut != nil else { throw error }
        try read(leaveOut)
      }
      guard let first else { throw .refused(reason: "no record meets the condition") }
      let name = count == 1 ? "delete \(datastore) \(first)" : "delete \(counted(count, "record"))"
      let info = CommitInfo(action: action ?? name)
      let step = Activity.Step(title: info.action, done: 0, total: count, isComplete: false)
      var isMoved = false
      let commit = try whileBusy(info.action, [step], progress: options.progress, activity: options.activity) {
        meter in
        try transact(info) { transaction in
          // Counts again if another process has committed meanwhile.
          isMoved = transaction.base.number != view.commit.rawValue
          if isMoved { return }
          try EditApplication(store: self, transaction: transaction, options: options)
            .delete(query, from: view, datastore, leaveOut, meter)
        }
      }
      if !isMoved { return commit }
    }
  }

  /// Proves the rules before the lock is taken, so that the transaction must only carry the proof over the commits of other writers
  /// meanwhile.
  private func prepareRules(of datastores: Set<String>, _ options: EditOptions) throws(ModelError) {
    let view = view(engine.head)
    for key in datastores.sorted() {
      guard let datastore = try view.ownDatastore(key) else { continue }
      _ = try RecordIndexing(datastore, progress: options.proofProgress)
    }
  }
}

extension EditOptions {
  /// The listener of a proof. Without `proving`, `progress` is called with nothing done yet, so that it can cancel.
  var proofProgress: WorkProgress? {
    if let proving { return proving }
    guard let progress else { return nil }
    return { _, _ in progress(0, 0) }
  }
}

struct EditApplication {
  let store: EngineStore
  let transaction: any WriteTransaction
  let options: EditOptions
  /// Indexes by datastore that get no entries, because the same transaction drops them or creates them empty. If nil, contents that are
  /// brought back mark those indexes stale that cannot hold them.
  var left: [String: [String]]?

  func apply(_ changes: ChangeSet, _ meter: WorkMeter) throws {
    var conflicts: [EditConflict] = []
    for key in Set(changes.changes.map(\.datastore)).sorted() {
      let edits = changes.changes.filter { $0.datastore == key }
      conflicts += try apply(edits, to: store.datastore(key, in: transaction), meter)
    }
    if !conflicts.isEmpty { throw ModelError.conflict(conflicts) }
  }

  /// Deletes the matching records of a view, some at a time.
  func delete(
    _ query: RecordQuery, from view: EngineView, _ key: String, _ leaveOut: (@Sendable (String) -> Void)?,
    _ meter: WorkMeter
  ) throws {
    let indexing = try permitted(RecordIndexing(view.requiredDatastore(key), progress: options.proofProgress))
    let writer = DatastoreWriter(indexing.descriptor, in: transaction, format: indexing.format)
    var edits: [RecordEdit] = []
    func apply() throws {
      try prefetch(edits[...], indexing, writer)
      for edit in edits {
        try self.apply(edit, indexing, writer)
        try meter.advance()
      }
      edits.removeAll(keepingCapacity: true)
    }
    try view.forEachRecord(query, of: key, leaveOut) { record in
      edits.append(RecordEdit(datastore: key, identifier: record.identifier, old: record.stored, new: nil))
      if edits.count == Self.foreseenCount { try apply() }
    }
    try apply()
    try writer.finish()
    try meter.finish()
  }

  private func apply(
    _ edits: [RecordEdit], to datastore: EngineDatastore, _ meter: WorkMeter
  ) throws -> [EditConflict] {
    let known = try RecordIndexing(datastore, progress: options.proofProgress)
    let refused = left == nil && options.bringsBackContents ? try known.indexes(refusing: edits) : []
    let indexing = try permitted(known.marking(stale: left?[datastore.descriptor.key] ?? refused))
    if !refused.isEmpty { try DatastoreWriter.store(indexing.descriptor, in: transaction) }
    let writer = DatastoreWriter(indexing.descriptor, in: transaction, format: indexing.format)
    var conflicts: [EditConflict] = []
    for (place, edit) in edits.enumerated() {
      do {
        if place % Self.foreseenCount == 0 {
          try prefetch(edits[place...].prefix(Self.foreseenCount), indexing, writer)
        }
        try apply(edit, indexing, writer)
      } catch ModelError.conflict(let found) {
        conflicts += found
      }
      try meter.advance()
    }
    // With edits left out, two records may seem to have one value.
    if conflicts.isEmpty { try writer.finish() }
    return conflicts
  }

  /// The number of edits that are looked up at once on a server.
  private static let foreseenCount = 256

  private func prefetch(
    _ edits: ArraySlice<RecordEdit>, _ indexing: RecordIndexing, _ writer: DatastoreWriter
  ) throws {
    try writer.prefetch(
      edits.map { edit in (edit.identifier.bytes, edit.new.flatMap { try? indexing.values(of: $0) } ?? []) }
    ) { current in
      try? indexing.values(of: RecordContent(stored: current.bytes))
    }
  }

  /// Refuses indexes without a rule, or marks them stale if the options allow it.
  private func permitted(_ indexing: RecordIndexing) throws -> RecordIndexing {
    let refusals = indexing.refusals
    guard !refusals.isEmpty else { return indexing }
    guard options.marksIndexesStale, refusals.allSatisfy(\.canBeMarkedStale) else {
      throw ModelError.refused(reason: refusals.map(\.sentence).joined(separator: "; "))
    }
    let marked = indexing.marking(stale: refusals.compactMap(\.index))
    try DatastoreWriter.store(marked.descriptor, in: transaction)
    return marked
  }

  private func apply(_ edit: RecordEdit, _ indexing: RecordIndexing, _ writer: DatastoreWriter) throws {
    let current = try writer.current(edit.identifier.bytes)
    let theirs = try current.map { try RecordContent(stored: $0.bytes) }
    let outcome = edit.outcome(over: theirs, indexing.descriptor)
    let new: RecordContent?
    switch outcome {
    case .mine: new = edit.new
    case .theirs: return
    case .merged(let merged) where options.mergesFields: new = merged
    case .merged, .conflict: throw ModelError.conflict([outcome.conflict(of: edit, theirs: theirs)])
    }
    // The values of a record that no longer decodes (left out by a warm-up) are unknown, so its entries are searched for.
    let oldValues = theirs.flatMap { try? indexing.values(of: $0) }
    if let new {
      guard new != .damaged else {
        throw ModelError.refused(reason: "\(edit.datastore) \(edit.identifier): the content to bring back is damaged")
      }
      let values: [[[UInt8]]]
      do throws(ModelError) {
        values = try indexing.values(
          of: new, under: edit.identifier, insteadOf: theirs, isBroughtBack: options.bringsBackContents)
      } catch {
        guard case .refused(let reason) = error else { throw error }
        throw ModelError.refused(reason: "\(edit.datastore) \(edit.identifier): \(reason)")
      }
      let bytes = RecordBytes.make(version: new.version, content: new.bytes)
      _ = try writer.put(edit.identifier.bytes, bytes, values: values, replacing: current, oldValues: oldValues)
    } else if current != nil {
      _ = try writer.delete(edit.identifier.bytes, oldValues: oldValues)
    }
  }
}

extension EngineView {
  fileprivate func forEachRecord(
    _ query: RecordQuery, of key: String, _ leaveOut: (@Sendable (String) -> Void)?, _ body: (Record) throws -> Void
  ) throws(ModelError) {
    let whole = try requiredDatastore(key)
    let datastore: any ReadableDatastore = leaveOut.map { ReadableRest(of: whole, keepsRanks: true, tell: $0) } ?? whole
    try onStorage {
      var run = try query.run(query.plan(in: datastore), in: datastore)
      while let record = try run.next() { try body(record) }
    }
  }
}

extension EditRefusal {
  var sentence: String { "\(datastore): \(reason)" }
}

extension DatastoreWriter.Current {
  /// A damaged record can be replaced and deleted like any other.
  init(_ reference: RecordReference, in tree: Tree) throws(StorageError) {
    do throws(StorageError) {
      self.init(reference: reference, bytes: try tree.value(of: reference))
    } catch {
      guard case .damaged = error else { throw error }
      self.init(reference: reference, bytes: Bytes())
    }
  }
}

extension RecordContent {
  /// - Parameter bytes: as in `DatastoreWriter.Current`.
  init(stored bytes: Bytes) throws(ModelError) {
    if bytes.isEmpty {
      self = .damaged
      return
    }
    let (version, content) = try RecordBytes.split(bytes)
    self.init(version: version, bytes: content.array)
  }
}
