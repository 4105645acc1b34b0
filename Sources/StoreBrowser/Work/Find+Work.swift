import StrataModel

/// Finds records by the beginning of their identifier or of an indexed text, and commits by name: searches in trees, no scan of records.
struct FindRequest: Question, Hashable {
  static let slot = WorkSlot(name: "find")
  var readsOn: Bool { true }
  var text: String
  var commit: CommitNumber
  var head: CommitNumber
  var naming = Naming()
  /// The only datastore to look in, without commits; nil looks everywhere.
  var datastore: String?

  struct Record: Sendable {
    var place: RecordPlace
    var label: String?
    /// Whether the identifier is the typed text.
    var isExact: Bool
    /// The index that has the text, with its key; nil if the identifier begins so.
    var key: (index: String, text: String)?
    /// The first fields.
    var lines: [String]
  }

  struct Reply: Sendable {
    var request: FindRequest
    var records: [Record]
    var commits: [CommitDetails]
  }

  /// The records of one index that are shown, and the commits that are looked at.
  private var recordLimit: Int { datastore == nil ? 8 : 500 }
  private static let commitLimit = 500

  func reply(in context: WorkContext) throws(ModelError) -> Reply {
    // Each letter takes several searches, each of them a round trip.
    if context.store.isDistant { try context.pause() }
    var reply = Reply(request: self, records: [], commits: [])
    for datastore in try context.datastores(at: commit)
    where self.datastore == nil || self.datastore == datastore.descriptor.key {
      try context.goOn()
      var known: Set<StoredKey> = []
      for index in [datastore.primary] + (text.isEmpty ? [] : datastore.indexes)
      where !index.descriptor.isStale && (index.descriptor.kind == .primary || index.descriptor.encoding.isText) {
        for entry in try index.entries(beginningWith: text, limit: recordLimit)
        where known.insert(entry.identifier).inserted {
          reply.records.append(try found(entry, in: datastore, index))
        }
      }
    }
    if head.rawValue > 0, datastore == nil {
      reply.commits = try context.store.commits(from: head, limit: Self.commitLimit, folded: true)
    }
    return reply
  }

  private func found(
    _ entry: IndexEntry, in datastore: any ReadableDatastore, _ index: any ReadableIndex
  ) throws(ModelError) -> Record {
    let key = datastore.descriptor.key
    let document = try datastore.record(entry.identifier).flatMap { try? $0.document() }
    let identifier = ValueText(key: entry.identifier.value).text
    return Record(
      place: RecordPlace(datastore: key, identifier: entry.identifier),
      label: document.flatMap { naming.label(of: $0, in: key) }, isExact: identifier == text,
      key: index.descriptor.kind == .primary ? nil : (index.descriptor.name, ValueText(key: entry.value).text),
      lines: (document.map(WorkContext.cells) ?? []).prefix(8).map { "\($0.path.drop { $0 == "." }): \($0.value.text)" }
    )
  }
}

extension ReadableIndex {
  /// Returns the first entries whose keys are written with a text at the beginning; in either case if the text has no capital letter. It
  /// searches the tree once for a UUID, for numbers once for each possible number of digits, and for texts twice for each letter of each
  /// spelling that the index has.
  func entries(beginningWith text: String, limit: Int) throws(ModelError) -> [IndexEntry] {
    if text.isEmpty { return try entries(at: 0..<min(limit, count)) }
    var entries: [IndexEntry] = []
    for (lower, upper) in try keys(beginningWith: text, of: descriptor.encoding) where entries.count < limit {
      let first = try rank(of: .before(lower))
      let end = min(try rank(of: .after(upper)), first + limit - entries.count)
      if first < end { entries += try self.entries(at: first..<end) }
    }
    return entries
  }

  /// The limits of the keys that begin with each spelling of a text that the index has.
  private func spellings(of text: String) throws(ModelError) -> [(lower: KeyValue, upper: KeyValue)] {
    func limits(_ text: String) -> (lower: KeyValue, upper: KeyValue) { (.string(text), .string(text + "\u{10FFFF}")) }
    guard !text.contains(where: \.isUppercase) else { return [limits(text)] }
    var spellings = [""]
    for letter in text {
      let letters = Set([String(letter), letter.uppercased()]).sorted(by: >)
      let longer = spellings.flatMap { beginning in letters.map { beginning + $0 } }.prefix(64)
      spellings = []
      for spelling in longer {
        let (lower, upper) = limits(spelling)
        // A sign without case needs no search of its own.
        let isThere = letters.count == 1 ? true : try rank(of: .before(lower)) < rank(of: .after(upper))
        if isThere { spellings.append(spelling) }
      }
    }
    return spellings.map(limits)
  }

  private func keys(
    beginningWith text: String, of encoding: KeyEncoding
  ) throws(ModelError) -> [(lower: KeyValue, upper: KeyValue)] {
    switch encoding {
    case .optional(let inner): return try keys(beginningWith: text, of: inner)
    case .string: return try spellings(of: text)
    case .uuid:
      let digits = text.filter { $0 != "-" }
      guard digits.count <= 32, digits.allSatisfy(\.isHexDigit) else { return [] }
      func bytes(_ filler: String) -> UUIDBytes {
        let all = digits + String(repeating: filler, count: 32 - digits.count)
        return UUIDBytes(high: UInt64(all.prefix(16), radix: 16) ?? 0, low: UInt64(all.suffix(16), radix: 16) ?? 0)
      }
      return [(.uuid(bytes("0")), .uuid(bytes("f")))]
    case .integer, .unsigned:
      let isNegative = text.first == "-"
      let digits = isNegative ? text.dropFirst() : text[...]
      guard let number = UInt64(digits), digits.first != "+", !isNegative || number > 0 && encoding == .integer else {
        return []
      }
      func key(_ number: UInt64) -> KeyValue {
        if isNegative { return .integer(Int64(exactly: number).map { -$0 } ?? .min) }
        return Int64(exactly: number).map(KeyValue.integer) ?? .unsigned(number)
      }
      var keys: [(lower: KeyValue, upper: KeyValue)] = []
      var (lower, count) = (number, UInt64(1))
      while !isNegative || lower <= Int64.min.magnitude {
        let (upper, isTooLarge) = lower.addingReportingOverflow(count - 1)
        let ends = [key(lower), key(isTooLarge ? .max : upper)]
        keys.append(isNegative ? (ends[1], ends[0]) : (ends[0], ends[1]))
        let (next, overflows) = lower.multipliedReportingOverflow(by: 10)
        guard number > 0, !overflows, !isTooLarge else { break }
        (lower, count) = (next, count * 10)
      }
      return keys
    default: return []
    }
  }
}
