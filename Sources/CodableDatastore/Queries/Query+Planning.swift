import StrataEngine
import StrataFoundation
import StrataModel

extension Query {
  /// A walk over the answer in the state that is to be read now; nil if there is no datastore yet.
  func run() async throws -> TypedQueryRun<Format>? {
    try check()
    return try await core.reading { try run(in: $0) }
  }

  /// A walk over the answer in a state; nil if there is no datastore yet.
  ///
  /// - Parameter sortsItself: whether the caller sorts the instances if no index has the order, so that each is read once.
  func run(in state: ReadState, sortsItself: Bool = false) throws -> TypedQueryRun<Format>? {
    try check()
    let prepared = try prepared(state)
    // Checked even if there is no datastore yet; otherwise an app would fail only once it has instances.
    if prepared.records != nil || range == nil { try requireServed(prepared) }
    guard let records = prepared.records else { return nil }
    var plan = prepared.plan
    if sortsItself, plan.order == .sort {
      plan.order = plan.way == .scan ? .along(index: "", isDescending: false) : .identifiers
    }
    return TypedQueryRun(
      core, PlannedQuery(plan: plan, records: records, trees: prepared.trees, ranks: prepared.ranks),
      predicates: predicates, sorts: sorts, page: .init(most: most ?? .max, offset: offset, after: cursor?.place),
      unreadable: unreadable, scope: Transactions.scope(for: core.store))
  }

  /// All instances that meet the condition, whatever the sort and the limit.
  ///
  /// - Throws: ``InvalidQueryError`` if the query can never be asked.
  var everything: Self {
    get throws {
      try check()
      var query = self
      query.leaveWholeRange()
      (query.most, query.offset, query.cursor, query.sorts) = (nil, 0, nil, [])
      return query
    }
  }

  /// The same answer, of which some properties are read.
  func reading(_ properties: [(any PartialKeyPath<Format.Instance> & Sendable)?]) -> Self {
    var query = self
    query.properties = properties
    return query
  }

  /// Computes a result of the whole answer, once more for each property of which an `init(from:)` is found to change stored values.
  func whole<Result>(_ body: () async throws -> Result) async throws -> Result {
    while true { do { return try await body() } catch is DecodedOtherwise {} }
  }

  /// Throws for what can never be asked.
  func check() throws {
    if let most, most < 1 { throw InvalidQueryError(reason: "A limit is 1 or more, not \(most).") }
    if offset < 0 { throw InvalidQueryError(reason: "An offset is 0 or more, not \(offset).") }
    guard let cursor else { return }
    if cursor.query != fingerprint { throw InvalidQueryError(reason: "The cursor is one of another query.") }
    // Places are those of the sort.
    if range != nil, sorts.isEmpty { throw InvalidQueryError(reason: "A cursor in a range needs a sort of the range.") }
  }

  func requireServed(_ prepared: Prepared) throws {
    let plan = prepared.plan
    let unranked = zip(sorts, prepared.ranks).first { plan.order == .sort && !$0.order.isBytes && $1 == nil }?.0
    guard unranked != nil || !mayScan && !plan.isServed else { return }
    let places =
      predicates.flatMap { PredicateProperties.places(in: $0.expression) } + sorts.map { PropertyPlace.path($0.path) }
    var names: [String] = []
    for name in places.compactMap(\.name) where !names.contains(name) { names.append(name) }
    // A state of the past may lack an index that serves the query today.
    let lacking = core.indexes.first { index in
      let leading = [index.descriptor.keyPathName, index.descriptor.tiers.first?.keyPathName]
      return prepared.trees[index.name] == nil && names.contains { leading.contains($0) }
    }
    if core.view != nil, let lacking { throw core.missing(lacking) }
    if let unranked {
      let advice =
        PropertyPlace.path(unranked.path).declaration(as: ".\(unranked.name)") ?? "an index on it"
      throw InvalidQueryError(
        reason: "Only the app can order \(unranked.name): declare \(advice), or let its type be an OrderedKey.")
    }
    throw UnindexedQueryError(
      datastore: DatastoreKey(core.key), condition: plan.condition.isEmpty ? "sorted by \(plan.sort)" : plan.condition,
      properties: names.map { String($0.dropFirst()) }, advice: advice(prepared.condition, prepared.missing),
      hasUnknownProperty: places.contains { $0.name == nil })
  }

