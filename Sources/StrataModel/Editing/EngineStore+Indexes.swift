import StrataDocuments
import StrataLocks
import StrataEngine

extension EngineStore {
  package func addIndex(
    _ index: IndexDescriptor, to datastore: String, options: EditOptions
  ) throws(ModelError) -> CommitNumber {
    guard index.declaredRule != nil else {
      throw .refused(reason: "index \(index.name) needs a path that its values are found at")
    }
    guard !index.name.isEmpty, !index.name.utf8.contains(0) else {
      throw .invalid(text: index.name, column: 1, reason: "an index needs a name")
    }
    return try build(index, of: datastore, action: "add index \(index.name) to \(datastore)", options)
  }

  package func rebuildIndex(
    _ name: String, of datastore: String, options: EditOptions
  ) throws(ModelError) -> CommitNumber {
    let present = try view(engine.head).requiredDatastore(datastore)
    guard var index = present.descriptor.index(name) else {
      throw .noSuchIndex(name, datastore: datastore, known: present.descriptor.indexes.map(\.name))
    }
    if formats[datastore] == nil, index.declaredRule == nil {
      // No rule reproduces an index that has wrong entries. Only the stored key-path name could name one then.
      guard case .proven? = try proofs.rules(of: present, progress: options.proofProgress)[name] else {
        throw Self.withoutRule(name, datastore)
      }
    }
    index.isStale = false
    return try build(index, of: datastore, action: "rebuild index \(name) of \(datastore)", isThere: true, options)
  }

  private static func withoutRule(_ index: String, _ datastore: String) -> ModelError {
    .refused(
      reason: "index \(index) of \(datastore) has no declared or proven rule; the app rebuilds it at its next warm-up")
  }

  package func dropIndex(_ name: String, of datastore: String) throws(ModelError) -> CommitNumber {
    try transact(CommitInfo(action: "drop index \(name) of \(datastore)", flags: .maintenance)) {
      transaction in
      var descriptor = try baseView(of: transaction).requiredDatastore(datastore).descriptor
      guard descriptor.index(name) != nil else {
        throw ModelError.noSuchIndex(name, datastore: datastore, known: descriptor.indexes.map(\.name))
      }
      descriptor.setIndex(name, to: nil)
      let tree = TreeName.index(name, of: datastore)
      if try transaction.tree(tree) != nil { try transaction.dropTree(tree) }
      try DatastoreWriter(descriptor, in: transaction, format: formats[datastore]).removeFromLeftOut(ofIndex: name)
      try DatastoreWriter.store(descriptor, in: transaction)
    }
  }

  /// The datastore as it is for a transaction, after the changes that it makes first.
  private func mended(
    _ key: String, in transaction: any WriteTransaction, _ options: EditOptions, _ meter: WorkMeter
  ) throws -> EngineDatastore {
    let base = try baseView(of: transaction).requiredDatastore(key)
    guard !options.mending.isEmpty else { return base }
    try EditApplication(store: self, transaction: transaction, options: options).apply(options.mending, meter)
    guard let tree = try transaction.tree(.records(of: key)) else { return base }
    return EngineDatastore(view: base.view, descriptor: base.descriptor, tree: tree)
  }

