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
  private var ancestors: [ArraySlice<CommitIdentity>: [CommitIdentity]] = [:]
  /// The number of searches for common ancestors.
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
    for place in commits.indices.dropFirst() {
      let other = try datastore(at: commits[place])?.descriptor
      guard let mine = merged, let other else {
        merged = merged ?? other
        continue
      }
      let base = try definition(in: commonAncestors(commits[...place]), level: level + 1)
      merged = DescriptorMerge(base: base, ours: mine, theirs: other, policy: .ask).merged().descriptor ?? mine
    }
    return merged
  }

  private func content(of identifier: StoredKey, in commits: [CommitIdentity], level: Int) throws -> RecordContent? {
    guard let first = commits.first, level < Self.mostLevels else { return nil }
    var merged = try content(of: identifier, at: first)
    for place in commits.indices.dropFirst() {
      let other = try content(of: identifier, at: commits[place])
      let ancestors = commonAncestors(commits[...place])
      let base = try content(of: identifier, in: ancestors, level: level + 1)
      let merge = RecordMerge(
        descriptor, base: base, mine: merged, theirs: other, countsEqualChanges: ancestors.count == 1)
      switch merge.outcome {
      case .mine: break
      case .theirs: merged = other
      case .merged(let content): merged = content
      case .conflict: merged = merge.withValues { _ in nil }
      }
    }
    return merged
  }

  /// The nearest ancestors that the last of some commits has in common with a merge of the others.
  private func commonAncestors(_ commits: ArraySlice<CommitIdentity>) -> [CommitIdentity] {
    if let known = ancestors[commits] { return known }
    searches += 1
    let found = commits.last.map { graph.nearestCommonAncestors(ofMerge: commits.dropLast(), $0) } ?? []
    ancestors[commits] = found
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
