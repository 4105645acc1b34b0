import StrataDocuments
import StrataEngine

/// Verifies a datastore: each record decodes, and each index agrees with the records both ways, as far as its rule is known. An index that
/// is marked stale need not agree, because no read uses it.
///
/// Reads every record and every entry once, in the order of their trees, and compares the entries that the records should have with the
/// found ones by sums. Only if these differ does it look up each entry, to name the wrong ones. Memory does not grow with their number,
/// unless only the app can order the records.
struct DatastoreVerifier {
  private let datastore: EngineDatastore
  private let descriptor: DatastoreDescriptor
  private let indexes: [EngineIndex]
  private let progress: WorkProgress?
  /// The app's own types, if they are compiled in.
  private let format: (any CompiledFormat)?
  private let total: Int
  private var done = 0
  private var result: DatastoreVerification
  private var subjects: [IndexSubject] = []
  private var leftOut: Set<StoredKey> = []
  /// The places of all records by identifier, if only the app can order identifiers: each search would walk all of them.
  private var places: [[UInt8]: RecordReference]?

  /// The number of listed findings of one kind; further ones are only counted.
  static let listLimit = 20

  /// - Parameter index: the only index to verify; nil for all.
  init(_ datastore: EngineDatastore, index: String?, progress: WorkProgress?) throws(ModelError) {
    self.datastore = datastore
    self.progress = progress
    descriptor = datastore.descriptor
    format = datastore.view.store.formats[descriptor.key]
    indexes = descriptor.indexes.filter { index == nil || $0.name == index }
      .map { EngineIndex(datastore: datastore, descriptor: $0) }
    result = DatastoreVerification(key: descriptor.key)
    var total = try datastore.count
    for index in indexes { total += try index.count }
    self.total = total
  }

  mutating func run() throws(ModelError) -> DatastoreVerification {
    try checkLeftOut()
    try chooseSubjects()
    try checkRecords()
    for position in subjects.indices { try checkEntries(position) }
    // Names the records and entries that disagree, for the indexes whose entries differ from those that the records should have: one
    // look-up per entry, which nothing else needs.
    let wanted = subjects.indices.filter { subjects[$0].disagrees }
    try nameMissing(wanted)
    for position in wanted where subjects[position].mayHaveStrays { try nameStrays(position) }
    for position in subjects.indices { result.indexes.append(subjects[position].finish()) }
    return result
  }

  private mutating func checkLeftOut() throws(ModelError) {
    result.leftOut = try datastore.leftOutCount
    for record in try datastore.leftOut(limit: result.leftOut) {
      leftOut.insert(record.identifier)
      guard leftOut.count <= Self.listLimit else { continue }
      result.findings.append(
        Finding(
          severity: .note, datastore: descriptor.key, record: record.identifier,
          text: "left out of the indexes: \(record.reason)",
          advice: "mend the record, then it is indexed again"))
    }
  }

  private mutating func chooseSubjects() throws(ModelError) {
    let open = indexes.filter { !$0.descriptor.isStale && format == nil && $0.descriptor.declaredRule == nil }
    let outcomes = try RuleProof(datastore: datastore, progress: askedOnly).outcomes(of: open)
    for index in indexes {
      var subject = IndexSubject(index)
      if format != nil {
        subject.source = .format
      } else if let rule = index.descriptor.declaredRule {
        subject.source = .rule(rule)
      } else if index.descriptor.isStale {
        // A rule is found from the entries, and those of a stale index cannot be trusted.
      } else if case .proven(let rule)? = outcomes[subject.name] {
        subject.source = .rule(rule)
      } else if let rule = try RuleProof(datastore: datastore).likelyRule(of: index) {
        subject.source = .rule(rule)
        subject.sparesOlder = true
      } else if case .unproven(let reason)? = outcomes[subject.name] {
        subject.add("its values cannot be checked without the app: \(reason)", .note)
      }
      subjects.append(subject)
    }
  }

  /// Asks whether to continue while the check itself has done nothing yet.
  private var askedOnly: WorkProgress? {
    guard let progress else { return nil }
    return { _, _ in progress(0, 0) }
  }

  // MARK: Records

  /// Reads the records on all processors: they take most of the time, and parts of them share nothing.
  private mutating func checkRecords() throws(ModelError) {
    let count = try datastore.count
    let check = RecordCheck(
      datastore, format: format, leftOut: leftOut, subjects: subjects.map(\.withoutCounts))
    try onFailures {
      try (0..<count).forEachPart { ranks throws(ModelError) in
        var part = check
        try part.run(ranks)
        return part
      } body: { part, _ in
        result.records += part.records
        result.faultyRecords += part.faults
        result.findings += part.findings.prefix(max(0, RecordCheck.findingLimit - result.findings.count))
        for position in subjects.indices { subjects[position].add(part.subjects[position]) }
        try advance(by: part.records)
      }
    }
    if result.faultyRecords > RecordCheck.findingLimit { wrong("\(result.faultyRecords) faults of records in all") }
    if result.records != count { wrong("\(result.records) records can be read, and it should have \(count)") }
  }

  // MARK: Entries

