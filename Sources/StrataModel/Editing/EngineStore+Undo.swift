import StrataDocuments
import StrataEngine

extension EngineStore {
  package func undoCandidate() throws(ModelError) -> CommitNumber? { try undoState().undo }

  package func redoCandidate() throws(ModelError) -> CommitNumber? { try undoState().redo }

  package func undoPreview(of commit: CommitNumber, progress: WorkProgress?) throws(ModelError) -> ChangeSet {
    let head = CommitNumber(engine.head.number)
    guard let parent = try stateBroughtBack(byUndoing: commit) else {
      return try inverse(of: commit, on: head, progress)
    }
    var meter = ReadingMeter(try self.commit(commit), progress)
    return try ChangeSet(reading: changes(from: commit, to: parent), base: head, &meter)
  }

  package func stateBroughtBack(byUndoing commit: CommitNumber) throws(ModelError) -> CommitNumber? {
    try rootsOfUndo(of: commit, head: CommitNumber(engine.head.number))?.parent
  }

  package func undo(
    _ commit: CommitNumber, named action: String, options: EditOptions
  ) throws(ModelError) -> CommitNumber {
    let info = CommitInfo(action: action, flags: .undo, undoes: commit.rawValue)
    let head = CommitNumber(try onStorage { try engine.refresh() }.commit.number)
    if let number = try undoByRoots(commit, info) { return number }
    let changes = try inverse(of: commit, on: head, options.progress.map { pass(0, of: 2, $0) })
    guard !changes.isEmpty else {
      if try self.changes(of: commit).next(1).isEmpty { throw .refused(reason: "\(commit) changed no record") }
      let kept = try changesKept(byUndoing: commit, in: view(engine.head))
      let reason = kept.unreadable ?? "later commits changed all of it"
      throw .refused(reason: "nothing of \(commit) is left to take back: \(reason)")
    }
    return try self.commit(
      changes, info,
      options: EditOptions(
        mergesFields: true, bringsBackContents: true, progress: options.progress.map { pass(1, of: 2, $0) },
        proving: options.proving))
  }

  /// If all that the commit changed is as it left it, restores the roots of its parent. This works for every type of record, and for
  /// datastores that the commit dropped.
  private func undoByRoots(_ commit: CommitNumber, _ info: CommitInfo) throws(ModelError) -> CommitNumber? {
    guard try rootsOfUndo(of: commit, head: CommitNumber(engine.head.number)) != nil else { return nil }
    do throws(ModelError) {
      return try transact(info) { transaction in
        let present = try baseView(of: transaction)
        // Another process has changed one since: this transaction commits nothing.
        guard let roots = try rootsOfUndo(of: commit, head: present.commit) else { throw ModelError.conflict([]) }
        let parent = try engineView(at: roots.parent)
        for key in roots.datastores {
          try transaction.restore(treeNames(of: key, in: parent, and: present), from: parent.view)
        }
      }
    } catch .conflict {
      return nil
    }
  }

  /// The datastores that a commit changed, and the commit whose roots undo that; nil if one has changed since. Throws `refused` for a
  /// squashed commit.
  private func rootsOfUndo(
    of commit: CommitNumber, head: CommitNumber
  ) throws(ModelError) -> (parent: CommitNumber, datastores: [String])? {
    let target = try commitRecord(commit)
    // It holds the changes of all commits that were squashed into it, so its number does not name one user's action.
    guard !target.flags.contains(.squashed) else {
      throw .refused(
        reason: "\(commit) holds the changes of commits that a compaction squashed into it, so it cannot be undone "
          + "alone; restore an older commit instead, if one is kept")
    }
    guard target.parents.count <= 1, target.names.isEmpty else { return nil }
    let parent = CommitNumber(target.parents.first ?? 0)
    let counted = Set(try self.commit(commit).changes.map(\.datastore))
    let keys = try Set(engineView(at: parent).datastoreKeys + engineView(at: commit).datastoreKeys).sorted()
    var changed: [String] = []
    for key in keys {
      do throws(ModelError) {
        if !counted.contains(key), try descriptor(of: key, at: parent) == descriptor(of: key, at: commit) { continue }
      } catch .storage(_, kind: .damaged) {
        continue
      }
      guard try isSame(key, in: head, and: commit) else { return nil }
      changed.append(key)
    }
    return changed.isEmpty ? nil : (parent, changed)
  }

  /// Whether it changed nothing. A restore may be such a commit: of records that were written again with the same values, or, by earlier
  /// programs, of what was there.
  private func isWithoutChanges(_ record: CommitRecord) throws(ModelError) -> Bool {
    let number = CommitNumber(record.number)
    guard record.undoes == nil, record.restores != nil || record.flags.contains(.restore),
      try rootsOfUndo(of: number, head: number) == nil
    else { return record.isWithoutChanges }
    return try changes(of: number).next(1).isEmpty
  }

