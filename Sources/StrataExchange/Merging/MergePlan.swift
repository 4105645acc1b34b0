package import StrataModel
package import StrataEngine

/// The changes that a merge would make, found without writing anything. Conflicts are settled in `conflicts` one by one, or all that are
/// left by `StoreExchange.settle`; then `StoreExchange.commit` writes the plan.
package struct MergePlan: Sendable {
  package enum Kind: String, Hashable, Sendable {
    /// The commit to be merged is in head's history already.
    case nothing
    /// Head is in the history of the commit to be merged: it moves there, without a commit.
    case fastForward = "fast-forward"
    /// Both heads have the same content, and differ only in merges of the same commits: both stores go on from the lower of the two. Or two
    /// versions of an app merged the same commits differently: both stores go on from the merge of the newer version.
    case twin = "same"
    case merge
  }

  package var kind: Kind
  package var ours: CommitIdentity?
  package var theirs: CommitIdentity
  /// The nearest common ancestors; several after a criss-cross, none of unrelated stores.
  package var bases: [CommitIdentity]
  /// Whether the common ancestor's content is gone, so that every difference is a conflict.
  package var isTwoWay = false
  /// The changes without a conflict.
  var clean: MergedChanges
  /// Digests of the results for records that both sides changed, whichever side merges: two versions of an app may make them differently.
  private(set) var outcome: [UInt8] = []
  /// Records that were changed by one side alone, or that both changed without conflict.
  package var cleanCount = 0
  package var conflicts: [MergeConflict] = []
  /// Definitions that both sides changed. They do not keep the records from being merged.
  package var definitions: [DefinitionConflict] = []
  /// References that would name missing records, the first twenty of them. They do not keep the records from being merged.
  package var dangling: [DanglingReference] = []
  /// Further notes, as sentences.
  package var notes: [String] = []

  /// Head, on which the merge is made, and the commit that is merged into it.
  package var first: CommitNumber { clean.first }
  package var second: CommitNumber { clean.second }
  /// Whether ours counts as the first side if the order matters.
  var isOursFirst: Bool { ours.map { $0 < theirs } ?? false }

  /// Remarks for the user, as sentences: definitions that both sides changed, notes, references that would dangle.
  package var remarks: [String] { definitions.map(\.sentence) + notes + dangling.map(\.sentence) }

  /// The conflicts that are not settled yet.
  package var open: [MergeConflict] { conflicts.filter { !$0.isSettled } }

  /// The result of the merge, in words: `3 changes merged, 1 conflict settled`.
  package func result(isDone: Bool = true) -> String {
    let settled = conflicts.count - open.count
    let definitions = cleanCount + settled == 0 ? clean.descriptors.count + clean.whole.count : 0
    if cleanCount + settled + definitions == 0 { return "nothing of theirs \(isDone ? "was" : "is") missing here" }
    let done = isDone ? "" : "would be "
    return [(cleanCount, "change", "merged"), (settled, "conflict", "settled"), (definitions, "definition", "merged")]
      .filter { $0.0 > 0 }
      .map { "\(counted($0.0, $0.1)) \(done)\($0.2)" }.joined(separator: ", ")
  }

  /// Settles open conflicts as a person has decided; conflicts for which `decide` returns nil stay open.
  package mutating func settle(_ decide: (MergeConflict) throws -> Settlement?) rethrows {
    for position in conflicts.indices where !conflicts[position].isSettled {
      guard let settlement = try decide(conflicts[position]) else { continue }
      conflicts[position].choose(content: settlement.result)
    }
  }

  /// The outcome of a record in conflict.
  package struct Settlement: Hashable, Sendable {
    /// Nil deletes the record.
    package var result: RecordContent?

    package init(result: RecordContent?) { self.result = result }
  }

  /// All changes: the clean ones, and the results of the settled conflicts. If a conflict is settled as the other side has it, the record
  /// is taken over from there, like a change of that side alone.
  package var changes: MergedChanges {
    var changes = clean
    for conflict in conflicts where conflict.isSettled && conflict.result != conflict.ours {
      let (datastore, identifier) = (conflict.place.datastore, conflict.place.identifier)
      if conflict.isTakenOver {
        changes.adopted[datastore, default: []].insert(identifier)
      } else {
        changes.edits.changes.append(
          RecordEdit(datastore: datastore, identifier: identifier, old: conflict.ours, new: conflict.result))
      }
    }
    return changes
  }

  /// Notes the result for a record that both sides changed without a conflict.
  mutating func become(_ place: RecordPlace, _ result: RecordContent?, ours: RecordContent?, theirs: RecordContent?) {
    let parts = [Array(place.datastore.utf8), place.identifier.bytes, Array((result?.version ?? "").utf8)]
    let head = parts.flatMap { Array("\($0.count):".utf8) + $0 }
    outcome += SHA256.digest(of: head + (result.map { Array("=".utf8) + $0.bytes } ?? [])).prefix(16)
    if result == ours { return }
    if result == theirs {
      clean.adopted[place.datastore, default: []].insert(place.identifier)
    } else {
      clean.edits.changes.append(
        RecordEdit(datastore: place.datastore, identifier: place.identifier, old: ours, new: result))
    }
  }

  /// Leaves a record as the first side has it; returns whether it was to change.
  mutating func leaveOut(_ place: RecordPlace) -> Bool {
    if let position = conflicts.firstIndex(where: { $0.place == place }) {
      conflicts.remove(at: position)
      return true
    }
    if clean.adopted[place.datastore]?.remove(place.identifier) == nil {
      guard let position = clean.edits.changes.firstIndex(where: { $0.place == place }) else { return false }
      clean.edits.changes.remove(at: position)
    }
    cleanCount -= 1
    return true
  }

  /// Whether two stores that make it at once make the same commit of it: it contains no choice.
  var isMechanical: Bool {
    conflicts.isEmpty && definitions.isEmpty && clean.descriptors.isEmpty && notes.isEmpty && !isTwoWay
  }
}
