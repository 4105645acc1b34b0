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

  /// So many references that would dangle are named.
  private static let mostDangling = 20
  /// References of more changes than these are not looked at: `strata verify` finds what dangles in all of a store.
  private static let mostChangesLookedAt = 20_000

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
    if try areTwins(ours, theirs) {
      plan.kind = .twin
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

  /// Settles what is open by a policy, as far as it settles it.
  package func settle(_ plan: inout MergePlan, by policy: MergePolicy) throws {
    guard let sides = Sides(plan) else { return }
    for position in plan.conflicts.indices where !plan.conflicts[position].isSettled {
      try settle(&plan.conflicts[position], sides, policy)
    }
  }

  private struct Sides {
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
    try openCollisions(in: key, ours, sides, policy, &plan)
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
    let format = store.formats[place.datastore]
    let lifted = Lifted(base: base, ours: ours, theirs: theirs, by: format)
    let (mine, other) = sides.isOursFirst ? (lifted.ours, lifted.theirs) : (lifted.theirs, lifted.ours)
    let merge = RecordMerge(descriptor, base: lifted.base, mine: mine, theirs: other)
    if merge.isSame(lifted.ours, lifted.theirs) { return }
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
      if lifted.theirs == theirs {
        plan.clean.adopted[place.datastore, default: []].insert(place.identifier)
      } else {
        plan.clean.edits.changes.append(
          RecordEdit(datastore: place.datastore, identifier: place.identifier, old: ours, new: lifted.theirs))
      }
    case .merged(let content):
      plan.cleanCount += 1
      plan.clean.edits.changes.append(
        RecordEdit(datastore: place.datastore, identifier: place.identifier, old: ours, new: content))
    case .conflict(let fields):
      var conflict = MergeConflict(
        place: place, base: base, ours: ours, theirs: theirs, fields: fields, merge: merge,
        isOursFirst: sides.isOursFirst)
      try settle(&conflict, sides, policy)
      plan.conflicts.append(conflict)
    }
  }

  private static func conflicts(_ outcome: RecordMerge.Outcome) -> [FieldConflict] {
    if case .conflict(let fields) = outcome { fields } else { [] }
  }

  // MARK: What the records are not alone in

  /// Values of unique indexes that several records would have after a plan as it is settled so far.
  package func collisions(after plan: MergePlan) throws -> [UniquenessConflict] {
    guard let sides = Sides(plan) else { return [] }
    let changes = try merged(plan, sides)
    var found: [UniquenessConflict] = []
    for key in Set(changes.keys.map(\.datastore)).sorted() {
      guard let descriptor = try store.descriptor(of: key, at: sides.first) else { continue }
      found += try collisions(in: key, descriptor, among: changes, sides)
    }
    return found
  }

  private func collisions(
    in key: String, _ descriptor: DatastoreDescriptor, among changes: [RecordPlace: RecordContent?], _ sides: Sides
  ) throws -> [UniquenessConflict] {
    guard descriptor.hasUniqueIndex else { return [] }
    let set = try ChangeSet(
      changes: changes.filter { $0.key.datastore == key }.map { place, content in
        RecordEdit(
          datastore: key, identifier: place.identifier, old: try record(place.identifier, of: key, at: sides.first),
          new: content)
      })
    let options = EditOptions(bringsBackContents: true, detailLimit: 0)
    return try store.preview(set, options: options).uniqueness.filter(\.isEnforced)
  }

  /// Records that would have a value of a unique index that another has too: what came of them is a conflict after all.
  private func openCollisions(
    in key: String, _ descriptor: DatastoreDescriptor, _ sides: Sides, _ policy: MergePolicy, _ plan: inout MergePlan
  ) throws {
    guard descriptor.hasUniqueIndex else { return }
    let changes = try merged(plan, sides)
    for collision in try collisions(in: key, descriptor, among: changes, sides) {
      for identifier in collision.identifiers {
        let place = RecordPlace(datastore: key, identifier: identifier)
        guard changes[place] != nil, plan.clean.takeOut(place) else { continue }
        plan.cleanCount -= 1
        let (ours, theirs) = try (
          record(identifier, of: key, at: sides.first), record(identifier, of: key, at: sides.second)
        )
        var conflict = MergeConflict(
          place: place, base: nil, ours: ours, theirs: theirs, fields: [],
          merge: RecordMerge(descriptor, base: nil, mine: ours, theirs: theirs), isOursFirst: true,
          reason: "\(key)/\(identifier): \(collision.sentence)")
        try settle(&conflict, sides, policy)
        plan.conflicts.append(conflict)
      }
    }
  }

  private func noteDangling(_ sides: Sides, _ plan: inout MergePlan) throws {
    guard try store.hasReferences(at: sides.first) else { return }
    var changes = try merged(plan, sides)
    for key in plan.clean.whole {
      let reader = try store.changes(from: sides.first, to: sides.second)
      while changes.count < Self.mostChangesLookedAt, case let found = try reader.next(512), !found.isEmpty {
        for change in found where change.datastore == key {
          changes.updateValue(
            change.new?.stored, forKey: RecordPlace(datastore: key, identifier: change.identifier))
        }
      }
    }
    guard changes.count < Self.mostChangesLookedAt else { return }
    plan.dangling = try store.danglingReferences(after: changes, at: sides.first, limit: Self.mostDangling)
  }

  /// What records become, of datastores that both sides changed.
  private func merged(_ plan: MergePlan, _ sides: Sides) throws -> [RecordPlace: RecordContent?] {
    var changes: [RecordPlace: RecordContent?] = [:]
    let all = plan.changes
    for (key, identifiers) in all.adopted {
      for identifier in identifiers {
        changes.updateValue(
          try record(identifier, of: key, at: sides.second),
          forKey: RecordPlace(datastore: key, identifier: identifier))
      }
    }
    for edit in all.edits.changes { changes.updateValue(edit.new, forKey: edit.place) }
    return changes
  }

  // MARK: Policies

  private func settle(_ conflict: inout MergeConflict, _ sides: Sides, _ policy: MergePolicy) throws {
    switch policy {
    case .ask: return
    case .ours: conflict.choose(.mine)
    case .theirs: conflict.choose(.theirs)
    case .later:
      guard conflict.ours != nil, conflict.theirs != nil else {
        // An edit beats a delete.
        return conflict.choose(conflict.theirs == nil ? .mine : .theirs)
      }
      let later = try isLater(sides, conflict.place, nil) ? MergeSide.mine : .theirs
      conflict.choose(later)
      for field in conflict.fields {
        let side = try isLater(sides, conflict.place, field.path) ? MergeSide.mine : .theirs
        do throws(ModelError) {
          try conflict.choose(.side(side), for: field.path)
        } catch {
          // Not every choice of fields is a record.
          return conflict.choose(later)
        }
      }
    }
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

  /// Who changed a field last. A commit that only rewrote records, as a migration does, changed nothing.
  private func change(
    of place: RecordPlace, _ field: DocumentPath?, from newest: CommitNumber
  ) throws -> (date: Int64, identity: CommitIdentity) {
    let versions = try store.versions(
      of: place.identifier, in: place.datastore, from: newest, limit: Self.mostVersions)
    var number = versions.first?.commit.number ?? newest
    if let field {
      let wanted = try versions.first?.record?.document()[field]
      for version in versions.dropFirst() {
        guard try version.record?.document()[field] == wanted else { break }
        number = version.commit.number
      }
    } else if let edit = versions.first(where: { !$0.commit.isMaintenance }) {
      number = edit.commit.number
    }
    let commit = try store.engine.commit(number.rawValue)
    return (try store.engine.clock(of: commit), commit.identity)
  }
}

