/// A state that a record has had.
package struct Version: Sendable {
  /// The commit that brought it about: the one that wrote it, or one that restored it by roots.
  package var commit: UInt64
  /// Whether a restore by roots brought it back.
  package var isRestored: Bool
  /// The change that wrote the state; its kind says whether the record existed. Nil if a restore went back to before the record's first
  /// insertion.
  package var change: Change?

  package init(commit: UInt64, isRestored: Bool, change: Change?) {
    self.commit = commit
    self.isRestored = isRestored
    self.change = change
  }
}

/// Visits every state that a record has had, newest first, as seen from one commit.
package typealias VersionCursor = WalkCursor<Version>

/// The states of a record as a file has them.
///
/// Walks the chain of change entries, one read per version, without touching a tree. Only if a restore by roots made the chain jump back,
/// it looks into the tree as it was before the restore.
struct FileVersions: Walk {
  private var view: View
  private let name: TreeName
  // Called only by the cursor's owner, one call at a time. A cursor that moves to another thread needs a comparison that may do so, too.
  private nonisolated(unsafe) let key: KeyProbe
  /// The entry of the next state.
  private var reference: EntryReference?
  /// The newest restore at or before `view`, until the walk has passed it.
  private var restore: CommitLink?
  private var isAtEnd = false
  /// The commit of the version returned last.
  private var told: UInt64?
  /// The commit of the line that was found last: the next one is near it.
  private var passed: CommitRecord

  init(view: View, name: TreeName, key: KeyProbe) throws(StorageError) {
    self.view = view
    self.name = name
    self.key = key
    restore = view.commit.links.lastRestore
    passed = view.commit
    reference = try state(in: view)
  }

  /// The entry or the delete that a view has for the key.
  private func state(in view: View) throws(StorageError) -> EntryReference? {
    guard let entry = try view.catalogEntry(name), entry.kind == .records else { return nil }
    let search = TreeSearch(file: view.file)
    return try key.withProbe { probe throws(StorageError) in
      if let live = try search.find(probe, in: TreeRoot(pointer: entry.root)) { return live.entry }
      return try search.find(probe, in: TreeRoot(pointer: entry.tombstones))?.entry
    }
  }

  /// The next older state, or nil at the end.
  mutating func next() throws(StorageError) -> Version? {
    while !isAtEnd {
      let change = try reference.map { reference throws(StorageError) in try self.change(reference) }
      // The chain goes on among the commits since the last restore.
      if let change, change.commit >= restore?.number ?? 0, !isBroughtBack(change) {
        // The version that a change replaced was written before it, so that no damage makes the walk endless.
        if let older = change.replaced?.entry, let newer = change.reference.entry, older.offset >= newer.offset {
          throw .damaged(what: "change entry", offset: newer.offset)
        }
        reference = change.replaced?.entry
        if reference == nil, restore == nil { isAtEnd = true }
        guard let commit = try commit(thatBrought: change) else { continue }
        told = commit
        return Version(commit: commit, isRestored: false, change: change)
      }
      guard let link = restore else {
        isAtEnd = true
        return nil
      }
      // Compare the state that the restore brought back with the state before it.
      let record = try view.file.record(link)
      if try follow(secondParentOf: record) { continue }
      let restored = reference
      guard let parent = record.links.parents.first else {
        isAtEnd = true
        return nil
      }
      view = View(commit: try view.file.record(parent), file: view.file)
      passed = view.commit
      restore = view.commit.links.lastRestore
      guard view.number < link.number, restore?.number ?? 0 < link.number else {
        throw .damaged(what: "link to a commit", offset: link.offset)
      }
      let before = try state(in: view)
      reference = before
      // A commit that restored and then wrote the record, or was squashed of such, has one state of it.
      if link.number != told, try differs(restored, before) {
        told = link.number
        return Version(commit: link.number, isRestored: true, change: change)
      }
    }
    return nil
  }

