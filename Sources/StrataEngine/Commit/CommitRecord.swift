/// One commit: author, date, action, parents, and counts of its changes. The changes are read separately.
package struct CommitRecord: Sendable, Hashable {
  /// The place in this store's order of commits, from 1.
  package var number: UInt64
  /// Its lasting identity: the origin that made it, and its number there.
  package var origin: UInt64
  package var originNumber: UInt64
  /// The commit that it was made on; after a merge also a second one; empty for the first commit of a store.
  package var parents: [UInt64] = []
  /// Nanoseconds since 1970; never earlier than the parents'.
  package var date: Int64
  package var program = ""
  package var author = ""
  package var action = ""
  package var flags: CommitFlags = []
  /// The commit that this one undoes.
  package var undoes: UInt64?
  /// The commit whose roots this one brought back.
  package var restores: UInt64?
  /// Names that this commit set or moved (to a number) or removed (nil).
  package var names: [NameChange] = []
  /// The counts of changes in each tree of records, in the order of the trees' identifiers.
  package var counts: [ChangeCounts] = []
  /// Bytes that the commit added to the file.
  package var frameBytes: UInt64 = 0
  /// Bytes, older than the commit or in it, that are not part of its state but were part of its first parent's or were written by it.
  /// Negative if it brought older bytes back into use.
  package var deadBytes: Int64 = 0
  /// Bytes of nodes and change entries that the state of this commit consists of.
  package var liveBytes: UInt64 = 0

  /// Pointers into the file, for the engine alone.
  var links: CommitLinks

  /// Whether it lies in a file, in a frame that lists its changes.
  package var listsChanges: Bool { links.own.offset > 0 }

  /// Its lasting identity.
  package var identity: CommitIdentity { CommitIdentity(origin: origin, number: originNumber) }

  /// Whether the state differs from that of the first parent by more than the entries that this commit wrote: it restored roots, took
  /// entries of a second parent, or dropped a tree of records.
  var bringsBack: Bool { restores != nil || links.lastRestore?.number == number }

  /// Whether it changed no record and is nothing else that a user would look for: it only sets a name, or changes an index.
  package var changesNoRecord: Bool {
    flags.isEmpty && parents.count < 2 && isWithoutChanges
  }

  /// Whether it changed no record and brought no state back. A merge may be such a commit: its first parent had all of the second.
  package var isWithoutChanges: Bool {
    undoes == nil && restores == nil && !flags.contains(.restore)
      && !counts.contains { ($0.inserted | $0.updated | $0.deleted) > 0 }
  }
}

extension CommitRecord {
  /// Creates the record of a commit on a server, whose links point to no file.
  package init(
    number: UInt64, identity: CommitIdentity, parents: [UInt64], date: Int64, program: String, author: String,
    action: String, flags: CommitFlags = [], undoes: UInt64? = nil, restores: UInt64? = nil,
    names: [NameChange] = [], counts: [ChangeCounts] = [], bytes: UInt64 = 0
  ) {
    self.init(
      number: number, origin: identity.origin, originNumber: identity.number, parents: parents, date: date,
      program: program, author: author, action: action, flags: flags, undoes: undoes, restores: restores, names: names,
      counts: counts, frameBytes: bytes,
      links: CommitLinks(own: CommitLink(number: number, offset: 0, depth: 0, date: date)))
  }
}

/// How a commit came about.
package struct CommitFlags: OptionSet, Sendable, Hashable {
  package let rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }
  /// Compaction made one commit of several.
  package static let squashed = CommitFlags(rawValue: 1)
  /// Warm-up, re-indexing: no record's content changed for a user.
  package static let maintenance = CommitFlags(rawValue: 2)
  /// Takes back a commit.
  package static let undo = CommitFlags(rawValue: 4)
  /// Brings back an older state by its roots.
  package static let restore = CommitFlags(rawValue: 8)
  /// Does no work of a user or program: it moves names or `head`, stands outside every history, and is never sent.
  package static let bookkeeping = CommitFlags(rawValue: 16)
}

/// A name set, moved, or (with nil) removed.
package struct NameChange: Sendable, Hashable {
  package var name: String
  package var commit: UInt64?

  package init(name: String, commit: UInt64?) {
    self.name = name
    self.commit = commit
  }
}

