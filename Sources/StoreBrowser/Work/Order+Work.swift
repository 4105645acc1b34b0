import StrataDocuments
import StrataModel
import StrataExpressions

/// Finds out whether an index has the rows in a given order.
struct OrderRequest: Question, Hashable {
  static let slot = WorkSlot(name: "order", isLong: true)
  var source: RowSource
  var commit: CommitNumber

  struct Reply: Sendable {
    var request: OrderRequest
    /// The index with the order, empty for that of the identifiers; nil if keys must be gathered and sorted.
    var index: String?
    var isDescending: Bool
    /// The fields that no record has.
    var unknown: [UnknownName] = []
  }

  func reply(in context: WorkContext) throws(ModelError) -> Reply {
    let datastore = try context.datastore(source.datastore, at: commit)
    let query = RecordQuery(sort: try source.sort.paths)
    if source.derives(query.sort.map(\.path)) {
      return Reply(request: self, index: nil, isDescending: false)
    }
    var order = try query.plan(in: datastore).order
    if order == .sort, datastore.descriptor.indexes.contains(where: { $0.mayBeMade(from: query.sort.first?.path) }) {
      // The proof reads no more than the sort would, and later orders and filters use the index.
      try datastore.proveRules(context.goingOn)
      order = try query.plan(in: datastore).order
    }
    guard case .along(let index, let isDescending) = order else {
      return Reply(
        request: self, index: nil, isDescending: false, unknown: try query.unknownNames(in: datastore))
    }
    return Reply(request: self, index: index, isDescending: isDescending)
  }
}

extension Browser {
  /// The number of records that are read unasked for a proof.
  private static let provenUnasked = 100_000

  /// Proves in the background from which fields the indexes of the open datastore are made, so that filters and orders use them: unless
  /// their rules are declared or it is large.
  mutating func proveIndexes() {
    guard let current = session.current, current.count <= Self.provenUnasked,
      current.indexes.contains(where: { $0.descriptor.mayBeMade(from: nil) })
    else { return }
    let proof = Inquiry { [shown = session.shown] context throws(ModelError) in
      try context.datastore(current.key, at: shown).proveRules(context.goingOn)
    }
    session.start(.proof, proof)
  }
}

extension IndexDescriptor {
  /// Whether a proof may find that it is made from a field; nil stands for any field.
  fileprivate func mayBeMade(from path: DocumentPath?) -> Bool {
    rule == nil && !isStale && keyPathName != nil && (path == nil || documentPath == path)
  }
}

/// Finds the plan for the rows of a table and their order: `:explain`.
struct ExplainRequest: Question, Hashable {
  static let slot = WorkSlot(name: "explain")
  var source: RowSource
  var commit: CommitNumber

  struct Reply: Sendable {
    var request: ExplainRequest
    var plan: QueryPlan
    /// The number of rows that match, if ranks give it.
    var count: Int?

    /// The plan, and the range. All entries of an index in its order need no plan.
    var parts: [String] {
      let source = request.source
      guard source.needsScan else {
        return ["INDEX \(source.index ?? "identifier") \(source.range?.description ?? "...")", "SORT no"]
      }
      return plan.parts + (source.range.map { ["WITHIN \(source.index ?? "identifier") \($0)"] } ?? [])
    }

    /// `INDEX population · 812 records`, `SCAN`.
    func standing(_ session: Session) -> String {
      plan.shortText + (count.map { " \(session.theme.dot) \(NumberFormat.counted($0, "record"))" } ?? "")
    }
  }

  func reply(in context: WorkContext) throws(ModelError) -> Reply {
    let datastore = try context.datastore(source.datastore, at: commit)
    let filter = try source.condition
    let sort = try source.sort.paths
    guard !source.derives((filter?.paths ?? []) + sort.map(\.path)) else {
      // No index has a derived column: every record is read.
      var plan = try RecordQuery().plan(in: datastore)
      (plan.isTested, plan.condition) = (filter != nil, filter?.text ?? "")
      if !sort.isEmpty {
        (plan.order, plan.sort) = (.sort, sort.map(\.path.shortText).joined(separator: ", "))
      }
      return Reply(request: self, plan: plan, count: nil)
    }
    let plan = try RecordQuery(filter: filter, sort: sort).plan(in: datastore)
    return Reply(request: self, plan: plan, count: try context.rowCount(of: plan, in: source, of: datastore))
  }
}

extension WorkContext {
  /// The number of a table's rows by a plan, if ranks give it: not in a range, nor in an index that has records twice or not at all.
  func rowCount(
    of plan: QueryPlan, in source: RowSource, of datastore: any ReadableDatastore
  ) throws(ModelError) -> Int? {
    guard let count = plan.exactCount, source.range == nil else { return nil }
    return try source.hasAll(of: datastore) ? count : nil
  }
}

extension RowSource {
  /// Whether the order of the rows has each record of the datastore once; not looking at the range.
  func hasAll(of datastore: any ReadableDatastore) throws(ModelError) -> Bool {
    guard index != nil else { return true }
    let index = try datastore.index(index)
    if index.descriptor.kind.hasManyValues { return false }
    return try index.count == datastore.primary.count
  }
}

extension [SortOrder] {
  /// The fields in the planner's form.
  var paths: [(path: DocumentPath, isDescending: Bool)] {
    get throws(ModelError) {
      try map { order throws(ModelError) in (try WorkContext.path(order.path), order.isDescending) }
    }
  }

  /// Reads `population desc, name`; a field without a direction gets the given one.
  init(parsing text: String, isDescending: Bool) throws(ModelError) {
    self = try RecordQuery.order(parsing: text, isDescending: isDescending).map {
      SortOrder(path: $0.path.description, isDescending: $0.isDescending)
    }
  }
}
