package import StorageEngine

/// Which commits a store knows of and what each was made on, by identities: those in the file, and those that compaction has left out
/// and told of.
///
/// Made by reading the record of every commit once, and afterwards of the new ones only. Memory grows with the commits (some 100 bytes
/// each). A walk through all of them costs a millisecond for 100,000.
package struct CommitGraph: Sendable {
  /// Where a commit lies here, and on what it was made.
  package struct Node: Sendable {
    /// Nil where only its name is known.
    package var number: UInt64?
    package var parents: [CommitIdentity]
    var undoes: CommitIdentity?
    var squashed: [Pedigree.Run]
  }

  /// A commit by its place in the lists here.
  private typealias Place = Int32

  private struct Entry {
    var identity: CommitIdentity
    /// 0 where it does not lie in the file.
    var number: UInt64 = 0
    /// Whether it is more than a parent that was named and never seen.
    var isKnown = false
    var parents: (Place, Place) = (-1, -1)
  }

  private var entries: [Entry] = []
  private var places: [CommitIdentity: Place] = [:]
  /// What few commits have.
  private var undone: [Place: CommitIdentity] = [:]
  private var squashed: [Place: [Pedigree.Run]] = [:]
  /// Numbers of the commits in the file that are somebody's work, ascending: each after its parents.
  package private(set) var numbers: [UInt64] = []
  private var placesOfNumbers: [Place] = []
  /// The file that it was made of, and the newest commit in it, of whatever kind.
  private var generation: UInt64
  private var newest: UInt64 = 0

  package init(_ store: any Engine) throws(StorageError) {
    generation = store.identity.generation
    try readOn(store)
  }

  /// Takes what was appended since; begins anew where compaction has made another file.
  mutating func update(_ store: any Engine) throws(StorageError) {
    if store.identity.generation != generation { self = try CommitGraph(store) } else { try readOn(store) }
  }

  private mutating func readOn(_ store: any Engine) throws(StorageError) {
    let known = newest
    var records: [(record: Slim, pedigree: Pedigree?)] = []
    var latest = known
    var visited = 0
    try store.forEachCommit { commit, pedigree throws(StorageError) in
      guard commit.number > known else { return false }
      latest = max(latest, commit.number)
      if !commit.flags.contains(.bookkeeping) { records.append((Slim(commit), pedigree)) }
      visited += 1
      if visited % CommitSender.commitsHeld == 0 { store.releaseMemory() }
      return true
    }
    newest = latest
    entries.reserveCapacity(entries.count + records.count)
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
    guard commit.number > newest else { return }
    newest = commit.number
    add(Slim(commit), pedigree)
  }

  private mutating func add(_ commit: Slim, _ pedigree: Pedigree?) {
    let parents = pedigree?.parents ?? commit.parents.compactMap { identity(of: $0) }
    let undoes = pedigree?.undoes ?? commit.undoes.flatMap { identity(of: $0) }
    let place: Place = add(commit.identity, parents)
    entries[Int(place)].number = commit.number
    undone[place] = undoes
    numbers.append(commit.number)
    placesOfNumbers.append(place)
    guard let runs = pedigree?.squashed, !runs.isEmpty else { return }
    squashed[place] = runs
    for run in runs {
      for number in run.numbers {
        let identity = CommitIdentity(origin: run.origin, number: number)
        // What was sent again since lies in the file.
        guard !knows(identity) else { continue }
        let isFirst = number == run.numbers.lowerBound
        add(identity, isFirst ? run.parents : [CommitIdentity(origin: run.origin, number: number - 1)])
      }
    }
  }

  @discardableResult
  private mutating func add(_ identity: CommitIdentity, _ parents: [CommitIdentity]) -> Place {
    let first = parents.first.map { placed($0) } ?? -1
    let second = parents.count > 1 ? placed(parents[1]) : -1
    let place = placed(identity)
    entries[Int(place)].parents = (first, second)
    entries[Int(place)].isKnown = true
    return place
  }

  private mutating func placed(_ identity: CommitIdentity) -> Place {
    if let place = places[identity] { return place }
    let place = Place(entries.count)
    entries.append(Entry(identity: identity))
    places[identity] = place
    return place
  }

  // MARK: Asking

  private func known(_ identity: CommitIdentity) -> Place? {
    guard let place = places[identity], entries[Int(place)].isKnown else { return nil }
    return place
  }

  /// All commits that are known, in no order.
  package var identities: [CommitIdentity] { entries.filter(\.isKnown).map(\.identity) }

  package subscript(identity: CommitIdentity) -> Node? {
    guard let place = known(identity) else { return nil }
    let entry = entries[Int(place)]
    let parents = [entry.parents.0, entry.parents.1].filter { $0 >= 0 }.map { entries[Int($0)].identity }
    return Node(
      number: entry.number == 0 ? nil : entry.number, parents: parents, undoes: undone[place],
      squashed: squashed[place] ?? [])
  }

  package func identity(of number: UInt64) -> CommitIdentity? {
    var (low, high) = (0, numbers.count)
    while low < high {
      let middle = (low + high) / 2
      if numbers[middle] < number { low = middle + 1 } else { high = middle }
    }
    guard low < numbers.count, numbers[low] == number else { return nil }
    return entries[Int(placesOfNumbers[low])].identity
  }

  /// The number of a commit that lies in the file.
  package func number(of identity: CommitIdentity) -> UInt64? {
    guard let place = known(identity), entries[Int(place)].number > 0 else { return nil }
    return entries[Int(place)].number
  }

  package func knows(_ identity: CommitIdentity) -> Bool { known(identity) != nil }

  // MARK: Walking

  /// Marks commits and all that they were made on, as far as it is known here.
  private func reach(_ commits: [Place]) -> [Bool] {
    var reached = [Bool](repeating: false, count: entries.count)
    var open = commits
    while let next = open.popLast() {
      let entry = entries[Int(next)]
      guard entry.isKnown, !reached[Int(next)] else { continue }
      reached[Int(next)] = true
      if entry.parents.0 >= 0, !reached[Int(entry.parents.0)] { open.append(entry.parents.0) }
      if entry.parents.1 >= 0, !reached[Int(entry.parents.1)] { open.append(entry.parents.1) }
    }
    return reached
  }

  private func reach(_ commits: [CommitIdentity]) -> [Bool] { reach(commits.compactMap { known($0) }) }

  /// Commits and all that they were made on, as far as it is known here.
  package func ancestry(of commits: [CommitIdentity]) -> Set<CommitIdentity> {
    let reached = reach(commits)
    return Set(entries.indices.lazy.filter { reached[$0] }.map { entries[$0].identity })
  }

  /// Numbers of the commits in the file that one history has and the other lacks; ascending, each after its parents.
  package func numbers(in heads: [CommitIdentity], butNotIn known: [CommitIdentity]) -> [UInt64] {
    let (wanted, there) = (reach(heads), reach(known))
    var missing: [UInt64] = []
    for (number, place) in zip(numbers, placesOfNumbers) where wanted[Int(place)] && !there[Int(place)] {
      missing.append(number)
    }
    return missing
  }

  /// Whether one commit is another, or was made on it, by whatever way.
  package func contains(_ ancestor: CommitIdentity, in commit: CommitIdentity) -> Bool {
    contains([ancestor], in: commit)
  }

  /// Whether all of some commits are in one's history.
  package func contains(_ ancestors: [CommitIdentity], in commit: CommitIdentity) -> Bool {
    if ancestors.allSatisfy({ $0 == commit }) { return true }
    let reached = reach([commit])
    return ancestors.allSatisfy { ancestor in known(ancestor).map { reached[Int($0)] } ?? false }
  }

  /// The commits that both were made on and that no other such commit was made on, in their order; one, or several after a criss-cross,
  /// or none where the two have nothing in common.
  package func nearestCommonAncestors(_ left: CommitIdentity, _ right: CommitIdentity) -> [CommitIdentity] {
    let (one, other) = (reach([left]), reach([right]))
    var nearest = entries.indices.map { one[$0] && other[$0] }
    for place in entries.indices where one[place] && other[place] {
      let parents = entries[place].parents
      if parents.0 >= 0 { nearest[Int(parents.0)] = false }
      if parents.1 >= 0 { nearest[Int(parents.1)] = false }
    }
    return entries.indices.filter { nearest[$0] }.map { entries[$0].identity }.sorted()
  }

  /// How many commits the history of each of two has that the other's has not.
  package func distance(_ left: CommitIdentity, _ right: CommitIdentity) -> (left: Int, right: Int) {
    let (one, other) = (reach([left]), reach([right]))
    var distance = (left: 0, right: 0)
    for place in entries.indices where one[place] != other[place] {
      if one[place] { distance.left += 1 } else { distance.right += 1 }
    }
    return distance
  }

  /// Whether all that only one of two histories has are merges.
  func differsInMergesOnly(_ left: CommitIdentity, _ right: CommitIdentity) -> Bool {
    let (one, other) = (reach([left]), reach([right]))
    return entries.indices.allSatisfy { one[$0] == other[$0] || entries[$0].parents.1 >= 0 }
  }

  /// What a peer is asked about to find out what it lacks: the tips, all names' commits, and ancestors at doubling distances.
  package func haves(tips: [CommitIdentity]) -> [CommitIdentity] {
    var haves = tips.filter { number(of: $0) != nil }
    let reached = reach(tips)
    let ordered = placesOfNumbers.reversed().filter { reached[Int($0)] }
    var distance = 1
    while distance < ordered.count {
      haves.append(entries[Int(ordered[distance])].identity)
      distance *= 2
    }
    if let oldest = ordered.last { haves.append(entries[Int(oldest)].identity) }
    var seen: Set<CommitIdentity> = []
    return haves.filter { seen.insert($0).inserted }
  }

  /// Those of some commits that no other of them was made on, in their order.
  package func newest(of commits: [CommitIdentity]) -> [CommitIdentity] {
    let all = Set(commits.compactMap { known($0) })
    let older = reach(all.flatMap { [entries[Int($0)].parents.0, entries[Int($0)].parents.1] }.filter { $0 >= 0 })
    return all.filter { !older[Int($0)] }.map { entries[Int($0)].identity }.sorted()
  }

  /// Commits of the file that no other was made on: heads of whatever came in, the oldest first.
  package var leaves: [CommitIdentity] {
    var isParent = [Bool](repeating: false, count: entries.count)
    for entry in entries where entry.isKnown {
      if entry.parents.0 >= 0 { isParent[Int(entry.parents.0)] = true }
      if entry.parents.1 >= 0 { isParent[Int(entry.parents.1)] = true }
    }
    return placesOfNumbers.filter { !isParent[Int($0)] }.map { entries[Int($0)].identity }
  }
}
