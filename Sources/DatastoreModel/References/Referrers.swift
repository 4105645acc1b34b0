/// Who refers to a record: the entries of one index of one datastore.
package struct Referrers: Sendable {
  /// The datastore of those who refer.
  package var datastore: any ReadableDatastore
  /// The index whose values are identifiers of the record's datastore.
  package var index: any ReadableIndex
  /// Which of its entries, as ranks.
  package var ranks: Range<Int>

  /// Those who refer, by their identifiers. Reads the index only.
  package func identifiers(_ range: Range<Int>) throws(ModelError) -> [StoredKey] {
    let first = ranks.lowerBound + min(range.lowerBound, ranks.count)
    let last = ranks.lowerBound + min(range.upperBound, ranks.count)
    var identifiers: [StoredKey] = []
    for entry in try index.entries(at: first..<last) { identifiers.append(entry.identifier) }
    return identifiers
  }
}

extension ReadableView {
  /// Who refers to a record, an item for each index that leads to its datastore: two searches each, whatever they hold.
  ///
  /// - Parameters:
  ///   - identifier: The record; it need not be there.
  ///   - datastore: The datastore that it is of.
  ///   - through: Only the indexes of this name, whether they are declared as references or not; nil for all that are declared.
  /// - Throws: `ModelError.noSuchIndex` where no datastore has an index of that name, `.refused` where none that has the name can
  ///   answer, with the reasons.
  package func referrers(
    to identifier: StoredKey, in datastore: String, through name: String? = nil
  ) throws(ModelError) -> [Referrers] {
    var referrers: [Referrers] = []
    var known: [String] = []
    var refusals: [String] = []
    for source in try datastores {
      for index in source.indexes {
        let isDeclared = index.descriptor.target == datastore
        if isDeclared { known.append(index.descriptor.name) }
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
      if refusals.isEmpty { throw .noSuchIndex(name, datastore: datastore, known: known) }
      throw .refused(reason: refusals.joined(separator: "; "))
    }
    return referrers
  }
}

extension IndexDescriptor {
  /// Why the index cannot tell who has a value; nil where it can.
  fileprivate func refusal(of value: KeyValue) -> String? {
    if isStale { return "is stale and answers nothing until it is rebuilt" }
    guard (try? encoding.encode(value)) != nil else { return "holds \(valueType), and \(value) is none" }
    return nil
  }
}