  /// - Parameter isThere: whether the datastore must have this index already, stale or not.
  private func build(
    _ index: IndexDescriptor, of datastore: String, action: String, isThere: Bool = false, _ options: EditOptions
  ) throws(ModelError) -> CommitNumber {
    let kept = removeKeptFill(of: datastore, index)
    let count = if let kept { kept.open.count } else { try view(engine.head).requiredDatastore(datastore).count }
    let learnsType = options.learnsType && kept == nil
    return try whileBusy(
      action, Self.steps(of: index, count: count, learnsType: learnsType, mending: options.mending.count),
      of: datastore, progress: options.progress, activity: options.activity
    ) { meter in
      meter.isAlwaysReported = true
      return try transact(CommitInfo(action: action, flags: .maintenance)) { transaction in
        let base = try mended(datastore, in: transaction, options, meter)
        let filled = if learnsType { try learnt(index, from: base, meter) } else { kept?.index ?? index }
        var descriptor = base.descriptor
        var present = descriptor.index(index.name)
        present?.isStale = false
        if isThere, present != index {
          throw ModelError.refused(reason: "another process has changed index \(index.name) of \(datastore)")
        }
        descriptor.setIndex(filled.name, to: filled)
        try DatastoreWriter.createIndex(filled, of: descriptor, in: transaction)
        try DatastoreWriter.store(descriptor, in: transaction)
        let indexing = filled.declaredRule == nil ? try RecordIndexing(base) : nil
        let rule = filled.declaredRule ?? indexing?.rules[filled.name]?.rule
        if rule == nil, indexing?.format == nil { throw Self.withoutRule(filled.name, datastore) }
        func values(_ record: Record) throws(ModelError) -> [[UInt8]] {
          if let format = indexing?.format { return try format.keys(of: record.stored).values[filled.name] ?? [] }
          return try rule?.encodedValues(of: record.document()) ?? []
        }
        var fill = IndexFill(datastore: base, index: filled, transaction: transaction)
        fill.leavesFailuresOut = options.leavesFailuresOut
        fill.leavingOut = options.leavingOut
        if let kept { fill.kept = try bring(kept, to: base, mending: options.mending, in: transaction, values: values) }
        do throws(ModelError) { try fill.run(meter, values: values) } catch {
          if case .failures = error { try keep(fill, asked: index, options.mending, values: values) }
          throw error
        }
        try meter.begin(WorkStep.commit, total: 1)
      }
    }
  }

  /// Keeps what a build that failed has worked out, unless most of it failed. Records that were mended for it stay open: the next build
  /// may mend them otherwise.
  private func keep(
    _ fill: IndexFill, asked: IndexDescriptor, _ mending: ChangeSet,
    values: (Record) throws(ModelError) -> [[UInt8]]
  ) throws(ModelError) {
    guard fill.open.count <= KeptFill.openLimit, try fill.open.count * 2 < fill.datastore.count else { return }
    var (sorter, open) = (fill.sorterToKeep, fill.open)
    let mended = mending.changes.filter { $0.datastore == fill.datastore.descriptor.key }.map(\.identifier)
    for key in mended where !open.contains(key) {
      if let record = try fill.datastore.record(key) {
        try sorter.remove(values(record), of: key, in: fill.transaction)
      }
      open.insert(key)
    }
    let kept = KeptFill(
      datastore: fill.datastore.descriptor.key, asked: asked, index: fill.indexDescriptor,
      commit: fill.datastore.view.commit, generation: engine.identity.generation, sorter: sorter, open: open)
    keptFill.withLock { $0 = kept }
  }

  /// The steps of a build, with what a unit of each costs by experience, until it is measured.
  private static func steps(
    of index: IndexDescriptor, count: Int, learnsType: Bool, mending: Int
  ) -> [Activity.Step] {
    func step(_ title: String, _ total: Int, _ cost: Int) -> Activity.Step {
      Activity.Step(title: title, done: 0, total: total, isComplete: false, cost: cost)
    }
    var steps: [Activity.Step] = []
    if mending > 0 { steps.append(step(WorkStep.mend, mending, 40)) }
    if learnsType, count > 0 { steps.append(step(WorkStep.learn, count, 20)) }
    return steps + WorkAccount.build(decoding: WorkStep.decode, indexes: [index.name], count: count)
      + [step(WorkStep.commit, 1, 1_000)]
  }

  /// An index with the type that its values have in all records, so that none of them is left out.
  private func learnt(
    _ index: IndexDescriptor, from datastore: EngineDatastore, _ meter: WorkMeter
  ) throws(ModelError) -> IndexDescriptor {
    guard let path = index.rule.flatMap({ try? DocumentPath(parsing: $0) }) else { return index }
    let hasManyValues = index.kind.hasManyValues
    var guess = TypeGuess()
    try meter.begin(WorkStep.learn, total: try datastore.count)
    try datastore.forEachRecord { key, reference throws(ModelError) in
      // A record that cannot be read is reported later, when it is evaluated.
      let value = try? datastore.record(datastore.descriptor.storedKey(key), at: reference).document()[path]
      if hasManyValues, case .array(let elements)? = value {
        for element in elements { guess.see(element) }
      } else if !hasManyValues || value != nil {
        guess.see(value)
      }
      try meter.advance()
    }
    return IndexDescriptor(
      name: index.name, kind: index.kind, storage: index.storage, encoding: guess.encoding.encoding,
      valueType: guess.encoding.swiftName, rule: index.rule, isUnique: index.isUnique)
  }
}
