import DatastoreModel
#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import StorageEngine

extension Query {
  /// A walk over the answer in the state that is to be read now; nil where there is no datastore yet.
  func run() async throws -> TypedQueryRun<Format>? {
    try check()
    return try await core.reading { try run(in: $0) }
  }

  /// A walk over the answer in a state; nil where there is no datastore yet.
  func run(in state: ReadState) throws -> TypedQueryRun<Format>? {
    try check()
    guard let planned = try plan(state) else { return nil }
    try requireServed(planned.plan)
    return TypedQueryRun(
      core, planned, predicates: predicates, sorts: sorts,
      page: .init(most: most ?? .max, offset: offset, after: cursor?.place))
  }

  /// Throws for what can never be asked.
  func check() throws {
    if let most, most < 1 { throw InvalidQueryError(reason: "A limit is 1 or more, not \(most).") }
    if offset < 0 { throw InvalidQueryError(reason: "An offset is 0 or more, not \(offset).") }
    if let cursor, cursor.query != fingerprint {
      throw InvalidQueryError(reason: "The cursor is one of another query.")
    }
  }

  private func requireServed(_ plan: QueryPlan) throws {
    if plan.order == .sort, let sort = sorts.first(where: { !$0.order.isBytes }) {
      throw InvalidQueryError(
        reason: "Only the app can order \(sort.name): give it an index, or let its type be an OrderedKey.")
    }
    guard !mayScan, !plan.isServed else { return }
    let properties = predicates.flatMap { PredicateProperties.names(in: $0, Format.Instance.self) } + sorts.map(\.name)
    var seen: Set<String> = []
    throw UnindexedQueryError(
      datastore: DatastoreKey(core.key), condition: plan.condition.isEmpty ? "sorted by \(plan.sort)" : plan.condition,
      properties: properties.filter { seen.insert($0).inserted })
  }

  /// The plan for a state; nil where there are no records yet.
  func plan(_ state: ReadState) throws -> PlannedQuery? {
    let state = try state.moment(of: [core.recordsTree] + core.indexes.map(\.tree))
    guard let records = try core.recent.tree(core.recordsTree, of: state) else { return nil }
    var properties = IndexedProperties(Format.Instance.self)
    var trees = ["": TypedEntries(tree: records, order: nil, identifiers: core.identifiers.order)]
    var known: [QueryIndex] = []
    let declared = Format().generateIndexRepresentations(assertIdentifiable: true).values
    for index in core.indexes {
      guard let representation = declared.first(where: { $0.indexName.rawValue == index.name })?.index,
        let subjects = properties.subjects(of: representation, coder: index.coder),
        let tree = try core.recent.tree(index.tree, of: state), try core.canRead(index, in: records)
      else { continue }
      let entries = TypedEntries(
        tree: tree, order: index.order, identifiers: core.identifiers.order, records: records)
      let encodings = index.descriptor.tierEncodings(count: subjects.count)
      // Tiers can be told apart in byte order alone.
      guard encodings.count == subjects.count, subjects.count == 1 || index.order.isBytes else { continue }
      trees[index.name] = entries
      let encoding = index.descriptor.encoding
      known.append(
        QueryIndex(
          name: index.name, subjects: subjects, encodings: encodings, isCompound: subjects.count > 1,
          hasManyValues: index.descriptor.kind.hasManyValues, takesComparators: true, count: try entries.count,
          rank: { bound throws(ModelError) in try entries.rank(of: bound, encoding: encoding) }))
    }
    if try core.hasOwnIdentifiers(records), let own = trees[""] {
      let encoding = core.identifiers.encoding
      known.append(
        QueryIndex(
          name: "", subjects: [properties.identifier(core.identifiers)], encodings: [encoding], takesComparators: true,
          count: try own.count,
          rank: { bound throws(ModelError) in try own.rank(of: bound, encoding: encoding) }))
    }
    let reading = PredicateReading(properties: properties)
    let conditions = predicates.map { reading.condition(of: $0.expression) }
    let sort = sorts.map { sort in
      QuerySort(
        properties.property(at: sort.path).map { .property($0.number) } ?? .property(-1),
        isDescending: sort.isDescending)
    }
    let planner = QueryPlanner(indexes: known, rows: try trees[""]?.count ?? 0, mayScan: false)
    let plan = try planner.plan(
      conditions.isEmpty ? nil : .all(conditions), sort: sort, need: most == nil ? .all : .first,
      sortText: sorts.map { $0.name + ($0.isDescending ? " descending" : "") }.joined(separator: ", "))
    return PlannedQuery(plan: plan, records: records, trees: trees)
  }
}

extension IndexDescriptor {
  fileprivate func tierEncodings(count: Int) -> [KeyEncoding] {
    if count > 1, case .compound(let encodings) = encoding { encodings } else { [encoding] }
  }
}
