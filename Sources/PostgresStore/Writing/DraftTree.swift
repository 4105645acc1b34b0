import StorageEngine

/// A tree as a transaction had it at one moment: what its view has, and what was written over that. What is read of the view is
/// remembered by the transaction.
struct DraftTree: Sendable {
  let name: TreeName
  let number: Int32
  let kind: TreeKind
  let attributes: [UInt8]
  /// What the view has; nil where the tree is new.
  let stored: ServerTree?
  let writes: SortedWrites
  let reads: RememberedReads

  // MARK: Entries

  /// The entries of keys, each in the place of its key. At most one round trip.
  func find(_ keys: [[UInt8]]) throws(ServerError) -> [ServerEntry?] {
    var found = [ServerEntry?](repeating: nil, count: keys.count)
    var asked: [Int] = []
    for (place, key) in keys.enumerated() {
      if let write = writes[key] { found[place] = Self.entry(key, write) } else { asked.append(place) }
    }
    guard let stored, !asked.isEmpty else { return found }
    let places = asked.map { TreeKey(tree: number, key: keys[$0]) }
    let answers = try reads.find(places, in: stored.store, asOf: stored.asOf)
    for (place, answer) in zip(asked, answers) { found[place] = answer }
    return found
  }

  static func entry(_ key: [UInt8], _ write: KeyWrite) -> ServerEntry? {
    write.payload.map { ServerEntry(key: key, payload: $0, born: 0, written: write.written ?? 0) }
  }

  /// The first entries of a range, or the last in falling order. One round trip, or a few where much in the range was deleted by the
  /// transaction.
  func page(_ range: KeyRange, limit: Int, isReversed: Bool) throws(ServerError) -> [ServerEntry] {
    var entries: [ServerEntry] = []
    var rest = range
    while entries.count < limit {
      let base = try stored?.page(rest, limit: limit, isReversed: isReversed) ?? []
      var part = rest
      let isFull = base.count == limit
      if isFull, let last = base.last {
        if isReversed { part.lower = last.key } else { part.upper = last.key + [0] }
      }
      merge(base, part, into: &entries, limit: limit, isReversed: isReversed)
      guard isFull else { break }
      if isReversed { rest.upper = part.lower } else { rest.lower = part.upper ?? rest.lower }
    }
    if stored != nil { reads.remember(seen(of: range, entries, limit: limit, isReversed: isReversed), of: number) }
    return entries
  }

  /// What of a range was gone by: as far as the entries that are answered, or all of it where there are no more.
  private func seen(of range: KeyRange, _ entries: [ServerEntry], limit: Int, isReversed: Bool) -> KeyRange {
    var seen = range
    if entries.count == limit, let last = entries.last {
      if isReversed { seen.lower = last.key } else { seen.upper = last.key + [0] }
    }
    return seen
  }

  private func merge(
    _ base: [ServerEntry], _ range: KeyRange, into entries: inout [ServerEntry], limit: Int, isReversed: Bool
  ) {
    var own = writes.walk(range, isReversed: isReversed)
    var stored = base[...]
    while entries.count < limit {
      guard let write = own.current else {
        entries += stored.prefix(limit - entries.count)
        return
      }
      if let first = stored.first, first.key != write.key,
        first.key.precedes(write.key) != isReversed
      {
        entries.append(stored.removeFirst())
        continue
      }
      if stored.first?.key == write.key { stored.removeFirst() }
      if let entry = Self.entry(write.key, write.write) { entries.append(entry) }
      own.next()
    }
  }

  // MARK: Counting

  /// How many entries there are in a range.
  func count(_ range: KeyRange = KeyRange()) throws(ServerError) -> UInt64 {
    let count = try counted(range)
    if stored != nil { reads.remember(range, of: number) }
    return count
  }

  /// The same for who does not go by it.
  func counted(_ range: KeyRange) throws(ServerError) -> UInt64 {
    var own = writes.walk(range, isReversed: false)
    var count: UInt64 = 0
    var keys: [[UInt8]] = []
    while let write = own.current {
      keys.append(write.key)
      if write.write.payload != nil { count += 1 }
      own.next()
    }
    guard let stored else { return count }
    count += try stored.count(range)
    if !keys.isEmpty { count -= UInt64(try stored.find(keys).count { $0 != nil }) }
    return count
  }
}
