package import StrataModel
import StrataDocuments
import StrataEngine

extension MergePlanner {
  private static let mostDangling = 20
  /// The references of more changes than these are not checked: `strata verify` finds dangling references in the whole store.
  private static let mostChangesLookedAt = 20_000

  // MARK: Checks against other records

  /// Values of unique indexes that several records would have after a plan as it is settled so far.
  package func collisions(after plan: MergePlan) throws -> [UniquenessConflict] {
    if plan.ours == nil { return [] }
    let changes = try merged(plan)
    var found: [UniquenessConflict] = []
    for key in Set(changes.keys.map(\.datastore)).sorted() {
      guard let descriptor = try store.descriptor(of: key, at: plan.first) else { continue }
      found += try collisions(in: key, descriptor, among: changes, at: plan.first)
    }
    return found
  }

  private func collisions(
    in key: String, _ descriptor: DatastoreDescriptor, among changes: [RecordPlace: RecordContent?],
    at head: CommitNumber
  ) throws -> [UniquenessConflict] {
    guard descriptor.hasUniqueIndex else { return [] }
    let set = try ChangeSet(
      changes: changes.filter { $0.key.datastore == key }.map { place, content in
        RecordEdit(
          datastore: key, identifier: place.identifier, old: try record(place.identifier, of: key, at: head),
          new: content)
      })
    let options = EditOptions(bringsBackContents: true, detailLimit: 0)
    return try store.preview(set, options: options).uniqueness.filter(\.isEnforced)
  }

  /// Opens the collisions that choices in conflicts have made.
  func openCollisions(_ plan: inout MergePlan) throws {
    for key in Set(plan.conflicts.map(\.place.datastore)).sorted() {
      if let descriptor = try store.descriptor(of: key, at: plan.first) {
        try openCollisions(in: key, descriptor, &plan)
      }
    }
  }

  /// Opens a conflict for each record that would have another record's value of a unique index. No policy settles it, for either side would
  /// lose a record.
  func openCollisions(in key: String, _ descriptor: DatastoreDescriptor, _ plan: inout MergePlan) throws {
    guard descriptor.hasUniqueIndex else { return }
    // A record that is left as it was may collide in its turn.
    while try openCollisionsOnce(in: key, descriptor, &plan) {}
  }

  /// Whether a record was left as it was.
  private func openCollisionsOnce(
    in key: String, _ descriptor: DatastoreDescriptor, _ plan: inout MergePlan
  ) throws -> Bool {
    let changes = try merged(plan)
    let (first, second) = (plan.first, plan.second)
    var isFound = false
    for collision in try collisions(in: key, descriptor, among: changes, at: first) {
      let rivals = try collision.identifiers.map { identifier in
        let place = RecordPlace(datastore: key, identifier: identifier)
        return (place, try changes[place] ?? record(identifier, of: key, at: first))
      }
      for case (let place, let content?) in rivals where changes[place] != nil {
        guard plan.leaveOut(place) else { continue }
        isFound = true
        let (ours, theirs) = try (
          record(place.identifier, of: key, at: first), record(place.identifier, of: key, at: second)
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

  func findDanglingReferences(_ plan: inout MergePlan) throws {
    guard try store.hasReferences(at: plan.first) else { return }
    var changes = try merged(plan)
    for key in plan.clean.whole {
      _ = try store.firstChange(from: plan.first, to: plan.second) { change in
        if change.datastore == key {
          changes.updateValue(change.new?.stored, forKey: RecordPlace(datastore: key, identifier: change.identifier))
        }
        return changes.count >= Self.mostChangesLookedAt
      }
    }
    guard changes.count < Self.mostChangesLookedAt else { return }
    plan.dangling = try store.danglingReferences(after: changes, at: plan.first, limit: Self.mostDangling)
  }

  /// The results for records of datastores that both sides changed.
  private func merged(_ plan: MergePlan) throws -> [RecordPlace: RecordContent?] {
    var changes: [RecordPlace: RecordContent?] = [:]
    let all = plan.changes
    for (key, identifiers) in all.adopted {
      for identifier in identifiers {
        changes.updateValue(
          try record(identifier, of: key, at: plan.second),
          forKey: RecordPlace(datastore: key, identifier: identifier))
      }
    }
    for edit in all.edits.changes { changes.updateValue(edit.new, forKey: edit.place) }
    return changes
  }

  // MARK: Policies

  func settle(_ conflict: inout MergeConflict, of plan: MergePlan, _ policy: MergePolicy) throws {
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
      let later = try isLater(plan, conflict.place, nil) ? MergeSide.mine : .theirs
      conflict.choose(later)
      for field in conflict.fields {
        let side = try isLater(plan, conflict.place, field.path) ? MergeSide.mine : .theirs
        do throws(ModelError) {
          try conflict.choose(side, for: field.path)
        } catch {
          // Not every choice of fields gives a valid record.
          return conflict.choose(later)
        }
      }
    }
  }

  /// Whether ours changed a field, or the record if that is nil, later than theirs.
  private func isLater(_ plan: MergePlan, _ place: RecordPlace, _ field: DocumentPath?) throws -> Bool {
    let (ours, theirs) = (
      try change(of: place, field, from: plan.first), try change(of: place, field, from: plan.second)
    )
    if ours.date != theirs.date { return ours.date > theirs.date }
    return ours.identity > theirs.identity
  }

  /// The number of versions of a record that are searched for the last change of a field.
  private static let mostVersions = 1_000

  /// The last change of a field. A commit that only rewrote records, as a migration does, does not count.
  private func change(
    of place: RecordPlace, _ field: DocumentPath?, from newest: CommitNumber
  ) throws -> (date: Int64, identity: CommitIdentity) {
    var number = newest
    if let field {
      let life = try store.life(of: place, at: field, from: newest, limit: Self.mostVersions)
      number = life.parts.first?.commit.number ?? newest
    } else {
      let versions = try store.versions(
        of: place.identifier, in: place.datastore, from: newest, limit: Self.mostVersions)
      number = (versions.first { !$0.commit.isMaintenance } ?? versions.first)?.commit.number ?? newest
    }
    let commit = try store.engine.commit(number.rawValue)
    return (try store.engine.clock(of: commit), commit.identity)
  }
}

extension DatastoreDescriptor {
  /// Whether an index allows each value for one record alone.
  fileprivate var hasUniqueIndex: Bool { indexes.contains { $0.isUnique && !$0.isStale } }
}
