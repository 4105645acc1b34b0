import Documents
import DatastoreModel

/// Asks whether an index has the rows in an order.
struct OrderRequest: Question, Hashable {
  var source: RowSource
  var commit: CommitNumber

  struct Reply: Sendable {
    var request: OrderRequest
    /// The index that has the order, empty for that of the identifiers; nil where keys have to be gathered and sorted.
    var index: String?
    var isDescending: Bool
    /// Which of the fields no record has.
    var unknown: [UnknownName] = []
  }

  func reply(in context: WorkContext) throws(ModelError) -> Reply {
    let datastore = try context.datastore(source.datastore, at: commit)
    let query = RecordQuery(sort: try source.sort.paths)
    guard case .along(let index, let isDescending) = try query.plan(in: datastore).order else {
      return Reply(
        request: self, index: nil, isDescending: false, unknown: try query.unknownNames(in: datastore))
    }
    return Reply(request: self, index: index, isDescending: isDescending)
  }
}

/// Asks how the rows of a table are found and ordered: `:explain`.
struct ExplainRequest: Question, Hashable {
  var source: RowSource
  var commit: CommitNumber

  struct Reply: Sendable {
    var request: ExplainRequest
    var plan: QueryPlan
    /// How many rows the plan keeps, where ranks tell.
    var count: Int?

    /// `INDEX population · 812 records`, `SCAN`.
    func standing(_ session: Session) -> String {
      plan.shortText + (count.map { " \(session.theme.dot) \(NumberFormat.counted($0, "record"))" } ?? "")
    }
  }

  func reply(in context: WorkContext) throws(ModelError) -> Reply {
    let datastore = try context.datastore(source.datastore, at: commit)
    let filter = try source.filter.map { text throws(ModelError) in try RowTest(text).filter }
    let plan = try RecordQuery(filter: filter, sort: source.sort.paths).plan(in: datastore)
    return Reply(request: self, plan: plan, count: try context.rowCount(of: plan, in: source, of: datastore))
  }
}

extension WorkContext {
  /// How many rows of a table a plan keeps, where ranks tell: not in a range, and not in an index that has records twice or not at all.
  func rowCount(
    of plan: QueryPlan, in source: RowSource, of datastore: any ReadableDatastore
  ) throws(ModelError) -> Int? {
    guard let count = plan.exactCount, source.range == nil else { return nil }
    guard source.index != nil else { return count }
    return try datastore.index(source.index).count == datastore.primary.count ? count : nil
  }
}

extension WorkSlot {
  static let order = WorkSlot("order")
  static let explain = WorkSlot("explain")
}

extension [SortOrder] {
  /// As the planner takes them.
  var paths: [(path: DocumentPath, isDescending: Bool)] {
    get throws(ModelError) {
      var paths: [(path: DocumentPath, isDescending: Bool)] = []
      for order in self { paths.append((try WorkContext.path(order.path), order.isDescending)) }
      return paths
    }
  }

  /// Reads `population desc, name`; what says no direction has the given one.
  init(parsing text: String, isDescending: Bool) throws(ModelError) {
    self = try RecordQuery.order(parsing: text, isDescending: isDescending).map {
      SortOrder(path: $0.path.description, isDescending: $0.isDescending)
    }
  }
}
