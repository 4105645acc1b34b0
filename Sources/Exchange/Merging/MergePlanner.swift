package import DatastoreModel
import Documents
package import StorageEngine

/// Finds what a merge of a commit into head would do. Writes nothing; reads what differs from the common ancestor.
///
/// Of the two sides, the one whose head has the lower identity is taken for the first wherever the result could depend on the order, so that
/// two stores that merge the same two heads get the same records, byte by byte.
package struct MergePlanner {
  let store: OwnStore
  let graph: CommitGraph

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
    var plan = MergePlan(
      kind: .merge, ours: head.number == 0 ? nil : head.identity, theirs: theirs, bases: [],
      first: CommitNumber(head.number), second: CommitNumber(second))
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
    if try areTwins(ours, theirs) || areMergesOfTheSame(ours, theirs) {
      plan.kind = .twin
      return plan
    }
    if try replaces(ours, theirs) {
      plan.kind = .nothing
      return plan
    }
    if try replaces(theirs, ours) {
      plan.kind = .fastForward
      return plan
    }
    plan.bases = graph.nearestCommonAncestors(ours, theirs)
    if plan.bases.isEmpty, !unrelated { throw ExchangeError.unrelated }
    let numbers = plan.bases.compactMap { graph.number(of: $0) }.map { CommitNumber($0) }
    plan.isTwoWay = numbers.count < plan.bases.count
    if plan.isTwoWay {
      plan.notes.append("the common ancestor's content is kept on neither side: every difference is a conflict")
    }
    guard let sides = Sides(plan) else { return plan }
    for key in try datastores(of: sides) { try merge(key, sides, numbers, policy, &plan) }
    try noteDangling(sides, &plan)
    return plan
  }

  /// Whether two commits hold the same, and the history of each has nothing that the other's has not but merges of the same commits.
  package func areTwins(_ left: CommitIdentity, _ right: CommitIdentity) throws -> Bool {
    guard graph.differsInMergesOnly(left, right), let first = graph.number(of: left),
      let second = graph.number(of: right)
    else { return false }
    let (one, other) = (CommitNumber(first), CommitNumber(second))
    for key in Set(try keys(at: one)).union(try keys(at: other)) {
      guard try store.descriptor(of: key, at: one) == store.descriptor(of: key, at: other) else { return false }
    }
    // The same content may lie in both, written by each.
    let reader = try store.changes(from: one, to: other)
    while case let changes = try reader.next(64), !changes.isEmpty {
      guard changes.allSatisfy({ $0.old?.stored == $0.new?.stored }) else { return false }
    }
    return true
  }

  /// Whether two commits are merges of the same commits that nobody had to settle, as two versions of an app make them differently.
  private func areMergesOfTheSame(_ left: CommitIdentity, _ right: CommitIdentity) throws -> Bool {
    let numbers = [left, right].compactMap { graph.number(of: $0) }
    guard numbers.count == 2, graph.mergesOfTheSame(as: left).contains(right) else { return false }
    return try numbers.allSatisfy { try store.engine.commit($0).isMechanicalMerge }
  }

  /// Whether a commit takes the place of another one that it was not made on: of two that are the same the lower one does, of two merges of
  /// the same commits that of the app's newer version, and what was made on that.
  package func replaces(_ commit: CommitIdentity, _ head: CommitIdentity) throws -> Bool {
    if try areTwins(head, commit) { return commit < head }
    return try graph.mergesOfTheSame(as: head).contains { merge in
      try graph.contains(merge, in: commit) && isNewer(merge, than: head)
    }
  }

  /// Whether the one of two merges of the same commits is that of the newer version; of two of the same version the lower one counts so.
  private func isNewer(_ merge: CommitIdentity, than other: CommitIdentity) throws -> Bool {
    guard try areMergesOfTheSame(merge, other), let old = graph.number(of: other), let new = graph.number(of: merge)
    else { return false }
    let reader = try store.changes(from: CommitNumber(old), to: CommitNumber(new))
    while case let changes = try reader.next(64), !changes.isEmpty {
      for case (let before?, let after?) in changes.map({ ($0.old?.version, $0.new?.version) }) where before != after {
        if let before = Int(before), let after = Int(after) { return before < after }
        return before < after
      }
    }
    return merge < other
  }

  struct Sides {
    var ours: CommitIdentity
    var theirs: CommitIdentity
    var first: CommitNumber
    var second: CommitNumber
    /// Whether ours counts as the first where the order matters.
    var isOursFirst: Bool { ours < theirs }

    /// Nil where there is no head yet.
    init?(_ plan: MergePlan) {
      guard let ours = plan.ours else { return nil }
      (self.ours, theirs, first, second) = (ours, plan.theirs, plan.first, plan.second)
    }
  }

  private func keys(at commit: CommitNumber) throws -> [String] {
    try store.view(at: commit).datastores.map(\.descriptor.key)
  }

  private func datastores(of sides: Sides) throws -> [String] {
    Set(try keys(at: sides.first)).union(try keys(at: sides.second)).sorted()
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
        plan.clean.whole.append(key)
        plan.cleanCount += try count(of: key, from: bases.first, to: sides.second)
        return
      }
    }
    guard let ours else {
      plan.clean.whole.append(key)
      plan.definitions.append(
        DefinitionConflict(
          datastore: key, subject: .datastore, ours: nil, theirs: "edited", taken: .theirs, isSettled: false))
      return
    }
    guard let theirs else {
      plan.definitions.append(
        DefinitionConflict(
          datastore: key, subject: .datastore, ours: "edited", theirs: nil, taken: .mine, isSettled: false))
      return
    }
    let base = try bases.first.flatMap { try store.descriptor(of: key, at: $0) }
    let (merged, clashes) = DescriptorMerge(base: base, ours: ours, theirs: theirs, policy: policy).merged()
    plan.definitions += clashes
    if let merged { plan.clean.descriptors.append(merged) }
    try mergeRecords(of: key, ours, sides, bases, policy, &plan)
    try openCollisions(in: key, ours, sides, &plan)
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
    let contents = MergeBase(store, graph, key, descriptor, plan.bases)
    for identifier in there.keys.sorted(by: { $0.bytes.lexicographicallyPrecedes($1.bytes) }) {
      let theirs = there[identifier] ?? nil
      let isChangedHere = here[identifier] != nil
      if !isChangedHere, !bases.isEmpty, !plan.isTwoWay {
        plan.clean.adopted[key, default: []].insert(identifier)
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

  func record(_ identifier: StoredKey, of key: String, at commit: CommitNumber) throws -> RecordContent? {
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
    let format = store.formats[place.datastore]
    let lifted = Lifted(base: base, ours: ours, theirs: theirs, by: format)
    let (mine, other) = sides.isOursFirst ? (lifted.ours, lifted.theirs) : (lifted.theirs, lifted.ours)
    let merge = RecordMerge(descriptor, base: lifted.base, mine: mine, theirs: other)
    // The same value may be written differently; then both stores take it as the first side has it.
    if merge.isSame(mine, other) { return plan.become(place, mine, ours: ours, theirs: theirs) }
    var outcome = merge.outcome
    if plan.isTwoWay { outcome = .conflict(Self.conflicts(outcome)) }
    // Without a common ancestor a record of one side alone is no deleted one.
    if plan.bases.isEmpty, ours == nil || theirs == nil {
      outcome = (theirs == nil) == sides.isOursFirst ? .mine : .theirs
    }
    let result: RecordContent?
    switch outcome {
    case .mine: result = mine
    case .theirs: result = other
    case .merged(let content): result = content
    case .conflict(let fields):
      var conflict = MergeConflict(
        place: place, base: base, ours: ours, theirs: theirs, fields: fields, merge: merge,
        isOursFirst: sides.isOursFirst)
      try settle(&conflict, sides, policy)
      return plan.conflicts.append(conflict)
    }
    plan.cleanCount += 1
    plan.become(place, result, ours: ours, theirs: theirs)
  }

  private static func conflicts(_ outcome: RecordMerge.Outcome) -> [FieldConflict] {
    if case .conflict(let fields) = outcome { fields } else { [] }
  }
}
