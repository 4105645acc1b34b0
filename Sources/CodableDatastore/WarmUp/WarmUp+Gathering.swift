import StrataEngine
import StrataFoundation
import StrataModel

struct Gathered: Sendable {
  /// Per index.
  var entries: [EntrySorter]
  var rewritten = 0
  var isDecoded = false
  /// Records that are in no index, because they cannot be converted: their keys, and what is wrong with them.
  var leftOut: [(key: [UInt8], reason: String)] = []

  init(indexCount: Int) { entries = Array(repeating: EntrySorter(sharing: indexCount), count: indexCount) }
}

private struct StoredInstance: Sendable {
  var key: [UInt8]
  var record: Bytes
  var reference: RecordReference
}

private struct GatheredPart: Sendable {
  var instances: ArraySlice<StoredInstance>
  /// Per wanted index.
  var entries: [EntryRun]
  /// Records to rewrite, with their keys and their references before that.
  var records: [(key: [UInt8], record: [UInt8], old: RecordReference)] = []
  /// The errors of records that failed, by the record's place in `instances`.
  var failures: [Int: any Error] = [:]
}

/// How many parts are decoded at once.
private let processors = min(max(ProcessInfo.processInfo.activeProcessorCount, 1), 16)
/// How many records are looked at together: few enough that a cancellation is heard at once.
private let batch = 128 * processors

extension WarmUp {
  /// Reads all records and computes the entries and records to write. Several are decoded at once, and reported in their order.
  func gather(_ plan: WarmUpPlan, from tree: Tree, _ report: inout WarmUpReport<Format>) async throws -> Gathered {
    var gathered = Gathered(indexCount: core.indexes.count)
    guard plan.needsInstances, try needsDecoding(plan, tree) else { return gathered }
    gathered.isDecoded = true
    let known = try keysLeftOut()
    if plan.rekeys { try makeEmptyRecords() }
    await report.plan(steps(of: plan, count: Int(clamping: try tree.entryCount)))
    var walk = TreeWalk(tree)
    while true {
      try requireGoingOn()
      report.enter(WorkStep.read)
      let instances = try nextInstances(&walk, of: tree)
      if instances.isEmpty { break }
      report.advance(by: instances.count)
      report.enter(WorkStep.migrate)
      for part in try await evaluate(instances, plan) {
        for place in part.instances.indices {
          try await report.willWork()
          guard let error = part.failures[place] else { continue }
          let instance = part.instances[place]
          // If all identifiers change, a record that does not decode has no new identifier, so it cannot be kept.
          if !plan.rekeys, plan.leavingOut.contains(instance.key) || known.contains(instance.key),
            !(error is CancellationError)
          {
            gathered.leftOut.append((instance.key, DecodingPath.sentence(for: error)))
          } else {
            try await report.failed(error, key: instance.key, record: instance.record)
          }
        }
        try addPart(part, plan, into: &gathered)
      }
    }
    try await report.finishReading()
    return gathered
  }

  /// The indexes whose values are needed of each record.
  private func wantedIndexes(_ plan: WarmUpPlan) -> [Int] {
    plan.rekeys || plan.rewritesOlderThan != nil
      ? Array(core.indexes.indices) : plan.rebuilt.union(plan.evaluated).sorted()
  }

  private func nextInstances(_ walk: inout TreeWalk, of tree: Tree) throws -> [StoredInstance] {
    var instances: [StoredInstance] = []
    instances.reserveCapacity(batch)
    while instances.count < batch, let entry = try walk.nextEntry() {
      guard let reference = entry.payload.record else { throw StoreError(.damaged, "A record leads nowhere.") }
      let record = try throwingStoreErrors { try tree.value(of: reference) }
      instances.append(StoredInstance(key: entry.key.array, record: record, reference: reference))
    }
    return instances
  }

  /// Decodes records, on all processors if there are many.
  private func evaluate(_ instances: [StoredInstance], _ plan: WarmUpPlan) async throws -> [GatheredPart] {
    let length = max((instances.count + processors - 1) / processors, 16)
    let wanted = wantedIndexes(plan)
    if instances.count <= length { return [await evaluate(instances[...], wanted, plan)] }
    return await withTaskGroup(of: GatheredPart.self) { group in
      for start in stride(from: 0, to: instances.count, by: length) {
        let part = instances[start..<min(start + length, instances.count)]
        group.addTask { await evaluate(part, wanted, plan) }
      }
      var parts: [GatheredPart] = []
      for await part in group { parts.append(part) }
      return parts.sorted { $0.instances.startIndex < $1.instances.startIndex }
    }
  }

  private func evaluate(
    _ instances: ArraySlice<StoredInstance>, _ wanted: [Int], _ plan: WarmUpPlan
  ) async -> GatheredPart {
    var part = GatheredPart(
      instances: instances, entries: Array(repeating: EntryRun(), count: wanted.count))
    for place in instances.indices {
      do {
        try await evaluate(instances[place], wanted, plan, into: &part)
      } catch {
        part.failures[place] = error
      }
    }
    return part
  }

