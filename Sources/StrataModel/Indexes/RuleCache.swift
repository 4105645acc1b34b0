package import StrataDocuments
import StrataLocks
import StrataEngine

/// The proofs of the rules of a store's indexes: a proof is made once, and after that only checked against changes.
final class RuleCache: Sendable {
  private struct Known: Sendable {
    var commit: CommitNumber
    var indexes: [IndexDescriptor]
    var outcomes: [String: RuleOutcome]
  }

  private let known = Mutex<[String: Known]>([:])

  /// The rules of a datastore's indexes as of its view.
  ///
  /// The first time, each record is read once. Later, a rule that held at an earlier commit is checked against the changes
  /// since then; only if that fails, or nothing was proven, all records are read again.
  func rules(
    of datastore: EngineDatastore, progress: WorkProgress? = nil
  ) throws(ModelError) -> [String: RuleOutcome] {
    let key = datastore.descriptor.key
    let commit = datastore.view.commit
    let earlier = known.withLock { $0[key] }
    if let earlier, earlier.commit == commit, earlier.indexes == datastore.descriptor.indexes {
      return earlier.outcomes
    }
    if let distant = datastore.view.store.distant {
      let outcomes = try distant.rules(of: datastore.descriptor, at: commit)
      remember(outcomes, of: datastore)
      return outcomes
    }
    let carried = try earlier.map { earlier throws(ModelError) in
      earlier.indexes == datastore.descriptor.indexes
        ? try CarriedProof(old: earlier.commit, datastore: datastore).carried(earlier.outcomes) : [:]
    }
    var outcomes = carried ?? [:]
    let open = datastore.descriptor.indexes.filter { outcomes[$0.name] == nil }
    if !open.isEmpty {
      let proof = RuleProof(datastore: datastore, progress: progress)
      let indexes = open.map { EngineIndex(datastore: datastore, descriptor: $0) }
      outcomes.merge(try proof.outcomes(of: indexes)) { $1 }
    }
    remember(outcomes, of: datastore)
    return outcomes
  }

  /// The outcomes that hold for this state by an earlier proof. Of a small datastore, all records are read for them.
  func knownRules(of datastore: EngineDatastore) throws(ModelError) -> [String: RuleOutcome] {
    if try datastore.count <= Self.smallCount, !datastore.view.store.engine.isServed { return try rules(of: datastore) }
    guard let earlier = known.withLock({ $0[datastore.descriptor.key] }),
      earlier.indexes == datastore.descriptor.indexes
    else { return [:] }
    if earlier.commit == datastore.view.commit { return earlier.outcomes }
    if datastore.view.store.distant != nil { return [:] }
    return try CarriedProof(old: earlier.commit, datastore: datastore).carried(earlier.outcomes)
  }

  /// The number of records that are read in the time of a keystroke.
  private static let smallCount = 4_096

  func remember(_ outcomes: [String: RuleOutcome], of datastore: EngineDatastore) {
    known.withLock {
      $0[datastore.descriptor.key] = Known(
        commit: datastore.view.commit, indexes: datastore.descriptor.indexes, outcomes: outcomes)
    }
  }
}

extension ReadableDatastore {
  /// The rule of an index that was not declared, if it is known to hold for every record of this state.
  func knownRule(of index: IndexDescriptor) throws(ModelError) -> IndexRule? {
    guard let own = self as? EngineDatastore else { return nil }
    return try own.view.store.proofs.knownRules(of: own)[index.name]?.rule
  }

  /// Returns an index that holds all values which the records have at a path, and no others: its rule is declared or proven, and no record
  /// was left out of it. Nil if there is none.
  package func exactIndex(of path: DocumentPath) throws(ModelError) -> (any ReadableIndex)? {
    guard try leftOutCount == 0 else { return nil }
    for index in indexes where !index.descriptor.isStale {
      let rule =
        if let declared = index.descriptor.declaredRule { declared } else { try knownRule(of: index.descriptor) }
      if let rule, rule.tiers.map(\.path) == [path], try !index.mayLackValues { return index }
    }
    return nil
  }

