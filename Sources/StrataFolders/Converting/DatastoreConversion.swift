import StrataModel

/// Brings one datastore of the new store from the state that was written last to the next one.
///
/// It writes the difference of the two states' pages, so a commit costs as much as its changes. An entry that cannot be read is left out
/// and reported. Every other entry is put, deleted or left by its key, so that damage in one state does not spoil the next.
struct DatastoreConversion {
  let key: String
  private let builder: StoreBuilder
  private let stale: StaleIndexes
  private(set) var descriptor: DatastoreDescriptor?
  /// The state of the folder that was written last.
  private(set) var written: FolderDatastore?
  /// The root that was written last.
  var rootFile: String?
  /// The folders of the indexes that are in the new store.
  private var indexFolders: [String: String] = [:]
  /// The order of the identifiers if only the app can compare them.
  private var order: StoredOrder?
  private(set) var omissions: [String: Int] = [:]
  /// Called now and then with the number of records and entries written since.
  private let step: (Int) throws(ModelError) -> Void
  private var steps = 0
  /// Records of this commit that replaced others, kept until the direct entries are written.
  private var updated: Set<[UInt8]> = []
  /// Entries of the present state, by index, that are too long for a key.
  private var longEntries: [String: Set<[UInt8]>] = [:]

  init(_ key: String, _ builder: StoreBuilder, _ stale: StaleIndexes, step: @escaping (Int) throws(ModelError) -> Void)
  {
    self.key = key
    self.builder = builder
    self.stale = stale
    self.step = step
  }

  /// Makes the datastore without records, as a later state describes it.
  mutating func register(as state: FolderDatastore) throws(ModelError) {
    guard descriptor == nil else { return }
    try create(described(state), of: state)
  }

  /// Writes a state; returns whether any record changed.
  mutating func write(_ state: FolderDatastore) throws(ModelError) -> Bool {
    if case .failure(let error) = state.primaryIndex.source {
      omissions["\(key): \(error)", default: 0] += 1
      return false
    }
    var next = described(state)
    if try state.primaryIndex.count == 0, let descriptor { next.coding = descriptor.coding }
    if let descriptor, descriptor.identifierEncoding != next.identifierEncoding {
      try DatastoreWriter.drop(descriptor, in: builder.current())
      forget()
    }
    try learnOrder(of: state, next)
    if descriptor == nil { try create(next, of: state) }
    try changeIndexes(to: next, of: state)
    let writer = try builder.writer(of: next, identifiers: order.map { .comparator($0) } ?? .bytes)
    let hasChanged = try writeRecords(of: state, writer)
    for index in state.secondaryIndexes {
      try writeEntries(of: index, writer)
      // If a state has an entry too long for a key, the index is incomplete in it.
      if longEntries[index.descriptor.name]?.isEmpty == false { next.markStale([index.descriptor.name]) }
    }
    try DatastoreWriter.store(next, in: builder.current())
    descriptor = next
    written = state
    return hasChanged
  }

  private mutating func forget() {
    descriptor = nil
    written = nil
    indexFolders = [:]
    longEntries = [:]
    order = nil
  }

  // MARK: Descriptors

  private func described(_ state: FolderDatastore) -> DatastoreDescriptor {
    var descriptor = state.descriptor
    for (place, index) in descriptor.indexes.enumerated() {
      // The first releases named the value's type alone.
      descriptor.indexes[place].type = "\(index.kind.typeName)(\(index.valueType))"
      let source = state.secondaryIndexes.first { $0.descriptor.name == index.name }
      descriptor.indexes[place].isStale = source.map { stale.reason(for: $0, of: key) != nil } ?? true
    }
    return descriptor
  }

  private mutating func create(_ new: DatastoreDescriptor, of state: FolderDatastore) throws(ModelError) {
    try DatastoreWriter.create(new, in: builder.current())
    descriptor = new
    indexFolders = Self.folders(of: state)
    if !new.identifierEncoding.isByteOrdered, order == nil { order = StoredOrder() }
  }

  private static func folders(of state: FolderDatastore) -> [String: String] {
    var folders: [String: String] = [:]
    for index in state.secondaryIndexes { folders[index.descriptor.name] = index.folder ?? "" }
    return folders
  }

  private mutating func changeIndexes(to next: DatastoreDescriptor, of state: FolderDatastore) throws(ModelError) {
    let folders = Self.folders(of: state)
    guard let descriptor else { return }
    for index in descriptor.indexes where next.index(index.name) == nil { try builder.dropIndex(index.name, of: key) }
    for index in next.indexes {
      let before = descriptor.index(index.name)
      let isSame = before.map { $0.encoding == index.encoding && $0.storage == index.storage }
      if isSame == true, indexFolders[index.name] == folders[index.name] { continue }
      try DatastoreWriter.createIndex(index, of: next, in: builder.current())
      indexFolders[index.name] = nil
      longEntries[index.name] = nil
    }
  }

  // MARK: Records

  private mutating func writeRecords(
    of state: FolderDatastore, _ writer: DatastoreWriter
  ) throws(ModelError) -> Bool {
    let index = state.primaryIndex
    var hasChanged = false
    let hasDirectIndexes = state.secondaryIndexes.contains { $0.layout == .direct }
    updated = []
    var differences = EntryDifferences(from: written?.primaryIndex, to: index)
    while let pair = nextPair(of: &differences, in: key) {
      hasChanged = true
      try tick()
      if let new = pair.new {
        guard new.key.count <= StoreBuilder.keyLimit else {
          omissions["\(key): records whose identifier is longer than \(StoreBuilder.keyLimit) bytes", default: 0] += 1
          continue
        }
        let record = RecordBytes.make(version: new.version?.text ?? "", content: new.record ?? [])
        _ = try onStorage { try writer.putRecord(new.key, record) }
        if hasDirectIndexes, pair.old != nil { updated.insert(new.key) }
      } else if let old = pair.old, old.key.count <= StoreBuilder.keyLimit {
        // In a list out of order a record may come and go in one difference.
        if try index.placeInAnyOrder(of: old.identifier) != nil { continue }
        _ = try onStorage { try writer.deleteRecord(old.key) }
      }
    }
    return hasChanged
  }

