import Locks
import StorageEngine

/// A state of a store on a server, as the engine's `View` holds one.
final class EngineView: ServedView {
  let engine: ServerEngine
  let view: ServerView
  /// What the server said along with the view.
  private let foreseen: ReadAhead.Answer?

  init(_ engine: ServerEngine, _ view: ServerView, _ foreseen: ReadAhead.Answer? = nil) {
    self.engine = engine
    self.view = view
    self.foreseen = foreseen
  }

  func tree(_ name: TreeName) throws(StorageError) -> Tree? {
    guard let tree = try onServer({ () throws(ServerError) in try view.tree(name) }) else { return nil }
    let entries = EngineEntries(name: name, tree: tree.identifier, kind: tree.kind, engine: engine) {
      [view] name throws(ServerError) in
      try view.tree(name).map { tree in (tree.identifier, { keys throws(ServerError) in try tree.find(keys) }) }
    }
    return Tree(
      name: name, identifier: UInt32(bitPattern: tree.identifier), kind: tree.kind, attributes: Bytes(tree.attributes),
      served: EngineTree(tree, entries, foreseen))
  }

  func trees(prefix: [UInt8]) throws(StorageError) -> [TreeName] {
    try onServer { () throws(ServerError) in try view.trees(prefix: prefix) }
  }

  func versions(
    of key: [UInt8], in name: TreeName, before: UInt64?, limit: Int
  ) throws(StorageError) -> [Version] {
    try onServer { () throws(ServerError) in
      guard let tree = try engine.server.catalog(upTo: view.asOf).latest(name, upTo: view.asOf) else { return [] }
      // One more, which the last of them replaced.
      let found = try view.versions(of: key, in: name, before: before, limit: limit + 1)
      var versions: [Version] = []
      var older: ServedRecord?
      for version in found.reversed() {
        let record = ServedRecord(version, key: key, tree: tree.tree, replaced: older)
        versions.append(Version(commit: version.commit, isRestored: version.isRestored, change: record.change))
        // A chain of all versions would keep all of their values.
        older = ServedRecord(version, key: key, tree: tree.tree, replaced: nil)
      }
      return Array(versions.reversed().prefix(limit))
    }
  }

  func differences(
    to newer: any ServedView, in name: TreeName, from key: [UInt8]
  ) throws(StorageError) -> ServedDifferencePage {
    guard let newer = newer as? EngineView else {
      throw .server(.refused, reason: "the two states are not of the same kind of store")
    }
    return try onServer { () throws(ServerError) in
      let (before, after) = (try view.tree(name), try newer.view.tree(name))
      let entries = { (tree: ServerTree, view: EngineView) in
        EngineEntries(name: name, tree: tree.identifier, kind: tree.kind, engine: view.engine) {
          [view = view.view] name throws(ServerError) in
          try view.tree(name).map { tree in (tree.identifier, { keys throws(ServerError) in try tree.find(keys) }) }
        }
      }
      if let before, let after, before.identifier == after.identifier {
        let page = try ServerDifferenceCursor.page(
          store: engine.server, tree: after.row, from: view.asOf, to: newer.view.asOf, key: key)
        let (old, new) = (entries(before, self), entries(after, newer))
        return ServedDifferencePage(
          differences: page.differences.map { found in
            Difference(
              key: Bytes(found.key), old: found.old.map { old.entry($0) }, new: found.new.map { new.entry($0) })
          }, next: page.next)
      }
      // Two trees that share nothing, or one alone.
      let limit = 1_000
      let range = KeyRange(from: key)
      let old = try before?.page(range, limit: limit) ?? []
      let new = try after?.page(range, limit: limit) ?? []
      let ends = [old.count == limit ? old.last?.key : nil, new.count == limit ? new.last?.key : nil].compactMap(\.self)
      let end = ends.min { $0.lexicographicallyPrecedes($1) }
      var differences: [[UInt8]: Difference] = [:]
      func isWithin(_ key: [UInt8]) -> Bool { end.map { !$0.lexicographicallyPrecedes(key) } ?? true }
      if let before {
        let source = entries(before, self)
        for entry in old where isWithin(entry.key) {
          differences[entry.key] = Difference(key: Bytes(entry.key), old: source.entry(entry), new: nil)
        }
      }
      if let after {
        let source = entries(after, newer)
        for entry in new where isWithin(entry.key) {
          differences[entry.key, default: Difference(key: Bytes(entry.key), old: nil, new: nil)].new =
            source.entry(entry)
        }
      }
      return ServedDifferencePage(
        differences: differences.values.sorted { $0.key < $1.key }, next: end.map { $0 + [0] })
    }
  }
}

