package import StrataDocuments

/// Proves which document path an index is made from, by the records themselves.
///
/// A path is proven if its values reproduce the index exactly for all records: every value of every record has its
/// entry, and there are no other entries. It must also be the stored key-path name, or the only such path of at least
/// 20 distinct values; otherwise two fields that happen to agree today could be mistaken for each other.
///
/// Candidates come from a few entries; each that is left is checked against all records, once for all indexes of a
/// datastore: the cost is a parse per record and a look-up per value.
struct RuleProof {
  static let distinctValuesNeeded = 20
  private static let sampleSize = 48
  /// The most records, and bytes of records, that are looked up together: on a server each look-up is a round trip.
  private static let groupSize = 512
  private static let groupBytes = 1 << 20

  let datastore: EngineDatastore
  /// Called with the number of records that were read.
  var progress: WorkProgress?

  func outcomes(of indexes: [EngineIndex]) throws(ModelError) -> [String: RuleOutcome] {
    var outcomes: [String: RuleOutcome] = [:]
    var trials: [Trial] = []
    for index in indexes {
      if let outcome = try outcomeWithoutRecords(index) {
        outcomes[index.descriptor.name] = outcome
      } else {
        trials += try candidates(for: index).map { Trial(index: index, rule: $0) }
      }
    }
    try check(&trials)
    for index in indexes where outcomes[index.descriptor.name] == nil {
      let name = index.descriptor.name
      outcomes[name] = verdict(on: trials.filter { $0.index.descriptor.name == name })
    }
    return outcomes
  }

  /// A record that was left out of some indexes may lack its entries, and proves nothing by that.
  fileprivate typealias ReadRecord = (identifier: StoredKey, document: Document, isLeftOut: Bool)

  /// A path under trial.
  fileprivate struct Trial {
    let index: EngineIndex
    let rule: IndexRule
    var isRefuted = false
    /// Values of all records so far; in the end as many as the index has entries.
    var valueCount = 0
    var distinctValues: Set<[UInt8]> = []
    var hasValueBesideNull = false
  }

  private func outcomeWithoutRecords(_ index: EngineIndex) throws(ModelError) -> RuleOutcome? {
    let descriptor = index.descriptor
    if let rule = descriptor.declaredRule { return .proven(rule) }
    guard descriptor.encoding.isByteOrdered else {
      return .unproven(reason: "the order of \(descriptor.valueType) is known only to the app")
    }
    guard !descriptor.valueType.contains("FoldedText") else {
      return .unproven(reason: "only the app folds its texts")
    }
    guard datastore.descriptor.identifierEncoding.isByteOrdered else {
      return .unproven(reason: "the order of \(datastore.descriptor.identifierType) is known only to the app")
    }
    guard datastore.descriptor.coding != .opaque else {
      return .unproven(reason: "the records are of the app's own coding")
    }
    guard try index.count > 0 else { return .unproven(reason: "it has no entries to prove a rule by") }
    return nil
  }

  // MARK: Candidates

  /// The paths that give the right value in each of a few records spread over the index, and the stored names.
  private func candidates(for index: EngineIndex) throws(ModelError) -> [IndexRule] {
    let descriptor = index.descriptor
    var rules: [IndexRule] = []
    if let named = descriptor.namedPaths { rules.append(IndexRule(descriptor, paths: named, origin: .keyPathName)) }
    if !descriptor.tiers.isEmpty { return rules }
    let named = rules.first?.tiers.first?.path
    let found = try pathsInSample(of: index).filter { $0 != named }
    return rules + found.map { IndexRule(descriptor, paths: [$0], origin: .onlyCandidate) }
  }

  private func pathsInSample(of index: EngineIndex) throws(ModelError) -> [DocumentPath] {
    let count = try index.count
    var paths: [DocumentPath]?
    for step in 0..<min(count, Self.sampleSize) {
      let rank = step * count / min(count, Self.sampleSize)
      guard let entry = try index.entries(at: rank..<(rank + 1)).first,
        let document = try? datastore.record(entry.identifier)?.document()
      else { continue }
      // A null may mean a member that is not there, which no document can show.
      if entry.value == .null { continue }
      let key = try? index.descriptor.encoding.encode(entry.value)
      let here = key.map { index.descriptor.paths(to: $0, in: document) } ?? []
      paths = paths.map { $0.filter(here.contains) } ?? here
      if paths?.isEmpty == true { return [] }
    }
    return paths ?? []
  }

  /// The rule that an index most likely has although it does not hold for all records: the stored key-path name, if it
  /// gives at least nine of ten sampled entries. For reports of wrong entries, never for editing.
  func likelyRule(of index: EngineIndex) throws(ModelError) -> IndexRule? {
    let descriptor = index.descriptor
    guard descriptor.encoding.isByteOrdered, let paths = descriptor.namedPaths, try index.count > 0 else { return nil }
    let rule = IndexRule(descriptor, paths: paths, origin: .keyPathName)
    let count = try index.count
    var (seen, right) = (0, 0)
    for step in 0..<min(count, 4 * Self.sampleSize) {
      let rank = step * count / min(count, 4 * Self.sampleSize)
      guard let entry = try index.entries(at: rank..<(rank + 1)).first else { continue }
      seen += 1
      guard let document = try? datastore.record(entry.identifier)?.document(),
        let values = try? rule.encodedValues(of: document), let value = try? descriptor.encoding.encode(entry.value)
      else { continue }
      if values.contains(value) { right += 1 }
    }
    return right * 10 >= seen * 9 ? rule : nil
  }

