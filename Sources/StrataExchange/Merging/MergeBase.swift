import StrataModel
import StrataDocuments
import StrataEngine

/// The contents of records, and the descriptor, of a datastore in the common ancestor. Several ancestors are merged: a conflict of records
/// counts as no value, and of definitions the first ancestor's is taken.
///
/// The common ancestors of the ancestors, and their datastores, are found once for all records.
final class MergeBase {
  private let store: EngineStore
  private let graph: CommitGraph
  private let key: String
  /// Its merge rules are those of the records.
  var descriptor: DatastoreDescriptor
  private let bases: [CommitIdentity]
  private var datastores: [CommitIdentity: (any ReadableDatastore)?] = [:]
  private var ancestors: [[CommitIdentity]: [CommitIdentity]] = [:]
  /// The number of searches for the common ancestors of two commits.
  private(set) var searches = 0

  /// A criss-cross of criss-crosses deeper than this counts as no value.
  private static let mostLevels = 8

  init(
    _ store: EngineStore, _ graph: CommitGraph, _ key: String, _ descriptor: DatastoreDescriptor,
    _ bases: [CommitIdentity]
  ) {
    self.store = store
    self.graph = graph
    self.key = key
    self.descriptor = descriptor
    self.bases = bases
  }

  func content(of identifier: StoredKey) throws -> RecordContent? {
    try content(of: identifier, in: bases, level: 0)
  }

  func definition() throws -> DatastoreDescriptor? { try definition(in: bases, level: 0) }

  private func definition(in commits: [CommitIdentity], level: Int) throws -> DatastoreDescriptor? {
    guard let first = commits.first, level < Self.mostLevels else { return nil }
    var merged = try datastore(at: first)?.descriptor
    for next in commits.dropFirst() {
      let other = try datastore(at: next)?.descriptor
      guard let mine = merged, let other else {
        merged = merged ?? other
        continue
      }
      let base = try definition(in: commonAncestors(first, next), level: level + 1)
      merged = DescriptorMerge(base: base, ours: mine, theirs: other, policy: .ask).merged().descriptor ?? mine
    }
    return merged
  }

  private func content(of identifier: StoredKey, in commits: [CommitIdentity], level: Int) throws -> RecordContent? {
    guard let first = commits.first, level < Self.mostLevels else { return nil }
    var merged = try content(of: identifier, at: first)
    for next in commits.dropFirst() {
      let other = try content(of: identifier, at: next)
      let base = try content(of: identifier, in: commonAncestors(first, next), level: level + 1)
      let merge = RecordMerge(descriptor, base: base, mine: merged, theirs: other, countsEqualChanges: true)
      switch merge.outcome {
      case .mine: break
      case .theirs: merged = other
      case .merged(let content): merged = content
      case .conflict: merged = merge.withValues { _ in nil }
      }
    }
    return merged
  }

  private func commonAncestors(_ left: CommitIdentity, _ right: CommitIdentity) -> [CommitIdentity] {
    if let known = ancestors[[left, right]] { return known }
    searches += 1
    let found = graph.nearestCommonAncestors(left, right)
    ancestors[[left, right]] = found
    return found
  }

  private func content(of identifier: StoredKey, at commit: CommitIdentity) throws -> RecordContent? {
    try datastore(at: commit)?.record(identifier)?.stored
  }

  private func datastore(at commit: CommitIdentity) throws -> (any ReadableDatastore)? {
    if let known = datastores[commit] { return known }
    let datastore = try graph.number(of: commit).flatMap { try store.view(at: CommitNumber($0)).datastore(key) }
    datastores.updateValue(datastore, forKey: commit)
    return datastore
  }
}
