/// The entries and nodes that one commit adds to the copied one before it: first its entries, then its nodes.
struct CommitCopy {
  /// The kept ancestor in the source, and the commit.
  private let old: View
  private let new: View
  /// The kept ancestor in the target.
  private let base: View
  private let draft: FrameDraft
  private let copy: GenerationCopy
  /// The catalog entries of changed trees, with places in the source until the nodes are copied.
  private var trees: [(name: TreeName, entry: CatalogEntry)] = []
  /// The trees of the commit, changed or not.
  private var names: Set<TreeName> = []
  private(set) var counts: [ChangeCounts] = []
  /// Entries that do not change the state before, as distances in the frame: those that only a stale index refers to, and deletes of
  /// records that did not exist before.
  private(set) var orphans: [UInt64] = []
  private(set) var nodeBytes: UInt64 = 0
  private(set) var liveBytes: UInt64

  init(from old: View, to new: View, onto base: CommitRecord, draft: FrameDraft, in copy: GenerationCopy) {
    self.copy = copy
    self.old = old
    self.new = new
    self.draft = draft
    liveBytes = base.liveBytes
    self.base = View(commit: base, file: draft.file)
  }

  /// Whether commits between the two are left out.
  private var isSquashed: Bool { old.commit.number != new.commit.parents.first ?? 0 }

  // MARK: Entries

  /// Trees of records first, because entries of other trees refer to their records.
  mutating func copyEntries() throws(StorageError) {
    let found = try CatalogScan(file: new.file).entries(in: new.commit.links.catalog)
    names = Set(found.map(\.name))
    for kind in [TreeKind.records, .entries] {
      for (name, entry) in found where entry.kind == kind {
        let before = try old.catalogEntry(name)
        if before == entry { continue }
        // A tree that was dropped and made again shares nothing with the one before.
        try copyEntries(of: name, entry, before: before?.identifier == entry.identifier ? before : nil)
      }
    }
    // The commit's own counts are right, unless commits were squashed into it. The records of a tree that is gone are counted as deleted
    // then, too.
    if isSquashed {
      let kept = Set(found.map(\.entry.identifier))
      for (name, entry) in try CatalogScan(file: old.file).entries(in: old.commit.links.catalog)
      where entry.kind == .records && !kept.contains(entry.identifier) {
        counts.append(
          ChangeCounts(
            tree: name, inserted: 0, updated: 0, deleted: entry.root.count, identifier: entry.identifier))
      }
    } else {
      counts = new.commit.counts
    }
    counts.sort { $0.identifier < $1.identifier }
  }

  private mutating func copyEntries(
    of name: TreeName, _ entry: CatalogEntry, before: CatalogEntry?
  ) throws(StorageError) {
    var bytes = LiveBytes(0)
    if let before, let copied = try base.catalogEntry(name) {
      bytes = LiveBytes(copied.entryBytes)
      if before.attributes != .none { bytes.subtract(copy.copiedEntry(before.attributes)) }
    }
    if entry.attributes != .none {
      let replaced = before.flatMap { $0.attributes == .none ? nil : copy.copiedEntry($0.attributes) }
      var new = copy.copiedEntry(entry.attributes)
      if new == nil {
        new = try copy.copyEntry(
          entry.attributes, tree: entry.identifier, replaced: replaced, replacesDelete: false, into: draft)
      }
      bytes.add(new)
    }
    var count = ChangeCounts(tree: name, inserted: 0, updated: 0, deleted: 0, identifier: entry.identifier)
    if entry.kind == .records {
      try copyRecords(name, entry, before, &count, &bytes)
    } else {
      try copyOrphans(entry.root)
    }
    if count.inserted | count.updated | count.deleted > 0 { counts.append(count) }
    var copied = entry
    copied.entryBytes = bytes.count
    trees.append((name, copied))
  }

  private func difference(_ old: NodePointer?, _ new: NodePointer, _ order: TreeOrder) -> DifferenceCursor {
    DifferenceCursor((self.old.file, old), (self.new.file, new), order: order)
  }

