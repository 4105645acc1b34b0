package import StorageEngine

/// Which commits a store knows of and what each was made on, by identities: those in the file, and those that compaction has left out
/// and told of.
///
/// Made by reading the record of every commit once (about a second for a million); memory grows with the commits (some 150 bytes each).
package struct CommitGraph: Sendable {
  /// Where a commit lies here, and on what it was made.
  package struct Node: Sendable {
    /// Nil where only its name is known.
    package var number: UInt64?
    package var parents: [CommitIdentity]
    var undoes: CommitIdentity?
    var squashed: [Pedigree.Run]
  }

  package private(set) var nodes: [CommitIdentity: Node] = [:]
  private var identities: [UInt64: CommitIdentity] = [:]
  /// Numbers of the commits in the file that are somebody's work, ascending: each after its parents.
  package private(set) var numbers: [UInt64] = []

  package init(_ store: Store) throws(StorageError) {
    var records: [(record: Slim, pedigree: Pedigree?)] = []
    var bookkeeping: Set<UInt64> = []
    try store.forEachCommit { commit, pedigree throws(StorageError) in
      if commit.flags.contains(.bookkeeping) {
        bookkeeping.insert(commit.number)
      } else {
        records.append((Slim(commit), pedigree))
        identities[commit.number] = commit.identity
      }
      return true
    }
    nodes.reserveCapacity(records.count)
    numbers.reserveCapacity(records.count)
    for (record, pedigree) in records.reversed() { add(record, pedigree) }
  }

  private struct Slim {
    var number: UInt64
    var identity: CommitIdentity
    var parents: [UInt64]
    var undoes: UInt64?

    init(_ commit: CommitRecord) {
      (number, identity, parents, undoes) = (commit.number, commit.identity, commit.parents, commit.undoes)
    }
  }

  /// Takes a commit that was appended since.
  mutating func add(_ commit: CommitRecord, _ pedigree: Pedigree?) {
    identities[commit.number] = commit.identity
    add(Slim(commit), pedigree)
  }

  private mutating func add(_ commit: Slim, _ pedigree: Pedigree?) {
    let parents = pedigree?.parents ?? commit.parents.compactMap { identities[$0] }
    let undoes = pedigree?.undoes ?? commit.undoes.flatMap { identities[$0] }
    let squashed = pedigree?.squashed ?? []
    nodes[commit.identity] = Node(number: commit.number, parents: parents, undoes: undoes, squashed: squashed)
    numbers.append(commit.number)
    for run in squashed {
      for number in run.numbers {
        let identity = CommitIdentity(origin: run.origin, number: number)
        // What was sent again since lies in the file.
        guard nodes[identity] == nil else { continue }
        let isFirst = number == run.numbers.lowerBound
        let parents = isFirst ? run.parents : [CommitIdentity(origin: run.origin, number: number - 1)]
        nodes[identity] = Node(number: nil, parents: parents, undoes: nil, squashed: [])
      }
    }
  }

  package func identity(of number: UInt64) -> CommitIdentity? { identities[number] }

  /// The number of a commit that lies in the file.
  package func number(of identity: CommitIdentity) -> UInt64? { nodes[identity]?.number }

  package func knows(_ identity: CommitIdentity) -> Bool { nodes[identity] != nil }

  /// Commits and all that they were made on, as far as it is known here.
  package func ancestry(of commits: [CommitIdentity]) -> Set<CommitIdentity> {
    var found: Set<CommitIdentity> = []
    var open = commits.filter(knows)
    while let next = open.popLast() {
      guard found.insert(next).inserted else { continue }
      open += (nodes[next]?.parents ?? []).filter { knows($0) && !found.contains($0) }
    }
    return found
  }

  /// Whether one commit is another, or was made on it, by whatever way.
  package func contains(_ ancestor: CommitIdentity, in commit: CommitIdentity) -> Bool {
    ancestor == commit || ancestry(of: [commit]).contains(ancestor)
  }

  /// The commits that both were made on and that no other such commit was made on, in their order; one, or several after a criss-cross,
  /// or none where the two have nothing in common.
  package func nearestCommonAncestors(_ left: CommitIdentity, _ right: CommitIdentity) -> [CommitIdentity] {
    let common = ancestry(of: [left]).intersection(ancestry(of: [right]))
    var nearest = common
    for commit in common { nearest.subtract(nodes[commit]?.parents ?? []) }
    return nearest.sorted()
  }

  /// What a peer is asked about to find out what it lacks: the tips, all names' commits, and ancestors at doubling distances.
  package func haves(tips: [CommitIdentity]) -> [CommitIdentity] {
    var haves = tips.filter { number(of: $0) != nil }
    let ancestry = ancestry(of: tips)
    let ordered = ancestry.compactMap { number(of: $0) }.sorted(by: >)
    var distance = 1
    while distance < ordered.count {
      if let identity = identities[ordered[distance]] { haves.append(identity) }
      distance *= 2
    }
    if let oldest = ordered.last, let identity = identities[oldest] { haves.append(identity) }
    var seen: Set<CommitIdentity> = []
    return haves.filter { seen.insert($0).inserted }
  }

  /// Those of some commits that no other of them was made on, in their order.
  package func newest(of commits: [CommitIdentity]) -> [CommitIdentity] {
    let all = Set(commits)
    return all.filter { commit in !all.contains { $0 != commit && contains(commit, in: $0) } }.sorted()
  }

  /// Commits of the file that no other was made on: heads of whatever came in.
  package var leaves: [CommitIdentity] {
    var leaves = Set(identities.values.filter { nodes[$0]?.number != nil })
    for node in nodes.values { leaves.subtract(node.parents) }
    return leaves.sorted()
  }
}
