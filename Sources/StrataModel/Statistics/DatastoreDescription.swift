package import StrataDocuments

/// The contents of a datastore's fields: types, nulls, distinct values, minimum, quartiles, maximum, the most frequent values.
package struct DatastoreDescription: Sendable {
  /// In the order in which they were met in records.
  package var fields: [FieldDescription]
  /// The number of records read, and of all records.
  package var read: Int
  package var total: Int
  /// Records that do not parse as documents.
  package var unreadable: Int

  package var isComplete: Bool { read == total }
}

/// The contents of one field.
package struct FieldDescription: Sendable {
  package enum Kind: Int, Sendable, Hashable, CaseIterable {
    case text, number, bool, date, data, list, object

    /// The name that the tree of a record has for the type; numbers have one, whole or not.
    package var typeName: String {
      switch self {
      case .text: "String"
      case .number: "Number"
      case .bool: "Bool"
      case .date: "Date"
      case .data: "Data"
      case .list: "list"
      case .object: "object"
      }
    }
  }

  /// A frequent value.
  package struct Common: Sendable {
    package var value: Document
    package var count: Int
  }

  /// As it is typed in a filter; elements of lists of objects have `[]` in it.
  package var name: String
  /// Nil within lists, because the field then has many values in a record.
  package var path: DocumentPath?
  /// Types met with the records (of elements: the elements) that have them, the most frequent first.
  package var kinds: [(kind: Kind, count: Int)]
  /// Records in which it is null, and in which it is missing.
  package var nulls: Int
  package var missing: Int
  /// The number of values, including each element of lists; without nulls.
  package var count: Int
  package var distinct: Int
  /// Whether `distinct` is estimated.
  package var isEstimated: Bool
  /// Whether the counts in `commonest` are lower bounds.
  package var areCountsLeast: Bool
  package var commonest: [Common]
  /// The minimum and maximum of its numbers and dates, or of its texts if it has only texts; nil if it has neither.
  package var least: Document?
  package var greatest: Document?
  /// Lower quartile, median, upper quartile: existing values, at 1/4, 1/2, 3/4 of the sorted values. Empty for texts without an index.
  package var quartiles: [Document] = []
  /// Whether the quartiles come from a sample of `NumberSample.limit` values.
  package var areQuartilesSampled = false
  /// The sum of its numbers, in decimal digits.
  package var sum: NumberText?
  package var mean: NumberText?
  /// Whether sum and mean are rounded, because the exact ones have more than 38 digits.
  package var isRounded: Bool
  /// The counts of values in equal parts between minimum and maximum; for texts the counts of the most frequent. For a small chart.
  package var distribution: [Int] = []
  /// The index over the field.
  package var index: String?

  /// The number of parts of a distribution.
  package static let distributionParts = 24

  /// Takes the ends, the quartiles and, if the counts had to be estimated, the distinct values from an index.
  fileprivate mutating func correct(
    by index: any ReadableIndex, in datastore: any ReadableDatastore, isComplete: Bool,
    _ goOn: () throws(ModelError) -> Void
  ) throws(ModelError) {
    let shape = KeyShape(index.descriptor.encoding)
    let hasManyValues = index.descriptor.kind.hasManyValues
    let scalars = kinds.map(\.kind).filter { $0 != .list }
    guard shape.isOrdered, !shape.isTier, !shape.isDescending, scalars.count == 1, scalars != [.object],
      shape.encoding == .string || !hasManyValues
    else { return }
    let nulls = shape.hasNull ? try index.rank(of: .after(.null)) : 0
    let ranks = nulls..<max(nulls, try index.count)
    guard !ranks.isEmpty else { return }
    func values(_ places: [Int]) throws(ModelError) -> [Document] {
      var found: [Document] = []
      for place in places {
        guard let entry = try index.entries(at: nulls + place..<nulls + place + 1).first else { continue }
        if hasManyValues {
          if case .string(let text) = entry.value { found.append(.string(text)) }
        } else if let path, let value = try datastore.record(entry.identifier)?.document()[path] {
          found.append(value)
        }
      }
      return found
    }
    let known = try values([0] + (1...3).map { NumberSample.quartile($0, of: ranks.count) } + [ranks.count - 1])
    guard known.count == 5 else { return }
    // If all records were read, equal ends prove that the index holds these values in this order.
    guard !isComplete || known[0] == least && known[4] == greatest else { return }
    (least, greatest, quartiles, areQuartilesSampled) = (known[0], known[4], Array(known[1...3]), false)
    guard isComplete, isEstimated else { return }
    var keys = 0
    var runs: [Range<Int>] = []
    try index.forEachKey(in: ranks, goOn) { _, run in
      keys += 1
      guard runs.count < 8 || run.count > runs[7].count else { return }
      runs.insert(run, at: runs.firstIndex { $0.count < run.count } ?? runs.count)
      if runs.count > 8 { runs.removeLast() }
    }
    (distinct, isEstimated) = (keys, false)
    // A value that is twice in a list is one entry.
    if hasManyValues { return }
    areCountsLeast = false
    let common = try values(runs.map { $0.lowerBound - nulls })
    commonest = zip(common, runs).map { Common(value: $0, count: $1.count) }
  }
}