  /// Reads each entry of an index once: its order and its contents.
  private mutating func checkEntries(_ position: Int) throws(ModelError) {
    let index = subjects[position].index
    let count = try index.count
    var owners = ValueOwners()
    if let tree = try index.tree() {
      let isDirect = index.descriptor.storage == .direct && !index.descriptor.isStale
      let isForOne = (index.descriptor.kind.meansOneRecord || index.descriptor.isUnique) && !index.descriptor.isStale
      let isOrdered = index.descriptor.encoding.isByteOrdered
      var (key, last): ([UInt8], [UInt8]) = ([], [])
      var cursor = tree.cursor()
      try onStorage { try cursor.seekToStart() }
      while cursor.currentPayload != nil {
        try onStorage { try cursor.copyKey(into: &key) }
        guard let identifier = key.withUnsafeBytes({ EntryKey.identifierRange($0) }) else {
          throw .unreadable(what: "an entry of \(index.descriptor.name)", where: "its key cannot be taken apart")
        }
        if isOrdered, subjects[position].entries > 0, !follows(key, last, identifier) {
          subjects[position].disorder(index.entry(key, identifier))
        }
        subjects[position].find(key)
        // An entry of a direct index may refer to another version of its record than the newest.
        if isDirect, let payload = cursor.currentPayload,
          try reference(of: Array(key[identifier])) != payload.record
        {
          subjects[position].fallBehind(index.entry(key, identifier))
        }
        if isForOne, let shared = owners.next(key, identifier) {
          reportDuplicates(shared, position)
        }
        swap(&key, &last)
        try onStorage { try cursor.next() }
        try advance()
      }
    } else if !index.descriptor.isStale {
      subjects[position].add("its tree is missing", advice: "rebuild the index")
    }
    if let shared = owners.end() { reportDuplicates(shared, position) }
    let entries = subjects[position].entries
    if entries != count { subjects[position].add("\(entries) entries can be read, and it should have \(count)") }
  }

  /// Whether an entry's key comes after the previous one. If only the app can order identifiers, the identifiers cannot order entries of
  /// one value.
  private func follows(_ key: [UInt8], _ last: [UInt8], _ identifier: Range<Int>) -> Bool {
    guard !descriptor.identifierEncoding.isByteOrdered else { return last.precedes(key) }
    let before = last.withUnsafeBytes { EntryKey.identifierRange($0) } ?? 0..<0
    return !Array(key[..<identifier.lowerBound]).precedes(Array(last[..<before.lowerBound]))
  }

  private mutating func reportDuplicates(_ owners: ValueOwners.Shared, _ position: Int) {
    guard let value = subjects[position].index.descriptor.soleValue(owners.value) else { return }
    subjects[position].duplicate(value, of: owners.identifiers.map(descriptor.storedKey))
  }

  // MARK: Disagreement

  private mutating func nameMissing(_ wanted: [Int]) throws(ModelError) {
    guard wanted.contains(where: { subjects[$0].source != nil }) else { return }
    let selection = DocumentSelection(subjects.flatMap(\.paths))
    var cursor = EngineRecordCursor(datastore, at: 0..<(try datastore.count))
    while try cursor.next() {
      let key = try cursor.identifier
      // Unreadable records were reported already.
      guard !leftOut.contains(key), let content = try? cursor.rawRecord(), let record = try? cursor.record(),
        let document = try? content.document(at: selection)
      else { continue }
      let given = try? format?.keys(of: record.stored).values
      for position in wanted where !subjects[position].sparesOlder || record.version == descriptor.version {
        try subjects[position].nameMissing(key, document, given)
      }
      try advance()
    }
  }

  private mutating func nameStrays(_ position: Int) throws(ModelError) {
    let index = subjects[position].index
    var rank = 0
    while true {
      let entries = try index.entries(at: rank..<(rank + 512))
      if entries.isEmpty { return }
      for entry in entries {
        try nameStray(entry, position)
        try advance()
      }
      rank += entries.count
    }
  }

  private mutating func nameStray(_ entry: IndexEntry, _ position: Int) throws(ModelError) {
    guard let reference = try reference(of: entry.identifier.bytes) else {
      return subjects[position].stray(entry, "there is no such record")
    }
    // A record that cannot be read was reported already.
    let record =
      try? places == nil ? datastore.record(entry.identifier) : datastore.record(entry.identifier, at: reference)
    guard let record else { return }
    if subjects[position].sparesOlder, record.version != descriptor.version { return }
    let value = try? subjects[position].index.descriptor.encoding.encode(entry.value)
    guard let value, let document = try? record.document() else { return }
    let given = try? format?.keys(of: record.stored).values
    guard let values = subjects[position].values(of: document, given) else { return }
    if !values.contains(value) { subjects[position].stray(entry, "the record has not got this value") }
  }

  private mutating func reference(of identifier: [UInt8]) throws(ModelError) -> RecordReference? {
    if datastore.recordOrder.treeOrder == datastore.tree.order {
      return try datastore.entry(identifier)?.payload.record
    }
    if places == nil {
      var all: [[UInt8]: RecordReference] = [:]
      try datastore.forEachRecord { identifier, reference throws(ModelError) in all[identifier] = reference }
      places = all
    }
    return places?[identifier]
  }

  // MARK: Bookkeeping

  private mutating func wrong(_ text: String) {
    result.findings.append(Finding(severity: .wrong, datastore: descriptor.key, text: text))
  }

  private mutating func advance(by count: Int = 1) throws(ModelError) {
    let reports = done / 256
    done += count
    guard done / 256 > reports, let progress else { return }
    if !progress(min(done, total), total) { throw .cancelled }
  }
}

/// Gathers the records that share a value of an index, from its keys in order.
private struct ValueOwners {
  struct Shared {
    var value: [UInt8]
    var identifiers: [[UInt8]]
  }

  private var last = Shared(value: [], identifiers: [])

  /// Takes the next key. Returns the owners of the previous value, if there are several.
  mutating func next(_ key: [UInt8], _ identifier: Range<Int>) -> Shared? {
    let value = key[..<identifier.lowerBound]
    guard !last.identifiers.isEmpty, value.elementsEqual(last.value) else {
      defer { last = Shared(value: Array(value), identifiers: [Array(key[identifier])]) }
      return end()
    }
    last.identifiers.append(Array(key[identifier]))
    return nil
  }

  func end() -> Shared? { last.identifiers.count > 1 ? last : nil }
}
