import StrataEngine

/// An index of a datastore, or its records in the order of their identifiers.
struct EngineIndex: ReadableIndex {
  let datastore: EngineDatastore
  let descriptor: IndexDescriptor

  private var isPrimary: Bool { descriptor.kind == .primary }

  /// Returns nil if the store has a descriptor but no tree, which only damage can cause.
  func tree() throws(ModelError) -> Tree? { isPrimary ? datastore.tree : try datastore.view.tree(treeName) }

  private var treeName: TreeName {
    isPrimary ? .records(of: datastore.descriptor.key) : .index(descriptor.name, of: datastore.descriptor.key)
  }

  var count: Int { get throws(ModelError) { try tree()?.entryCount() ?? 0 } }

  func entries(at ranks: Range<Int>) throws(ModelError) -> [IndexEntry] { try entries(at: [ranks])[0] }

  func entries(at ranges: [Range<Int>]) throws(ModelError) -> [[IndexEntry]] {
    datastore.view.store.beginReading(.entries(ranges, in: treeName, at: datastore.view.commit))
    defer { datastore.view.store.endReading() }
    return try ranges.map { ranks throws(ModelError) in
      try (tree()?.keys(at: ranks) ?? []).map { key throws(ModelError) in try entry(key) }
    }
  }

  private func entry(_ key: Bytes) throws(ModelError) -> IndexEntry {
    if isPrimary {
      let identifier = datastore.descriptor.storedKey(key.array)
      return IndexEntry(value: identifier.value, identifier: identifier)
    }
    guard let (value, identifier) = key.withUnsafeBytes({ EntryKey.split($0) }) else {
      throw .unreadable(what: "an entry of \(descriptor.name)", where: "its key cannot be taken apart")
    }
    return IndexEntry(value: descriptor.shownValue(value), identifier: datastore.descriptor.storedKey(identifier))
  }

  /// Returns the entry of a key whose identifier is at a range.
  func entry(_ key: [UInt8], _ identifier: Range<Int>) -> IndexEntry {
    IndexEntry(
      value: descriptor.shownValue(Array(key[..<identifier.lowerBound])),
      identifier: datastore.descriptor.storedKey(Array(key[identifier])))
  }

  func rank(of bound: KeyBound) throws(ModelError) -> Int {
    datastore.view.beginReading(bound, descriptor.encoding, in: treeName)
    defer { datastore.view.store.endReading() }
    return try tree()?.rank(of: bound, encoding: descriptor.encoding, isLast: isPrimary) ?? 0
  }

  func rank(of identifier: StoredKey, value: KeyValue?) throws(ModelError) -> Int? {
    guard let tree = try tree() else { return nil }
    // The key of a record is its identifier alone.
    let known: KeyValue? = if isPrimary { nil } else if let value { value } else { try valueByRule(of: identifier) }
    let encoded = try known.map { value throws(ModelError) in try descriptor.encoding.encode(value) }
    guard isPrimary || encoded != nil else {
      return try tree.firstEntry { key in key.withUnsafeBytes { EntryKey.isEntry($0, of: identifier.bytes) } }?.rank
    }
    let key = key(encoded ?? [], identifier)
    datastore.view.store.beginReading(.keys([key], in: treeName, at: datastore.view.commit))
    defer { datastore.view.store.endReading() }
    return try tree.rank(ofKey: key) { try place(of: key) }
  }

  private func key(_ value: [UInt8], _ identifier: StoredKey) -> [UInt8] {
    isPrimary ? identifier.bytes : EntryKey.make(value: value, identifier: identifier.bytes)
  }

  private func place(of key: [UInt8]) throws -> SoughtPlace {
    isPrimary ? try datastore.recordOrder.place(of: key) : try (order ?? .bytes).place(of: key)
  }

  /// The value that a record has by the index's rule, which saves a walk over the index. Returns nil if that is not known.
  private func valueByRule(of identifier: StoredKey) throws(ModelError) -> KeyValue? {
    guard !isPrimary, !descriptor.isStale, !descriptor.kind.hasManyValues, let rule = try rule,
      let document = try? datastore.record(identifier)?.document()
    else { return nil }
    return try? rule.values(of: document).first
  }

  /// The rule, if it is declared. Over a line the other side proves it.
  private var rule: IndexRule? {
    get throws(ModelError) {
      if let rule = descriptor.declaredRule { return rule }
      guard datastore.view.store.distant != nil else { return nil }
      return try datastore.view.store.proofs.rules(of: datastore)[descriptor.name]?.rule
    }
  }

  func ranks(of identifiers: [StoredKey]) throws(ModelError) -> [Int?] {
    let values = try identifiers.map { identifier throws(ModelError) in try valueByRule(of: identifier) }
    let keys = zip(identifiers, values).compactMap { identifier, value in
      isPrimary
        ? identifier.bytes : value.flatMap { try? descriptor.encoding.encode($0) }.map { key($0, identifier) }
    }
    datastore.view.store.beginReading(.keys(keys, in: treeName, at: datastore.view.commit))
    defer { datastore.view.store.endReading() }
    return try zip(identifiers, values).map { identifier, value throws(ModelError) in
      try rank(of: identifier, value: value)
    }
  }