  /// Returns the new content for each record that the commit changed. Later edits of other fields are kept, and so are later edits of the
  /// same fields, and records whose content before the commit cannot be read.
  private func inverse(
    of commit: CommitNumber, on head: CommitNumber, _ progress: WorkProgress?
  ) throws(ModelError) -> ChangeSet {
    var meter = ReadingMeter(try self.commit(commit), progress)
    let reader = try changes(of: commit)
    let view = try engineView(at: head)
    var inverse = ChangeSet(base: head)
    // Changes come datastore by datastore.
    var known: (key: String, datastore: EngineDatastore?)?
    while case let changes = try reader.next(512), !changes.isEmpty {
      try meter.read(changes.count)
      for change in changes {
        if known?.key != change.datastore { known = (change.datastore, try view.ownDatastore(change.datastore)) }
        guard let datastore = known?.datastore else {
          // A record that the commit inserted is gone with its datastore. A record that existed before cannot come back without it.
          if change.old == nil { continue }
          throw .refused(
            reason: "\(commit) changed records of \(change.datastore), a datastore that is gone: restore that first")
        }
        let present = try datastore.replaceable(change.identifier)
        let wanted = content(of: change, takenBackFrom: present, datastore.descriptor)
        guard wanted != present?.stored, wanted != .damaged else { continue }
        inverse.changes.append(
          RecordEdit(datastore: change.datastore, identifier: change.identifier, old: present?.stored, new: wanted))
      }
    }
    return inverse
  }

  private func content(
    of change: RecordChange, takenBackFrom record: Record?, _ descriptor: DatastoreDescriptor
  ) -> RecordContent? {
    let (before, after, present) = (change.old?.stored, change.new?.stored, record?.stored)
    if present == after, record?.damage == change.new?.damage { return before }
    guard before != nil, after != nil, ![before, after, present].contains(.damaged) else { return present }
    let contents = lifted([after, present, before], by: formats[descriptor.key])
    let merge = RecordMerge(descriptor, base: contents[0], mine: contents[1], theirs: contents[2])
    // A field that both changed keeps the later edit.
    let wanted = merge.withValues(\.mine)
    return wanted.map { merge.isSame($0, contents[1]) } == false ? wanted : present
  }

  /// For how many commits back an undo is still offered for redo.
  private static let redoReach = 1_000

  /// Walks back from the head and tracks which commits undo which.
  private func undoState() throws(ModelError) -> (undo: CommitNumber?, redo: CommitNumber?) {
    let head = CommitNumber(engine.head.number)
    beginReading(.commits(from: [head], limit: Self.redoReach, folded: false))
    defer { endReading() }
    var takenBack: Set<CommitNumber> = []
    var undo: CommitNumber?
    var redo: CommitNumber?
    var redoIsOpen = true
    var passed = 0
    var next: CommitNumber? = head
    while let number = next, number.rawValue > 0,
      undo == nil || (redo == nil && redoIsOpen && passed < Self.redoReach)
    {
      passed += 1
      let record = try commitRecord(number)
      next = record.parents.first.map { CommitNumber($0) }
      // A squashed commit is not one user's action, and the commits before it are gone.
      if record.flags.contains(.squashed) { break }
      if takenBack.contains(number) || record.flags.contains(.maintenance) { continue }
      if try isWithoutChanges(record) { continue }
      if let target = record.undoes.map({ CommitNumber($0) }) {
        takenBack.insert(target)
        let isRedo = (try? commitRecord(target))?.undoes != nil
        if !isRedo, redo == nil, redoIsOpen { redo = number }
      } else {
        // A later edit by this program rules out a redo of earlier undone commits.
        if record.program == program { redoIsOpen = false }
        if undo == nil { undo = number }
      }
    }
    return (undo, redo)
  }
}

/// Counts the changes of a commit as they are read, and ends the reading if the listener cancels it.
private struct ReadingMeter {
  private let total: Int
  private let progress: WorkProgress?
  private var done = 0

  init(_ commit: CommitDetails, _ progress: WorkProgress?) {
    total = commit.changes.reduce(0) { $0 + $1.total }
    self.progress = progress
  }

  mutating func read(_ count: Int) throws(ModelError) {
    done += count
    if let progress, !progress(done, max(total, done)) { throw .cancelled }
  }
}

extension ChangeSet {
  /// All changes of a reader, as edits that make them.
  fileprivate init(reading reader: any ChangeReader, base: CommitNumber, _ meter: inout ReadingMeter) throws(ModelError)
  {
    self.init(base: base)
    while case let part = try reader.next(512), !part.isEmpty {
      try meter.read(part.count)
      changes += part.map(\.edit)
    }
  }
}

extension EngineView {
  /// Whether a tree is the same in both views, or in neither. A damaged one differs from every other.
  func hasSameTree(_ name: TreeName, as other: EngineView) throws -> Bool {
    do {
      let (tree, twin) = (try view.tree(name), try other.view.tree(name))
      guard try tree?.count == twin?.count, tree?.attributes == twin?.attributes else { return false }
      var cursor = try difference(view, other.view, tree: name)
      return try cursor.next() == nil
    } catch StorageError.damaged {
      return false
    }
  }
}