  /// The change at a reference. If it is damaged, the commit in whose frame it lies made it, and it replaced the state before that.
  private func change(_ reference: EntryReference) throws(StorageError) -> Change {
    do throws(StorageError) {
      return try view.file.change(reference)
    } catch {
      let search = CommitSearch(file: view.file, newest: view.commit)
      guard case .damaged = error, let maker = try search.ancestor(of: passed, where: { $0.offset <= reference.offset })
      else { throw error }
      let start = maker.links.own.offset
      let isOwn = try reference.offset < start &+ view.file.frameHeader(at: start).recordOffset
      // A merge took it from a commit of its second parent, whose line the walk goes on along.
      guard isOwn || maker.number < restore?.number ?? 0 else { throw error }
      let older = try maker.links.parents.first.map { parent throws(StorageError) in
        try state(in: View(commit: view.file.record(parent), file: view.file))
      }
      return Change(
        commit: maker.number, tree: 0, key: Bytes(), kind: .put, replaced: RecordReference(older ?? nil),
        replacesDelete: false, reference: .entry(reference))
    }
  }

  /// Whether the restore brought a delete back that replaces nothing: a compaction writes it there if the commit that deleted is gone.
  private func isBroughtBack(_ change: Change) -> Bool {
    change.commit == restore?.number && change.kind == .delete && change.replaced == nil
  }

  /// The commit of this line that brought a change; nil if that brought a newer version as well, which was returned already.
  ///
  /// A compaction writes each change once, in the oldest kept commit that has it. If two branches have it, and the commit in which they
  /// parted was not kept, that is a commit of one of them. On the other one, the first kept commit behind it stands for what was not kept.
  private mutating func commit(thatBrought change: Change) throws(StorageError) -> UInt64? {
    guard view.file.header.identity.generation > 1 else { return change.commit }
    let search = CommitSearch(file: view.file, newest: view.commit)
    let found = try search.ancestor(of: passed) { $0.number <= change.commit }
    passed = found ?? .beginning(of: view.file.header)
    guard passed.number != change.commit else { return change.commit }
    let first = try search.commit(atDepth: passed.links.own.depth + 1, below: view.commit).number
    return first == told ? nil : first
  }

  /// Goes on along the second parent if a merge took the state from there.
  private mutating func follow(secondParentOf merge: CommitRecord) throws(StorageError) -> Bool {
    guard merge.links.parents.count > 1 else { return false }
    let first = View(commit: try view.file.record(merge.links.parents[0]), file: view.file)
    let second = View(commit: try view.file.record(merge.links.parents[1]), file: view.file)
    guard second.commit.number < merge.number, try state(in: first) != reference, try state(in: second) == reference
    else { return false }
    view = second
    passed = second.commit
    restore = second.commit.links.lastRestore
    return true
  }

  /// Whether two states differ: a deleted record equals one that never existed, and a damaged one no other.
  private func differs(_ left: EntryReference?, _ right: EntryReference?) throws(StorageError) -> Bool {
    if left == right { return false }
    do throws(StorageError) {
      return try value(left) != value(right)
    } catch {
      guard case .damaged = error else { throw error }
      return true
    }
  }

  /// The record's value; nil if the record did not exist.
  private func value(_ reference: EntryReference?) throws(StorageError) -> Bytes? {
    guard let reference, try view.file.change(reference).kind == .put else { return nil }
    return try view.file.value(reference)
  }
}

extension View {
  /// Every state that a record of a tree has had, newest first, even if it is deleted now.
  package func versions(of key: KeyProbe, in tree: TreeName) throws(StorageError) -> VersionCursor {
    guard let servedView else { return VersionCursor(try FileVersions(view: self, name: tree, key: key)) }
    let (key, limit) = (try key.served(), 100)
    // The first page begins with the view's own state, which no commit comes before.
    let pages = ServedPages<Version, UInt64?>(place: nil) { before throws(StorageError) in
      let page = try servedView.versions(of: key, in: tree, before: before, limit: limit)
      guard page.count == limit, let last = page.last else { return (page, nil) }
      return (page, .some(last.commit))
    }
    return VersionCursor(pages)
  }
}
