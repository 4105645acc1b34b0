/// Chooses the commits that a compaction keeps.
struct KeptCommits {
  let state: Publication.State
  let now: Int64
  /// Called with each commit that is kept; if it returns true, `cancelled` is thrown.
  var isCancelled: () -> Bool = { false }

  /// The kept commits, in ascending order of their numbers. `head`, named commits and the newest one are always among them: the newest, so
  /// that its number is never given again.
  func select(_ retention: Retention, named: [UInt64]) throws(StorageError) -> [CommitRecord] {
    guard state.newest.number > 0 else { return [] }
    var kept: [UInt64: CommitRecord] = [:]
    func keep(_ record: CommitRecord) throws(StorageError) {
      if record.number > 0 { kept[record.number] = record }
      if isCancelled() { throw .cancelled }
    }
    try keep(state.newest)
    try keep(state.head)
    let search = CommitSearch(file: state.file, newest: state.newest)
    for number in named { try keep(try search.commit(number)) }
    if retention == .all {
      try state.file.walk(from: state.newest, along: \.order) { record throws(StorageError) in
        try keep(record)
        return true
      }
    } else {
      var left = retention.count ?? 0
      let limit = now.subtractingReportingOverflow(retention.age ?? 0).partialValue
      try state.file.walk(from: state.head, along: \.ancestry) { record throws(StorageError) in
        var isYoung = false
        if retention.age != nil { isYoung = try state.file.clock(of: record) >= limit }
        guard retention.keeps(byCount: left > 0, byAge: isYoung) else { return false }
        try keep(record)
        if !record.changesNoRecord { left -= 1 }
        return retention.keeps(byCount: left > 0, byAge: true)
      }
    }
    return kept.values.sorted { $0.number < $1.number }
  }

  /// A commit and all its first parents, in ascending order.
  func ancestry(of commit: CommitRecord) throws(StorageError) -> [CommitRecord] {
    var kept: [CommitRecord] = []
    try state.file.walk(from: commit, along: \.ancestry) { record in
      if record.number > 0 { kept.append(record) }
      return true
    }
    return kept.reversed()
  }
}

extension DataFile {
  /// Goes from a commit back along one order of commits; `visit` returns whether to go on.
  func walk(
    from start: CommitRecord, along lineage: KeyPath<CommitLinks, Lineage>, isBare: Bool = false,
    _ visit: (CommitRecord) throws(StorageError) -> Bool
  ) throws(StorageError) {
    var record = start
    while try visit(record), let previous = record.links[keyPath: lineage].previous {
      record = try self.record(previous, before: record, isBare: isBare)
    }
  }
}
