package import StrataModel
import StrataDocuments
package import StrataEngine

/// Finds what a merge of a commit into head would do. Writes nothing; reads the differences from the common ancestor.
///
/// If the result could depend on the order of the sides, the side whose head has the lower identity is the first. So two stores that merge
/// the same two heads get the same records, byte by byte.
package struct MergePlanner {
  let store: EngineStore
  let graph: CommitGraph

  package init(_ store: EngineStore, _ graph: CommitGraph) {
    self.store = store
    self.graph = graph
  }

  package func plan(_ theirs: CommitIdentity, policy: MergePolicy = .ask, unrelated: Bool = false) throws -> MergePlan {
    guard let second = graph.number(of: theirs) else { throw ModelError.noSuchCommit(theirs.text) }
    let head = store.engine.head.commit
    var plan = MergePlan(
      kind: .merge, ours: head.number == 0 ? nil : head.identity, theirs: theirs, bases: [],
      clean: MergedChanges(first: CommitNumber(head.number), second: CommitNumber(second)))
    plan.kind = try kind(plan.ours, theirs)
    guard plan.kind == .merge, let ours = plan.ours else { return plan }
    plan.bases = graph.nearestCommonAncestors(ours, theirs)
    if plan.bases.isEmpty, !unrelated { throw ExchangeError.unrelated }
    let numbers = plan.bases.compactMap { graph.number(of: $0) }.map { CommitNumber($0) }
    plan.isTwoWay = numbers.count < plan.bases.count
    if plan.isTwoWay {
      plan.notes.append("the common ancestor's content is kept on neither side: every difference is a conflict")
    }
    for key in try keys(at: plan.first, plan.second) { try merge(key, numbers, policy, &plan) }
    try findDanglingReferences(&plan)
    return plan
  }

  private func kind(_ ours: CommitIdentity?, _ theirs: CommitIdentity) throws -> MergePlan.Kind {
    guard let ours else { return .fastForward }
    if graph.contains(theirs, in: ours) { return .nothing }
    if graph.contains(ours, in: theirs) { return .fastForward }
    if try areTwins(ours, theirs) || areMergesOfTheSame(ours, theirs) { return .twin }
    if try replaces(ours, theirs) { return .nothing }
    return try replaces(theirs, ours) ? .fastForward : .merge
  }

  /// Whether two commits have equal content, and their histories differ only in merges of the same commits.
  package func areTwins(_ left: CommitIdentity, _ right: CommitIdentity) throws -> Bool {
    guard graph.differsInMergesOnly(left, right), let first = graph.number(of: left),
      let second = graph.number(of: right)
    else { return false }
    let (one, other) = (CommitNumber(first), CommitNumber(second))
    for key in try keys(at: one, other) {
      guard try store.descriptor(of: key, at: one) == store.descriptor(of: key, at: other) else { return false }
    }
    // Both may have the same content, written by each.
    return try store.firstChange(from: one, to: other) { $0.old?.stored != $0.new?.stored } == nil
  }

  /// Whether two commits are automatic merges of the same commits, as two versions of an app make them differently.
  private func areMergesOfTheSame(_ left: CommitIdentity, _ right: CommitIdentity) throws -> Bool {
    let numbers = [left, right].compactMap { graph.number(of: $0) }
    guard numbers.count == 2, graph.mergesOfTheSame(as: left).contains(right) else { return false }
    return try numbers.allSatisfy { try store.engine.commit($0).isMechanicalMerge }
  }

  /// Whether a commit replaces another one that it was not made on. Of two twins the lower one does; of two merges of the same commits,
  /// that of the app's newer version and commits made on it do.
  package func replaces(_ commit: CommitIdentity, _ head: CommitIdentity) throws -> Bool {
    if try areTwins(head, commit) { return commit < head }
    return try graph.mergesOfTheSame(as: head).contains { merge in
      try graph.contains(merge, in: commit) && isNewer(merge, than: head)
    }
  }

  /// Whether one of two merges of the same commits is by the newer version; for two of the same version, whether it is the lower one.
  private func isNewer(_ merge: CommitIdentity, than other: CommitIdentity) throws -> Bool {
    guard try areMergesOfTheSame(merge, other), let old = graph.number(of: other), let new = graph.number(of: merge)
    else { return false }
    let change = try store.firstChange(from: CommitNumber(old), to: CommitNumber(new)) { change in
      change.old != nil && change.new != nil && change.old?.version != change.new?.version
    }
    guard let before = change?.old?.version, let after = change?.new?.version else { return merge < other }
    if let before = Int(before), let after = Int(after) { return before < after }
    return before < after
  }

  /// The datastores of either commit, in their order.
  private func keys(at one: CommitNumber, _ other: CommitNumber) throws -> [String] {
    try Set(store.view(at: one).datastoreKeys).union(store.view(at: other).datastoreKeys).sorted()
  }

  // MARK: Datastores

  private func merge(_ key: String, _ bases: [CommitNumber], _ policy: MergePolicy, _ plan: inout MergePlan) throws {
    let (first, second) = (plan.first, plan.second)
    if try store.isSame(key, in: first, and: second) { return }
    let ours = try store.descriptor(of: key, at: first)
    let theirs = try store.descriptor(of: key, at: second)
    if !plan.isTwoWay {
      // Whether the other side was dropped decides here alone; else the records are compared one by one below.
      // Without a common ancestor, what only one side has was not dropped by the other.
      if try bases.isEmpty ? theirs == nil : isUntouched(key, since: bases, in: second, byRecords: ours == nil) {
        return
      }
      if try bases.isEmpty ? ours == nil : isUntouched(key, since: bases, in: first, byRecords: theirs == nil) {
        plan.clean.whole.append(key)
        try store.forEachChange(from: first, to: second) { if $0.datastore == key { plan.cleanCount += 1 } }
        return
      }
    }
    guard let ours, let theirs else {
      if ours == nil { plan.clean.whole.append(key) }
      plan.definitions.append(
        DefinitionConflict(
          datastore: key, subject: .datastore, ours: ours.map { _ in "edited" }, theirs: theirs.map { _ in "edited" },
          taken: ours == nil ? .theirs : .mine, isSettled: false))
      return
    }
    // The records of one side have identifiers that the other side cannot hold.
    if ours.identifierEncoding != theirs.identifierEncoding {
      guard policy == .ours || policy == .theirs else {
        throw ModelError.refused(
          reason: "\(key) has \(ours.identifierType) identifiers here and \(theirs.identifierType) identifiers there, "
            + "so its records cannot be merged; --ours or --theirs takes the datastore of one side as a whole")
      }
      if policy == .theirs { plan.clean.whole.append(key) }
      plan.definitions.append(
        DefinitionConflict(
          datastore: key, subject: .identifier, ours: ours.identifierType, theirs: theirs.identifierType,
          taken: policy == .theirs ? .theirs : .mine, isSettled: true))
      return
    }
    let base = MergeBase(store, graph, key, ours, plan.bases)
    let (merged, clashes) =
      try DescriptorMerge(base: base.definition(), ours: ours, theirs: theirs, policy: policy).merged()
    plan.definitions += clashes
    if let merged { plan.clean.descriptors.append(merged) }
    // A merge rule that either side has declared holds for the records of both.
    base.descriptor = merged ?? ours
    try mergeRecords(of: key, base.descriptor, bases, base, policy, &plan)
    try openCollisions(in: key, ours, &plan)
  }

  /// Whether a datastore is as in each of the common ancestors that have it, or is missing as in all of them. `byRecords`: also if only its
  /// trees are others, as in a commit that holds those that its store removed from the history.
  private func isUntouched(
    _ key: String, since bases: [CommitNumber], in side: CommitNumber, byRecords: Bool
  ) throws -> Bool {
    let having = try bases.filter { try store.descriptor(of: key, at: $0) != nil }
    return try !bases.isEmpty
      && (having.isEmpty ? bases : having).allSatisfy { base in
        if try store.isSame(key, in: base, and: side) { return true }
        guard byRecords, try store.descriptor(of: key, at: base) == store.descriptor(of: key, at: side) else {
          return false
        }
        return try store.firstChange(from: base, to: side) {
          $0.datastore == key && $0.old?.stored != $0.new?.stored
        } == nil
      }
  }

  // MARK: Records

  private func mergeRecords(
    of key: String, _ descriptor: DatastoreDescriptor, _ bases: [CommitNumber], _ contents: MergeBase,
    _ policy: MergePolicy, _ plan: inout MergePlan
  ) throws {
    let (first, second) = (plan.first, plan.second)
    let here = try states(of: key, bases, first, other: second)
    let there = try states(of: key, bases, second, other: first)
    for identifier in there.keys.sorted(by: { $0.bytes.lexicographicallyPrecedes($1.bytes) }) {
      let theirs = there[identifier] ?? nil
      let isChangedHere = here[identifier] != nil
      if !isChangedHere, !bases.isEmpty, !plan.isTwoWay {
        plan.clean.adopted[key, default: []].insert(identifier)
        plan.cleanCount += 1
        continue
      }
      let ours = try here[identifier] ?? record(identifier, of: key, at: first)
      let base = plan.isTwoWay ? nil : try contents.content(of: identifier)
      try merge(
        RecordPlace(datastore: key, identifier: identifier), descriptor, base: base, ours: ours, theirs: theirs, policy,
        &plan)
    }
    // A record that only ours changed stays as it is; but if its earlier content is unknown, a person must decide.
    guard plan.isTwoWay else { return }
    for (identifier, ours) in here where there[identifier] == nil {
      try merge(
        RecordPlace(datastore: key, identifier: identifier), descriptor, base: nil, ours: ours,
        theirs: record(identifier, of: key, at: second), policy, &plan)
    }
  }

  func record(_ identifier: StoredKey, of key: String, at commit: CommitNumber) throws -> RecordContent? {
    try store.view(at: commit).datastore(key)?.record(identifier)?.stored
  }

  /// The state on one side of the records that differ from a base; without a base, of those that the sides do not share.
  private func states(
    of key: String, _ bases: [CommitNumber], _ side: CommitNumber, other: CommitNumber
  ) throws -> [StoredKey: RecordContent?] {
    var states: [StoredKey: RecordContent?] = [:]
    for base in bases.isEmpty ? [other] : bases {
      try store.forEachChange(from: base, to: side) { change in
        if change.datastore == key { states.updateValue(change.new?.stored, forKey: change.identifier) }
      }
    }
    return states
  }

  private func merge(
    _ place: RecordPlace, _ descriptor: DatastoreDescriptor, base: RecordContent?, ours: RecordContent?,
    theirs: RecordContent?, _ policy: MergePolicy, _ plan: inout MergePlan
  ) throws {
    let format = store.formats[place.datastore]
    let sides = plan.isOursFirst ? [ours, theirs] : [theirs, ours]
    let lifted = lifted([base] + sides, by: format)
    let (mine, other) = (lifted[1], lifted[2])
    // After a criss-cross both sides may have merged the same changes.
    let merge = RecordMerge(
      descriptor, base: lifted[0], mine: mine, theirs: other, countsEqualChanges: plan.bases.count == 1)
    var outcome = merge.outcome
    // The same value may be written differently; then both stores take it as the first side has it.
    if merge.isSame(mine, other), outcome == .theirs { return plan.become(place, mine, ours: ours, theirs: theirs) }
    if plan.isTwoWay {
      outcome = if case .conflict = outcome { outcome } else { .conflict([]) }
    }
    var reason: String?
    if case .merged(let content) = outcome, let format {
      // Both changes may exclude one another by a rule that only the app's type knows.
      do { _ = try format.keys(of: content) } catch {
        outcome = .conflict([])
        reason = "\(place.datastore)/\(place.identifier) was changed on both sides, and with both changes \(error)"
      }
    }
    // Without a common ancestor, a record that only one side has was not deleted by the other.
    if plan.bases.isEmpty, ours == nil || theirs == nil {
      outcome = (theirs == nil) == plan.isOursFirst ? .mine : .theirs
    }
    let result: RecordContent?
    switch outcome {
    case .mine: result = mine
    case .theirs: result = other
    case .merged(let content): result = content
    case .conflict(let fields):
      var conflict = MergeConflict(
        place: place, base: base, ours: ours, theirs: theirs, fields: fields, merge: merge,
        isOursFirst: plan.isOursFirst, reason: reason, format: format)
      try settle(&conflict, of: plan, policy)
      return plan.conflicts.append(conflict)
    }
    plan.cleanCount += 1
    plan.become(place, result, ours: ours, theirs: theirs)
  }
}