/// How many records of a tree a commit changed.
package struct ChangeCounts: Sendable, Hashable {
  package var tree: TreeName
  package var inserted: UInt64
  package var updated: UInt64
  package var deleted: UInt64
  /// The tree's lasting number, by which change entries name it.
  var identifier: UInt32

  package init(tree: TreeName, inserted: UInt64, updated: UInt64, deleted: UInt64, identifier: UInt32) {
    self.tree = tree
    self.inserted = inserted
    self.updated = updated
    self.deleted = deleted
    self.identifier = identifier
  }
}

/// The caller's description of a commit.
package struct CommitInfo: Sendable {
  /// Nanoseconds since 1970; the present if nil. A date earlier than the parents' is raised to theirs.
  package var date: Int64?
  /// The clock of the commit's writer, if it was made elsewhere, in nanoseconds since 1970. If nil, the date, or now.
  package var clock: Int64?
  /// The action, as text for people. Programs build it from names and identifiers of any length, so a text of more than `Limits.text` bytes
  /// is shortened when the commit is written.
  package var action: String
  /// If nil, the store's options apply.
  package var program: String?
  package var author: String?
  package var flags: CommitFlags
  /// The commit that this one undoes.
  package var undoes: UInt64?
  /// Names to set, move, or (with nil) remove; 0 stands for this commit. The name `head` is reserved. Texts that are equal are one
  /// name, though their bytes may differ.
  package var names: [String: UInt64?]
  /// If nil, the commit that the transaction was begun on. The first must be that one.
  package var parents: [UInt64]?
  /// Whether the commit becomes `head`. If nil, it does unless the transaction was begun on a named base.
  package var movesHead: Bool?
  /// Another commit that becomes `head` with this one.
  package var head: UInt64?
  /// The identity of a commit that was made elsewhere; this store's next if nil.
  package var identity: CommitIdentity?
  /// The descent of the commit beyond its links.
  package var pedigree: Pedigree?
  package var durability: Durability

  package init(
    date: Int64? = nil, action: String = "", program: String? = nil, author: String? = nil, flags: CommitFlags = [],
    undoes: UInt64? = nil, names: [String: UInt64?] = [:], parents: [UInt64]? = nil, movesHead: Bool? = nil,
    head: UInt64? = nil, identity: CommitIdentity? = nil, pedigree: Pedigree? = nil, durability: Durability = .durable
  ) {
    self.date = date
    self.action = action
    self.program = program
    self.author = author
    self.flags = flags
    self.undoes = undoes
    self.names = names
    self.parents = parents
    self.movesHead = movesHead
    self.head = head
    self.identity = identity
    self.pedigree = pedigree
    self.durability = durability
  }

  /// The name changes of the commit with a number.
  func nameChanges(of number: UInt64) throws(StorageError) -> [NameChange] {
    var changes: [NameChange] = []
    for (name, target) in names.sorted(by: { $0.key < $1.key }) {
      guard !name.isEmpty, name != "head" else { throw .invalidName(name) }
      guard name.utf8.count <= Limits.name else { throw .textTooLong(what: "name", limit: Limits.name) }
      changes.append(NameChange(name: name, commit: target == 0 ? number : target))
    }
    return changes
  }

  func checkTexts(_ options: StoreOptions) throws(StorageError) {
    for (what, text) in [("program", program ?? options.program), ("author", author ?? options.author)]
    where text.utf8.count > Limits.text {
      throw .textTooLong(what: what, limit: Limits.text)
    }
  }

  /// The action as it is written.
  package var writtenAction: String {
    guard action.utf8.count > Limits.text else { return action }
    let mark = "…"
    var text = action.prefix(Limits.text)
    while text.utf8.count > Limits.text - mark.utf8.count { text.removeLast() }
    return text + mark
  }
}

/// When a commit becomes visible.
package enum Durability: Sendable {
  /// Here and elsewhere once it is durable.
  case durable
  /// In this process at once; durable, and seen elsewhere, with the next durable commit or close.
  case collated
}

/// One change of one record.
package struct Change: Sendable {
  /// The commit that made it.
  package var commit: UInt64
  package var tree: UInt32
  package var key: Bytes
  package var kind: Kind
  /// The version that it replaced: an older value, or the delete after which the key was inserted again.
  package var replaced: RecordReference?
  /// Whether `replaced` is a delete.
  package var replacesDelete: Bool
  package var reference: RecordReference

  package enum Kind: Sendable, Hashable {
    case put
    case delete
  }
}
