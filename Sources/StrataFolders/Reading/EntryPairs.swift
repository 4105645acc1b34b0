import StrataModel

/// Walks two states of an index side by side and gives the entries that differ.
///
/// If the order is known, both sides are merged, and only two entries are held. If only the app knows it, entries are paired by their keys.
/// Common entries have the same order in both states, so entries before the next common one are removed or new. Then memory is that of the
/// longest such stretch.
struct EntryPairs: Sendable {
  /// Nil on one side means that the state has no such entry.
  struct Pair: Sendable {
    var old: FolderEntry?
    var new: FolderEntry?

    var differs: Bool {
      guard let old, let new else { return true }
      return old.record != new.record || old.version != new.version
    }
  }

  private var old: EntryRun
  private var new: EntryRun
  private let isOrdered: Bool
  private var ready: [Pair] = []
  private var waitingOld = Waiting()
  private var waitingNew = Waiting()

  init(old: EntryRun, new: EntryRun, isOrdered: Bool) {
    self.old = old
    self.new = new
    self.isOrdered = isOrdered
  }

  /// The next entries that differ; nil at the end. After an error the walk goes on behind the damaged entry.
  mutating func next() throws(FolderError) -> Pair? {
    while true {
      let pair = isOrdered ? try merged() : try matched()
      guard let pair else { return nil }
      if pair.differs { return pair }
    }
  }

  private mutating func merged() throws(FolderError) -> Pair? {
    switch (try old.peek(), try new.peek()) {
    case (nil, nil): return nil
    case (_?, nil): return Pair(old: old.removeCurrent(), new: nil)
    case (nil, _?): return Pair(old: nil, new: new.removeCurrent())
    case (let left?, let right?):
      if left.key == right.key { return Pair(old: old.removeCurrent(), new: new.removeCurrent()) }
      return left.key.precedes(right.key)
        ? Pair(old: old.removeCurrent(), new: nil) : Pair(old: nil, new: new.removeCurrent())
    }
  }

  private mutating func matched() throws(FolderError) -> Pair? {
    while ready.isEmpty {
      let left = try old.peek()
      let right = try new.peek()
      _ = old.removeCurrent()
      _ = new.removeCurrent()
      if let left { add(old: left) }
      if let right { add(new: right) }
      guard left == nil, right == nil else { continue }
      flush(waitingOld.removeAll(), waitingNew.removeAll())
      break
    }
    guard !ready.isEmpty else { return nil }
    return ready.removeFirst()
  }

  /// Pairs an entry with the one that waits for it on the other side, and settles all entries before both.
  private mutating func add(old entry: FolderEntry) {
    guard let (passed, other) = waitingNew.remove(upTo: entry.key) else { return waitingOld.add(entry) }
    flush(waitingOld.removeAll(), passed)
    ready.append(Pair(old: entry, new: other))
  }

  private mutating func add(new entry: FolderEntry) {
    guard let (passed, other) = waitingOld.remove(upTo: entry.key) else { return waitingNew.add(entry) }
    flush(passed, waitingNew.removeAll())
    ready.append(Pair(old: other, new: entry))
  }

  private mutating func flush(_ gone: [FolderEntry], _ come: [FolderEntry]) {
    ready += gone.map { Pair(old: $0, new: nil) } + come.map { Pair(old: nil, new: $0) }
  }

  /// Entries of one side that the other has not shown yet, in order.
  private struct Waiting: Sendable {
    private var entries: [FolderEntry] = []
    private var places: [[UInt8]: Int] = [:]

    mutating func add(_ entry: FolderEntry) {
      places[entry.key] = entries.count
      entries.append(entry)
    }

    /// Removes the entry of a key and those before it, and returns them.
    mutating func remove(upTo key: [UInt8]) -> (passed: [FolderEntry], entry: FolderEntry)? {
      guard let place = places[key] else { return nil }
      let passed = Array(entries[..<place])
      let entry = entries[place]
      let rest = Array(entries[(place + 1)...])
      self = Waiting()
      for entry in rest { add(entry) }
      return (passed, entry)
    }

    mutating func removeAll() -> [FolderEntry] {
      defer { self = Waiting() }
      return entries
    }
  }
}

/// The entries that begin on a run of pages of an index, one after the other.
struct EntryRun: Sendable {
  private let index: FolderIndex?
  private let entries: EntryList?
  private let end: Int
  private var place: EntryList.Place
  private var current: FolderEntry?

  /// `index`: nil for a state that has no such datastore.
  init(_ index: FolderIndex?, pages: Range<Int>) throws(FolderError) {
    self.index = index
    entries = try index?.source.get()
    place = EntryList.Place(page: pages.lowerBound, row: 0)
    end = pages.upperBound
  }

  /// The next entry without taking it; nil at the end. After an error the walk goes on behind the entry that cannot be read.
  mutating func peek() throws(FolderError) -> FolderEntry? {
    if let current { return current }
    guard let index, let entries, let row = entries.row(atOrAfter: place), row.page < end else { return nil }
    place = row.next
    current = try index.entry(at: row, in: entries)
    return current
  }

  mutating func removeCurrent() -> FolderEntry? {
    defer { current = nil }
    return current
  }
}
