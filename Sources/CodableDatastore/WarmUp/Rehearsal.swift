import StrataModel
import StrataEngine

/// The result that a migration would have, found without writing anything.
public struct MigrationRehearsal: Hashable, Sendable {
  /// How many instances there are.
  public var total = 0
  /// How many of each version were converted.
  public var converted: [String: Int] = [:]
  /// Instances that could not be converted or indexed, and those that share a value of an index that is declared ``Unique``.
  public var failures: [WarmUpProgress.Failure] = []
  /// How many entries each index would have.
  public var entries: [IndexName: Int] = [:]
  /// Indexes that would be built or rebuilt.
  public var rebuiltIndexes: [IndexName] = []
  /// Indexes that would be dropped.
  public var droppedIndexes: [IndexName] = []

  /// Whether every instance can be converted and indexed.
  public var succeeds: Bool { failures.isEmpty }
}

extension Datastore {
  /// Tries the migration of the store to this declaration without writing anything: every instance is decoded by its
  /// version's migration, and its index values are computed.
  ///
  /// Run it in a test against a copy of real data, see ``DiskPersistence/backUp(to:)``, or on a commit of the past.
  ///
  /// - Parameters:
  ///   - commit: The commit whose state is tried; nil for the newest, or that of a view of the past.
  ///   - progressHandler: Called for each instance.
  /// - Throws: ``StoreError``; ``DatastoreError/incompatibleVersion(version:)``; `CancellationError`. Failures to decode are in the result,
  ///   not thrown.
  public nonisolated func rehearseMigration(
    at commit: Commit.Number? = nil, progressHandler: ProgressHandler? = nil
  ) async throws -> MigrationRehearsal {
    try await core.rehearse(at: commit, progressHandler)
  }
}

extension DatastoreCore {
  fileprivate func rehearse(
    at commit: Commit.Number?, _ progressHandler: ProgressHandler?
  ) async throws -> MigrationRehearsal {
    var rehearsal = MigrationRehearsal()
    await progressHandler?(.evaluating)
    let state = try commit.map { try view(at: $0) } ?? currentView()
    guard let tree = try throwingStoreErrors({ try state?.tree(recordsTree) }) else {
      await progressHandler?(.complete(total: 0))
      return rehearsal
    }
    let stored = try descriptor(of: tree)
    let plan = try plan(for: stored, isEmpty: tree.isWithoutEntries)
    rehearsal.total = Int(clamping: try tree.entryCount)
    rehearsal.rebuiltIndexes = plan.rebuilt.sorted().map { IndexName(indexes[$0].name) }
    rehearsal.droppedIndexes = plan.dropped.map { IndexName($0) }
    var walk = TreeWalk(tree)
    var position = 0
    var seen = indexes.map { _ in Set<[UInt8]>() }
    while let record = try walk.nextRecord() {
      try Task.checkCancellation()
      await store.yieldTask()
      await progressHandler?(.working(current: position, total: rehearsal.total))
      position += 1
      try await rehearse(try walk.key(), record, &seen, into: &rehearsal)
    }
    await progressHandler?(.complete(total: rehearsal.total))
    return rehearsal
  }

  /// - Parameter seen: The values of each unique index so far.
  private func rehearse(
    _ key: [UInt8], _ record: Bytes, _ seen: inout [Set<[UInt8]>], into rehearsal: inout MigrationRehearsal
  ) async throws {
    let tag = coder.tag(of: record) ?? ""
    do {
      let instance = try await coder.decode(record).instance
      let values = try values(of: instance, in: indexes, identifier: key)
      for (place, index) in indexes.enumerated() where index.isUnique {
        for value in values[place] where !seen[place].insert(value).inserted {
          guard let shown = index.descriptor.soleValue(value) else { continue }
          throw UniquenessError(
            datastore: DatastoreKey(self.key), index: IndexName(index.name), values: [shown.description])
        }
      }
      for (index, values) in zip(indexes, values) {
        rehearsal.entries[IndexName(index.name), default: 0] += values.count
      }
      rehearsal.converted[tag, default: 0] += 1
    } catch let error where !(error is CancellationError) {
      rehearsal.failures.append(failure(error, key: key, record: record))
    }
  }

  /// An instance that could not be converted, with the reason.
  func failure(_ error: any Error, key: [UInt8], record: Bytes) -> WarmUpProgress.Failure {
    WarmUpProgress.Failure(
      identifier: shown(key), version: coder.tag(of: record) ?? "", decodingPath: DecodingPath.text(of: error),
      reason: DecodingPath.reason(of: error), key: key, byteCount: record.count)
  }
}
