/// The entries in which two states of one index differ, page run by page run.
///
/// An index whose manifest cannot be read counts as empty here; a caller that must know checks it before.
struct EntryDifferences: Sendable {
  private let old: FolderIndex?
  private let new: FolderIndex?
  /// Runs of pages that were not begun, last first.
  private var runs: [PageDifference.Run]
  private var pairs: EntryPairs?

  /// Nil for a state that has no such index.
  init(from old: FolderIndex?, to new: FolderIndex?) {
    self.old = old
    self.new = new
    runs = PageDifference(try? old?.source.get(), try? new?.source.get()).runs.reversed()
  }

  /// The next entries that differ; nil at the end. After an error the walk goes on behind the damaged entry.
  mutating func next() throws(FolderError) -> EntryPairs.Pair? {
    while true {
      if let pair = try pairs?.next() { return pair }
      pairs = nil
      guard let run = runs.popLast() else { return nil }
      pairs = EntryPairs(
        old: try EntryRun(run.old.isEmpty ? nil : old, pages: run.old),
        new: try EntryRun(run.new.isEmpty ? nil : new, pages: run.new),
        isOrdered: [old, new].allSatisfy { $0.map { $0.values.isKnown && $0.identifiers.isKnown } ?? true })
    }
  }
}