  // MARK: Checking

  private func check(_ trials: inout [Trial]) throws(ModelError) {
    guard !trials.isEmpty else { return }
    let count = try datastore.count
    let leftOut = Set(try datastore.leftOut(limit: try datastore.leftOutCount).map(\.identifier))
    var unread: Set<StoredKey> = []
    var cursor = datastore.records(at: 0..<count)
    var rank = 0
    var isAtEnd = false
    while !isAtEnd, trials.contains(where: { !$0.isRefuted }) {
      if let progress, !progress(rank, count) { throw .cancelled }
      var group: [ReadRecord] = []
      var bytes = 0
      while group.count < Self.groupSize, bytes < Self.groupBytes, !isAtEnd {
        isAtEnd = try !cursor.next()
        if isAtEnd { break }
        rank += 1
        // The entries of a record that does not parse prove nothing.
        guard let record = try? cursor.record(), let document = try? record.document() else {
          unread.insert(try cursor.identifier)
          continue
        }
        bytes += record.content.count
        group.append((record.identifier, document, leftOut.contains(record.identifier)))
      }
      for position in trials.indices where !trials[position].isRefuted { try trials[position].test(group) }
    }
    for position in trials.indices where !trials[position].isRefuted {
      let index = trials[position].index
      var entries = try index.count
      if trials[position].valueCount != entries, !unread.isEmpty { entries -= try Self.count(of: unread, in: index) }
      if trials[position].valueCount != entries { trials[position].isRefuted = true }
    }
  }

  /// The number of entries that some records have.
  private static func count(of records: Set<StoredKey>, in index: EngineIndex) throws(ModelError) -> Int {
    var (rank, found) = (0, 0)
    while case let entries = try index.entries(at: rank..<(rank + groupSize)), !entries.isEmpty {
      rank += entries.count
      found += entries.count { records.contains($0.identifier) }
    }
    return found
  }

  // MARK: Verdict

  private func verdict(on trials: [Trial]) -> RuleOutcome {
    let found = trials.filter { !$0.isRefuted && $0.hasValueBesideNull }
    if let named = found.first(where: { $0.rule.origin == .keyPathName }) { return .proven(named.rule) }
    guard let only = found.first else {
      return .unproven(reason: "no field of the records reproduces it")
    }
    guard found.count == 1 else {
      let paths = found.prefix(3).map(\.rule.text).joined(separator: " and ")
      return .unproven(reason: "\(paths) reproduce it alike")
    }
    guard only.distinctValues.count >= Self.distinctValuesNeeded else {
      return .unproven(
        reason: "\(only.rule.text) reproduces it, but by only \(only.distinctValues.count) distinct values")
    }
    return .proven(only.rule)
  }
}

extension RuleProof.Trial {
  fileprivate mutating func test(_ records: [RuleProof.ReadRecord]) throws(ModelError) {
    var entries: [(value: [UInt8], identifier: StoredKey)] = []
    var mayLack: [Bool] = []
    for record in records {
      guard let values = try? rule.encodedValues(of: record.document) else {
        if record.isLeftOut { continue }
        isRefuted = true
        return
      }
      for value in values {
        entries.append((value, record.identifier))
        mayLack.append(record.isLeftOut)
      }
    }
    let areThere = try index.contains(entries)
    for (place, entry) in entries.enumerated() {
      guard areThere[place] else {
        if mayLack[place] { continue }
        isRefuted = true
        return
      }
      valueCount += 1
      if distinctValues.count < RuleProof.distinctValuesNeeded { distinctValues.insert(entry.value) }
      if entry.value != KeyEncoding.encodedNull { hasValueBesideNull = true }
    }
  }
}

/// Whether the rule of an index is known.
package enum RuleOutcome: Hashable, Sendable {
  case proven(IndexRule)
  /// With the reason, as half a sentence.
  case unproven(reason: String)

  var rule: IndexRule? { if case .proven(let rule) = self { rule } else { nil } }
}

extension KeyEncoding {
  static let encodedNull: [UInt8] = (try? KeyEncoding.optional(.bool).encode(.null)) ?? []
}

extension IndexDescriptor {
  /// The paths of a document at which the value of a key stands: as a field, or as an element of a list for an index of many.
  package func paths(to key: [UInt8], in document: Document) -> [DocumentPath] {
    func isWanted(_ field: Document) -> Bool {
      encoding.keyValue(of: field).flatMap { try? encoding.encode($0) } == key
    }
    var paths: [DocumentPath] = []
    func visit(_ field: Document, _ path: DocumentPath) {
      if kind.hasManyValues {
        if case .array(let elements) = field, elements.contains(where: isWanted) { paths.append(path) }
      } else if isWanted(field) {
        paths.append(path)
      }
      guard case .object(let members) = field else { return }
      for member in members { visit(member.value, path.appending(member.name)) }
    }
    visit(document, .root)
    return paths
  }
}