  private mutating func copyRecords(
    _ name: TreeName, _ entry: CatalogEntry, _ before: CatalogEntry?, _ count: inout ChangeCounts,
    _ bytes: inout LiveBytes
  ) throws(StorageError) {
    let dictionary = copy.target.dictionaries?[name]
    // A tree that was there before has few new values. One that the app orders would be held in memory twice.
    let ahead = dictionary.flatMap { dictionary in
      before == nil && entry.order == .bytes
        ? ValuesAhead(of: difference(nil, entry.root, entry.order), by: dictionary, in: copy) : nil
    }
    // Deletes that came or went, by key. Without a state before there are only new ones, and none need be remembered.
    var deletes: [Bytes: Difference] = [:]
    if before != nil {
      var cursor = difference(before?.tombstones, entry.tombstones, entry.order)
      while let found = try cursor.next() { deletes[found.key] = found }
    }
    var removed: [Bytes: EntryReference] = [:]
    var cursor = difference(before?.root, entry.root, entry.order)
    while let found = try cursor.next() {
      let oldReference = found.old?.payload.entry
      let replaced = oldReference.flatMap { copy.copiedEntry($0) }
      bytes.subtract(replaced)
      guard let reference = found.new?.payload.entry else {
        count.add(found)
        if let replaced { removed[found.key] = replaced }
        continue
      }
      if let known = copy.copiedEntry(reference) {
        count.add(found)
        bytes.add(known)
        continue
      }
      // An entry before the frame was written by a commit that is gone, and this commit restored or merged it.
      if isSquashed || reference.offset < new.commit.links.own.offset, let oldReference, let replaced,
        try old.file.holdsSame(oldReference, as: reference, in: new.file)
      {
        // Changed and changed back by commits that are gone: nothing happened.
        try copy.remember(reference, as: replaced)
        bytes.add(replaced)
        continue
      }
      count.add(found)
      let gone = deletes[found.key]?.old?.payload.entry.flatMap { copy.copiedEntry($0) }
      let new = try copy.copyEntry(
        reference, tree: entry.identifier, replaced: replaced ?? gone, replacesDelete: replaced == nil && gone != nil,
        into: draft, by: dictionary, ahead: ahead)
      bytes.add(new)
    }
    if before != nil {
      for delete in deletes.values.sorted(by: { $0.key < $1.key }) {
        try copyDelete(delete, removed[delete.key], entry.identifier, &bytes)
      }
    } else {
      var cursor = difference(nil, entry.tombstones, entry.order)
      while let delete = try cursor.next() { try copyDelete(delete, nil, entry.identifier, &bytes) }
    }
  }

  private mutating func copyDelete(
    _ delete: Difference, _ removed: EntryReference?, _ tree: UInt32, _ bytes: inout LiveBytes
  ) throws(StorageError) {
    let before = delete.old?.payload.entry.flatMap { copy.copiedEntry($0) }
    bytes.subtract(before)
    guard let reference = delete.new?.payload.entry else { return }
    if let known = copy.copiedEntry(reference) {
      bytes.add(known)
    } else if let before {
      // Deleted before and after: the commits between are gone, so nothing happened.
      try copy.remember(reference, as: before)
      bytes.add(before)
    } else {
      let new = try copy.copyEntry(
        reference, tree: tree, replaced: removed, replacesDelete: false, into: draft)
      bytes.add(new)
      // Inserted and deleted between the two states: in the kept commits, nothing was deleted here.
      if removed == nil { orphans.append(new.offset - draft.start) }
    }
  }

  /// Copies entries that a tree of entries refers to and no tree of records does.
  private mutating func copyOrphans(_ root: NodePointer) throws(StorageError) {
    var seen: Set<FileOffset> = []
    try copy.newReferences(in: root, seen: &seen) { reference throws(StorageError) in
      let new = try copy.copyEntry(
        reference, tree: nil, replaced: nil, replacesDelete: false, into: draft)
      orphans.append(new.offset - draft.start)
    }
  }

  // MARK: Nodes

  /// Copies the nodes of all changed trees and makes the catalog. Returns its root.
  mutating func copyNodes() throws(StorageError) -> NodePointer {
    var live = LiveBytes(base.commit.liveBytes)
    var catalog = TreeEditor(root: TreeRoot(pointer: base.commit.links.catalog), order: .bytes, isReferences: false)
    for tree in trees {
      var entry = tree.entry
      let before = try old.catalogEntry(tree.name)
      let root = try copy.copyNode(
        entry.root, insteadOf: before?.root ?? .none, into: draft, bytes: &nodeBytes)
      let gone = try copy.copyNode(
        entry.tombstones, insteadOf: before?.tombstones ?? .none, into: draft, bytes: &nodeBytes)
      (entry.root, entry.tombstones, entry.nodeBytes) = (root.pointer, gone.pointer, root.liveBytes &+ gone.liveBytes)
      entry.attributes = entry.attributes == .none ? .none : copy.copiedEntry(entry.attributes) ?? .none
      live.add(entry.liveBytes)
      live.subtract(try base.catalogEntry(tree.name)?.liveBytes ?? 0)
      try catalog.change(tree.name.bytes, to: .bytes(entry.encoded()), in: copy.target)
    }
    for name in try base.trees() where !names.contains(name) {
      live.subtract(try base.catalogEntry(name)?.liveBytes ?? 0)
      try catalog.change(name.bytes, to: nil, in: copy.target)
    }
    var writer = NodeWriter(draft: draft)
    let root = try writer.write(catalog.root)
    live.change(by: Int64(writer.liveBytes) - Int64(catalog.replacedNodeBytes))
    nodeBytes += writer.writtenBytes
    liveBytes = live.count
    return root
  }
}

extension LiveBytes {
  /// Adds the bytes of an entry, if there is one.
  fileprivate mutating func add(_ entry: EntryReference?) { change(by: Int64(entry?.length ?? 0)) }
  fileprivate mutating func subtract(_ entry: EntryReference?) { change(by: -Int64(entry?.length ?? 0)) }
}

extension ChangeCounts {
  /// Counts the change of one record between two states.
  mutating func add(_ difference: Difference) {
    if difference.old == nil {
      inserted += 1
    } else if difference.new == nil {
      deleted += 1
    } else {
      updated += 1
    }
  }
}
