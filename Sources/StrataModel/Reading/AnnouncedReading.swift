package import StrataDocuments
package import StrataEngine

/// A reading of a store, described so that another computer can do it: the one that has the store's bytes.
package enum AnnouncedReading: Hashable, Codable, Sendable {
  /// The datastores of a commit with their counts, and the names of commits.
  case outline(CommitNumber)
  case commits(from: [CommitNumber], limit: Int, folded: Bool)
  /// The commit that a user means by a name.
  case name(String)
  /// Keys of a tree: their entries, ranks and records.
  case keys([[UInt8]], in: TreeName, at: CommitNumber)
  /// The entries of some ranges of ranks, with their records.
  case entries([Range<Int>], in: TreeName, at: CommitNumber)
  /// The changes from a commit, or from the parent if that is nil.
  case changes(from: CommitNumber?, to: CommitNumber)
  case versions(of: [UInt8], in: String, from: CommitNumber, limit: Int)
}

/// The other side of a line, which has the bytes of a store.
package protocol DistantStore: AnyObject, Sendable {
  /// Announces what the calling thread reads until `endReading`. If bytes are missing, the line brings all bytes of that reading at once.
  /// The first of nested calls counts.
  func beginReading(_ reading: AnnouncedReading)
  func endReading()
  /// The rules of a datastore's indexes, which the other side proves, because that may read each record.
  func rules(of datastore: DatastoreDescriptor, at commit: CommitNumber) throws(ModelError) -> [String: RuleOutcome]
}

extension EngineStore {
  /// Announces what the calling thread reads until `endReading`. Does nothing if the bytes are here.
  func beginReading(_ reading: @autoclosure () -> AnnouncedReading) { distant?.beginReading(reading()) }
  func endReading() { distant?.endReading() }

  /// Does an announced reading, for the sake of the bytes that it reads.
  ///
  /// - Parameter goesOn: whether to read more, asked between the parts of the reading.
  package func read(_ reading: AnnouncedReading, while goesOn: () -> Bool) throws(ModelError) {
    switch reading {
    case .outline(let commit): try readOutline(of: engineView(at: commit))
    case .commits(let newest, let limit, let folded): _ = try commitPage(from: newest, limit: limit, folded: folded)
    case .name(let name): _ = try resolve(name)
    case .keys(let keys, let tree, let commit): try read(keys, in: tree, of: engineView(at: commit))
    case .entries(let ranks, let tree, let commit): try read(ranks, of: tree, in: engineView(at: commit), while: goesOn)
    case .changes(let old, let new):
      let reader = if let old { try changes(from: old, to: new) } else { try changes(of: new) }
      while goesOn() { if try reader.next(64).isEmpty { return } }
    case .versions(let key, let datastore, let newest, let limit):
      _ = try versions(of: StoredKey(bytes: key, value: .data(key)), in: datastore, from: newest, limit: limit)
    }
  }

  /// The rules of a datastore's indexes as far as its records prove them, for another computer.
  package func rules(of key: String, at commit: CommitNumber) throws(ModelError) -> Document {
    RuleOutcome.document(of: try proofs.rules(of: engineView(at: commit).requiredDatastore(key)))
  }

  private func readOutline(of view: EngineView) throws(ModelError) {
    _ = try pins
    _ = try commitUncounted(view.commit)
    for datastore in try view.ownDatastores {
      for index in datastore.indexes { _ = try index.count }
      _ = (try datastore.count, try datastore.leftOut(limit: 100), datastore.compressedShare)
    }
  }

  private func read(_ keys: [[UInt8]], in name: TreeName, of view: EngineView) throws(ModelError) {
    guard let tree = try view.tree(name), tree.order == .bytes else { return }
    try onStorage {
      for key in keys {
        _ = try tree.rank(of: .bytes(key))
        try tree.readValue(of: key)
      }
    }
  }

  private func read(
    _ ranks: [Range<Int>], of name: TreeName, in view: EngineView, while goesOn: () -> Bool
  ) throws(ModelError) {
    guard let tree = try view.tree(name) else { return }
    let records = try name.indexName.flatMap { place throws(ModelError) in try view.tree(.records(of: place.datastore))
    }
    try onStorage {
      var cursor = tree.cursor()
      for range in ranks {
        var rank = max(0, range.lowerBound)
        try cursor.seek(rank: UInt64(rank))
        while rank < range.upperBound, goesOn(), let entry = cursor.current {
          if let (_, key) = name.recordOfEntry(entry.key.array) {
            if let records, records.order == .bytes { try records.readValue(of: key) }
          } else if let record = entry.payload.record {
            _ = try tree.value(of: record)
          }
          rank += 1
          try cursor.next()
        }
      }
    }
  }
}

extension Tree {
  fileprivate func readValue(of key: [UInt8]) throws(StorageError) {
    if let record = try find(.bytes(key))?.payload.record { _ = try value(of: record) }
  }
}

extension EngineView {
  /// Announces that the place of a bound in a tree is looked for.
  func beginReading(_ bound: KeyBound, _ encoding: KeyEncoding, in tree: TreeName) {
    guard let distant = store.distant else { return }
    switch bound {
    case .before(let value):
      distant.beginReading(.keys([(try? encoding.bound(before: value)) ?? []], in: tree, at: commit))
    case .after(let value):
      distant.beginReading(.keys([(try? encoding.bound(after: value)) ?? []], in: tree, at: commit))
    case .start, .end: distant.beginReading(.outline(commit))
    }
  }
}

extension RuleOutcome {
  /// The outcomes of a datastore's indexes, for another computer.
  fileprivate static func document(of outcomes: [String: RuleOutcome]) -> Document {
    .object(
      outcomes.sorted { $0.key < $1.key }.map { name, outcome in
        switch outcome {
        case .proven(let rule): .init(name, .array(rule.tiers.map { .string($0.path.description) }))
        case .unproven(let reason): .init(name, .string(reason))
        }
      })
  }

  /// Reads the outcomes for some indexes. Returns nil if the document has other contents.
  package static func outcomes(_ document: Document, for indexes: [IndexDescriptor]) -> [String: RuleOutcome]? {
    var outcomes: [String: RuleOutcome] = [:]
    for index in indexes {
      switch document[member: index.name] {
      case .string(let reason)?: outcomes[index.name] = .unproven(reason: reason)
      case .array(let texts)?:
        let paths = texts.compactMap { text in
          if case .string(let text) = text { try? DocumentPath(parsing: text) } else { DocumentPath?.none }
        }
        guard paths.count == texts.count, paths.count == index.tierEncodings.count else { return nil }
        outcomes[index.name] = .proven(
          IndexRule(index, paths: paths, origin: index.hasDeclaredRule ? .declared : .onlyCandidate))
      default: return nil
      }
    }
    return outcomes
  }
}
