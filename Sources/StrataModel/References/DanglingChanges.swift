/// A reference that changes would leave without the record that it names.
package struct DanglingReference: Sendable, Hashable {
  /// The referring record.
  package var place: RecordPlace
  package var index: String
  /// The missing record.
  package var target: RecordPlace

  package init(place: RecordPlace, index: String, target: RecordPlace) {
    (self.place, self.index, self.target) = (place, index, target)
  }

  package var sentence: String {
    "\(place.datastore)/\(place.identifier) would name \(target.datastore)/\(target.identifier), which is not there"
  }
}

extension EngineStore {
  /// Whether any datastore declares references.
  package func hasReferences(at commit: CommitNumber) throws(ModelError) -> Bool {
    try engineView(at: commit).hasReferences()
  }

  /// Returns the references that would dangle after these changes to a commit; see `EngineView`.
  package func danglingReferences(
    after changes: [RecordPlace: RecordContent?], at commit: CommitNumber, limit: Int
  ) throws(ModelError) -> [DanglingReference] {
    try engineView(at: commit).danglingReferences(after: changes, limit: limit)
  }
}

extension EngineView {
  func hasReferences() throws(ModelError) -> Bool {
    try ownDatastores.contains { $0.descriptor.indexes.contains { $0.target != nil } }
  }

  /// Returns the references that would dangle after these changes to this commit, and do not now. Costs two searches for each reference of
  /// a changed record, and for each index that leads to a deleted record.
  ///
  /// - Parameters:
  ///   - changes: The new contents of records; nil deletes one.
  ///   - limit: The largest number of references to find.
  func danglingReferences(
    after changes: [RecordPlace: RecordContent?], limit: Int
  ) throws(ModelError) -> [DanglingReference] {
    var found: [DanglingReference] = []
    var indexings: [String: RecordIndexing] = [:]
    let recordsGo = changes.values.contains { $0 == nil }
    for (place, content) in changes.sorted(by: { Self.isInOrder($0.key, $1.key) }) where found.count < limit {
      guard let content else {
        found += try losing(place, beside: changes, limit: limit - found.count)
        continue
      }
      guard let datastore = try ownDatastore(place.datastore),
        datastore.descriptor.indexes.contains(where: { $0.target != nil && !$0.isStale })
      else { continue }
      var indexing = indexings[place.datastore]
      if indexing == nil { indexing = try RecordIndexing(datastore) }
      indexings[place.datastore] = indexing
      guard let values = try? indexing?.values(of: content) else { continue }
      let known = try datastore.record(place.identifier).flatMap { try? indexing?.values(of: $0.stored) }
      for (position, index) in datastore.descriptor.indexes.enumerated() {
        guard let key = index.target, position < values.count else { continue }
        for value in values[position] {
          // These changes may delete a target that the record named before. Its other old references do not change.
          let isNew = known.map { !$0[position].contains(value) } ?? true
          guard isNew || recordsGo, let target = try target(of: value, by: index, in: key) else { continue }
          let isThere =
            if let change = changes[target] { change != nil } else if !isNew { true } else {
              try ownDatastore(key)?.entry(target.identifier.bytes) != nil
            }
          if !isThere { found.append(DanglingReference(place: place, index: index.name, target: target)) }
        }
      }
    }
    return Array(found.prefix(limit))
  }

  private static func isInOrder(_ left: RecordPlace, _ right: RecordPlace) -> Bool {
    if left.datastore != right.datastore { return left.datastore < right.datastore }
    return left.identifier.bytes.lexicographicallyPrecedes(right.identifier.bytes)
  }

  /// Returns the references to a deleted record from records that do not change.
  fileprivate func losing(
    _ target: RecordPlace, beside changes: [RecordPlace: RecordContent?], limit: Int
  ) throws(ModelError) -> [DanglingReference] {
    var found: [DanglingReference] = []
    for referrers in try referrers(to: target.identifier, in: target.datastore) {
      for identifier in try referrers.identifiers(0..<min(limit + changes.count, referrers.ranks.count)) {
        let place = RecordPlace(datastore: referrers.datastore.descriptor.key, identifier: identifier)
        guard found.count < limit, changes[place] == nil else { continue }
        found.append(DanglingReference(place: place, index: referrers.index.descriptor.name, target: target))
      }
    }
    return found
  }

  /// Returns the record that an index value names, or nil if it names none or if only the app knows the order.
  fileprivate func target(
    of value: [UInt8], by index: IndexDescriptor, in datastore: String
  ) throws(ModelError) -> RecordPlace? {
    guard let encoding = try index.encoding.ofReference(to: ownDatastore(datastore)?.descriptor) else { return nil }
    let named = try index.encoding.decode(value)
    guard named != .null else { return nil }
    return RecordPlace(datastore: datastore, identifier: StoredKey(bytes: try encoding.encode(named), value: named))
  }
}
