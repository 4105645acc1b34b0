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
      guard case .proven? = try proofs.rules(of: present, isCancelled: options.isCancelled)[name] else {
        throw .refused(
          reason: "index \(name) of \(datastore) has no declared or proven rule; the app rebuilds it at its next warm-up")
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

  private func build(
    _ index: IndexDescriptor, of datastore: String, action: String, _ options: EditOptions
  ) throws(ModelError) -> CommitNumber {
    try transact(CommitInfo(action: action, flags: .maintenance)) { transaction throws(ModelError) in
      let base = try baseView(of: transaction).requiredDatastore(datastore)
      var descriptor = base.descriptor
      descriptor.setIndex(index.name, to: index)
      try DatastoreWriter.createIndex(index, of: descriptor, in: transaction)
      try DatastoreWriter.store(descriptor, in: transaction)
      try whileBusy(action, total: try base.count, progress: options.progress) { meter throws(ModelError) in
        let values = try IndexValueSource(index, of: base, descriptor)
        let order = formats[datastore]?.order(ofIndex: index.name) ?? .bytes
        try IndexFill(datastore: base, index: index, transaction: transaction, order: order).run(values, meter)
      }
    }
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

/// Fills an empty index from all records of a datastore. Entries are collected and inserted in runs of their order, so
/// that neighbours are written together.
struct IndexFill {
  let datastore: OwnDatastore
  let index: IndexDescriptor
  let transaction: WriteTransaction
  var order = KeyOrder.bytes

  /// Entries held at a time.
  private static let runLength = 1 << 18

  fileprivate func run(_ source: IndexValueSource, _ meter: WorkMeter) throws(ModelError) {
    try run(meter) { record throws(ModelError) in try source.values(of: record) }
  }

  func run(_ meter: WorkMeter, values: (Record) throws(ModelError) -> [[UInt8]]) throws(ModelError) {
    var run: [(key: [UInt8], payload: Payload)] = []
    var cursor = datastore.tree.cursor()
    try onStorage { () throws(StorageError) in try cursor.seek(rank: 0) }
    while let entry = cursor.current {
      if let reference = entry.payload.record {
        let identifier = entry.key.array
        let record = try datastore.record(datastore.descriptor.storedKey(identifier), at: reference)
        let payload: Payload = index.storage == .direct ? .record(reference) : .none
        do {
          for value in try values(record) {
            run.append((EntryKey.make(value: value, identifier: identifier), payload))
          }
        } catch .refused(let reason) {
          throw .refused(reason: "\(datastore.descriptor.key) \(record.identifier): \(reason)")
        }
      }
      if run.count >= Self.runLength { try insert(&run) }
      try meter.advance()
      try onStorage { () throws(StorageError) in try cursor.next() }
    }
    try insert(&run)
    try checkUniqueness()
    try meter.finish()
  }

  private func insert(_ run: inout [(key: [UInt8], payload: Payload)]) throws(ModelError) {
    run.sort { ByteOrder.precedes($0.key, $1.key) }
    let tree = TreeName.index(index.name, of: datastore.descriptor.key)
    for (key, payload) in run {
      try onStorage { () throws(StorageError) in 
        _ = try transaction.insert(key, payload, in: tree, place: order.place(key))
      }
    }
    run.removeAll(keepingCapacity: true)
  }

  /// Neighbours with equal values are duplicates.
  private func checkUniqueness() throws(ModelError) {
    guard index.isUnique else { return }
    let name = TreeName.index(index.name, of: datastore.descriptor.key)
    guard let tree = try onStorage({ () throws(StorageError) in try transaction.tree(name) }) else { return }
    let conflicts = try DuplicateValues.find(in: tree, of: index, datastore.descriptor, limit: 20, isEnforced: true)
    if !conflicts.isEmpty { throw .notUnique(conflicts) }
  }
}

/// Finds the values of an index that more than one record has.
enum DuplicateValues {
  static func find(
    in tree: Tree, of index: IndexDescriptor, _ datastore: DatastoreDescriptor, limit: Int, isEnforced: Bool
  ) throws(ModelError) -> [UniquenessConflict] {
    try onStorage { () throws(StorageError) in
      var conflicts: [UniquenessConflict] = []
      var cursor = tree.cursor()
      var last: (value: [UInt8], identifiers: [[UInt8]]) = ([], [])
      func close() {
        guard last.identifiers.count > 1 else { return }
        conflicts.append(
          UniquenessConflict(
            datastore: datastore.key, index: index.name, value: index.shownValue(last.value),
            identifiers: last.identifiers.map { datastore.storedKey($0) }, isEnforced: isEnforced))
      }
      try cursor.seek(rank: 0)
      while let entry = cursor.current, conflicts.count < limit {
        if let (value, identifier) = entry.key.withUnsafeBytes({ EntryKey.split($0) }) {
          if value == last.value {
            last.identifiers.append(identifier)
          } else {
            close()
            last = (value, [identifier])
          }
        }
        try cursor.next()
      }
      if conflicts.count < limit { close() }
      return conflicts
    }
  }
}
