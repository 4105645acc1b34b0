/// The referrers of a record: the entries of one index of one datastore.
package struct Referrers: Sendable {
  /// The datastore of the referring records.
  package var datastore: any ReadableDatastore
  /// The index whose values are identifiers of the record's datastore.
  package var index: any ReadableIndex
  /// The ranks of the referring entries.
  package var ranks: Range<Int>

  /// Returns the identifiers of the referring records. Reads the index only.
  package func identifiers(_ range: Range<Int>) throws(ModelError) -> [StoredKey] {
    let first = ranks.lowerBound + min(range.lowerBound, ranks.count)
    let last = ranks.lowerBound + min(range.upperBound, ranks.count)
    return try index.entries(at: first..<last).map(\.identifier)
  }
}

extension ReadableView {
  /// Returns the referrers of a record, an item for each index that leads to its datastore. Costs two searches each, whatever their size.
  ///
  /// - Parameters:
  ///   - identifier: The record; it need not exist.
  ///   - datastore: The record's datastore.
  ///   - through: Only the indexes of this name, whether they are declared as references or not; nil for all that are declared.
  /// - Throws: `ModelError.noSuchIndex` if no datastore has an index of that name, `.refused` if none of that name can be used, with the
  ///   reasons.
  package func referrers(
    to identifier: StoredKey, in datastore: String, through name: String? = nil
  ) throws(ModelError) -> [Referrers] {
    var referrers: [Referrers] = []
    var known: [String] = []
    var refusals: [String] = []
    for source in try datastores {
      for index in source.indexes {
        let isDeclared = index.descriptor.target == datastore
        known.append("\(index.descriptor.name) of \(source.descriptor.key)")
        guard name.map({ $0 == index.descriptor.name }) ?? isDeclared else { continue }
        if let refusal = index.descriptor.refusal(of: identifier.value) {
          refusals.append("index \(index.descriptor.name) of \(source.descriptor.key) \(refusal)")
          continue
        }
        let start = try index.rank(of: .before(identifier.value))
        let end = try index.rank(of: .after(identifier.value))
        referrers.append(Referrers(datastore: source, index: index, ranks: start..<max(start, end)))
      }
    }
    if let name, referrers.isEmpty {
      if refusals.isEmpty { throw .noSuchIndex(name, datastore: "any datastore", known: known) }
      throw .refused(reason: refusals.joined(separator: "; "))
    }
    return referrers
  }
}

extension IndexDescriptor {
  /// Why the index cannot find the records with a value; nil if it can.
  fileprivate func refusal(of value: KeyValue) -> String? {
    if isStale { return "is stale and answers nothing until it is rebuilt" }
    guard (try? encoding.encode(value)) != nil else { return "holds \(valueType), and \(value) is none" }
    return nil
  }
}
