/// The copied commits, and the places of their frames in the copy.
struct CopiedCommits: Sendable {
  /// In ascending order.
  private var commits: [(number: UInt64, offset: FileOffset)] = []

  var count: Int { commits.count }

  /// Adds a commit that is newer than all others.
  mutating func append(_ number: UInt64, at offset: FileOffset) {
    commits.append((number, offset))
  }

  /// The start of a commit's frame in the copy. Returns nil if the commit was not copied.
  func offset(of number: UInt64) -> FileOffset? {
    let index = commits.partitionIndex { $0.number >= number }
    return index < count && commits[index].number == number ? commits[index].offset : nil
  }

  func contains(_ number: UInt64) -> Bool { offset(of: number) != nil }

  func newest(before number: UInt64) -> UInt64? {
    let index = commits.partitionIndex { $0.number >= number }
    return index > 0 ? commits[index - 1].number : nil
  }
}