  /// Returns whether a record has an entry with a value, given by its encoded bytes.
  func contains(_ encodedValue: [UInt8], of identifier: StoredKey) throws(ModelError) -> Bool {
    let key = key(encodedValue, identifier)
    datastore.view.store.beginReading(.keys([key], in: treeName, at: datastore.view.commit))
    defer { datastore.view.store.endReading() }
    guard let tree = try tree() else { return false }
    if tree.order == .bytes { return try onStorage { try tree.payload(.bytes(key)) != nil } }
    return try tree.rank(ofKey: key) { try place(of: key) } != nil
  }

  /// Returns the same for several entries, in their order. On a server this takes one round trip.
  func contains(_ entries: [(value: [UInt8], identifier: StoredKey)]) throws(ModelError) -> [Bool] {
    guard let tree = try tree(), tree.isServed else {
      return try entries.map { entry throws(ModelError) in try contains(entry.value, of: entry.identifier) }
    }
    let keys = entries.map { key($0.value, $0.identifier) }
    return try onStorage { try tree.find(keys) }.map { $0 != nil }
  }

  /// The order of the entries by the app's types, if they are known.
  var order: EntryOrder? { datastore.view.store.formats[datastore.descriptor.key]?.order(ofIndex: descriptor.name) }
}

extension Tree {
  /// Returns `count`, with the errors of this module.
  func entryCount() throws(ModelError) -> Int {
    Int(clamping: try onStorage { try count })
  }

  /// Returns the keys of a range of ranks; ranks beyond the end are left out. One descent and a walk.
  func keys(at ranks: Range<Int>) throws(ModelError) -> [Bytes] {
    let ranks = max(0, ranks.lowerBound)..<max(0, ranks.upperBound)
    guard !ranks.isEmpty else { return [] }
    return try onStorage {
      var keys: [Bytes] = []
      keys.reserveCapacity(min(ranks.count, 1 << 16))
      var cursor = cursor()
      try cursor.seek(rank: UInt64(ranks.lowerBound))
      while keys.count < ranks.count, let entry = cursor.current {
        keys.append(entry.key)
        try cursor.next()
      }
      return keys
    }
  }

  /// Returns the number of keys before a bound: one descent.
  ///
  /// - Parameter isLast: whether nothing follows the value in a key, as in a primary tree.
  func rank(of bound: KeyBound, encoding: KeyEncoding, isLast: Bool) throws(ModelError) -> Int {
    switch bound {
    case .start: return 0
    case .end: return try entryCount()
    case .before(let value):
      guard order == .bytes else { return try rankInUnknownOrder(of: value, encoding, isAfter: false, isLast: isLast) }
      return try rank(ofBytes: encoding.bound(before: value))
    case .after(let value):
      guard order == .bytes else { return try rankInUnknownOrder(of: value, encoding, isAfter: true, isLast: isLast) }
      return try rank(ofBytes: encoding.bound(after: value))
    }
  }

  private func rank(ofBytes bytes: [UInt8]) throws(ModelError) -> Int {
    Int(clamping: try onStorage { try rank(of: .bytes(bytes)) })
  }

  /// Finds the rank of a value in an order that only the app knows, by a walk to an entry with the value.
  private func rankInUnknownOrder(
    of value: KeyValue, _ encoding: KeyEncoding, isAfter: Bool, isLast: Bool
  ) throws(ModelError) -> Int {
    let bytes = try encoding.encode(value)
    let (first, end) = try onStorage { () -> (Int?, Int) in
      var cursor = cursor()
      var (rank, first): (Int, Int?) = (0, nil)
      try cursor.seek(rank: 0)
      while let entry = cursor.current {
        let isEqual = entry.key.withUnsafeBytes { key in
          if isLast { return key.elementsEqual(bytes) }
          return EntryKey.identifierRange(key).map { key[..<$0.lowerBound].elementsEqual(bytes) } ?? false
        }
        if isEqual, first == nil { first = rank }
        if !isEqual, first != nil { break }
        rank += 1
        try cursor.next()
      }
      return (first, rank)
    }
    guard let first else {
      throw .refused(reason: "the order of \(encoding.name) is known only to the app, and no entry is \(value)")
    }
    return isAfter ? end : first
  }

  /// Returns the rank of a key, or nil if it does not exist. If the order of `place` is not the tree's, because the tree's is unknown, this
  /// walks the tree.
  func rank(ofKey key: [UInt8], at place: () throws -> SoughtPlace) throws(ModelError) -> Int? {
    let place = try onStorage { try place() }
    guard place.treeOrder == order else { return try firstEntry { $0 == key }?.rank }
    return try onStorage { try place.withProbe { try payload($0) == nil ? nil : Int(clamping: rank(of: $0)) } }
  }
}
