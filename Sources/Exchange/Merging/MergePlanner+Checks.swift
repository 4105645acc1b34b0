package import DatastoreModel
import Documents
import StorageEngine

extension MergePlanner {
  /// So many references that would dangle are named.
  private static let mostDangling = 20
  /// References of more changes than these are not looked at: `strata verify` finds what dangles in all of a store.
  private static let mostChangesLookedAt = 20_000

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

  /// Records that would have a value of a unique index that another has too: what came of them is a conflict after all, which no policy
  /// settles, for either side would lose a record.
  func openCollisions(
    in key: String, _ descriptor: DatastoreDescriptor, _ sides: Sides, _ plan: inout MergePlan
  ) throws {
    guard descriptor.hasUniqueIndex else { return }
    // What is left as it was may collide in its turn.
    while try openCollisionsOnce(in: key, descriptor, sides, &plan) {}
  }

  /// Whether a record was left as it was.
  private func openCollisionsOnce(
    in key: String, _ descriptor: DatastoreDescriptor, _ sides: Sides, _ plan: inout MergePlan
  ) throws -> Bool {
    let changes = try merged(plan, sides)
    var isFound = false
    for collision in try collisions(in: key, descriptor, among: changes, sides) {
      let rivals = try collision.identifiers.map { identifier in
        let place = RecordPlace(datastore: key, identifier: identifier)
        return (place, try changes[place] ?? record(identifier, of: key, at: sides.first))
      }
      for case (let place, let content?) in rivals where changes[place] != nil {
        guard plan.takeOut(place) else { continue }
        isFound = true
        let (ours, theirs) = try (
          record(place.identifier, of: key, at: sides.first), record(place.identifier, of: key, at: sides.second)
        )
        var conflict = MergeConflict(
          place: place, base: nil, ours: ours, theirs: theirs, fields: [],
          merge: RecordMerge(descriptor, base: nil, mine: ours, theirs: theirs), isOursFirst: true,
          reason: "\(key)/\(place.identifier): \(collision.sentence)")
        conflict.collision = MergeConflict.Collision(
          content: content,
          rivals: rivals.filter { $0.0 != place }.compactMap { rival, content in content.map { (rival, $0) } })
        plan.conflicts.append(conflict)
      }
    }
    return isFound
  }

  func noteDangling(_ sides: Sides, _ plan: inout MergePlan) throws {
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

  /// Settles what is open by a policy, as far as it settles it.
  package func settle(_ plan: inout MergePlan, by policy: MergePolicy) throws {
    guard let sides = Sides(plan) else { return }
    for position in plan.conflicts.indices where !plan.conflicts[position].isSettled {
      try settle(&plan.conflicts[position], sides, policy)
    }
    for key in Set(plan.conflicts.map(\.place.datastore)) {
      guard let descriptor = try store.descriptor(of: key, at: sides.first) else { continue }
      try openCollisions(in: key, descriptor, sides, &plan)
    }
  }

  func settle(_ conflict: inout MergeConflict, _ sides: Sides, _ policy: MergePolicy) throws {
    if conflict.isCollision { return }
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

extension DatastoreDescriptor {
  /// Whether some value may belong to one record alone.
  fileprivate var hasUniqueIndex: Bool { indexes.contains { $0.isUnique && !$0.isStale } }
}
