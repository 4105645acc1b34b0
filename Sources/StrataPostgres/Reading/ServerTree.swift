import StrataLocks
package import StrataEngine

/// A tree on a server as of a commit, or as a transaction sees it at one moment: the tree of its view with the transaction's writes over
/// it. Its contents never change. Safe from any thread.
package final class ServerTree: ServedTree {
  package let name: TreeName
  /// The lasting number of the tree.
  package let number: Int32
  package let kind: TreeKind
  package let attributes: [UInt8]
  let store: ServerStore
  /// The tree of the view; nil if the transaction has made the tree.
  let stored: StoredTree?
  private let draft: Draft?
  /// The server's answer that came along with the view.
  private let prefetched: ReadAhead.Answer?
  /// Another tree of the same moment.
  private let sibling: @Sendable (TreeName) throws(StorageError) -> ServerTree?
  private let known = Mutex(Known())

  /// The writes of a transaction, and the place that records what it reads of its view.
  struct Draft: Sendable {
    var writes: SortedWrites
    var reads: RememberedReads
  }

  private struct Known {
    var count: UInt64?
    /// Bounds by the number of entries before them: a caller that asks for ranks reads from there next.
    var bounds: [UInt64: [UInt8]] = [:]
    /// The least and the greatest bound that was counted to.
    var span: (lower: [UInt8], upper: [UInt8])?
  }

  /// - Parameter draft: nil if it is a tree of a view.
  init(
    _ tree: ServerTransaction.TreeDraft, _ name: TreeName, _ stored: StoredTree?, _ draft: Draft? = nil,
    of store: ServerStore, prefetched: ReadAhead.Answer? = nil,
    sibling: @escaping @Sendable (TreeName) throws(StorageError) -> ServerTree?
  ) {
    (self.store, self.name, number) = (store, name, tree.tree)
    (kind, attributes) = (tree.kind, tree.attributes)
    (self.stored, self.draft, self.prefetched, self.sibling) = (stored, draft, prefetched, sibling)
  }

  /// The tree as the layers above know it.
  var tree: Tree {
    Tree(name: name, identifier: UInt32(bitPattern: number), kind: kind, attributes: Bytes(attributes), served: self)
  }

  // MARK: Entries as they are stored

  /// The entry of a key, or nil.
  package func look(for key: [UInt8]) throws(StorageError) -> ServerEntry? { try look(for: [key])[0] }

  /// The entries of keys, in the order of the keys. At most one round trip.
  package func look(for keys: [[UInt8]]) throws(StorageError) -> [ServerEntry?] {
    guard let draft else { return try stored?.find(keys) ?? [] }
    var found = [ServerEntry?](repeating: nil, count: keys.count)
    var asked: [Int] = []
    for (place, key) in keys.enumerated() {
      if let write = draft.writes[key] { found[place] = Self.entry(key, write) } else { asked.append(place) }
    }
    guard let stored, !asked.isEmpty else { return found }
    let places = asked.map { TreeKey(tree: number, key: keys[$0]) }
    for (place, answer) in zip(asked, try draft.reads.find(places, in: store, asOf: stored.asOf)) {
      found[place] = answer
    }
    return found
  }

  private static func entry(_ key: [UInt8], _ write: KeyWrite) -> ServerEntry? {
    write.payload.map { ServerEntry(key: key, payload: $0, born: 0, written: write.written ?? 0) }
  }

  /// The first entries of a range, or the last in falling order. One round trip, or a few if the transaction deleted much of the range.
  package func entries(
    _ range: KeyRange = KeyRange(), limit: Int, isReversed: Bool = false
  ) throws(StorageError) -> [ServerEntry] {
    guard let draft else { return try stored?.page(range, limit: limit, isReversed: isReversed) ?? [] }
    /// The part of a range up to the last entry that was returned, and the rest behind it.
    func cut(_ range: KeyRange, behind last: ServerEntry) -> (before: KeyRange, rest: KeyRange) {
      var (before, rest) = (range, range)
      if isReversed {
        (before.lower, rest.upper) = (last.key, last.key)
      } else {
        (before.upper, rest.lower) = (last.key + [0], last.key + [0])
      }
      return (before, rest)
    }
    var entries: [ServerEntry] = []
    var rest = range
    while entries.count < limit {
      let base = try stored?.page(rest, limit: limit, isReversed: isReversed) ?? []
      guard base.count == limit, let last = base.last else {
        merge(base, rest, draft.writes, into: &entries, limit: limit, isReversed: isReversed)
        break
      }
      let parts = cut(rest, behind: last)
      merge(base, parts.before, draft.writes, into: &entries, limit: limit, isReversed: isReversed)
      rest = parts.rest
    }
    // Depends on the range up to the last entry returned, or on all of it if there are no more.
    remember(entries.count == limit ? entries.last.map { cut(range, behind: $0).before } ?? range : range)
    return entries
  }

  private func merge(
    _ base: [ServerEntry], _ range: KeyRange, _ writes: SortedWrites, into entries: inout [ServerEntry], limit: Int,
    isReversed: Bool
  ) {
    let own = writes.walk(range, isReversed: isReversed)
    var next = own.next()
    var stored = base[...]
    while entries.count < limit {
      guard let write = next else {
        entries += stored.prefix(limit - entries.count)
        return
      }
      if let first = stored.first, first.key != write.key, first.key.precedes(write.key) != isReversed {
        entries.append(stored.removeFirst())
        continue
      }
      if stored.first?.key == write.key { stored.removeFirst() }
      if let entry = Self.entry(write.key, write.write) { entries.append(entry) }
      next = own.next()
    }
  }

  /// The number of entries in a range.
  package func count(_ range: KeyRange) throws(StorageError) -> UInt64 {
    let count = try counted(range)
    remember(range)
    return count
  }

  /// Counts without noting that the transaction depends on the range.
  private func counted(_ range: KeyRange) throws(StorageError) -> UInt64 {
    var count = try stored?.count(range) ?? 0
    guard let own = draft?.writes.walk(range, isReversed: false) else { return count }
    var keys: [[UInt8]] = []
    for write in own {
      keys.append(write.key)
      if write.write.payload != nil { count += 1 }
    }
    guard let stored, !keys.isEmpty else { return count }
    let known = UInt64(try stored.find(keys).count { $0 != nil })
    guard known <= count else { throw .damagedOnServer("\(name) has more entries than the server counts") }
    return count - known
  }

  /// Notes that the transaction depends on the entries of a range.
  private func remember(_ range: KeyRange) {
    if stored != nil { draft?.reads.remember(range, of: number) }
  }

  // MARK: Entries as the layers above know them

  package var count: UInt64 {
    get throws(StorageError) {
      if let count = known.withLock({ $0.count }) { return count }
      let count = try count(KeyRange())
      known.withLock { $0.count = count }
      return count
    }
  }

  package func find(_ keys: [[UInt8]]) throws(StorageError) -> [Entry?] {
    if case .keys(let known)? = prefetched {
      let found = keys.compactMap { known[TreeKey(tree: number, key: $0)] }
      if found.count == keys.count { return found.map { $0.map { entry($0) } } }
    }
    return try look(for: keys).map { $0.map { entry($0) } }
  }

  package func rank(of key: [UInt8]) throws(StorageError) -> UInt64 {
    if key.isEmpty { return 0 }
    let rank = try counted(KeyRange(upper: key))
    // One rank alone is a position, and reads from there are noted themselves. Two ranks give the number of entries between them.
    let span = known.withLock { known in
      let span = known.span ?? (key, key)
      let wider = (
        lower: key.precedes(span.lower) ? key : span.lower, upper: span.upper.precedes(key) ? key : span.upper
      )
      known.span = wider
      if known.bounds.count > 1_000 { known.bounds.removeAll() }
      known.bounds[rank] = key
      return wider
    }
    if span.lower != span.upper { remember(KeyRange(lower: span.lower, upper: span.upper)) }
    return rank
  }

  /// Entries with the values that they refer to: one more round trip if they refer to records of another tree.
  package func page(
    from lower: [UInt8], to upper: [UInt8]?, limit: Int, isReversed: Bool
  ) throws(StorageError) -> [Entry] {
    let page = try entries(KeyRange(lower: lower, upper: upper), limit: limit, isReversed: isReversed)
    let places = page.map { entry -> (tree: TreeName, key: [UInt8])? in
      if case .record = entry.payload { store.record(name, entry.key) } else { nil }
    }
    guard let tree = places.lazy.compactMap({ $0?.tree }).first, let records = try sibling(tree) else {
      return page.map { entry($0) }
    }
    let wanted = places.indices.filter { places[$0]?.tree == tree }
    let found = try records.look(for: wanted.compactMap { places[$0]?.key })
    var values = [Bytes?](repeating: nil, count: page.count)
    for (place, record) in zip(wanted, found) {
      if case .bytes(let bytes)? = record?.payload { values[place] = Bytes(bytes) }
    }
    return zip(page, values).map { entry($0, value: $1) }
  }

  package func page(_ request: PageRequest) throws(StorageError) -> [PageRow] {
    let (range, limit, isReversed) = (
      KeyRange(lower: request.lower, upper: request.upper), request.limit, request.isReversed
    )
    guard let name = request.records else {
      func row(_ found: ServerEntry) -> PageRow {
        PageRow(key: Bytes(found.key), record: entry(found).payload.record)
      }
      if case .page(request, tree: number, let known)? = prefetched { return known.map(row) }
      return try entries(range, limit: limit, isReversed: isReversed).map(row)
    }
    guard let records = try sibling(name) else { return [] }
    if case .pageWithRecords(request, tree: number, records: records.number, let known)? = prefetched {
      return try rows(known, in: records)
    }
    if draft == nil, let stored {
      return try rows(
        stored.page(range, limit: limit, isReversed: isReversed, records: records.number), in: records)
    }
    let page = try entries(range, limit: limit, isReversed: isReversed)
    return try rows(page.map { KeyWithRecord(key: $0.key, record: nil) }, in: records)
  }

  /// The rows of a page of an index. Records that did not come with the page are asked for.
  private func rows(_ page: [KeyWithRecord], in records: ServerTree) throws(StorageError) -> [PageRow] {
    var missing: [(place: Int, key: [UInt8])] = []
    var rows: [PageRow] = []
    rows.reserveCapacity(page.count)
    for (place, row) in page.enumerated() {
      rows.append(PageRow(key: Bytes(row.key), record: nil))
      guard let key = store.record(name, row.key)?.key else { continue }
      // The server sent the record of what it takes for the end of the key.
      guard let record = row.record, StoredTree.endOfKey(row.key)?.elementsEqual(key) == true else {
        missing.append((place, key))
        continue
      }
      rows[place].record = records.reference(to: Bytes(key), writtenBy: record.written) { record.value }
    }
    guard !missing.isEmpty else { return rows }
    for (place, record) in zip(missing.map(\.place), try records.look(for: missing.map(\.key))) {
      if let record { rows[place].record = records.entry(record).payload.record }
    }
    return rows
  }

  package func bound(atRank rank: UInt64) throws(StorageError) -> [UInt8]? {
    let (own, next, count) = known.withLock { ($0.bounds[rank], $0.bounds[rank + 1], $0.count) }
    if let own { return own }
    if let count, rank >= count { return nil }
    // The one before a known bound.
    if let next { return try entries(KeyRange(upper: next), limit: 1, isReversed: true).first?.key }
    if let count, rank == count - 1 { return try entries(limit: 1, isReversed: true).first?.key }
    if draft?.writes.isEmpty ?? true, let stored {
      if let key = try stored.key(atRank: rank) {
        remember(KeyRange(upper: key + [0]))
        return key
      }
      // The rank is past the end: a transaction depends on all entries, which the walk below notes.
      if draft == nil { return nil }
    }
    var (range, left) = (KeyRange(), rank)
    while true {
      let page = try entries(range, limit: 2_000)
      if left < UInt64(page.count) { return page[Int(left)].key }
      left -= UInt64(page.count)
      guard page.count == 2_000, let last = page.last else { return nil }
      range.lower = last.key + [0]
    }
  }

  // MARK: Records

  /// - Parameter value: The value of the record that the entry refers to, if it was asked for already.
  func entry(_ entry: ServerEntry, value: Bytes? = nil) -> Entry {
    let key = Bytes(entry.key)
    switch entry.payload {
    case .none: return Entry(key: key, payload: .none)
    case .bytes(let bytes) where kind == .records:
      let value = Bytes(bytes)
      return Entry(key: key, payload: .record(reference(to: key, writtenBy: entry.written) { value }))
    case .bytes(let bytes): return Entry(key: key, payload: .bytes(Bytes(bytes)))
    case .record(let commit):
      return Entry(key: key, payload: .record(reference(of: entry.key, writtenBy: commit, value)))
    }
  }

  private func reference(
    to key: Bytes, writtenBy commit: UInt64, value: @escaping @Sendable () throws(StorageError) -> Bytes
  ) -> RecordReference {
    ServedRecord(tree: UInt32(bitPattern: number), key: key, commit: commit, value: value).reference
  }

  /// The record that an entry of an index refers to.
  private func reference(of key: [UInt8], writtenBy commit: UInt64, _ value: Bytes?) -> RecordReference {
    guard let place = store.record(name, key) else { return RecordReference(place: commit, length: 0, check: 0) }
    let number = (try? sibling(place.tree))?.number ?? 0
    return ServedRecord(
      tree: UInt32(bitPattern: number), key: Bytes(place.key), commit: commit,
      value: { [name, sibling] () throws(StorageError) in
        if let value { return value }
        guard case .bytes(let bytes)? = try sibling(place.tree)?.look(for: place.key)?.payload else {
          throw .server(.damaged, reason: "an entry of \(name) refers to no record")
        }
        return Bytes(bytes)
      }
    ).reference
  }
}
