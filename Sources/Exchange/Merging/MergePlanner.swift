package import DatastoreModel
import Documents
package import StorageEngine

/// Finds what a merge of a commit into head would do. Writes nothing; reads what differs from the common ancestor.
///
/// Of the two sides, the one whose head has the lower identity is taken for the first wherever the result could depend on the order, so that
/// two stores that merge the same two heads get the same records, byte by byte.
package struct MergePlanner {
  private let store: OwnStore
  private let graph: CommitGraph

  package init(_ store: OwnStore, _ graph: CommitGraph) {
    self.store = store
    self.graph = graph
  }

  /// - Parameters:
  ///   - theirs: the commit to merge, which lies in this store.
  ///   - unrelated: also where the two have no commit in common.
  package func plan(
    _ theirs: CommitIdentity, policy: MergePolicy = .ask, unrelated: Bool = false
  ) throws -> MergePlan {
    guard let second = graph.number(of: theirs) else { throw ModelError.noSuchCommit(theirs.text) }
    let head = store.engine.head.commit
    let first = CommitNumber(head.number)
    var plan = MergePlan(
      kind: .merge, ours: head.number == 0 ? nil : head.identity, theirs: theirs, bases: [],
      changes: MergedChanges(first: first, second: CommitNumber(second)))
    guard let ours = plan.ours else {
      plan.kind = .fastForward
      return plan
    }
    if graph.contains(theirs, in: ours) {
      plan.kind = .nothing
      return plan
    }
    if graph.contains(ours, in: theirs) {
      plan.kind = .fastForward
      return plan
    }
    plan.bases = graph.nearestCommonAncestors(ours, theirs)
    if plan.bases.isEmpty, !unrelated { throw ExchangeError.unrelated }
    let numbers = plan.bases.compactMap { graph.number(of: $0) }
    plan.isTwoWay = numbers.count < plan.bases.count
    let sides = Sides(ours: ours, theirs: theirs, first: first, second: plan.changes.second)
    for key in try datastores(of: sides) {
      try merge(key, sides, numbers.map { CommitNumber($0) }, policy, &plan)
    }
    return plan
  }

  private struct Sides {
    var ours: CommitIdentity
    var theirs: CommitIdentity
    var first: CommitNumber
    var second: CommitNumber
    /// Whether ours counts as the first where the order matters.
    var isOursFirst: Bool { ours < theirs }
  }

  private func datastores(of sides: Sides) throws -> [String] {
    var keys: Set<String> = []
    for commit in [sides.first, sides.second] {
      keys.formUnion(try store.view(at: commit).datastores.map(\.descriptor.key))
    }
    return keys.sorted()
  }

  // MARK: Datastores

  private func merge(
    _ key: String, _ sides: Sides, _ bases: [CommitNumber], _ policy: MergePolicy, _ plan: inout MergePlan
  ) throws {
    if try store.isSame(key, in: sides.first, and: sides.second) { return }
    let ours = try store.descriptor(of: key, at: sides.first)
    let theirs = try store.descriptor(of: key, at: sides.second)
    if !plan.isTwoWay {
      if bases.count == 1, try store.isSame(key, in: bases[0], and: sides.second) { return }
      let isUntouched =
        bases.isEmpty ? ours == nil : bases.count == 1 ? try store.isSame(key, in: bases[0], and: sides.first) : false
      if isUntouched {
        plan.changes.whole.append(key)
        plan.cleanCount += try count(of: key, from: bases.first, to: sides.second)
        return
      }
    }
    guard let ours else {
      plan.changes.whole.append(key)
      plan.notes.append("\(key) was dropped here and edited there: it is kept")
      return
    }
    guard let theirs else {
      plan.notes.append("\(key) was edited here and dropped there: it is kept")
      return
    }
    let base = try bases.first.flatMap { try store.descriptor(of: key, at: $0) }
    if let merged = DescriptorMerge(base: base, ours: ours, theirs: theirs).merged(&plan.notes) {
      plan.changes.descriptors.append(merged)
    }
    try mergeRecords(of: key, ours, sides, bases, policy, &plan)
  }

  private func count(of key: String, from base: CommitNumber?, to commit: CommitNumber) throws -> Int {
    let reader = try store.changes(from: base ?? CommitNumber(0), to: commit)
    var count = 0
    while case let changes = try reader.next(512), !changes.isEmpty {
      count += changes.count { $0.datastore == key }
    }
    return count
  }

  // MARK: Records

  private func mergeRecords(
    of key: String, _ descriptor: DatastoreDescriptor, _ sides: Sides, _ bases: [CommitNumber], _ policy: MergePolicy,
    _ plan: inout MergePlan
  ) throws {
    let here = try states(of: key, bases, sides.first, other: sides.second)
    let there = try states(of: key, bases, sides.second, other: sides.first)
    let contents = BaseContents(store, graph, key, descriptor, plan.bases)
    for identifier in there.keys.sorted(by: { $0.bytes.lexicographicallyPrecedes($1.bytes) }) {
      let theirs = there[identifier] ?? nil
      let isChangedHere = here[identifier] != nil
      if !isChangedHere, bases.count == 1, !plan.isTwoWay {
        plan.changes.adopted[key, default: []].insert(identifier)
        plan.cleanCount += 1
        continue
      }
      let ours = try here[identifier] ?? record(identifier, of: key, at: sides.first)
      let base = plan.isTwoWay ? nil : try contents.content(of: identifier)
      try merge(
        RecordPlace(datastore: key, identifier: identifier), descriptor, base: base, ours: ours, theirs: theirs, sides,
        policy, &plan)
    }
    // A record that only ours changed stays as it is; but where nobody knows what was there before, a person must say.
    guard plan.isTwoWay else { return }
    for (identifier, ours) in here where there[identifier] == nil {
      try merge(
        RecordPlace(datastore: key, identifier: identifier), descriptor, base: nil, ours: ours,
        theirs: record(identifier, of: key, at: sides.second), sides, policy, &plan)
    }
  }

  private func record(_ identifier: StoredKey, of key: String, at commit: CommitNumber) throws -> RecordContent? {
    try store.view(at: commit).datastore(key)?.record(identifier)?.stored
  }

  /// What became on one side of the records that differ from a base; without a base, of those that the sides do not share.
  private func states(
    of key: String, _ bases: [CommitNumber], _ side: CommitNumber, other: CommitNumber
  ) throws -> [StoredKey: RecordContent?] {
    var states: [StoredKey: RecordContent?] = [:]
    for base in bases.isEmpty ? [other] : bases {
      let reader = try store.changes(from: base, to: side)
      while case let changes = try reader.next(512), !changes.isEmpty {
        for change in changes where change.datastore == key {
          states.updateValue(change.new?.stored, forKey: change.identifier)
        }
      }
    }
    return states
  }

  private func merge(
    _ place: RecordPlace, _ descriptor: DatastoreDescriptor, base: RecordContent?, ours: RecordContent?,
    theirs: RecordContent?, _ sides: Sides, _ policy: MergePolicy, _ plan: inout MergePlan
  ) throws {
    let merge = RecordMerge(
      descriptor, base: base, mine: sides.isOursFirst ? ours : theirs, theirs: sides.isOursFirst ? theirs : ours)
    if merge.isSame(ours, theirs) { return }
    var outcome = merge.outcome
    if plan.isTwoWay { outcome = .conflict(Self.conflicts(outcome)) }
    // Without a common ancestor a record of one side alone is no deleted one.
    if plan.bases.isEmpty, ours == nil || theirs == nil {
      outcome = (theirs == nil) == sides.isOursFirst ? .mine : .theirs
    }
    switch outcome {
    case .mine, .theirs:
      plan.cleanCount += 1
      guard (outcome == .theirs) == sides.isOursFirst else { return }
      plan.changes.adopted[place.datastore, default: []].insert(place.identifier)
    case .merged(let content):
      plan.cleanCount += 1
      plan.changes.edits.changes.append(
        RecordEdit(datastore: place.datastore, identifier: place.identifier, old: ours, new: content))
    case .conflict(let fields):
      var conflict = MergeConflict(
        place: place, base: base, ours: ours, theirs: theirs,
        fields: fields.map { sides.isOursFirst ? $0 : $0.mirrored })
      try settle(&conflict, merge, sides, policy, plan.bases)
      plan.add(conflict)
    }
  }

  private static func conflicts(_ outcome: RecordMerge.Outcome) -> [FieldConflict] {
    if case .conflict(let fields) = outcome { fields } else { [] }
  }

  // MARK: Policies

  private func settle(
    _ conflict: inout MergeConflict, _ merge: RecordMerge, _ sides: Sides, _ policy: MergePolicy,
    _ bases: [CommitIdentity]
  ) throws {
    let isOursWhole: Bool
    switch policy {
    case .ask: return
    case .ours: isOursWhole = true
    case .theirs: isOursWhole = false
    case .later:
      if conflict.ours == nil || conflict.theirs == nil {
        isOursWhole = conflict.theirs == nil
      } else {
        isOursWhole = try isLater(sides, conflict.place, nil)
      }
    }
    guard conflict.ours != nil, conflict.theirs != nil, !conflict.fields.isEmpty else {
      return conflict.settle(as: isOursWhole ? conflict.ours : conflict.theirs)
    }
    var failure: (any Error)?
    let settled = merge.settled { field in
      var isOurs = isOursWhole
      if policy == .later {
        do { isOurs = try isLater(sides, conflict.place, field.path) } catch { failure = error }
      }
      return isOurs == sides.isOursFirst ? .mine : .theirs
    }
    if let failure { throw failure }
    conflict.settle(as: settled ?? (isOursWhole ? conflict.ours : conflict.theirs))
  }

  /// Whether ours changed a field (nil: the record) later than theirs.
  private func isLater(_ sides: Sides, _ place: RecordPlace, _ field: DocumentPath?) throws -> Bool {
    let (ours, theirs) = (
      try change(of: place, field, from: sides.first), try change(of: place, field, from: sides.second)
    )
    if ours.date != theirs.date { return ours.date > theirs.date }
    return ours.identity > theirs.identity
  }

  /// How many versions of a record are looked at for who changed a field last.
  private static let mostVersions = 1_000

  private func change(
    of place: RecordPlace, _ field: DocumentPath?, from newest: CommitNumber
  ) throws -> (date: Int64, identity: CommitIdentity) {
    let versions = try store.versions(
      of: place.identifier, in: place.datastore, from: newest, limit: field == nil ? 1 : Self.mostVersions)
    var number = versions.first?.commit.number ?? newest
    if let field {
      let wanted = try versions.first?.record?.document()[field]
      for version in versions.dropFirst() {
        guard try version.record?.document()[field] == wanted else { break }
        number = version.commit.number
      }
    }
    let commit = try store.engine.commit(number.rawValue)
    return (commit.date, commit.identity)
  }
}

