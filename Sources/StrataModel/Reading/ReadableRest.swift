/// The readable rest of a damaged datastore: unreadable parts are left out and reported.
///
/// Records have the same order as those of the whole datastore. Indexes can be read but are not used to find records, because a result
/// would lack the records whose entries are lost.
package struct ReadableRest: ReadableDatastore {
  private let whole: any ReadableDatastore
  private let keepsRanks: Bool
  private let tell: @Sendable (String) -> Void

  /// - Parameters:
  ///   - keepsRanks: whether only records are left out, so that entries keep their ranks and indexes are used; entries that cannot be
  ///     reached throw then.
  ///   - tell: receives a sentence for each record that is left out, and for entries that cannot be reached.
  package init(
    of whole: any ReadableDatastore, keepsRanks: Bool = false, tell: @escaping @Sendable (String) -> Void
  ) {
    self.whole = whole
    self.keepsRanks = keepsRanks
    self.tell = tell
  }

  package var descriptor: DatastoreDescriptor { whole.descriptor }
  package var count: Int { get throws(ModelError) { try whole.count } }
  package var primary: any ReadableIndex { rest(of: whole.primary) }
  package var indexes: [any ReadableIndex] { whole.indexes.map(rest) }

  /// Returns the entries of an index that can be reached.
  package func rest(of index: any ReadableIndex) -> any ReadableIndex {
    keepsRanks ? index : ReadableEntriesRest(whole: index, datastore: descriptor.key, tell: tell)
  }

  package func record(_ key: StoredKey) throws(ModelError) -> Record? {
    do {
      let record = try whole.record(key)
      _ = try record?.document()
      return record
    } catch {
      guard error.exitStatus == 3 else { throw error }
      tell("record \(key) of \(descriptor.key) is left out: \(error)")
      return nil
    }
  }

  package func identifier(parsing text: String) throws(ModelError) -> StoredKey { try whole.identifier(parsing: text) }

  package func verify(index: String?, progress: WorkProgress?) throws(ModelError) -> DatastoreVerification {
    try whole.verify(index: index, progress: progress)
  }
}

/// The entries of an index that can be reached.
private struct ReadableEntriesRest: ReadableIndex {
  let whole: any ReadableIndex
  let datastore: String
  let tell: @Sendable (String) -> Void

  /// A descriptor of an index that serves no query.
  var descriptor: IndexDescriptor {
    var descriptor = whole.descriptor
    (descriptor.rule, descriptor.isStale) = (nil, true)
    return descriptor
  }

  var count: Int { get throws(ModelError) { try whole.count } }

  func entries(at ranks: Range<Int>) throws(ModelError) -> [IndexEntry] {
    do { return try whole.entries(at: ranks) } catch { guard error.exitStatus == 3 else { throw error } }
    var found: [IndexEntry] = []
    for rank in ranks.clamped(to: 0..<(try whole.count)) {
      do {
        found += try whole.entries(at: rank..<rank + 1)
      } catch {
        guard error.exitStatus == 3 else { throw error }
        tell("records of \(datastore) are left out that cannot be reached: \(error)")
      }
    }
    return found
  }

  func rank(of bound: KeyBound) throws(ModelError) -> Int { try whole.rank(of: bound) }
  func rank(of identifier: StoredKey, value: KeyValue?) throws(ModelError) -> Int? {
    try whole.rank(of: identifier, value: value)
  }
}
