package import DatastoreModel

/// A range of an index in which all matches of a filter lie, so that only it needs to be read.
struct IndexPlan: Sendable, Hashable {
  var index: String
  var ranks: Range<Int>

  /// The smallest such range, where it is much smaller than reading all rows.
  static func best(
    for test: RowTest, in datastore: any ReadableDatastore, rows: Int
  ) throws(ModelError) -> IndexPlan? {
    guard !test.isInverted else { return nil }
    var best: IndexPlan?
    for term in test.filter.indexableTerms {
      for index in datastore.indexes where !index.descriptor.isStale && index.descriptor.documentPath == term.path {
        guard let ranks = try? Self.ranks(of: term, in: index) else { continue }
        if ranks.count < (best?.ranks.count ?? rows / 4) { best = IndexPlan(index: index.descriptor.name, ranks: ranks) }
      }
    }
    return best
  }
}