extension ServedRecord {
  convenience init(_ version: ServerVersion, key: [UInt8], tree: Int32, replaced: ServedRecord?) {
    let bytes: Bytes = if case .bytes(let value)? = version.entry?.payload { Bytes(value) } else { Bytes() }
    self.init(
      tree: UInt32(bitPattern: tree), key: Bytes(key), commit: version.entry?.written ?? version.commit,
      kind: version.entry == nil ? .delete : .put, replaced: replaced, value: { bytes })
  }
}

/// Where the entries of a tree come from: a view's tree, or a transaction's.
protocol ServerEntries: Sendable {
  func find(_ keys: [[UInt8]]) throws(ServerError) -> [ServerEntry?]
  func page(_ range: KeyRange, limit: Int, isReversed: Bool) throws(ServerError) -> [ServerEntry]
  /// Its keys, each with the record that its end names, where that comes without another round trip.
  func page(
    _ range: KeyRange, limit: Int, isReversed: Bool, records: Int32
  ) throws(ServerError) -> [KeyWithRecord]
  func count(_ range: KeyRange) throws(ServerError) -> UInt64
  /// How many entries lie before a key, as a place to go to.
  func rank(of key: [UInt8]) throws(ServerError) -> UInt64
  /// The key that just so many entries lie before; nil where there are not so many.
  func key(atRank rank: UInt64) throws(ServerError) -> [UInt8]?
  /// Notes that somebody goes by what lies in a range.
  func remember(_ range: KeyRange)
}

extension ServerTree: ServerEntries {
  func key(atRank rank: UInt64) throws(ServerError) -> [UInt8]? { try page(rank: rank, limit: 1).first?.key }
  func remember(_ range: KeyRange) {}
}

extension DraftTree: ServerEntries {
  func page(
    _ range: KeyRange, limit: Int, isReversed: Bool, records: Int32
  ) throws(ServerError) -> [KeyWithRecord] {
    try page(range, limit: limit, isReversed: isReversed).map { KeyWithRecord(key: $0.key, record: nil) }
  }

  func rank(of key: [UInt8]) throws(ServerError) -> UInt64 { try counted(KeyRange(to: key)) }
  func remember(_ range: KeyRange) { if stored != nil { reads.remember(range, of: number) } }

  func key(atRank rank: UInt64) throws(ServerError) -> [UInt8]? {
    if writes.isEmpty, let key = try stored?.key(atRank: rank) {
      reads.remember(KeyRange(to: key + [0]), of: number)
      return key
    }
    var range = KeyRange()
    var left = rank
    while true {
      let entries = try page(range, limit: 2_000, isReversed: false)
      if left < UInt64(entries.count) { return entries[Int(left)].key }
      left -= UInt64(entries.count)
      guard entries.count == 2_000, let last = entries.last else { return nil }
      range.lower = last.key + [0]
    }
  }
}

/// Makes the engine's entries of a server's.
struct EngineEntries: Sendable {
  let name: TreeName
  let tree: Int32
  let kind: TreeKind
  let engine: ServerEngine
  /// A tree of the same moment, where records are that entries refer to: its number, and what looks keys up there.
  let records:
    @Sendable (TreeName) throws(ServerError) -> (
      number: Int32, find: @Sendable ([[UInt8]]) throws(ServerError) -> [ServerEntry?]
    )?

  init(
    name: TreeName, tree: Int32, kind: TreeKind, engine: ServerEngine,
    records:
      @escaping @Sendable (TreeName) throws(ServerError) -> (
        number: Int32, find: @Sendable ([[UInt8]]) throws(ServerError) -> [ServerEntry?]
      )?
  ) {
    self.name = name
    self.tree = tree
    self.kind = kind
    self.engine = engine
    self.records = records
  }