  /// Takes one record in: all of it, or nothing.
  private func evaluate(
    _ stored: StoredInstance, _ wanted: [Int], _ plan: WarmUpPlan, into part: inout GatheredPart
  ) async throws {
    let identifier: Format.Identifier
    let instance: Format.Instance
    do {
      (identifier, instance) = try await core.coder.decode(stored.record)
    } catch let error as DecodingError {
      throw core.unreadable(error, key: stored.key, record: stored.record)
    }
    let key = plan.rekeys ? try core.key(of: identifier) : stored.key
    let values = try wanted.map { place in
      let index = core.indexes[place]
      let values = try core.ordering(index: index.name) { try index.values(instance) }
      for value in values { try core.requireLength(value.count + key.count + 2, index: index.name) }
      return values
    }
    let isRewritten = plan.rewritesOlderThan.map { isOlder(core.coder.tag(of: stored.record), than: $0) } ?? false
    if plan.rekeys || isRewritten {
      let record = isRewritten ? try await core.coder.record(of: instance)?.bytes : stored.record.array
      guard let record else { throw EmptyContentError(datastore: DatastoreKey(core.key)) }
      part.records.append((key, record, stored.reference))
    }
    for (place, values) in values.enumerated() {
      for value in values { part.entries[place].append(value: value, identifier: key, reference: stored.reference) }
    }
  }

  /// Rewrites the records of a part that need it, and adds the part's entries.
  private func addPart(_ part: GatheredPart, _ plan: WarmUpPlan, into gathered: inout Gathered) throws {
    try scope.step { transaction in
      let moved = try rewrite(part, plan, in: transaction)
      if gathered.rewritten >> 12 != (gathered.rewritten + part.records.count) >> 12, !plan.rekeys {
        try transaction.flushNodes(core.recordsTree)
      }
      gathered.rewritten += part.records.count
      for (place, entries) in zip(wantedIndexes(plan), part.entries) {
        try gathered.entries[place].add(entries, moved: moved, in: transaction)
      }
    }
  }

  /// Rewrites records. Returns their new references by the offset of the old ones, if a direct index needs them; otherwise nothing.
  private func rewrite(
    _ part: GatheredPart, _ plan: WarmUpPlan, in transaction: any WriteTransaction
  ) throws -> [UInt64: RecordReference] {
    guard !part.records.isEmpty else { return [:] }
    let writer = core.makeWriter(in: transaction)
    let isToldOf = core.indexes.contains(where: \.isDirect)
    var moved: [UInt64: RecordReference] = [:]
    for (key, record, old) in part.records {
      if try !writer.putRecord(key, record), plan.rekeys {
        throw StoreError(.refused, "Two records of \(core.key) would get the same identifier.")
      }
      if isToldOf { moved[old.place] = try writer.reference(of: key) }
    }
    return moved
  }

  /// Makes room for all records under their new keys.
  private func makeEmptyRecords() throws {
    try scope.step { transaction in
      let attributes = try transaction.tree(core.recordsTree)?.attributes.array ?? []
      try transaction.dropTree(core.recordsTree)
      try transaction.createTree(
        core.recordsTree, kind: .records, order: core.identifiers.order.treeOrder, attributes: attributes)
    }
  }

  /// Whether there is more to do than to note that a newer version has looked: records of older versions.
  private func needsDecoding(_ plan: WarmUpPlan, _ tree: Tree) throws -> Bool {
    if !plan.rebuilt.isEmpty || plan.rekeys { return true }
    let limit = plan.rewritesOlderThan
    var walk = TreeWalk(tree)
    while let (_, record) = try walk.next() {
      guard let tag = core.coder.tag(of: record) else { continue }
      if let limit, isOlder(tag, than: limit) { return true }
      if !plan.evaluated.isEmpty, tag != core.coder.tag { return true }
    }
    return false
  }

  private func isOlder(_ tag: String?, than limit: String) -> Bool {
    guard let tag, let version = try? VersionTag<Format>.version(of: limit) else { return false }
    return VersionTag<Format>.isOlder(tag, than: version)
  }

  /// The steps as far as they are known; an index that is only evaluated may turn out to be as it should be.
  private func steps(of plan: WarmUpPlan, count: Int) -> [Activity.Step] {
    let movesRecords = plan.rekeys || plan.rewritesOlderThan != nil
    let written = core.indexes.indices.filter { movesRecords || plan.rebuilt.contains($0) }
    return WorkAccount.build(
      decoding: WorkStep.migrate, indexes: written.map { core.indexes[$0].name }, count: count)
  }

  /// The records that an earlier warm-up left out.
  private func keysLeftOut() throws -> Set<[UInt8]> {
    guard let tree = try scope.step({ try $0.tree(.leftOut(of: core.key)) }) else { return [] }
    var keys: Set<[UInt8]> = []
    var walk = TreeWalk(tree)
    while let entry = try walk.nextEntry() { keys.insert(entry.key.array) }
    return keys
  }
}
