extension View {
  /// A commit as the file of this view has it: a compaction may have put another file in its place. A server has only what is kept.
  package func record(ofCommit number: UInt64) throws(StorageError) -> CommitRecord {
    guard servedView == nil else { throw .noSuchCommit(number: number) }
    return try CommitSearch(file: file, newest: commit).commit(number)
  }

  /// The state of an older commit, as the file of this view has it; see `record(ofCommit:)`.
  package func earlier(_ number: UInt64) throws(StorageError) -> View {
    View(commit: try record(ofCommit: number), file: file)
  }
}

/// Finding commits by number and by date along jump pointers.
struct CommitSearch {
  let file: DataFile
  let newest: CommitRecord

  /// A commit of this file by its number. At most about 2 log₂ n frame reads.
  func commit(_ number: UInt64) throws(StorageError) -> CommitRecord {
    if number == newest.number { return newest }
    if number == 0 { return .beginning(of: file.header) }
    guard number < newest.number else { throw .noSuchCommit(number: number) }
    var record = newest
    while record.number > number {
      guard let link = record.links.order.step(towards: { $0.number <= number }) else {
        throw .prunedCommit(number: number, nearest: record.number)
      }
      let next = try file.record(link, before: record)
      if next.number < number {
        let isNearer = number - next.number <= record.number - number
        throw .prunedCommit(number: number, nearest: isNearer ? next.number : record.number)
      }
      record = next
    }
    return record
  }

  /// The newest commit at or before `start`, along first parents, that `isWanted`; wanted must be all those before some
  /// point. Nil where there is none.
  func ancestor(of start: CommitRecord, where isWanted: (CommitLink) -> Bool) throws(StorageError) -> CommitRecord? {
    var record = start
    while !isWanted(record.links.own) {
      guard let link = record.links.ancestry.step(towards: isWanted) else { return nil }
      record = try file.record(link, before: record)
    }
    return record
  }

  /// The newest commit at or before `start`, along first parents, whose writer's clock was not later than a date; nil if there is none.
  ///
  /// Dates ascend, and all but a few commits have their clock for a date. A clock that stood ahead gives its date to the commits after
  /// it, until the clocks have come there. So among those that share the newest date, or the first one that is later than the date
  /// looked for, the clocks decide, which ascend again behind the first of them. At most about 2 (log₂ n)² frame reads.
  func ancestor(of start: CommitRecord, clockedNotLaterThan date: Int64) throws(StorageError) -> CommitRecord? {
    let found = try ancestor(of: start) { $0.date <= date }
    let depth = found?.links.own.depth ?? 0
    guard start.links.own.depth > depth else { return found }
    let next = try commit(atDepth: depth + 1, below: start)
    for shared in start.date == next.date ? [next.date] : [start.date, next.date] {
      guard let newest = try ancestor(of: start, where: { $0.date <= shared }) else { continue }
      var best: CommitRecord?
      // The one at `low` is earlier than what is looked for, or the first of the date, which it is from; those from `high` on are later.
      var low = (try ancestor(of: newest) { $0.date < shared }?.links.own.depth ?? 0) + 1
      var high = newest.links.own.depth + 1
      while high > low + 1 {
        let middle = low + (high - low) / 2
        let record = try commit(atDepth: middle, below: newest)
        if try file.clock(of: record) <= date {
          (low, best) = (middle, record)
        } else {
          high = middle
        }
      }
      if let best { return best }
    }
    return found
  }

  /// The commit of a depth at or before `start`, along first parents.
  func commit(atDepth depth: UInt64, below start: CommitRecord) throws(StorageError) -> CommitRecord {
    guard let found = try ancestor(of: start, where: { $0.depth <= depth }) else {
      throw .damaged(what: "link to a commit", offset: start.links.own.offset)
    }
    return found
  }
}