  /// - Parameter value: the value of the record that the entry refers to, where it was asked for already.
  func entry(_ entry: ServerEntry, value: Bytes? = nil) -> Entry {
    let key = Bytes(entry.key)
    switch entry.payload {
    case .none: return Entry(key: key, payload: .none)
    case .bytes(let bytes) where kind == .records:
      let value = Bytes(bytes)
      let record = ServedRecord(
        tree: UInt32(bitPattern: tree), key: key, commit: entry.written, value: { value })
      return Entry(key: key, payload: .record(record.reference))
    case .bytes(let bytes): return Entry(key: key, payload: .bytes(Bytes(bytes)))
    case .record(let commit): return Entry(key: key, payload: .record(reference(of: entry, commit, value)))
    }
  }

  private func reference(of entry: ServerEntry, _ commit: UInt64, _ value: Bytes?) -> RecordReference {
    guard let place = engine.record(name, entry.key) else {
      return RecordReference(place: commit, length: 0, check: 0)
    }
    let number = (try? records(place.tree))?.number ?? 0
    let records = records
    return ServedRecord(
      tree: UInt32(bitPattern: number), key: Bytes(place.key), commit: commit,
      value: { () throws(StorageError) in
        if let value { return value }
        let found = try onServer { () throws(ServerError) in try records(place.tree)?.find([place.key])[0] }
        guard case .bytes(let bytes)? = found?.payload else {
          throw .server(.damaged, reason: "an entry of \(name) refers to no record")
        }
        return Bytes(bytes)
      }
    ).reference
  }

  /// Entries with the values that they refer to: one more round trip where they refer to records of another tree.
  func page(_ page: [ServerEntry]) throws(ServerError) -> [Entry] {
    var places: [(tree: TreeName, key: [UInt8])?] = []
    for entry in page {
      if case .record = entry.payload { places.append(engine.record(name, entry.key)) } else { places.append(nil) }
    }
    guard let tree = places.compactMap({ $0?.tree }).first, let records = try records(tree) else {
      return page.map { entry($0) }
    }
    let wanted = places.indices.filter { places[$0]?.tree == tree }
    let found = try records.find(wanted.compactMap { places[$0]?.key })
    var values = [Bytes?](repeating: nil, count: page.count)
    for (place, record) in zip(wanted, found) {
      if case .bytes(let bytes)? = record?.payload { values[place] = Bytes(bytes) }
    }
    return zip(page, values).map { entry($0, value: $1) }
  }
}

extension EngineEntries {
  /// The rows of a page of a tree that holds the records itself.
  func rows(_ page: [ServerEntry]) -> [PageRow] {
    page.map { found in
      let entry = entry(found)
      return PageRow(key: entry.key, record: entry.payload.record)
    }
  }

  /// The rows of a page of an index. Records that did not come along are asked for.
  func rows(
    _ page: [KeyWithRecord],
    in records: (
      number: Int32, find: @Sendable ([[UInt8]]) throws(ServerError) -> [ServerEntry?]
    )
  ) throws(ServerError) -> [PageRow] {
    let tree = UInt32(bitPattern: records.number)
    var missing: [(place: Int, key: [UInt8])] = []
    var rows: [PageRow] = []
    rows.reserveCapacity(page.count)
    for (place, row) in page.enumerated() {
      rows.append(PageRow(key: Bytes(row.key), record: nil))
      guard let key = engine.record(name, row.key)?.key else { continue }
      // What came along is the record of the key's end, as the server finds that.
      guard let record = row.record, ServerTree.endOfKey(row.key)?.elementsEqual(key) == true else {
        missing.append((place, key))
        continue
      }
      rows[place].record =
        ServedRecord(tree: tree, key: Bytes(key), commit: record.written, value: { record.value }).reference
    }
    guard !missing.isEmpty else { return rows }
    let found = try records.find(missing.map(\.key))
    for (place, record) in zip(missing.map(\.place), found) {
      guard let record, case .bytes(let bytes) = record.payload else { continue }
      let value = Bytes(bytes)
      rows[place].record =
        ServedRecord(tree: tree, key: Bytes(record.key), commit: record.written, value: { value }).reference
    }
    return rows
  }
}

