import DatastoreModel
import StorageEngine

/// One run of making a store fit its declaration, within a transaction.
///
/// It reads every record once, works out the entries of all indexes that need it, and writes those sorted. Nothing is
/// written before everything is read, and a failure or a cancellation leaves the store at the commit before.
struct WarmUp<Format: DatastoreFormat>: Sendable {
  typealias Core = DatastoreCore<Format>

  let core: Core
  let scope: TransactionScope
  /// What is to be done beyond what the store needs.
  let forced: WarmUpPlan

  /// Runs on no actor: decoding everything would hold up the caller's.
  @concurrent func run() async throws {
    guard let tree = try recordsTree() else { return }
    let stored = try DatastoreDescriptor(bytes: tree.attributes.array)
    var plan = try core.plan(for: stored, isEmpty: tree.count == 0)
    plan.rebuilt.formUnion(forced.rebuilt)
    plan.evaluated.subtract(plan.rebuilt)
    plan.rewritesOlderThan = forced.rewritesOlderThan
    if plan.isEmpty { return }

    await core.listeners.tell(.evaluating)
    var report = WarmUpReport(core: core, total: Int(clamping: tree.count))
    defer { report.end() }
    let gathered = try await gather(plan, from: tree, &report)
    try await write(plan, gathered, stored: stored, &report)
    await report.complete()
    await core.listeners.tell(.complete(total: Int(clamping: tree.count)))
  }

  private func recordsTree() throws -> Tree? {
    try scope.step { transaction in
      try throwingStoreErrors { () throws(StorageError) in try transaction.tree(core.recordsTree) }
    }
  }

  /// Reads all records and works out what is to be written.
  private func gather(
    _ plan: WarmUpPlan, from tree: Tree, _ report: inout WarmUpReport<Format>
  ) async throws -> GatheredEntries {
    var gathered = GatheredEntries(indexCount: core.indexes.count)
    guard plan.needsInstances, try needsDecoding(plan, tree) else { return gathered }
    let wanted =
      plan.rekeys || plan.rewritesOlderThan != nil
      ? Array(core.indexes.indices) : plan.rebuilt.union(plan.evaluated).sorted()
    gathered.isDecoded = true
    await report.begin(reportTitle(plan), total: Int(clamping: tree.count))
    var walk = RecordWalk(tree: tree, source: .itself, ranks: 0..<tree.count, isDescending: false)
    var position = 0
    while let entry = try walk.nextEntry() {
      if position & 63 == 0 { try Task.checkCancellation() }
      await report.willWork(on: position)
      guard let reference = entry.payload.record else { throw StoreError(.damaged, "A record leads nowhere.") }
      let record = try throwingStoreErrors { () throws(StorageError) in try tree.value(of: reference) }
      do {
        try await gather(record, entry.key.array, reference, wanted, plan, into: &gathered)
      } catch {
        try await report.failed(error, key: entry.key.array, record: record)
      }
      position += 1
    }
    try await report.finishReading()
    return gathered
  }

  /// Takes one record in.
  private func gather(
    _ record: Bytes, _ storedKey: [UInt8], _ reference: RecordReference, _ wanted: [Int], _ plan: WarmUpPlan,
    into gathered: inout GatheredEntries
  ) async throws {
    let (identifier, instance) = try await core.coder.decode(record)
    var key = storedKey
    if plan.rekeys {
      key = try core.key(of: identifier)
      guard gathered.rekeyed.insert(key).inserted else {
        throw StoreError(.refused, "Two records of \(core.key) would get the same identifier.")
      }
    }
    let isRewritten = plan.rewritesOlderThan.map { isOlder(core.coder.tag(of: record), than: $0) } ?? false
    if plan.rekeys || isRewritten {
      let written = isRewritten ? try await core.coder.record(of: instance) : record.array
      guard let bytes = written else { throw EmptyContentError(datastore: DatastoreKey(core.key)) }
      gathered.records.append((key, bytes))
    }
    for place in wanted {
      let index = core.indexes[place]
      for value in try core.ordering(index: index.name, { try index.values(instance) }) {
        try core.requireLength(value.count + key.count + 2, index: index.name)
        gathered.entries[place].append(GatheredEntry(value: value, identifier: key, reference: reference))
      }
    }
  }

  /// Whether there is more to do than to note that a newer version has looked: records of older versions.
  private func needsDecoding(_ plan: WarmUpPlan, _ tree: Tree) throws -> Bool {
    if !plan.rebuilt.isEmpty || plan.rekeys { return true }
    let limit = plan.rewritesOlderThan
    var walk = RecordWalk(tree: tree, source: .itself, ranks: 0..<tree.count, isDescending: false)
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

  private func reportTitle(_ plan: WarmUpPlan) -> String {
    let names = plan.rebuilt.union(plan.evaluated).sorted().map { core.indexes[$0].name }
    return names.isEmpty
      ? "records" : names.count == 1 ? "index \(names[0])" : "indexes \(names.joined(separator: ", "))"
  }
}

/// An entry that an index is to have.
struct GatheredEntry: Sendable {
  var value: [UInt8]
  var identifier: [UInt8]
  /// Where its record lies now.
  var reference: RecordReference
}

/// What a warm-up has worked out.
struct GatheredEntries: Sendable {
  /// Per index.
  var entries: [[GatheredEntry]]
  /// Records that are written anew, with their keys.
  var records: [(key: [UInt8], record: [UInt8])] = []
  /// Whether records were decoded at all.
  var isDecoded = false
  /// Keys that are taken, where records get new ones.
  var rekeyed: Set<[UInt8]> = []

  init(indexCount: Int) { entries = Array(repeating: [], count: indexCount) }
}
