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
  var reference: RecordReference
}

private struct GatheredPart: Sendable {
  var instances: ArraySlice<StoredInstance>
  /// Per wanted index.
  var entries: [EntryRun]
  /// Records to rewrite, with their keys and their references before that.
  var records: [(key: [UInt8], record: [UInt8], old: RecordReference)] = []
  /// The records that failed, by their places in `instances`.
  var failures: [Int: (error: any Error, record: Bytes)] = [:]
  /// The error of a record that could not be read.
  var damage: (any Error)?
}

/// How many parts are decoded at once.
private let processors = min(max(ProcessInfo.processInfo.activeProcessorCount, 1), 16)
/// How many records are decoded together: few enough that a cancellation is heard at once, and enough that threads seldom wait for each
/// other.
private let batch = 512 * processors
/// How many of them one task decodes: few enough that no processor waits long for another.
private let partLength = 64
/// How many bytes of records are decoded together at most, if they are large.
private let batchBytes = 4 << 20

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
    var parts: [GatheredPart] = []
    var instances = try nextInstances(&walk, &report)
    while !instances.isEmpty || !parts.isEmpty {
      try requireGoingOn()
      // While records are decoded, this task adds those before them, and reads the next.
      let decoding = instances
      parts = try await evaluate(decoding, of: tree, plan) {
        for part in parts { try await add(part, plan, known, into: &gathered, &report) }
        instances = try nextInstances(&walk, &report)
      }
    }
    try await report.finishReading()
    return gathered
  }

  /// The places of the indexes whose values are needed of each record.
  private func wantedIndexes(_ plan: WarmUpPlan) -> [Int] {
    plan.rekeys || plan.rewritesOlderThan != nil
      ? Array(core.indexes.indices) : plan.rebuilt.union(plan.evaluated).sorted()
  }

  private func nextInstances(
    _ walk: inout TreeWalk, _ report: inout WarmUpReport<Format>
  ) throws -> [StoredInstance] {
    report.enter(WorkStep.read)
    var (instances, bytes) = ([StoredInstance](), 0)
    instances.reserveCapacity(batch)
    while instances.count < batch, bytes < batchBytes, let reference = try walk.nextReference() {
      instances.append(StoredInstance(key: try walk.key(), reference: reference))
      bytes += Int(reference.length)
    }
    report.advance(by: instances.count)
    report.enter(WorkStep.migrate)
    return instances
  }

  /// Reads and decodes records on all processors, and does something else meanwhile.
  private func evaluate(
    _ instances: [StoredInstance], of tree: Tree, _ plan: WarmUpPlan, meanwhile: () async throws -> Void
  ) async throws -> [GatheredPart] {
    let wanted = wantedIndexes(plan).map { core.indexes[$0] }
    return try await withThrowingTaskGroup(of: GatheredPart.self) { group in
      for start in stride(from: 0, to: instances.count, by: partLength) {
        let part = instances[start..<min(start + partLength, instances.count)]
        group.addTask { await evaluate(part, of: tree, wanted, plan) }
      }
      try await meanwhile()
      var parts: [GatheredPart] = []
      for try await part in group { parts.append(part) }
      return parts.sorted { $0.instances.startIndex < $1.instances.startIndex }
    }
  }

  private func evaluate(
    _ instances: ArraySlice<StoredInstance>, of tree: Tree, _ wanted: [IndexPlan<Format.Instance>], _ plan: WarmUpPlan
  ) async -> GatheredPart {
    var part = GatheredPart(instances: instances, entries: Array(repeating: EntryRun(), count: wanted.count))
    let isPlain = !plan.rekeys && plan.rewritesOlderThan == nil
    var instance: Format.Instance?
    // The caller learns from the task itself that it was cancelled.
    for (place, stored) in zip(instances.indices, instances) where !Task.isCancelled {
      let record: Bytes
      do {
        record = try throwingStoreErrors { try tree.value(of: stored.reference) }
      } catch {
        part.damage = error
        break
      }
      do {
        if isPlain, core.coder.decodeNow(record, into: &instance), let instance {
          try addEntries(of: instance, stored, wanted, into: &part)
        } else {
          try await add(record, stored, wanted, plan, into: &part)
        }
      } catch {
        part.failures[place] = (error, record)
      }
    }
    return part
  }

  /// Adds one record: all of it, or nothing.
  private func add(
    _ record: Bytes, _ stored: StoredInstance, _ wanted: [IndexPlan<Format.Instance>], _ plan: WarmUpPlan,
    into part: inout GatheredPart
  ) async throws {
    let (identifier, instance) = try await core.decoded(record, key: stored.key, wrapsAll: true)
    var new = stored
    if plan.rekeys { new.key = try core.key(of: identifier) }
    let isRewritten = plan.rewritesOlderThan.map { isOlder(core.coder.tag(of: record), than: $0) } ?? false
    guard plan.rekeys || isRewritten else { return try addEntries(of: instance, new, wanted, into: &part) }
    let content = isRewritten ? try await core.coder.record(of: instance)?.bytes : record.array
    guard let content else { throw EmptyContentError(datastore: DatastoreKey(core.key)) }
    try addEntries(of: instance, new, wanted, into: &part)
    part.records.append((new.key, content, stored.reference))
  }

  private func addEntries(
    of instance: Format.Instance, _ stored: StoredInstance, _ wanted: [IndexPlan<Format.Instance>],
    into part: inout GatheredPart
  ) throws {
    let values = try core.values(of: instance, in: wanted, identifier: stored.key)
    for place in values.indices {
      for key in values[place] {
        part.entries[place].append(value: key, identifier: stored.key, reference: stored.reference)
      }
    }
  }

  /// Reports the records of a part, and adds what was made of them.
  private func add(
    _ part: GatheredPart, _ plan: WarmUpPlan, _ known: Set<[UInt8]>, into gathered: inout Gathered,
    _ report: inout WarmUpReport<Format>
  ) async throws {
    if let damage = part.damage { throw damage }
    for place in part.instances.indices {
      try await report.willWork()
      guard let (error, record) = part.failures[place] else { continue }
      let key = part.instances[place].key
      // If all identifiers change, a record that does not decode has no new identifier, so it cannot be kept.
      if !plan.rekeys, plan.leavingOut.contains(key) || known.contains(key),
        !(error is CancellationError)
      {
        gathered.leftOut.append((key, DecodingPath.sentence(for: error)))
      } else {
        try await report.failed(error, key: key, record: record)
      }
    }
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
    while let record = try walk.nextRecord() {
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