/// A tree on a server, as the engine's `Tree` holds one.
final class EngineTree: ServedTree {
  private let source: any ServerEntries
  private let entries: EngineEntries
  private let foreseen: ReadAhead.Answer?
  private let known = Mutex(Known())

  /// The tree never changes, so what was counted once stays so.
  private struct Known {
    var count: UInt64?
    /// Bounds by the number of entries before them: who asks for ranks goes there next.
    var bounds: [UInt64: [UInt8]] = [:]
    /// The least and the greatest bound that was counted to.
    var span: (lower: [UInt8], upper: [UInt8])?
  }

  init(_ source: any ServerEntries, _ entries: EngineEntries, _ foreseen: ReadAhead.Answer? = nil) {
    self.source = source
    self.entries = entries
    self.foreseen = foreseen
  }

  var count: UInt64 {
    get throws(StorageError) {
      if let count = known.withLock({ $0.count }) { return count }
      let count = try onServer { () throws(ServerError) in try source.count(KeyRange()) }
      known.withLock { $0.count = count }
      return count
    }
  }

  func find(_ keys: [[UInt8]]) throws(StorageError) -> [Entry?] {
    if case .keys(let known)? = foreseen {
      let found = keys.compactMap { known[TreeKey(tree: entries.tree, key: $0)] }
      if found.count == keys.count { return found.map { entry in entry.map { entries.entry($0) } } }
    }
    return try onServer { () throws(ServerError) in try source.find(keys) }.map { found in
      found.map { entries.entry($0) }
    }
  }

  func rank(of key: [UInt8]) throws(StorageError) -> UInt64 {
    if key.isEmpty { return 0 }
    let rank = try onServer { () throws(ServerError) in try source.rank(of: key) }
    // A rank alone is a place to go to, and what is read there is remembered; two of them tell how much lies between.
    let span = known.withLock { known in
      let span = known.span ?? (key, key)
      let wider = (
        lower: key.lexicographicallyPrecedes(span.lower) ? key : span.lower,
        upper: span.upper.lexicographicallyPrecedes(key) ? key : span.upper
      )
      known.span = wider
      return wider
    }
    if span.lower != span.upper { source.remember(KeyRange(from: span.lower, to: span.upper)) }
    known.withLock { known in
      if known.bounds.count > 1_000 { known.bounds.removeAll() }
      known.bounds[rank] = key
    }
    return rank
  }

  func page(from lower: [UInt8], to upper: [UInt8]?, limit: Int, isReversed: Bool) throws(StorageError) -> [Entry] {
    try onServer { () throws(ServerError) in
      try entries.page(source.page(KeyRange(from: lower, to: upper), limit: limit, isReversed: isReversed))
    }
  }

  func page(_ request: PageRequest) throws(StorageError) -> [PageRow] {
    try onServer { () throws(ServerError) in
      let range = KeyRange(from: request.lower, to: request.upper)
      guard let name = request.records else {
        if case .page(request, tree: entries.tree, let page)? = foreseen { return entries.rows(page) }
        return entries.rows(try source.page(range, limit: request.limit, isReversed: request.isReversed))
      }
      guard let records = try entries.records(name) else { return [] }
      if case .pageWithRecords(request, tree: entries.tree, records: records.number, let page)? = foreseen {
        return try entries.rows(page, in: records)
      }
      let page = try source.page(
        range, limit: request.limit, isReversed: request.isReversed, records: records.number)
      return try entries.rows(page, in: records)
    }
  }

  func bound(atRank rank: UInt64) throws(StorageError) -> [UInt8]? {
    let (own, next, count) = known.withLock { ($0.bounds[rank], $0.bounds[rank + 1], $0.count) }
    if let own { return own }
    if let count, rank >= count { return nil }
    return try onServer { () throws(ServerError) in
      // The one before a known bound.
      if let next { return try source.page(KeyRange(to: next), limit: 1, isReversed: true).first?.key }
      if let count, rank == count - 1 { return try source.page(KeyRange(), limit: 1, isReversed: true).first?.key }
      return try source.key(atRank: rank)
    }
  }
}