  /// The next entries that differ; nil at the end. An entry that cannot be read is noted as left out of `place`.
  private mutating func nextPair(of differences: inout EntryDifferences, in place: String) -> EntryPairs.Pair? {
    while true {
      do throws(FolderError) {
        return try differences.next()
      } catch {
        omissions["\(place): \(error)", default: 0] += 1
      }
    }
  }

  // MARK: Entries

  private mutating func writeEntries(of index: FolderIndex, _ writer: DatastoreWriter) throws(ModelError) {
    let name = index.descriptor.name
    guard stale.reason(for: index, of: key) == nil else {
      indexFolders[name] = index.folder
      return
    }
    let isNew = indexFolders[name] == nil || written == nil
    let old = isNew ? nil : written?.secondaryIndexes.first { $0.descriptor.name == name }
    indexFolders[name] = index.folder
    let waiting = updated
    defer { updated = waiting }
    var differences = EntryDifferences(from: old, to: index)
    while let pair = nextPair(of: &differences, in: "\(key)/\(name)") { try writeEntry(pair, of: index, writer) }
    try renewDirectEntries(of: index, writer)
  }

  private mutating func writeEntry(
    _ pair: EntryPairs.Pair, of index: FolderIndex, _ writer: DatastoreWriter
  ) throws(ModelError) {
    let name = index.descriptor.name
    try tick()
    if let new = pair.new {
      guard new.key.count <= StoreBuilder.keyLimit else {
        // The entries of a record that is left out are left out too.
        guard new.identifier.bytes.count <= StoreBuilder.keyLimit else { return }
        longEntries[name, default: []].insert(new.key)
        omissions[
          "\(key)/\(name): values longer than \(StoreBuilder.keyLimit) bytes; the commits that have them have the index stale",
          default: 0] += 1
        return
      }
      updated.remove(new.identifier.bytes)
      try onStorage { try writer.insertEntry(new.key, in: name) }
    } else if let old = pair.old {
      if longEntries[name]?.remove(old.key) != nil { return }
      guard old.key.count <= StoreBuilder.keyLimit else { return }
      if index.values.isKnown, try index.place(of: old.identifier, value: old.value.value) != nil { return }
      try onStorage { try writer.removeEntry(old.key, in: name) }
    }
  }

  private mutating func tick() throws(ModelError) {
    steps += 1
    if steps.isMultiple(of: 1000) { try step(1000) }
  }

  /// Entries of direct indexes hold the record's place: those of records that changed while their copies did not are written again.
  private mutating func renewDirectEntries(of index: FolderIndex, _ writer: DatastoreWriter) throws(ModelError) {
    guard index.layout == .direct, !updated.isEmpty, stale.reason(for: index, of: key) == nil else { return }
    let entries = try index.entries
    for row in entries.rows() {
      guard let keys = index.keys(at: row, in: entries), updated.contains(keys.identifier) else { continue }
      let entry = EntryKey.make(value: keys.value, identifier: keys.identifier)
      guard entry.count <= StoreBuilder.keyLimit else { continue }
      try onStorage { try writer.insertEntry(entry, in: index.descriptor.name) }
    }
  }

  /// Learns the places of new identifiers. If the known ones have another order than before, the datastore is written again.
  private mutating func learnOrder(of state: FolderDatastore, _ next: DatastoreDescriptor) throws(ModelError) {
    guard !next.identifierEncoding.isByteOrdered else { return }
    let order = order ?? StoredOrder()
    self.order = order
    guard try !learn(state, after: written, into: order) else { return }
    if let descriptor { try DatastoreWriter.drop(descriptor, in: builder.current()) }
    forget()
    let fresh = StoredOrder()
    self.order = fresh
    guard try learn(state, after: nil, into: fresh) else {
      throw .unreadable(what: key, where: "its identifiers occur more than once")
    }
  }

  private func learn(
    _ state: FolderDatastore, after old: FolderDatastore?, into order: StoredOrder
  ) throws(ModelError) -> Bool {
    let entries = try state.primaryIndex.entries
    return try PageDifference(old?.primaryIndex.entries, entries).runs.allSatisfy {
      order.learn(state.primaryIndex.identifiers(around: $0.new, in: entries))
    }
  }
}

// MARK: - Order that only the app knows

extension FolderIndex {
  /// The identifiers of the entries that begin on some pages, with the one before and the one after.
  fileprivate func identifiers(around pages: Range<Int>, in entries: EntryList) -> [[UInt8]] {
    var first = pages.lowerBound
    repeat { first -= 1 } while first >= 0 && entries.page(first).starts.isEmpty
    var found: [[UInt8]] = []
    var place = EntryList.Place(page: pages.lowerBound, row: 0)
    if first >= 0 { place = EntryList.Place(page: first, row: entries.page(first).starts.count - 1) }
    for row in entries.rows(from: place) {
      guard let keys = keys(at: row, in: entries) else { continue }
      found.append(keys.identifier)
      if row.page >= pages.upperBound { break }
    }
    return found
  }
}
