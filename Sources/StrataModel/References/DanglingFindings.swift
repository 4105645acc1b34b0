extension EngineView {
  /// Returns the dangling references that descriptors declare: worth knowing, and not damage. Costs one merge per index.
  func danglingFindings(of wanted: String?) throws(ModelError) -> [Finding] {
    var findings: [Finding] = []
    for datastore in try ownDatastores where wanted == nil || wanted == datastore.descriptor.key {
      for index in datastore.descriptor.indexes where !index.isStale {
        guard let key = index.target else { continue }
        if let finding = try danglingFinding(of: index, in: datastore, to: key) { findings.append(finding) }
      }
    }
    return findings
  }

  private func danglingFinding(
    of index: IndexDescriptor, in datastore: EngineDatastore, to key: String
  ) throws(ModelError) -> Finding? {
    let source = datastore.descriptor
    guard let entries = try tree(.index(index.name, of: source.key)), try entries.entryCount() > 0 else { return nil }
    let target = try ownDatastore(key)
    // If only the app can order identifiers, the merge cannot walk them.
    guard let encoding = index.encoding.ofReference(to: target?.descriptor) else { return nil }
    var merge = ReferenceMerge(entries: entries, targets: target?.tree, order: .bytes, naming: .key)
    var (count, first): (Int, [String]) = (0, [])
    while let dangling = try onStorage({ try merge.next() }) {
      count += 1
      guard first.count < 3 else { continue }
      let named = try encoding.decode(dangling.target)
      first.append("\(source.storedKey(dangling.identifier)) names \(named)")
    }
    guard count > 0 else { return nil }
    let names = first.joined(separator: ", ") + (count > first.count ? ", …" : "")
    let place = target == nil ? "\(key), which is not there" : key
    return Finding(
      severity: .note, datastore: source.key, index: index.name,
      text: "\(count) \(count == 1 ? "reference dangles" : "references dangle"): no such record in \(place) (\(names))")
  }
}

extension KeyEncoding {
  /// Returns the encoding of the identifiers that values of this one name, or nil if only the app knows their order, or if they cannot be
  /// identifiers of the target.
  func ofReference(to target: DatastoreDescriptor?) -> KeyEncoding? {
    let own = content
    guard own.isByteOrdered, own == (target?.identifierEncoding ?? own) else { return nil }
    return own
  }
}
