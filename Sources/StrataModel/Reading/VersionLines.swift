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
    for line in lines { _ = try begin(line) }
  }

  /// The next version of each line. Lines from their commits on give the versions that are still to come.
  package var upcoming: [Line.Version] { heads.map(\.version) }

  /// The next older version, with those that it was made from: none for the first one, two for a merge.
  package mutating func next() throws(ModelError) -> (version: Line.Version, older: [Line.Version])? {
    func number(_ place: Int) -> CommitNumber { heads[place].version.commit.number }
    guard let newest = heads.indices.max(by: { number($0) < number($1) }) else { return nil }
    let head = heads.remove(at: newest)
    let commit = head.version.commit
    var older = try begin(head.rest)
    // A parent is older, so that no damage makes the walk endless.
    if let second = commit.parents.dropFirst().first, second < commit.number,
      let line = try head.rest.line(from: second)
    {
      older += try begin(line)
    }
    return (head.version, older)
  }

  /// Goes on along a line, which is another one from the commit on in which they meet. Returns its next version, if there is one.
  private mutating func begin(_ line: Line) throws(ModelError) -> [Line.Version] {
    guard let head = try Head(line) else { return [] }
    if !heads.contains(where: { $0.version.commit.number == head.version.commit.number }) { heads.append(head) }
    return [head.version]
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
