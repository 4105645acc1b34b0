/// A state of a record, with the commit that brought it about.
package protocol CommittedVersion: Sendable {
  var commit: CommitDetails { get }
}

/// The versions of a record along one line of commits, newest first.
package protocol VersionLine: Sendable {
  associatedtype Version: CommittedVersion

  /// The next older version; nil at the end.
  mutating func next() throws(ModelError) -> Version?
  /// The line of the same record from another commit on; nil or empty if that commit is pruned.
  func line(from commit: CommitNumber) throws(ModelError) -> Self?
}

/// The versions of a record along all lines of commits that its state came by, newest first.
///
/// If a merge made a state from those of both parents, the versions of both sides follow, in the order of their commits.
package struct VersionLines<Line: VersionLine>: Sendable {
  private struct Head: Sendable {
    var version: Line.Version
    var rest: Line

    init?(_ line: Line) throws(ModelError) {
      rest = line
      guard let version = try rest.next() else { return nil }
      self.version = version
    }
  }

  private var heads: [Head] = []

  package init(_ lines: [Line]) throws(ModelError) {
    for line in lines { try begin(line) }
  }

  /// The next version of each line. Lines from their commits on give the versions that are still to come.
  package var upcoming: [Line.Version] { heads.map(\.version) }

  /// The next older version, with those that it was made from: none for the first one, two for a merge.
  package mutating func next() throws(ModelError) -> (version: Line.Version, older: [Line.Version])? {
    guard let newest = heads.max(by: { $0.version.commit.number < $1.version.commit.number }) else { return nil }
    let commit = newest.version.commit
    // Lines that meet are one line from there on.
    heads.removeAll { $0.version.commit.number == commit.number }
    let others = heads.count
    try begin(newest.rest)
    if let second = commit.parents.dropFirst().first, let line = try newest.rest.line(from: second) {
      try begin(line)
    }
    return (newest.version, heads[others...].map(\.version))
  }

  private mutating func begin(_ line: Line) throws(ModelError) {
    if let head = try Head(line) { heads.append(head) }
  }
}

extension VersionLines where Line == VersionWalk {
  /// The versions of a record from some commits on, each on a line of its own.
  package init(
    of record: RecordPlace, in store: any ReadableStore, from newest: [CommitNumber]
  ) throws(ModelError) {
    try self.init(newest.map { VersionWalk(store, record, from: $0) })
  }
}
