/// The saved and the lost parts of a damaged store.
package struct SalvageReport: Sendable {
  /// Commits of the new store that were made from a commit of the old one.
  package var savedCommits: UInt64 = 0
  /// Commits that were made from the changes alone of a commit whose record cannot be read.
  package var mendedCommits: UInt64 = 0
  /// Records in the new store's head.
  package var records: UInt64 = 0
  /// In the order in which they were met.
  package var losses: [SalvageLoss] = []
  /// Remarks for the user about the saved commits, a sentence each.
  package var notes: [String] = []

  /// Whether everything was saved.
  package var isComplete: Bool { losses.isEmpty }
}

/// A part that could not be saved, or not wholly.
package struct SalvageLoss: Sendable, Hashable, CustomStringConvertible {
  package enum Kind: Sendable, Hashable {
    /// A commit cannot be read: its state and its description are lost. The parts that later ones share of it are not.
    case commit
    /// The commits up to a number are not in the file.
    case commits(to: UInt64)
    /// Whole commits that recovery kept aside, in a file by this name, before a compaction: the commits they were built on are gone.
    case keptAside(String, count: Int)
    /// A name led to a commit that cannot be read.
    case name(String)
    /// A record's value cannot be read; an older one was kept if there is one.
    case record(keptOlder: Bool)
    /// An index entry refers to a record that cannot be read.
    case indexEntry
    /// Entries of a tree cannot be reached; they were taken from the commit before, and the changes.
    case entries(count: UInt64)
    /// The trees of a commit cannot be listed; they were taken from the commit before, and the changes.
    case catalog
    /// A change fails its check, or no check of it is left to compare with, so it was not kept.
    case unproven
    /// The attributes that the module above keeps with a tree cannot be read.
    case attributes
  }

  package var kind: Kind
  /// The number of the commit in the damaged store at which it was first met.
  package var commit: UInt64
  package var tree: TreeName?
  package var key: [UInt8]?

  package var description: String { sentence(tree: tree.map { "\($0)" }, key: nil) }

  /// One sentence. `tree`, `key`: the words of a caller that knows the trees; nil if there is none, or no word for it.
  package func sentence(tree: String?, key: String?) -> String {
    let place = tree.map { " of \($0)" } ?? ""
    return switch kind {
    case .commit: "commit #\(commit) cannot be read"
    case .commits(let last) where last == commit: "commit #\(commit) is not in the file any more"
    case .commits(let last): "commits #\(commit) to #\(last) are not in the file any more"
    case .keptAside(let name, let count):
      "\(count == 1 ? "a commit" : "\(count) commits") from #\(commit) on in \(name) cannot be read any more: the store was compacted since"
    case .name(let name): "the name \(name) led to commit #\(commit), which is lost"
    case .record(let keptOlder):
      "\(key.map { "record \($0)" } ?? "a record")\(place) cannot be read as of commit #\(commit)"
        + (keptOlder ? "; its version before is kept" : "")
    case .indexEntry:
      "\(key.map { "entry \($0)" } ?? "an entry")\(place) refers, in commit #\(commit), to a record that cannot be read"
    case .entries(let count): "\(count) entries\(place) cannot be reached in commit #\(commit); older ones are kept"
    case .catalog: "the trees of commit #\(commit) cannot be listed; those of the commit before are kept"
    case .unproven:
      "\(key.map { "the change of \($0)" } ?? "a change")\(place) in commit #\(commit) cannot be proven to be whole"
        + "; what was there before is kept"
    case .attributes: "the attributes\(place) cannot be read in commit #\(commit); older ones are kept"
    }
  }
}
