package import StrataEngine

/// Keeps the entries of one index right as records come, change and go. Every entry of an index is written here.
package struct IndexWriter {
  package let descriptor: IndexDescriptor
  let datastore: String
  let tree: TreeName
  let order: EntryOrder
  /// As the descriptor says: it is asked of every record, and to read it from there copied the whole of it.
  let isDirect: Bool
  let isStale: Bool
  /// Values that this transaction gave to a record, if the index allows one record a value.
  private var touched: Set<[UInt8]> = []
  /// Entries by identifier, made when the index had to be searched a second time. It may hold some that are gone.
  private var entries: [[UInt8]: [[UInt8]]]?
  private var searches = 0
  /// Entries that wait to be written in order, in an index that was empty.
  private var gathered: EntrySorter?

  package init(_ descriptor: IndexDescriptor, of datastore: String, order: EntryOrder = .bytes) {
    self.descriptor = descriptor
    self.datastore = datastore
    self.order = order
    isDirect = descriptor.storage == .direct
    isStale = descriptor.isStale
    tree = .index(descriptor.name, of: datastore)
  }

  /// Adds the entries of a record that had none.
  mutating func insert(
    _ values: [[UInt8]], of identifier: [UInt8], _ reference: RecordReference, in transaction: any WriteTransaction
  ) throws {
    for value in values { try add(value, of: identifier, reference, in: transaction) }
  }

  /// Changes the entries of a record. If one is missing where the old values said it is, the index is searched for the record's others.
  mutating func replace(
    _ old: [[UInt8]], by new: [[UInt8]], of identifier: [UInt8], _ reference: RecordReference,
    in transaction: any WriteTransaction
  ) throws {
    var isMissing = false
    let (isOld, isNew) = (Self.membership(of: old), Self.membership(of: new))
    for value in old where !isNew(value) {
      if try !remove(value, of: identifier, in: transaction) { isMissing = true }
    }
    for value in new {
      let stays = isOld(value)
      if stays, !isDirect, try holds(value, of: identifier, reference, in: transaction) { continue }
      if try add(value, of: identifier, reference, in: transaction), stays { isMissing = true }
    }
    // Entries that are held back were made from the records; the tree is empty still, so a search of it would find nothing.
    if isMissing, gathered == nil { try removeStrays(of: identifier, keeping: new, in: transaction) }
  }

  /// Gives a record exactly these entries, whatever it had.
  mutating func mend(
    _ values: [[UInt8]], of identifier: [UInt8], _ reference: RecordReference, in transaction: any WriteTransaction
  ) throws {
    if let sorter = removeGathered() { try writeGathered(sorter, in: transaction, nil) }
    try removeStrays(of: identifier, keeping: values, in: transaction)
    for value in values { try add(value, of: identifier, reference, in: transaction) }
  }

  /// Whether the index has an entry for each of these values (and, if it is direct, one that refers to the record).
  func holds(
    _ values: [[UInt8]], of identifier: [UInt8], _ reference: RecordReference, in transaction: any WriteTransaction
  ) throws -> Bool {
    try values.allSatisfy { try holds($0, of: identifier, reference, in: transaction) }
  }

  private func holds(
    _ value: [UInt8], of identifier: [UInt8], _ reference: RecordReference, in transaction: any WriteTransaction
  ) throws -> Bool {
    // Entries that are held back were made from the records, so they are right.
    if gathered != nil { return true }
    let key = EntryKey.make(value: value, identifier: identifier)
    let payload = try order.place(of: key).withProbe { try transaction.tree(tree)?.payload($0) }
    return payload != nil && (!isDirect || payload?.record == reference)
  }

  static func isSameSet(_ left: [[UInt8]], _ right: [[UInt8]]) -> Bool {
    left == right || (left.count == right.count && left.allSatisfy(membership(of: right)))
  }

  /// Whether a value is one of these. A set of them costs more than searching a few, and less than searching many for each of many.
  private static func membership(of values: [[UInt8]]) -> ([UInt8]) -> Bool {
    guard values.count > 8 else { return { values.contains($0) } }
    let set = Set(values)
    return { set.contains($0) }
  }

  @discardableResult
  private mutating func add(
    _ value: [UInt8], of identifier: [UInt8], _ reference: RecordReference, in transaction: any WriteTransaction
  ) throws -> Bool {
    if gathered != nil {
      try gathered?.add(value: value, identifier: identifier, reference, in: transaction)
      return true
    }
    let key = EntryKey.make(value: value, identifier: identifier)
    let isNew = try key.withUnsafeBytes { try insert($0, reference, in: transaction) }
    if isNew {
      if descriptor.isUnique { touched.insert(value) }
      if entries != nil { entries?[identifier, default: []].append(key) }
    }
    return isNew
  }

  /// Inserts one entry; in a comparator's order it is checked against both its neighbours.
  func insert(
    _ key: UnsafeRawBufferPointer, _ reference: RecordReference, in transaction: any WriteTransaction
  ) throws -> Bool {
    let payload = payload(reference)
    if order.isBytes { return try transaction.insert(key, payload, in: tree, probe: nil) }
    let place = try order.place(of: Array(key))
    let isNew = try place.withProbe { try transaction.insert(key, payload, in: tree, probe: $0) }
    if isNew {
      try NeighbourCheck(datastore: datastore, index: descriptor.name, place: order.place, shown: descriptor.describe)
        .check(Array(key), at: place, in: transaction.tree(tree))
    }
    return isNew
  }

  private func payload(_ reference: RecordReference) -> Payload { isDirect ? .record(reference) : .none }

  /// Marks the value of an entry that was inserted by its key, so that `duplicates` checks it.
  mutating func markTouched(_ key: [UInt8]) {
    guard descriptor.isUnique, let value = key.withUnsafeBytes({ EntryKey.value($0) }) else { return }
    touched.insert(value)
  }

  private mutating func remove(
    _ value: [UInt8], of identifier: [UInt8], in transaction: any WriteTransaction
  ) throws -> Bool {
    if gathered != nil {
      try gathered?.add(value: value, identifier: identifier, .none, isRemoval: true, in: transaction)
      return true
    }
    return try remove(EntryKey.make(value: value, identifier: identifier), in: transaction)
  }

  /// Takes one entry out by its key; whether it was there.
  func remove(_ key: [UInt8], in transaction: any WriteTransaction) throws -> Bool {
    if order.isBytes { return try transaction.remove(key, in: tree) }
    return try order.place(of: key).withProbe { try transaction.remove(key, in: tree, probe: $0) }
  }

  /// From now on holds entries back and writes them in order, if the index is empty: several times as fast as one by one.
  /// `indexes` is the number of indexes that share the sorter's memory.
  mutating func gather(in transaction: any WriteTransaction, sharing indexes: Int) throws {
    guard gathered == nil, try transaction.tree(tree)?.isEmpty == true else { return }
    gathered = EntrySorter(sharing: indexes)
  }

  /// Takes the entries that were held back, for the caller to write; nil if entries are not held back. Later ones are written one by one.
  mutating func removeGathered() -> EntrySorter? {
    defer { gathered = nil }
    return gathered
  }

  /// Writes the entries that were held back, as a step of `meter` if there is one.
  mutating func writeGathered(
    _ sorter: consuming EntrySorter, in transaction: any WriteTransaction, _ meter: WorkMeter?
  ) throws {
    try meter?.begin(WorkStep.writing(descriptor.name), total: sorter.count)
    try fill(from: &sorter, in: transaction, meter)
  }

  /// Writes entries in order into an index that is empty, each counted by `meter`. Memory does not grow with their number.
  package mutating func fill(from sorter: inout EntrySorter, in transaction: any WriteTransaction) throws {
    try fill(from: &sorter, in: transaction, nil)
  }

  mutating func fill(from sorter: inout EntrySorter, in transaction: any WriteTransaction, _ meter: WorkMeter?) throws {
    try sorter.forEachPart { part in
      while case let count = try write(&part, in: transaction), count > 0 { try meter?.advance(by: count) }
    }
    try touchDuplicates(in: transaction)
  }

  /// Writes some of the entries that are left of a walk. Returns how many; 0 at its end.
  private func write(_ part: inout EntryRun.Walk, in transaction: any WriteTransaction) throws -> Int {
    guard order.isBytes else {
      guard let entry = part.next() else { return 0 }
      _ = try insert(entry.key, entry.reference, in: transaction)
      return 1
    }
    var count = 0
    try transaction.insert(
      ascending: {
        guard count < Self.writtenAtOnce, let entry = part.next() else { return nil }
        count += 1
        return NewEntry(entry.key, payload(entry.reference))
      }, in: tree)
    return count
  }

  /// Few enough that a cancellation is heard at once.
  private static let writtenAtOnce = 256

  /// Makes the index empty, as its descriptor says it.
  package func create(in transaction: any WriteTransaction) throws(StorageError) {
    if try transaction.tree(tree) != nil { try transaction.dropTree(tree) }
    try transaction.createTree(tree, kind: .entries, order: order.treeOrder, attributes: [])
  }

  /// Whether the index holds exactly these entries.
  package func holdsExactly(_ sorter: inout EntrySorter, in transaction: any WriteTransaction) throws -> Bool {
    guard let tree = try transaction.tree(tree), try tree.count == UInt64(sorter.count) else { return false }
    var cursor = tree.cursor()
    try cursor.seek(rank: 0)
    var isHeld = true
    try sorter.forEach { entry in
      guard isHeld else { return }
      if order.isBytes {
        isHeld = cursor.current?.key.withUnsafeBytes { compareKeys($0, entry.key) == 0 } ?? false
        try cursor.next()
      } else {
        isHeld = try order.place(of: Array(entry.key)).withProbe { try tree.payload($0) != nil }
      }
    }
    return isHeld
  }

  /// Removes the entries of a record other than those of `values`, wherever they stand. Walks the whole index; from the second time
  /// on it remembers what it saw, so mending many records of a transaction costs two walks.
  private mutating func removeStrays(
    of identifier: [UInt8], keeping values: [[UInt8]], in transaction: any WriteTransaction
  ) throws {
    let kept = Set(values.map { EntryKey.make(value: $0, identifier: identifier) })
    for key in try search(identifier, in: transaction) where !kept.contains(key) {
      _ = try remove(key, in: transaction)
    }
  }

  private mutating func search(_ identifier: [UInt8], in transaction: any WriteTransaction) throws -> [[UInt8]] {
    searches += 1
    if searches == 2 {
      var all: [[UInt8]: [[UInt8]]] = [:]
      try walk(transaction) { key in
        if let range = EntryKey.identifierRange(key) { all[Array(key[range]), default: []].append(Array(key)) }
      }
      entries = all
    }
    if let entries { return entries[identifier] ?? [] }
    var found: [[UInt8]] = []
    try walk(transaction) { key in
      if EntryKey.isEntry(key, of: identifier) { found.append(Array(key)) }
    }
    return found
  }

  /// Forgets what it saw, which others may have changed.
  mutating func forget() { (entries, searches) = (nil, 0) }

  private func walk(
    _ transaction: any WriteTransaction, _ visit: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    guard let tree = try transaction.tree(tree) else { return }
    var cursor = tree.cursor()
    try cursor.seek(rank: 0)
    while let entry = cursor.current {
      try entry.key.withUnsafeBytes { try visit($0) }
      try cursor.next()
    }
  }

  /// Marks values that more than one record has, so that the commit reports them. For an index that was filled or becomes unique.
  package mutating func touchDuplicates(in transaction: any WriteTransaction) throws {
    guard descriptor.isUnique else { return }
    var last: (value: [UInt8], comparison: KeyComparison)?
    var found: Set<[UInt8]> = []
    let order = order.value
    try walk(transaction) { key in
      guard let value = key.value, found.count < Self.conflictLimit else { return }
      if let last, try last.comparison.place(value) == 0 {
        found.insert(last.value)
      } else {
        let value = Array(value)
        last = (value, try order.comparison(to: value))
      }
    }
    touched.formUnion(found)
  }

  /// The values of this transaction that now belong to more than one record.
  package func duplicates(
    of datastore: DatastoreDescriptor, in transaction: any WriteTransaction
  ) throws -> [UniquenessConflict] {
    guard descriptor.isUnique, !isStale, !touched.isEmpty, let tree = try transaction.tree(tree) else { return [] }
    var conflicts: [UniquenessConflict] = []
    for value in touched.sorted(by: { $0.precedes($1) }) where conflicts.count < Self.conflictLimit {
      let owners = try tree.identifiers(of: value, order, limit: 16)
      guard owners.count > 1, let shown = descriptor.soleValue(value) else { continue }
      conflicts.append(
        UniquenessConflict(
          datastore: datastore.key, index: descriptor.name, value: shown,
          identifiers: owners.map { datastore.storedKey($0) }, isEnforced: true))
    }
    return conflicts
  }

  /// The most conflicts that are reported one by one.
  private static let conflictLimit = 100
}

// MARK: - Uniqueness

extension Tree {
  /// The identifiers that an index has for a value, lowest first. If the order is not known (nil, for a tree that is not in byte
  /// order), the whole index is walked.
  func identifiers(of value: [UInt8], _ order: EntryOrder?, limit: Int) throws -> [[UInt8]] {
    var found: [[UInt8]] = []
    var cursor = cursor()
    let isUnknown = order == nil && self.order == .caller
    let values = try (order ?? .bytes).value.comparison(to: value)
    if isUnknown {
      try cursor.seek(rank: 0)
    } else {
      try (order ?? .bytes).bound(of: value, after: false).withProbe { try cursor.seek(to: $0) }
    }
    while let entry = cursor.current, found.count < limit {
      let (isEqual, identifier) = try entry.key.withUnsafeBytes { key -> (Bool, [UInt8]) in
        guard let value = key.value, let range = EntryKey.identifierRange(key) else { return (false, []) }
        return (try values.place(value) == 0, Array(key[range]))
      }
      if isEqual { found.append(identifier) } else if !isUnknown { break }
      try cursor.next()
    }
    return found
  }
}
