import DatastoreModel

/// Ranges of an index in which all matches of a filter lie, so that only they need to be read.
struct IndexPlan: Sendable, Hashable {
  var index: String
  var ranges: [Range<Int>]

  var count: Int { ranges.reduce(0) { $0 + $1.count } }

  /// The smallest such ranges, where they are much smaller than reading all rows.
  static func best(
    for test: RowTest, in datastore: any ReadableDatastore, rows: Int
  ) throws(ModelError) -> IndexPlan? {
    guard !test.isInverted else { return nil }
    var best: IndexPlan?
    for term in test.filter.indexableTerms {
      for index in datastore.indexes where Self.serves(index.descriptor, term) {
        guard let plan = try plan(term, index), plan.count < (best?.count ?? rows / 4) else { continue }
        best = plan
      }
    }
    return best
  }

  private static func serves(_ index: IndexDescriptor, _ term: IndexableTerm) -> Bool {
    !index.isStale && index.documentPath == term.path && index.kind.hasManyValues == term.isElement
  }

  private static func plan(_ term: IndexableTerm, _ index: any ReadableIndex) throws(ModelError) -> IndexPlan? {
    guard let intervals = term.intervals(in: index.descriptor.encoding) else { return nil }
    var ranges: [Range<Int>] = []
    for interval in intervals { ranges.append(try WorkContext.bounds(of: interval, in: index)) }
    return IndexPlan(index: index.descriptor.name, ranges: ranges)
  }
}
