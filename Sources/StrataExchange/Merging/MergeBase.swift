import StrataModel
import StrataDocuments
import StrataEngine

/// The contents of records in the common ancestor. Of several ancestors it is the result of merging them, in which a conflict counts as no
/// value.
///
/// The common ancestors of the ancestors, and their datastores, are found once for all records.
final class MergeBase {
  private let store: EngineStore
  private let graph: CommitGraph
  private let key: String
  private let descriptor: DatastoreDescriptor
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

  private func content(of identifier: StoredKey, in commits: [CommitIdentity], level: Int) throws -> RecordContent? {
    guard let first = commits.first, level < Self.mostLevels else { return nil }
    var merged = try content(of: identifier, at: first)
    for next in commits.dropFirst() {
      let other = try content(of: identifier, at: next)
      let base = try content(of: identifier, in: commonAncestors(first, next), level: level + 1)
      let merge = RecordMerge(descriptor, base: base, mine: merged, theirs: other)
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
    if let known = datastores[commit] { return try known?.record(identifier)?.stored }
    let datastore = try graph.number(of: commit).flatMap { try store.view(at: CommitNumber($0)).datastore(key) }
    datastores.updateValue(datastore, forKey: commit)
    return try datastore?.record(identifier)?.stored
  }
}