extension FieldConflict {
  fileprivate var mirrored: FieldConflict {
    var mirrored = self
    (mirrored.mine, mirrored.theirs) = (theirs, mine)
    return mirrored
  }
}

/// What records were in the common ancestor: of several, in what they come out as when they are merged themselves, where a conflict
/// counts as no value.
private struct BaseContents {
  let store: OwnStore
  let graph: CommitGraph
  let key: String
  let descriptor: DatastoreDescriptor
  let bases: [CommitIdentity]

  /// A criss-cross of criss-crosses deeper than this counts as no value.
  private static let mostLevels = 8

  init(
    _ store: OwnStore, _ graph: CommitGraph, _ key: String, _ descriptor: DatastoreDescriptor, _ bases: [CommitIdentity]
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

  private func content(
    of identifier: StoredKey, in commits: [CommitIdentity], level: Int
  ) throws -> RecordContent? {
    guard let first = commits.first, level < Self.mostLevels else { return nil }
    var merged = try content(of: identifier, at: first)
    for next in commits.dropFirst() {
      let other = try content(of: identifier, at: next)
      let ancestors = graph.nearestCommonAncestors(first, next)
      let merge = RecordMerge(
        descriptor, base: try content(of: identifier, in: ancestors, level: level + 1), mine: merged, theirs: other)
      switch merge.outcome {
      case .mine: break
      case .theirs: merged = other
      case .merged(let content): merged = content
      case .conflict: merged = merge.settled { _ in nil }
      }
    }
    return merged
  }

  private func content(of identifier: StoredKey, at commit: CommitIdentity) throws -> RecordContent? {
    guard let number = graph.number(of: commit) else { return nil }
    return try store.view(at: CommitNumber(number)).datastore(key)?.record(identifier)?.stored
  }
}
