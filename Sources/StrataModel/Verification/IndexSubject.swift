import StrataDocuments

struct IndexSubject: Sendable {
  enum Source: Sendable {
    case rule(IndexRule)
    case format
  }

  let index: EngineIndex
  let name: String
  var source: Source?
  /// Whether its rule is only likely: records of older versions, which the app converts first, may have other values.
  var sparesOlder = false
  private var spared = 0
  private var findings: [Finding] = []
  /// The entries that the records should have, and the entries found.
  private var expected = EntrySum()
  private var found = EntrySum()
  private var missing = 0
  private var strays = 0
  private var disordered = 0
  private var duplicates = 0
  private var behind = 0
  private var withoutValue = 0

  init(_ index: EngineIndex) {
    self.index = index
    name = index.descriptor.name
  }

  var withoutCounts: IndexSubject {
    var subject = IndexSubject(index)
    subject.source = source
    subject.sparesOlder = sparesOlder
    return subject
  }

  mutating func add(_ other: IndexSubject) {
    expected.add(other.expected)
    spared += other.spared
    findings += other.findings.prefix(max(0, DatastoreVerifier.listLimit - withoutValue))
    withoutValue += other.withoutValue
  }

  var entries: Int { found.count }

  /// The paths of records that its rule reads.
  var paths: [DocumentPath] { if case .rule(let rule)? = source { rule.tiers.map(\.path) } else { [] } }

  /// Whether the found entries differ from those that the records should have, or those are unknown.
  var disagrees: Bool { source == nil || expected != found }

  /// Whether there may be entries beyond those of the records' values.
  var mayHaveStrays: Bool { source == nil || expected.count - missing != found.count }

  /// Returns the encoded values of a record, or nil if they are unknown.
  func values(of document: Document, _ given: [String: [[UInt8]]]?) -> [[UInt8]]? {
    switch source {
    case .rule(let rule): try? rule.encodedValues(of: document)
    case .format: given?[name] ?? []
    case nil: nil
    }
  }

  /// Returns the same values, and reports a record that should have values but does not.
  mutating func values(
    of document: Document, _ given: [String: [[UInt8]]]?, isOlder: Bool, expectedOf key: StoredKey
  ) -> [[UInt8]] {
    guard source != nil else { return [] }
    if isOlder, sparesOlder {
      spared += 1
      return []
    }
    if let values = values(of: document, given) { return values }
    withoutValue += 1
    if withoutValue <= DatastoreVerifier.listLimit {
      add("the record has no value that the index could hold", of: key, advice: "mend the record", severity)
    }
    return []
  }

  /// A stale index need not hold its records, but cannot be rebuilt either until those without a value are mended.
  private var severity: Finding.Severity { index.descriptor.isStale ? .note : .wrong }

  /// Counts the entries that a record should have. `entry`: memory to make them in.
  mutating func expect(_ values: [[UInt8]], of identifier: [UInt8], _ entry: inout [UInt8]) {
    for value in values {
      entry.removeAll(keepingCapacity: true)
      EntryKey.append(value: value, identifier: identifier, to: &entry)
      expected.add(entry)
    }
  }

  mutating func find(_ entry: [UInt8]) { found.add(entry) }

  mutating func nameMissing(_ key: StoredKey, _ document: Document, _ given: [String: [[UInt8]]]?) throws(ModelError) {
    for value in values(of: document, given) ?? [] where try !index.contains(value, of: key) {
      missing += 1
      tell(missing, key, "the entry \(index.descriptor.shownValue(value)) is missing")
    }
  }

  mutating func stray(_ entry: IndexEntry, _ reason: String) {
    strays += 1
    tell(strays, entry.identifier, "the entry \(entry.value) is too many: \(reason)")
  }

  mutating func disorder(_ entry: IndexEntry) {
    disordered += 1
    tell(disordered, entry.identifier, "the entry \(entry.value) does not come after the one before it")
  }

  mutating func fallBehind(_ entry: IndexEntry) {
    behind += 1
    tell(behind, entry.identifier, "the entry \(entry.value) refers to an older version of the record")
  }

  mutating func duplicate(_ value: KeyValue, of owners: [StoredKey]) {
    duplicates += 1
    guard duplicates <= DatastoreVerifier.listLimit else { return }
    let names = owners.prefix(4).map(\.description).joined(separator: ", ")
    add(
      "\(value) belongs to \(owners.count) records: \(names)\(owners.count > 4 ? ", …" : "")",
      index.descriptor.isUnique ? .wrong : .note)
  }

  /// Adds the findings that concern all of its entries, and returns the result.
  mutating func finish() -> IndexVerification {
    var rule: String?
    if case .rule(let known)? = source { rule = known.text }
    if spared > 0 {
      add("the values of \(counted(spared, "record")) of older versions cannot be checked without the app", .note)
    }
    if withoutValue > DatastoreVerifier.listLimit {
      add("\(withoutValue) records without a value in all", severity)
    }
    if index.descriptor.isStale {
      let count = missing + strays + disordered
      let disagreeing = count == 1 ? "1 entry disagrees" : "\(count) entries disagree"
      add(
        count == 0 ? "it is stale" : "it is stale, and \(disagreeing) with the records",
        advice: "the app rebuilds it when it opens the store", .note)
    } else {
      for (count, name) in [
        (missing, "missing entries"), (strays, "entries too many"), (disordered, "entries out of order"),
        (behind, "entries of older versions"),
      ] where count > DatastoreVerifier.listLimit { add("\(count) \(name) in all") }
    }
    return IndexVerification(
      name: name, isStale: index.descriptor.isStale, entries: entries, strays: strays, missing: missing, rule: rule,
      findings: findings)
  }

  /// Reports an entry if it is among the first of its kind. For an index that is to be rebuilt, only the count is reported.
  private mutating func tell(_ count: Int, _ record: StoredKey, _ text: String) {
    guard !index.descriptor.isStale, count <= DatastoreVerifier.listLimit else { return }
    add(text, of: record, advice: "rebuild the index")
  }

  /// Adds a finding about the index, or about a record of it.
  mutating func add(
    _ text: String, of record: StoredKey? = nil, advice: String? = nil, _ severity: Finding.Severity = .wrong
  ) {
    findings.append(
      Finding(
        severity: severity, datastore: index.datastore.descriptor.key, index: name, record: record, text: text,
        advice: advice))
  }
}
