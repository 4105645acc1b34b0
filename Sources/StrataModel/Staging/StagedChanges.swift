/// The changes that wait for a commit: steps in their order, and the number of them that are not undone.
///
///     var staged = StagedChanges(base: head.commit)
///     staged.add(StagedStep(title: "price of 00A1-790", edits: [edit]))
///     staged.undo()                    // the step stays and can be redone
///     store.preview(staged.changes, options: EditOptions())
///
/// For each record the last new content counts, with the content from which it was made: the old content of an earlier edit if the later
/// one continues it, otherwise its own. So a value that was changed and changed back is not staged.
package struct StagedChanges: Sendable, Hashable {
  /// The commit on which the changes began.
  package var base: CommitNumber?
  package private(set) var steps: [StagedStep] = []
  /// The number of valid steps; later ones were undone and can be redone.
  package private(set) var position = 0
  /// The valid edits, per record.
  package private(set) var edits: [RecordPlace: RecordEdit] = [:]
  /// Counts of inserted, updated and deleted records of all datastores.
  package private(set) var totals = ChangeCount(datastore: "")
  /// Records in the order in which they were first touched, and the position there of each staged one. A record that was left out and
  /// touched again occurs twice; the second occurrence counts.
  private var touched: [RecordPlace] = []
  private var turns: [RecordPlace: Int] = [:]

  package init(base: CommitNumber? = nil, steps: [StagedStep] = [], position: Int? = nil) {
    self.base = base
    self.steps = steps
    self.position = max(0, min(position ?? steps.count, steps.count))
    replay()
  }

  package var isEmpty: Bool { edits.isEmpty }
  package var count: Int { edits.count }
  package var canUndo: Bool { position > 0 }
  package var canRedo: Bool { position < steps.count }

  /// Records in the order in which they were first touched.
  package var order: [RecordPlace] { first(touched.count) }

  /// Returns the first of them, without reading the others.
  package func first(_ limit: Int) -> [RecordPlace] {
    var places: [RecordPlace] = []
    for (turn, place) in touched.enumerated() where turns[place] == turn {
      guard places.count < limit else { break }
      places.append(place)
    }
    return places
  }

  /// The set as the store accepts it.
  package var changes: ChangeSet { ChangeSet(base: base, changes: order.compactMap { edits[$0] }) }

  package subscript(datastore: String, identifier: StoredKey) -> RecordEdit? {
    edits[RecordPlace(datastore: datastore, identifier: identifier)]
  }

  /// Adds a step after the valid ones; undone steps are discarded.
  package mutating func add(_ step: StagedStep) {
    steps.removeSubrange(position...)
    steps.append(step)
    position = steps.count
    for edit in step.edits { apply(edit) }
  }

  /// Undoes the newest step and returns it.
  package mutating func undo() -> StagedStep? {
    guard canUndo else { return nil }
    position -= 1
    replay()
    return steps[position]
  }

  package mutating func redo() -> StagedStep? {
    guard canRedo else { return nil }
    position += 1
    for edit in steps[position - 1].edits { apply(edit) }
    return steps[position - 1]
  }

  /// The records to be inserted into a datastore, in the order they were made.
  package func insertions(in datastore: String) -> [RecordEdit] {
    order.compactMap { place in
      guard place.datastore == datastore, let edit = edits[place], edit.kind == .insert else { return nil }
      return edit
    }
  }

  private mutating func replay() {
    edits = [:]
    turns = [:]
    touched = []
    totals = ChangeCount(datastore: "")
    for step in steps.prefix(position) { for edit in step.edits { apply(edit) } }
  }

  /// Puts an edit over the staged edit of the same record.
  private mutating func apply(_ edit: RecordEdit) {
    let place = edit.place
    var merged = edit
    if let before = edits[place] {
      if edit.old == before.new { merged.old = before.old }
      totals.count(before.kind, times: -1)
    }
    guard merged.old != merged.new else {
      edits[place] = nil
      turns[place] = nil
      return
    }
    if turns[place] == nil {
      turns[place] = touched.count
      touched.append(place)
    }
    totals.count(merged.kind, times: 1)
    edits[place] = merged
  }
}

/// One action of the user on the staged changes, however many records it touched.
package struct StagedStep: Sendable, Hashable {
  /// The title in the status line: `price of 00A1-790`.
  package var title: String
  package var edits: [RecordEdit]

  package init(title: String, edits: [RecordEdit]) {
    self.title = title
    self.edits = edits
  }
}