/// Describes records: all records of a datastore, or those that a table shows.
///
///     var fields = RowDescription()
///     try fields.see(recordsOf: datastore)
///     show(try fields.description(indexes: datastore))
///
/// Costs a parse of each record; memory is that of the distinct fields, not of the records.
package struct RowDescription {
  private let root = FieldStatistics()
  private var count = 0
  private var unreadable = 0

  package init() {}

  /// Takes a record into account. Pass nil for one that does not parse as a document.
  package mutating func see(_ document: Document?) {
    count += 1
    if let document { root.see(document) } else { unreadable += 1 }
  }

  /// Takes the records of a datastore into account, `limit` of them at most.
  package mutating func see(
    recordsOf datastore: any ReadableDatastore, limit: Int = .max
  ) throws(ModelError) {
    var cursor = try datastore.records(at: 0..<min(limit, try datastore.count))
    while try cursor.next() { see(try cursor.rawRecord().flatMap { try? $0.document() }) }
  }

  /// Returns the description of the records seen so far. Costs a sort of the kept numbers.
  ///
  /// - Parameters:
  ///   - read: the number of rows read, of `total`; nil if these are all.
  ///   - datastore: the datastore of which these are all records. Its indexes give the exact ends and quartiles of fields before a
  ///     record is read, and at the end also the estimated figures, for a walk of the index.
  ///   - goOn: called during such a walk; throws to end it.
  package func description(
    of read: Int? = nil, _ total: Int? = nil, indexes datastore: (any ReadableDatastore)? = nil,
    goOn: () throws(ModelError) -> Void = {}
  ) throws(ModelError) -> DatastoreDescription {
    let (read, total) = (read ?? count, total ?? count)
    var fields: [FieldDescription] = []
    root.describe(into: &fields, records: count - unreadable, prefix: "", path: .root)
    if let datastore {
      let identifier = datastore.descriptor.identifierPath.flatMap { try? DocumentPath(parsing: $0) }
      for position in fields.indices {
        guard let path = fields[position].path else { continue }
        if read == total, path == identifier, fields[position].isEstimated {
          // Every identifier occurs once.
          (fields[position].distinct, fields[position].isEstimated) = (fields[position].count, false)
          fields[position].areCountsLeast = false
          fields[position].commonest = []
        }
        let indexes = datastore.indexes.filter { !$0.descriptor.isStale }
        guard let index = indexes.first(where: { $0.descriptor.documentPath == path }) else { continue }
        fields[position].index = index.descriptor.name
        guard let index = try datastore.exactIndex(of: path) else { continue }
        try fields[position].correct(by: index, in: datastore, isComplete: read == total, goOn)
      }
    }
    return DatastoreDescription(fields: fields, read: read, total: total, unreadable: unreadable)
  }
}

extension ReadableIndex {
  /// Walks the distinct keys of a run of entries, in order. A key with many entries costs a search, others a part of a read.
  ///
  /// - Parameter goOn: called before each read or search; throws to end the walk.
  package func forEachKey(
    in ranks: Range<Int>, _ goOn: () throws(ModelError) -> Void,
    _ body: (KeyValue, Range<Int>) throws(ModelError) -> Void
  ) throws(ModelError) {
    var rank = ranks.lowerBound
    var size = 16
    while rank < ranks.upperBound {
      try goOn()
      let entries = try entries(at: rank..<min(ranks.upperBound, rank + size))
      guard let last = entries.last else { return }
      var start = 0
      for place in entries.indices where entries[place].value != entries[start].value {
        try body(entries[start].value, rank + start..<rank + place)
        start = place
      }
      // The last key may have more entries after those that were read.
      let end = rank + entries.count
      let behind =
        end == ranks.upperBound ? end : min(ranks.upperBound, max(end, try self.rank(of: .after(last.value))))
      try body(last.value, rank + start..<behind)
      size = start > entries.count / 4 ? min(1_024, size * 2) : 16
      rank = behind
    }
  }
}