  /// Proves the rules of the indexes without a declared one, so that queries use them. Reads each record once, unless they are known. On a
  /// server, where that takes long, nothing is proven.
  package func proveRules(_ progress: WorkProgress?) throws(ModelError) {
    guard let own = self as? EngineDatastore, !own.view.store.engine.isServed else { return }
    _ = try own.view.store.proofs.rules(of: own, progress: progress)
  }
}

extension ReadableIndex {
  /// Whether records may have values that the index lacks: if a declared path passes a list of objects, an index of one value has null there,
  /// and others nothing. The paths of an app's types pass none.
  var mayLackValues: Bool {
    get throws(ModelError) {
      guard let rule = descriptor.declaredRule else { return false }
      let nested = rule.tiers.filter { $0.path.components.count > 1 }
      guard !rule.hasManyValues, rule.tiers.count == 1 else {
        return nested.contains { rule.hasManyValues || $0.encoding.isOptional }
      }
      guard nested.contains(where: \.encoding.isOptional), case let count = try count, count > 0 else { return false }
      // Nulls come first, or last in an index that descends.
      let (first, last) = (try entries(at: 0..<1).first, try entries(at: count - 1..<count).first)
      return first?.value == .null || last?.value == .null
    }
  }
}

/// Carries a proof from one commit to a later one by looking at what changed between them: each changed record's values
/// must have their entries, and nothing but entries of changed records may have come or gone.
private struct CarriedProof {
  private static let changeLimit = 20_000

  let old: CommitNumber
  let datastore: EngineDatastore

  /// The outcomes that still hold; those that need a new proof are left out.
  func carried(_ outcomes: [String: RuleOutcome]) throws(ModelError) -> [String: RuleOutcome] {
    let proven = outcomes.compactMapValues(\.rule)
    guard !proven.isEmpty, let before = try? datastore.view.store.engineView(at: old),
      let changed = try changedRecords(since: before)
    else { return [:] }
    var carried: [String: RuleOutcome] = [:]
    for (name, rule) in proven where try holds(rule, index: name, before: before, changed) {
      carried[name] = .proven(rule)
    }
    return carried
  }

  /// The records that changed, with their new content; nil if there are more than `changeLimit`, or one cannot be read.
  private func changedRecords(since before: EngineView) throws(ModelError) -> [[UInt8]: Record?]? {
    var changed: [[UInt8]: Record?] = [:]
    var cursor = try onStorage {
      try difference(before.view, datastore.view.view, tree: .records(of: datastore.descriptor.key))
    }
    while let difference = try onStorage({ try cursor.next() }) {
      let key = datastore.descriptor.storedKey(difference.key.array)
      if let reference = difference.new?.payload.record {
        guard let record = try? datastore.record(key, at: reference) else { return nil }
        changed[key.bytes] = .some(record)
      } else {
        changed[key.bytes] = .some(nil)
      }
      if changed.count > Self.changeLimit { return nil }
    }
    return changed
  }

  private func holds(
    _ rule: IndexRule, index name: String, before: EngineView, _ changed: [[UInt8]: Record?]
  ) throws(ModelError) -> Bool {
    if rule.origin == .declared { return true }
    var expected: [[UInt8]: Set<[UInt8]>] = [:]
    for (identifier, record) in changed {
      guard let record else { continue }
      guard let document = try? record.document(), let values = try? rule.encodedValues(of: document) else {
        return false
      }
      expected[identifier] = Set(values)
    }
    var cursor = try onStorage {
      try difference(before.view, datastore.view.view, tree: .index(name, of: datastore.descriptor.key))
    }
    while let difference = try onStorage({ try cursor.next() }) {
      guard let (value, identifier) = difference.key.withUnsafeBytes({ EntryKey.split($0) }),
        changed[identifier] != nil
      else { return false }
      let isExpected = expected[identifier]?.contains(value) ?? false
      guard isExpected == (difference.new != nil) else { return false }
    }
    guard let index = datastore.descriptor.index(name) else { return false }
    let entries = EngineIndex(datastore: datastore, descriptor: index)
    for (identifier, values) in expected {
      let key = datastore.descriptor.storedKey(identifier)
      for value in values where try !entries.contains(value, of: key) { return false }
    }
    return true
  }
}
