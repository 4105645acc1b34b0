import Documents
import StorageEngine

extension OwnStore {
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
      // An index that is wrong reproduces no rule; what the app calls its key path is the only other word for one.
      guard case .proven? = try proofs.rules(of: present, progress: options.proofProgress)[name] else {
        throw .refused(
          reason:
            "index \(name) of \(datastore) has no declared or proven rule; the app rebuilds it at its next warm-up")
      }
    }
    index.isStale = false
    return try build(index, of: datastore, action: "rebuild index \(name) of \(datastore)", options)
  }

  package func dropIndex(_ name: String, of datastore: String) throws(ModelError) -> CommitNumber {
    try transact(CommitInfo(action: "drop index \(name) of \(datastore)", flags: .maintenance)) {
      transaction throws(ModelError) in
      var descriptor = try baseView(of: transaction).requiredDatastore(datastore).descriptor
      guard descriptor.index(name) != nil else {
        throw .noSuchIndex(name, datastore: datastore, known: descriptor.indexes.map(\.name))
      }
      descriptor.setIndex(name, to: nil)
      try onStorage { () throws(StorageError) in
        let tree = TreeName.index(name, of: datastore)
        if try transaction.tree(tree) != nil { try transaction.dropTree(tree) }
      }
      try DatastoreWriter.store(descriptor, in: transaction)
    }
  }

  /// The datastore as it is for a transaction, after the changes that it makes first.
  private func mended(
    _ key: String, in transaction: any WriteTransaction, _ options: EditOptions, _ meter: WorkMeter
  ) throws(ModelError) -> OwnDatastore {
    let base = try baseView(of: transaction).requiredDatastore(key)
    guard !options.mending.isEmpty else { return base }
    try EditApplication(store: self, transaction: transaction, options: options).apply(options.mending, meter)
    let tree = try onStorage { () throws(StorageError) in try transaction.tree(.records(of: key)) }
    guard let tree else { return base }
    return OwnDatastore(view: base.view, descriptor: base.descriptor, tree: tree)
  }

  private static let (learning, evaluating) = ("learn the types", "evaluate")

  private func build(
    _ index: IndexDescriptor, of datastore: String, action: String, _ options: EditOptions
  ) throws(ModelError) -> CommitNumber {
    let count = try view(engine.head).requiredDatastore(datastore).count
    let writing = IndexFill.writing(index.name)
    // To read a record costs about twice what it costs to write its entry.
    let steps = [
      ("mend records", options.mending.count, 4), (Self.learning, options.learnsType ? count : 0, 2),
      (Self.evaluating, count, 2), (writing, count, 1),
    ].filter { $0.1 > 0 || $0.0 == Self.evaluating || $0.0 == writing }
    return try whileBusy(
      action, steps.map { Activity.Step(title: $0.0, done: 0, total: $0.1, isComplete: false, cost: $0.2) },
      of: datastore, progress: options.progress, activity: options.activity
    ) { meter throws(ModelError) in
      try transact(CommitInfo(action: action, flags: .maintenance)) { transaction throws(ModelError) in
        let base = try mended(datastore, in: transaction, options, meter)
        var index = index
        if options.learnsType { index = try learnt(index, from: base, meter) }
        var descriptor = base.descriptor
        descriptor.setIndex(index.name, to: index)
        try DatastoreWriter.createIndex(index, of: descriptor, in: transaction)
        try DatastoreWriter.store(descriptor, in: transaction)
        try meter.begin(Self.evaluating, total: try base.count)
        let values = try IndexValueSource(index, of: base, descriptor)
        var fill = IndexFill(datastore: base, index: index, transaction: transaction)
        fill.leavesFailuresOut = options.leavesFailuresOut
        fill.leavingOut = options.leavingOut
        try fill.run(meter) { record throws(ModelError) in try values.values(of: record) }
      }
    }
  }

  /// An index with the type that its values have in all records, so that none of them is left out.
  private func learnt(
    _ index: IndexDescriptor, from datastore: OwnDatastore, _ meter: WorkMeter
  ) throws(ModelError) -> IndexDescriptor {
    guard let path = index.rule.flatMap({ try? DocumentPath(parsing: $0) }) else { return index }
    let hasManyValues = index.kind.hasManyValues
    var guess = TypeGuess()
    try meter.begin(Self.learning, total: try datastore.count)
    try datastore.forEachRecord { key, reference throws(ModelError) in
      // What cannot be read is told when it is evaluated.
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

/// Where the values of an index that is being filled come from.
private struct IndexValueSource {
  let index: IndexDescriptor
  let rule: IndexRule?
  let indexing: RecordIndexing?

  init(_ index: IndexDescriptor, of datastore: OwnDatastore, _ descriptor: DatastoreDescriptor) throws(ModelError) {
    self.index = index
    if let rule = index.declaredRule {
      self.rule = rule
      indexing = nil
    } else {
      let indexing = try RecordIndexing(datastore)
      if case .proven(let rule)? = indexing.rules[index.name] { self.rule = rule } else { rule = nil }
      self.indexing = indexing
    }
  }

  func values(of record: Record) throws(ModelError) -> [[UInt8]] {
    if let format = indexing?.format { return try format.keys(of: record.stored).values[index.name] ?? [] }
    guard let rule else { return [] }
    return try rule.encodedValues(of: record.document())
  }
}
