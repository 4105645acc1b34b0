package import Documents

/// What is in the fields of a datastore: types, nulls, distinct values, least, quartiles, greatest, the commonest values.
package struct DatastoreDescription: Sendable {
  /// In the order in which they were met in records.
  package var fields: [FieldDescription]
  /// Records read, of how many.
  package var read: Int
  package var total: Int
  /// Records that are no document.
  package var unreadable: Int

  package var isComplete: Bool { read == total }
}

/// What is in one field.
package struct FieldDescription: Sendable {
  package enum Kind: String, Sendable, Hashable, CaseIterable {
    case text, number, bool, date, data, list, object
  }

  /// Of a value that is common.
  package struct Common: Sendable {
    package var value: Document
    package var count: Int
  }

  /// As it is typed in a filter; elements of lists of objects have `[]` in it.
  package var name: String
  /// Nil within lists, where a field has many values in a record.
  package var path: DocumentPath?
  /// Types met with the records (of elements: the elements) that have them, the most frequent first.
  package var kinds: [(kind: Kind, count: Int)]
  /// Records in which it is null, and in which it is not there.
  package var nulls: Int
  package var missing: Int
  /// Values met, elements of lists one by one; without nulls.
  package var count: Int
  package var distinct: Int
  /// Whether `distinct` is estimated and the counts in `commonest` are lower bounds.
  package var isEstimated: Bool
  package var commonest: [Common]
  /// Of its numbers and dates, or, where it has only texts, of those; nil where it has neither.
  package var least: Document?
  package var greatest: Document?
  /// Lower quartile, median, upper quartile: a value that is there, at 1/4, 1/2, 3/4 of the sorted values. Nil for texts
  /// without an index.
  package var quartiles: [Document]
  /// Whether the quartiles are of a sample of `FieldStatistics.keptLimit` values.
  package var areQuartilesSampled: Bool
  package var mean: Double?
  /// Values in equal parts between least and greatest; of texts the counts of the commonest. For a small picture.
  package var distribution: [Int]
  /// The index over the field.
  package var index: String?

  /// The parts of a distribution.
  package static let distributionParts = 24
}

/// Reads a datastore once and describes it.
///
///     var reading = DescriptionReading(datastore)
///     while try reading.read(1_000) { show(reading.description()) }
///
/// Costs a parse of each record; memory is that of the distinct fields, not of the records.
package struct DescriptionReading {
  private let datastore: any ReadableDatastore
  private var cursor: any RecordCursor
  /// The records that there are.
  package let total: Int
  private var rank = 0
  private var unreadable = 0
  private let root = FieldStatistics()

  package init(_ datastore: any ReadableDatastore) throws(ModelError) {
    self.datastore = datastore
    cursor = try datastore.records()
    total = try datastore.count
  }

  /// Records read so far.
  package var read: Int { rank }

  /// Reads up to `count` further records; false where none are left.
  package mutating func read(_ count: Int) throws(ModelError) -> Bool {
    for _ in 0..<max(0, count) {
      guard try cursor.next() else {
        rank = total
        break
      }
      rank += 1
      guard let content = try cursor.rawRecord(), let document = try? content.document() else {
        unreadable += 1
        continue
      }
      root.see(document)
    }
    return rank < total
  }

  /// What is known by now. Costs a sort of the numbers that are kept.
  ///
  /// - Parameter isDetailed: with quartiles and distributions.
  package func description(isDetailed: Bool = true) throws(ModelError) -> DatastoreDescription {
    var fields: [FieldDescription] = []
    root.describe(
      into: &fields, records: rank - unreadable, isComplete: rank == total, isDetailed: isDetailed, prefix: "",
      path: .root)
    for position in fields.indices { try addIndex(to: &fields[position]) }
    return DatastoreDescription(fields: fields, read: rank, total: total, unreadable: unreadable)
  }

  /// An index knows the ends and quartiles of a field exactly, before a record is read.
  private func addIndex(to field: inout FieldDescription) throws(ModelError) {
    guard let path = field.path,
      let index = datastore.indexes.first(where: { $0.descriptor.covers(path) && !$0.descriptor.isStale })
    else { return }
    field.index = index.descriptor.name
    let shape = KeyShape(index.descriptor.encoding)
    guard shape.isOrdered, !shape.isTier, !shape.isDescending, shape.encoding == .string else { return }
    let nulls = shape.hasNull ? try index.rank(of: .after(.null)) : 0
    let count = try index.count - nulls
    guard count > 0, field.kinds.allSatisfy({ $0.kind == .text || $0.kind == .list }) else { return }
    func value(_ rank: Int) throws(ModelError) -> Document? {
      try index.entries(at: nulls + rank..<nulls + rank + 1).first.flatMap { entry in
        if case .string(let text) = entry.value { .string(text) } else { nil }
      }
    }
    field.least = try value(0)
    field.greatest = try value(count - 1)
    var quartiles: [Document] = []
    for part in 1...3 {
      if let found = try value(FieldStatistics.quartile(part, of: count)) { quartiles.append(found) }
    }
    field.quartiles = quartiles
    field.areQuartilesSampled = false
  }
}

extension IndexDescriptor {
  /// Whether the values of the index are those of a field.
  fileprivate func covers(_ path: DocumentPath) -> Bool {
    guard let text = rule ?? keyPathName, let own = try? DocumentPath(parsing: text) else { return false }
    return own == path
  }
}
