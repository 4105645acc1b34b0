import Documents

/// Verifies a datastore through the reading interface: each record decodes, and each index agrees with the records both
/// ways, as far as its rule is known. An index that is marked stale, which nobody takes for the truth, need not agree.
///
/// Reads every record and every entry once; memory does not grow with them.
package struct DatastoreVerifier {
  private let datastore: any ReadableDatastore
  private let descriptor: DatastoreDescriptor
  private let names: Set<String>?
  private let progress: WorkProgress?
  /// By the app's own types, where they are compiled in.
  private let format: (any CompiledFormat)?
  private let total: Int
  private var done = 0
  private var result: DatastoreVerification
  private var subjects: [IndexSubject] = []
  private var leftOut: Set<StoredKey> = []

  /// Findings of one kind are listed up to here, and counted beyond.
  static let listLimit = 20

  /// - Parameter indexes: only these; nil: all.
  package init(
    _ datastore: any ReadableDatastore, indexes names: [String]? = nil, format: (any CompiledFormat)? = nil,
    progress: WorkProgress? = nil
  ) throws(ModelError) {
    self.datastore = datastore
    self.names = names.map { Set($0) }
    self.format = format
    self.progress = progress
    descriptor = datastore.descriptor
    result = DatastoreVerification(key: descriptor.key)
    var total = try datastore.count
    for index in datastore.indexes { total += try index.count }
    self.total = total
  }

  package mutating func run() throws(ModelError) -> DatastoreVerification {
    try noteLeftOut()
    try chooseSubjects()
    try checkRecords()
    for position in subjects.indices { try checkEntries(position) }
    result.indexes = subjects.map { $0.finished(in: descriptor.key) }
    return result
  }

  private mutating func noteLeftOut() throws(ModelError) {
    result.leftOut = try datastore.leftOutCount
    for record in try datastore.leftOut(limit: 10_000) {
      leftOut.insert(record.identifier)
      guard leftOut.count <= Self.listLimit else { continue }
      result.findings.append(
        Finding(
          .note, datastore: descriptor.key, record: record.identifier, "left out of the indexes: \(record.reason)",
          advice: "mend the record, then it is indexed again"))
    }
  }

  private mutating func chooseSubjects() throws(ModelError) {
    let indexes = datastore.indexes.filter { names?.contains($0.descriptor.name) ?? true }
    let open = indexes.filter { !$0.descriptor.isStale && format == nil && $0.descriptor.declaredRule == nil }
    let outcomes = try RuleProof(datastore: datastore, progress: askedOnly).outcomes(of: open)
    for index in indexes {
      var subject = IndexSubject(index)
      if format != nil {
        subject.source = .format
      } else if let rule = index.descriptor.declaredRule {
        subject.source = .rule(rule)
      } else if index.descriptor.isStale {
        // A rule is found by the entries, and these are not to be trusted.
      } else if case .proven(let rule)? = outcomes[subject.name] {
        subject.source = .rule(rule)
      } else if let rule = try RuleProof(datastore: datastore).likelyRule(of: index) {
        subject.source = .rule(rule)
      } else if case .unproven(let reason)? = outcomes[subject.name] {
        subject.findings.append(
          Finding(
            .note, datastore: descriptor.key, index: subject.name,
            "its values cannot be checked without the app: \(reason)"))
      }
      subjects.append(subject)
    }
  }

  /// Asks whether to go on while nothing of the check itself is done.
  private var askedOnly: WorkProgress? {
    guard let progress else { return nil }
    return { _, _ in progress(0, 0) }
  }

  // MARK: Records

  private mutating func checkRecords() throws(ModelError) {
    let count = try datastore.count
    var rank = 0
    var last: [UInt8]?
    while rank < count {
      let entries = try datastore.primary.entries(at: rank..<min(rank + 512, count))
      if entries.isEmpty { break }
      for entry in entries {
        try checkOrder(of: entry.identifier.bytes, after: last)
        last = entry.identifier.bytes
        try checkRecord(entry.identifier)
        result.records += 1
        try advance()
      }
      rank += entries.count
    }
    if result.records != count {
      wrong(nil, "\(result.records) records can be read, and it should have \(count)", nil)
    }
  }

  private mutating func checkOrder(of key: [UInt8], after last: [UInt8]?) throws(ModelError) {
    guard descriptor.identifierEncoding.isByteOrdered, let last, !last.lexicographicallyPrecedes(key) else { return }
    wrong(descriptor.storedKey(key), "its identifier does not come after the one before it", nil)
  }

  private mutating func checkRecord(_ key: StoredKey) throws(ModelError) {
    guard (try? descriptor.identifierEncoding.decode(key.bytes)) != nil else {
      return wrong(key, "its identifier cannot be read as \(descriptor.identifierType)", nil)
    }
    let record: Record
    let document: Document
    do {
      guard let found = try datastore.record(key) else {
        return wrong(key, "it is listed and cannot be found", "rebuild the store by salvage")
      }
      record = found
      document = try found.document()
    } catch {
      return wrong(key, "it cannot be read: \(error)", "restore the record from the history")
    }
    if leftOut.contains(key) { return }
    let values = format.map { format in Result { () throws(ModelError) in try format.keys(of: record.stored).values } }
    if case .failure(let error)? = values { return wrong(key, "\(error)", "mend the record") }
    for position in subjects.indices {
      try subjects[position].check(key, document, try? values?.get())
    }
  }

  // MARK: Entries

  /// Order and existence of all entries; and where there are more entries than values, which ones are too many.
  private mutating func checkEntries(_ position: Int) throws(ModelError) {
    let index = subjects[position].index
    let count = try index.count
    let knowsValues = subjects[position].source != nil
    let isSuspicious = !knowsValues || subjects[position].foundValues != count
    var rank = 0
    var last: [UInt8]?
    while rank < count {
      let entries = try index.entries(at: rank..<min(rank + 512, count))
      if entries.isEmpty { break }
      for entry in entries {
        let value = try? index.descriptor.encoding.encode(entry.value)
        if index.descriptor.encoding.isByteOrdered, let value {
          // Identifiers that only the app can order tell nothing of entries of one value.
          let isWhole = descriptor.identifierEncoding.isByteOrdered
          let key = isWhole ? EntryKey.make(value: value, identifier: entry.identifier.bytes) : value
          if let last, isWhole ? !last.precedes(key) : key.precedes(last) { subjects[position].disorder(entry) }
          last = key
        }
        if isSuspicious { try checkEntry(entry, value, position) }
        try advance()
      }
      subjects[position].entries += entries.count
      rank += entries.count
    }
    if subjects[position].entries != count {
      subjects[position].findings.append(
        Finding(
          .wrong, datastore: descriptor.key, index: subjects[position].name,
          "\(subjects[position].entries) entries can be read, and it should have \(count)"))
    }
    try checkUniqueness(position)
  }

  private mutating func checkEntry(_ entry: IndexEntry, _ value: [UInt8]?, _ position: Int) throws(ModelError) {
    guard let record = try? datastore.record(entry.identifier) else {
      return subjects[position].stray(entry, "there is no such record")
    }
    guard let value, let document = try? record.document() else { return }
    let given = try? format?.keys(of: record.stored).values
    guard let values = subjects[position].values(of: document, given) else { return }
    if !values.contains(value) { subjects[position].stray(entry, "the record has not got this value") }
  }

  private mutating func checkUniqueness(_ position: Int) throws(ModelError) {
    let index = subjects[position].index
    guard index.descriptor.kind.meansOneRecord || index.descriptor.isUnique, !index.descriptor.isStale else { return }
    let count = try index.count
    var rank = 0
    var owners: [IndexEntry] = []
    while rank < count {
      let entries = try index.entries(at: rank..<min(rank + 512, count))
      if entries.isEmpty { break }
      for entry in entries {
        if owners.first?.value != entry.value {
          reportDuplicates(owners, position)
          owners = []
        }
        owners.append(entry)
      }
      rank += entries.count
    }
    reportDuplicates(owners, position)
  }

  private mutating func reportDuplicates(_ owners: [IndexEntry], _ position: Int) {
    guard owners.count > 1 else { return }
    let isEnforced = subjects[position].index.descriptor.isUnique
    subjects[position].duplicate(owners, isEnforced: isEnforced, in: descriptor.key)
  }

  // MARK: Bookkeeping

  private mutating func wrong(_ record: StoredKey?, _ text: String, _ advice: String?) {
    guard result.findings.count < Self.listLimit * 5 else { return }
    result.findings.append(Finding(.wrong, datastore: descriptor.key, record: record, text, advice: advice))
  }

  private mutating func advance() throws(ModelError) {
    done += 1
    if done % 256 == 0, let progress, !progress(min(done, total), total) { throw .cancelled }
  }
}
