package import StrataEngine

/// The commits that a store knows and the commits that each was made on, by identities: those in the file, and those that compaction has
/// left out and recorded.
///
/// Made by reading the descent of every commit once, and afterwards of the new ones only; `AncestryFile` keeps it for the next process.
/// Memory grows with the commits (some 100 bytes each). A walk through all of them costs a millisecond for 100,000.
package struct CommitGraph: Sendable {
  /// The number of a commit here, and the commits that it was made on.
  package struct Node: Sendable {
    /// Nil if only its identity is known.
    package var number: UInt64?
    package var parents: [CommitIdentity]
    package var undoes: CommitIdentity?
  }

  /// The index of a commit in the lists here.
  typealias Place = Int32

  /// A commit, or a run of commits that were left out: each but the first was made on the one before, and nothing else was made on any but
  /// the last. So a run costs the same whatever its length.
  struct Entry {
    /// Of the last commit of the run.
    var identity: CommitIdentity
    /// The number of the run's first commit, in its origin.
    var first: UInt64
    /// 0 if it is not in the file.
    var number: UInt64 = 0
    /// Of the first commit of the run.
    var parents: (Place, Place) = (-1, -1)
    /// Whether it is more than a parent that was named and never seen.
    var isKnown = false
  }

  // Only this file and `AncestryFile` set these.
  var entries: [Entry] = []
  var places: [CommitIdentity: Place] = [:]
  /// The entries of each origin by their numbers there.
  var origins: [UInt64: [Place]] = [:]
  /// Facts that few commits have.
  var undone: [Place: CommitIdentity] = [:]
  var squashed: [Place: [Pedigree.Run]] = [:]
  /// Numbers of the commits in the file that are not bookkeeping, ascending: each after its parents.
  package internal(set) var numbers: [UInt64] = []
  var placesOfNumbers: [Place] = []
  /// The file that the graph was read from, and the newest commit in it, of any kind.
  private(set) var generation: UInt64
  private(set) var newest: UInt64

  package init(_ store: any Engine) throws(StorageError) {
    self.init(generation: store.identity.generation)
    try readOn(store)
  }

  init(generation: UInt64, newest: UInt64 = 0) {
    self.generation = generation
    self.newest = newest
  }

  /// Adds the commits that were appended since; starts again if compaction has made another file.
  mutating func update(_ store: any Engine) throws(StorageError) {
    if store.identity.generation != generation { self = try CommitGraph(store) } else { try readOn(store) }
  }

  private mutating func readOn(_ store: any Engine) throws(StorageError) {
    let known = newest
    var descents: [CommitDescent] = []
    // A forged file may claim any number.
    if known == 0 { descents.reserveCapacity(Int(min(store.commitCount, 1 << 18))) }
    var latest = known
    var visited = 0
    try store.forEachDescent { commit throws(StorageError) in
      guard commit.number > known else { return false }
      latest = max(latest, commit.number)
      if !commit.flags.contains(.bookkeeping) { descents.append(commit) }
      visited += 1
      if visited % CommitSender.commitsHeld == 0 { store.releaseMemory() }
      return true
    }
    newest = latest
    if descents.count > 64 {
      entries.reserveCapacity(entries.count + descents.count)
      places.reserveCapacity(places.count + descents.count)
    }
    for descent in descents.reversed() { add(descent) }
  }

  mutating func add(_ commit: CommitRecord, _ pedigree: Pedigree?) {
    guard commit.number > newest else { return }
    newest = commit.number
    add(CommitDescent(of: commit, pedigree))
  }

  private mutating func add(_ commit: CommitDescent) {
    let told = commit.pedigree?.parents.map { placed($0) }
    let place = add(commit.identity, told ?? (placed(commit.firstParent), placed(commit.secondParent)))
    entries[Int(place)].number = commit.number
    if let undoes = commit.pedigree?.undoes ?? commit.undoes.flatMap({ identity(of: $0) }) { undone[place] = undoes }
    numbers.append(commit.number)
    placesOfNumbers.append(place)
    guard let runs = commit.pedigree?.squashed, !runs.isEmpty else { return }
    squashed[place] = runs
    for run in runs { add(run) }
  }

  /// Adds a run of commits that were left out, except for those that are known already: those sent again since are in the file.
  private mutating func add(_ run: Pedigree.Run) {
    var parents = placed(run.parents)
    var next = run.numbers.lowerBound
    func identity(_ number: UInt64) -> CommitIdentity { CommitIdentity(origin: run.origin, number: number) }
    let all = origins[run.origin] ?? []
    for place in all[all.partitionIndex { entries[Int($0)].identity.number >= next }...] {
      let entry = entries[Int(place)]
      guard entry.first <= run.numbers.upperBound else { break }
      if entry.first > next { parents = (add(identity(entry.first - 1), parents, from: next), -1) }
      if !entry.isKnown { add(entry.identity, parents, from: entry.first) }
      parents = (place, -1)
      guard entry.identity.number < run.numbers.upperBound else { return }
      next = entry.identity.number + 1
    }
    add(identity(run.numbers.upperBound), parents, from: next)
  }

  /// - Parameter first: The number of the first commit of a run; nil if it is one commit.
  @discardableResult
  private mutating func add(_ identity: CommitIdentity, _ parents: (Place, Place), from first: UInt64? = nil) -> Place {
    let place = placed(identity)
    let first = first ?? identity.number
    if entries[Int(place)].first < first { _ = split(place, after: first - 1) }
    entries[Int(place)].first = first
    entries[Int(place)].parents = parents
    entries[Int(place)].isKnown = true
    return place
  }

  private mutating func placed(_ parents: [CommitIdentity]) -> (Place, Place) {
    (parents.first.map { placed($0) } ?? -1, parents.count > 1 ? placed(parents[1]) : -1)
  }

  /// The place of a commit in the file; -1 if there is none.
  private func placed(_ number: UInt64) -> Place { number == 0 ? -1 : place(of: number) ?? -1 }

  private mutating func placed(_ identity: CommitIdentity) -> Place {
    if let place = places[identity] { return place }
    if let place = run(with: identity) { return split(place, after: identity.number) }
    return append(Entry(identity: identity, first: identity.number))
  }

  /// Splits a run in two; returns the place of the first. The second keeps the place, which is that of its last commit.
  private mutating func split(_ place: Place, after number: UInt64) -> Place {
    var lower = entries[Int(place)]
    lower.identity.number = number
    let lowerPlace = append(lower)
    entries[Int(place)].first = number + 1
    entries[Int(place)].parents = (lowerPlace, -1)
    return lowerPlace
  }

  private mutating func append(_ entry: Entry) -> Place {
    let place = Place(entries.count)
    entries.append(entry)
    places[entry.identity] = place
    let (origin, number) = (entry.identity.origin, entry.identity.number)
    // Nearly all come in their order. No other variable may hold the list, for then it would be copied.
    let isLast = origins[origin]?.last.map { entries[Int($0)].identity.number < number } ?? true
    let index = isLast ? nil : origins[origin]?.partitionIndex { entries[Int($0)].identity.number > number }
    origins[origin, default: []].insert(place, at: index ?? origins[origin]?.count ?? 0)
    return place
  }

  /// The run that contains a commit before its last one.
  private func run(with identity: CommitIdentity) -> Place? {
    guard let own = origins[identity.origin] else { return nil }
    let index = own.partitionIndex { entries[Int($0)].identity.number >= identity.number }
    guard index < own.count, entries[Int(own[index])].first <= identity.number else { return nil }
    return own[index]
  }

  // MARK: Asking

  private func known(_ identity: CommitIdentity) -> Place? {
    guard let place = places[identity] ?? run(with: identity), entries[Int(place)].isKnown else { return nil }
    return place
  }

  package subscript(identity: CommitIdentity) -> Node? {
    guard let place = known(identity) else { return nil }
    let entry = entries[Int(place)]
    let before = CommitIdentity(origin: identity.origin, number: identity.number &- 1)
    return Node(
      number: entry.number == 0 ? nil : entry.number,
      parents: identity.number > entry.first ? [before] : identities(entry.parents), undoes: undone[place])
  }

  private func identities(_ parents: (Place, Place)) -> [CommitIdentity] {
    [parents.0, parents.1].filter { $0 >= 0 }.map { entries[Int($0)].identity }
  }

  package func identity(of number: UInt64) -> CommitIdentity? { place(of: number).map { entries[Int($0)].identity } }

  private func place(of number: UInt64) -> Place? {
    // Most callers ask for the parent of the newest.
    if number == numbers.last { return placesOfNumbers.last }
    let index = numbers.partitionIndex { $0 >= number }
    return index < numbers.count && numbers[index] == number ? placesOfNumbers[index] : nil
  }

  /// The number of a commit that is in the file.
  package func number(of identity: CommitIdentity) -> UInt64? {
    guard let place = known(identity), entries[Int(place)].number > 0 else { return nil }
    return entries[Int(place)].number
  }

  package func knows(_ identity: CommitIdentity) -> Bool { known(identity) != nil }

  // MARK: Walking

  /// Marks commits and all their known ancestors.
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

  /// Numbers of the commits in the file that one history has and the other lacks; ascending, each after its parents.
  package func numbers(in heads: [CommitIdentity], butNotIn known: [CommitIdentity]) -> [UInt64] {
    let (wanted, there) = (reach(heads), reach(known))
    var missing: [UInt64] = []
    for (number, place) in zip(numbers, placesOfNumbers) where wanted[Int(place)] && !there[Int(place)] {
      missing.append(number)
    }
    return missing
  }

  /// Numbers of commits in the file, each after those of them that it was made on. That is the order of the numbers, unless compaction left
  /// one out and it was sent again since: such a commit comes after those that were made on it.
  package func parentsFirst(_ numbers: [UInt64]) -> [UInt64] {
    let wanted = numbers.sorted().compactMap { place(of: $0) }
    var isWanted = [Bool](repeating: false, count: entries.count)
    for place in wanted { isWanted[Int(place)] = true }
    var isSeen = [Bool](repeating: false, count: entries.count)
    var ordered: [UInt64] = []
    for place in wanted {
      var open = [(place: place, isLeft: false)]
      while let (next, isLeft) = open.popLast() {
        if isLeft {
          ordered.append(entries[Int(next)].number)
          continue
        }
        let entry = entries[Int(next)]
        // The other commits here lead to nothing that the receiver lacks.
        guard !isSeen[Int(next)], isWanted[Int(next)] || entry.number == 0 else { continue }
        isSeen[Int(next)] = true
        if isWanted[Int(next)] { open.append((next, true)) }
        for parent in [entry.parents.1, entry.parents.0] where parent >= 0 { open.append((parent, false)) }
      }
    }
    return ordered
  }

  /// The runs that are sent along with a commit: its ancestors that are not in the file, up to the next ones that are. Here other commits
  /// may give them, but the receiver does not get those.
  package func leftOut(before commit: CommitIdentity) -> [Pedigree.Run] {
    guard let place = known(commit) else { return [] }
    var left = squashed[place] ?? []
    var seen: Set<Place> = []
    var open = [entries[Int(place)].parents.0, entries[Int(place)].parents.1]
    while let next = open.popLast() {
      guard next >= 0, case let entry = entries[Int(next)], entry.isKnown, entry.number == 0, seen.insert(next).inserted
      else { continue }
      left.append(
        Pedigree.Run(
          origin: entry.identity.origin, numbers: entry.first...entry.identity.number,
          parents: identities(entry.parents)))
      open += [entry.parents.0, entry.parents.1]
    }
    return Pedigree.runs(left)
  }

  /// Whether one commit is another one or its descendant, along any parents.
  package func contains(_ ancestor: CommitIdentity, in commit: CommitIdentity) -> Bool {
    if ancestor == commit { return true }
    let reached = reach([commit])
    return known(ancestor).map { reached[Int($0)] } ?? false
  }

  /// The common ancestors that no other common ancestor was made on, in their order: one, or several after a criss-cross, or none if the
  /// two have nothing in common.
  package func nearestCommonAncestors(_ left: CommitIdentity, _ right: CommitIdentity) -> [CommitIdentity] {
    nearestCommonAncestors(ofMerge: [left], right)
  }

  /// The same for a merge of several commits and another one.
  func nearestCommonAncestors(ofMerge left: some Sequence<CommitIdentity>, _ right: CommitIdentity) -> [CommitIdentity]
  {
    let (one, other) = (reach(Array(left)), reach([right]))
    var nearest = entries.indices.map { one[$0] && other[$0] }
    for place in entries.indices where one[place] && other[place] {
      let parents = entries[place].parents
      if parents.0 >= 0 { nearest[Int(parents.0)] = false }
      if parents.1 >= 0 { nearest[Int(parents.1)] = false }
    }
    return entries.indices.filter { nearest[$0] }.map { entries[$0].identity }.sorted()
  }

  /// The commits whose content a merge of two needs: their nearest common ancestors, and, if there are several, the bases of a merge of
  /// each with those before it. The nearest come first.
  func basesOfMerge(_ left: CommitIdentity, _ right: CommitIdentity) -> [CommitIdentity] {
    var bases: [CommitIdentity] = []
    var searched: Set<[CommitIdentity]> = []
    var open = [([left][...], right)]
    while let (one, other) = open.popLast() {
      let nearest = nearestCommonAncestors(ofMerge: one, other)
      // Known bases in another company have common ancestors of their own.
      guard searched.count < Self.mostSearches, searched.insert(nearest).inserted else { continue }
      bases += nearest.filter { !bases.contains($0) }
      open += nearest.indices.dropFirst().map { (nearest[..<$0], nearest[$0]) }
    }
    return bases
  }

  /// Histories of people have few; a forged one may have any number.
  private static let mostSearches = 256

  /// Other merges of the parents of a merge.
  func mergesOfTheSame(as commit: CommitIdentity) -> [CommitIdentity] {
    guard let place = known(commit), case let parents = entries[Int(place)].parents, parents.1 >= 0 else { return [] }
    return entries.indices.filter { other in
      let (first, second) = entries[other].parents
      return Place(other) != place && ((first, second) == parents || (second, first) == parents)
    }
    .map { entries[$0].identity }
  }

  /// Whether all commits that only one of two histories has are merges.
  func differsInMergesOnly(_ left: CommitIdentity, _ right: CommitIdentity) -> Bool {
    let (one, other) = (reach([left]), reach([right]))
    return entries.indices.allSatisfy { one[$0] == other[$0] || entries[$0].parents.1 >= 0 }
  }

  /// The commits that a peer is asked about to find out which it lacks: the tips, all names' commits, and ancestors at doubling distances.
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

  /// Those of some commits that are not ancestors of others of them, in their order.
  package func newest(of commits: [CommitIdentity]) -> [CommitIdentity] {
    let all = Set(commits.compactMap { known($0) })
    let older = reach(all.flatMap { [entries[Int($0)].parents.0, entries[Int($0)].parents.1] }.filter { $0 >= 0 })
    return all.filter { !older[Int($0)] }.map { entries[Int($0)].identity }.sorted()
  }

  /// Commits of the file without a descendant: heads of all that came in, the oldest first.
  package var leaves: [CommitIdentity] {
    var isParent = [Bool](repeating: false, count: entries.count)
    for entry in entries where entry.isKnown {
      if entry.parents.0 >= 0 { isParent[Int(entry.parents.0)] = true }
      if entry.parents.1 >= 0 { isParent[Int(entry.parents.1)] = true }
    }
    return placesOfNumbers.filter { !isParent[Int($0)] }.map { entries[Int($0)].identity }
  }
}
