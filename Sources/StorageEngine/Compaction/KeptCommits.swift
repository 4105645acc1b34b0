/// Chooses the commits that a compaction keeps.
struct KeptCommits {
  private let state: Publication.State
  private let now: Int64
  private let isCancelled: () -> Bool

  /// `isCancelled`: asked with each commit that is looked at; where it answers true, `cancelled` is thrown.
  init(_ state: Publication.State, now: Int64, isCancelled: @escaping () -> Bool = { false }) {
    self.state = state
    self.now = now
    self.isCancelled = isCancelled
  }

  /// In ascending order of their numbers. `head`, named commits and the newest one are always among them: the newest, so that
  /// its number is never given again.
  func select(_ retention: Retention, named: [UInt64]) throws(StorageError) -> [CommitRecord] {
    guard state.newest.number > 0 else { return [] }
    var kept: [UInt64: CommitRecord] = [:]
    func keep(_ record: CommitRecord) { if record.number > 0 { kept[record.number] = record } }
    keep(state.newest)
    keep(state.head)
    let search = CommitSearch(file: state.file, newest: state.newest)
    for number in named { keep(try search.commit(number)) }
    switch retention {
    case .all:
      try walk(from: state.newest, along: \.order) { record in
        keep(record)
        return true
      }
    case .last(let count):
      var left = max(1, count)
      try walk(from: state.head, along: \.ancestry) { record in
        keep(record)
        if !record.changesNoRecord { left -= 1 }
        return left > 0
      }
    case .younger(let age):
      let limit = now.subtractingReportingOverflow(age).partialValue
      try walk(from: state.head, along: \.ancestry) { record throws(StorageError) in
        guard try state.file.clock(of: record) >= limit else { return false }
        keep(record)
        return true
      }
    }
    return kept.values.sorted { $0.number < $1.number }
  }

  /// A commit and all its first parents, in ascending order.
  func ancestry(of commit: CommitRecord) throws(StorageError) -> [CommitRecord] {
    var kept: [CommitRecord] = []
    try walk(from: commit, along: \.ancestry) { record in
      if record.number > 0 { kept.append(record) }
      return true
    }
    return kept.reversed()
  }

  private func walk(
    from start: CommitRecord, along lineage: KeyPath<CommitLinks, Lineage>,
    _ visit: (CommitRecord) throws(StorageError) -> Bool
  ) throws(StorageError) {
    var record = start
    while try visit(record) {
      if isCancelled() { throw .cancelled }
      guard let previous = record.links[keyPath: lineage].previous else { return }
      record = try state.file.record(previous, before: record)
    }
  }
}