  /// The plan for a state, and the trees that it uses.
  struct Prepared {
    var plan: QueryPlan
    /// Nil if there is no datastore yet.
    var records: Tree?
    var trees: [String: TypedEntries]
    var ranks: [SortRank?]
    var condition: QueryCondition
    var missing: MissingIndexes
  }

  func prepared(_ state: ReadState) throws -> Prepared {
    let seen = try core.recent.tree(core.recordsTree, of: state)
    let names = try seen.map { records in try core.indexes.compactMap { try core.treeName(of: $0, in: records) } }
    let state = try state.moment(of: [core.recordsTree] + (names ?? []))
    let records = try core.recent.tree(core.recordsTree, of: state)
    var properties = IndexedProperties(Format.Instance.self)
    var trees: [String: TypedEntries] = [:]
    if let records { trees[""] = TypedEntries(tree: records, order: nil, identifiers: core.identifiers.order) }
    let entryRange = try range.flatMap { try $0.entries(state) }
    if let entryRange { trees[entryRange.index] = entryRange.entries }
    var known: [QueryIndex] = []
    for index in core.indexes where !index.keyPaths.isEmpty {
      let subjects = properties.subjects(of: index.keyPaths, coder: index.coder)
      // Nil if the store has none that this declaration can read.
      let entries =
        try trees[index.name]
        ?? records.flatMap { try core.treeName(of: index, in: $0) }.flatMap { try core.recent.tree($0, of: state) }
        .map { TypedEntries(tree: $0, order: index.order, identifiers: core.identifiers.order, records: records) }
      if records != nil, entries == nil { continue }
      let encodings = index.tiers?.encodings ?? [index.descriptor.encoding]
      guard encodings.count == subjects.count else { continue }
      trees[index.name] = entries
      let encoding = index.descriptor.encoding
      let hasAll = CoveringIndex<Format.Instance, Void>.covers(self.properties, index)
      known.append(
        QueryIndex(
          name: index.name, subjects: subjects, encodings: encodings, isCompound: subjects.count > 1,
          hasManyValues: index.descriptor.kind.hasManyValues, takesComparators: true, isCovering: hasAll,
          count: try entries?.count ?? 0,
          rank: { bound throws(ModelError) in
            try entries?.rank(of: bound, encoding: encoding, tiers: index.tiers) ?? 0
          }))
    }
    if try records.map({ try core.hasOwnIdentifiers($0) }) ?? core.isIdentifiable {
      let (own, encoding) = (trees[""], core.identifiers.encoding)
      known.append(
        QueryIndex(
          name: "", subjects: [properties.identifier(core.identifiers, at: core.ownIdentifier)], encodings: [encoding],
          takesComparators: true, count: try own?.count ?? 0,
          rank: { bound throws(ModelError) in try own?.rank(of: bound, encoding: encoding) ?? 0 }))
    }
    let missing = MissingIndexes()
    let reading = PredicateReading(properties: properties, missing: missing)
    let conditions = predicates.map { reading.condition(of: $0.expression) }
    let sort = sorts.map { sort in
      QuerySort(
        properties.property(at: sort.path).map { .property($0.number) } ?? .property(-1),
        isDescending: sort.isDescending)
    }
    let rows = try trees[""]?.count ?? 0
    let ranks = zip(sorts, sort).map { sort, wanted -> SortRank? in
      if sort.order.isBytes { return nil }
      return known.first { !$0.hasManyValues && $0.count == rows && $0.subjects.first == wanted.subject }.map(
        SortRank.init)
    }
    let planner = QueryPlanner(indexes: known, rows: rows, mayScan: false)
    let plan = try planner.plan(
      conditions.isEmpty ? nil : .all(conditions), sort: sort, along: try entryRange?.lead(),
      need: takesAnyTie ? .end : most.map { .first($0.addingClamped(offset)) } ?? .all,
      mustFollowIndex: zip(sorts, ranks).contains { !$0.order.isBytes && $1 == nil },
      sortText: sorts.map { $0.name + ($0.isDescending ? " descending" : "") }.joined(separator: ", "))
    return Prepared(
      plan: plan, records: records, trees: trees, ranks: ranks, condition: .all(conditions), missing: missing)
  }
}