extension MergedChanges {
  /// Leaves a record as the first side has it; answers whether it was to be another.
  fileprivate mutating func takeOut(_ place: RecordPlace) -> Bool {
    if adopted[place.datastore]?.remove(place.identifier) != nil { return true }
    guard let position = edits.changes.firstIndex(where: { $0.place == place }) else { return false }
    edits.changes.remove(at: position)
    return true
  }
}

/// The contents of a record in one version: those of older ones as the app's types convert them, where these are compiled in. What they
/// cannot read stays as it is; then the record is one conflict.
///
/// So a side that has only migrated a record has not edited it, and an edit by an older app merges field by field.
private struct Lifted {
  private(set) var base: RecordContent?
  private(set) var ours: RecordContent?
  private(set) var theirs: RecordContent?

  init(base: RecordContent?, ours: RecordContent?, theirs: RecordContent?, by format: (any CompiledFormat)?) {
    (self.base, self.ours, self.theirs) = (base, ours, theirs)
    let versions = Set([base, ours, theirs].compactMap { $0?.version })
    guard let format, versions.count > 1 else { return }
    func lift(_ content: RecordContent?) -> RecordContent? {
      guard let content, content.version != format.version else { return content }
      return (try? format.lifted(content)) ?? content
    }
    (self.base, self.ours, self.theirs) = (lift(base), lift(ours), lift(theirs))
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

extension DatastoreDescriptor {
  /// Whether some value may belong to one record alone.
  fileprivate var hasUniqueIndex: Bool { indexes.contains { $0.isUnique && !$0.isStale } }
}
