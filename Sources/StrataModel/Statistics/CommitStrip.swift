/// Commits over time, for the strip above a history: in each part the number of commits, and the number of records that they changed.
package struct CommitStrip: Sendable, Hashable {
  package struct Part: Sendable, Hashable {
    /// The oldest and the newest commit in it; nil if there is none.
    package var commits: ClosedRange<CommitNumber>?
    package var commitCount = 0
    package var changeCount = 0
  }

  /// The dimension in which the parts are equal.
  package enum Axis: Hashable, Sendable { case time, commits }

  package var axis: Axis
  /// From the oldest on.
  package var parts: [Part]
  /// Nanoseconds since 1970, of the oldest and the newest commit.
  package var span: ClosedRange<Int64>
  /// The number of commits read; fewer than exist if the reading was limited.
  package var commitCount: Int

  /// The part of a commit.
  package func part(of commit: CommitNumber) -> Int? {
    parts.firstIndex { $0.commits?.contains(commit) == true }
  }

  /// - Parameters:
  ///   - commits: newest first.
  ///   - count: the number of parts.
  ///   - axis: nil takes time unless most commits would fall into one part, or all into a minute.
  package init?(_ commits: [CommitDetails], parts count: Int, axis: Axis? = nil) {
    guard count > 0, let newest = commits.first, let oldest = commits.last else { return nil }
    let start = min(oldest.date, newest.date)
    span = start...max(oldest.date, newest.date)
    commitCount = commits.count
    // Within a minute the time distinguishes nothing. A peer may have dated its commits anywhere.
    let (length, isTooLong) = span.upperBound.subtractingReportingOverflow(span.lowerBound)
    let isBurst = !isTooLong && length < 60_000_000_000
    self.axis = axis ?? (isBurst ? .commits : .time)
    let count = self.axis == .commits ? min(count, commits.count) : count
    parts = Self.parts(commits, count, self.axis, span)
    if axis == nil, !isBurst, commits.count > 2, let fullest = parts.map(\.commitCount).max(),
      fullest * 2 > commits.count
    {
      self.axis = .commits
      parts = Self.parts(commits, min(count, commits.count), .commits, span)
    }
  }

  private static func parts(_ commits: [CommitDetails], _ count: Int, _ axis: Axis, _ span: ClosedRange<Int64>)
    -> [Part]
  {
    var parts = Array(repeating: Part(), count: count)
    let time = Double(span.lowerBound)...Double(span.upperBound)
    for (position, commit) in commits.reversed().enumerated() {
      let place =
        switch axis {
        case .commits: position * count / commits.count
        case .time: time.part(of: Double(commit.date), among: count)
        }
      parts[min(count - 1, max(0, place))].add(commit)
    }
    return parts
  }
}

extension CommitStrip.Part {
  fileprivate mutating func add(_ commit: CommitDetails) {
    commits =
      commits.map { min($0.lowerBound, commit.number)...max($0.upperBound, commit.number) } ?? commit
      .number...commit.number
    commitCount += 1
    changeCount += commit.changes.reduce(0) { $0 + $1.total }
  }
}
