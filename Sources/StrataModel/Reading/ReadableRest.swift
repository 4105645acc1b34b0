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
  package var leftOutCount: Int { get throws(ModelError) { try whole.leftOutCount } }
  package func leftOut(limit: Int) throws(ModelError) -> [LeftOutRecord] { try whole.leftOut(limit: limit) }
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

  package func replaceable(_ key: StoredKey) throws(ModelError) -> Record? { try whole.replaceable(key) }

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
    var lost: [(ranks: Range<Int>, error: ModelError)] = []
    for rank in ranks.clamped(to: 0..<(try whole.count)) {
      do {
        found += try whole.entries(at: rank..<rank + 1)
      } catch {
        guard error.exitStatus == 3 else { throw error }
        let isNext = lost.last?.ranks.upperBound == rank
        lost.append(((isNext ? lost.removeLast().ranks.lowerBound : rank)..<rank + 1, error))
      }
    }
    for (ranks, error) in lost { tell(sentence(ranks, error)) }
    return found
  }

  /// Names the records between which others cannot be reached.
  private func sentence(_ ranks: Range<Int>, _ error: ModelError) -> String {
    func key(_ rank: Int) -> StoredKey? {
      rank < 0 ? nil : (try? whole.entries(at: rank..<rank + 1))?.first?.identifier
    }
    let ends = [key(ranks.lowerBound - 1).map { "behind \($0)" }, key(ranks.upperBound).map { "before \($0)" }]
    let place = ends.compactMap(\.self).joined(separator: " and ")
    let lost = "\(counted(ranks.count, "record")) of \(datastore)\(place.isEmpty ? "" : " \(place)")"
    return "\(lost) left out, because they cannot be reached: \(error)"
  }

  func rank(of bound: KeyBound) throws(ModelError) -> Int { try whole.rank(of: bound) }
  func rank(of identifier: StoredKey, value: KeyValue?) throws(ModelError) -> Int? {
    try whole.rank(of: identifier, value: value)
  }
}
