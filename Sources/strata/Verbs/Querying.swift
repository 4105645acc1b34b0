import StrataModel
import StrataDocuments
import StrataExpressions
import StoreBrowser

// The arguments `--where` and `--sort`, for every verb that accepts them.

extension VerbRun {
  /// Returns the query of the arguments. Reports unknown names on standard error, with similar ones.
  ///
  /// - Parameters:
  ///   - sorted: Whether `--sort` names fields of records.
  ///   - deletes: Whether the records are to be deleted: then a comparison with an unknown field is refused, because a text without quotes
  ///     may be meant, and would select other records.
  func query(in datastore: any ReadableDatastore, sorted: Bool = true, deletes: Bool = false) throws -> RecordQuery {
    let filter = try arguments.value("--where").map { try Filter(parsing: $0) }
    let sort = sorted ? try arguments.values("--sort").flatMap { try order($0, in: datastore) } : []
    let query = RecordQuery(filter: filter, sort: sort)
    let unknown = try query.unknownNames(in: datastore)
    for (left, right) in filter?.condition.comparedPaths ?? [] {
      let names = unknown.filter { $0.path == left || $0.path == right }
      guard names.count > (deletes ? 0 : 1) else { continue }
      throw ModelError.refused(
        reason: "--where compares \(left.shortText) with \(right.shortText), and records have \(names[0].sentence)"
          + (names[0].nearest.isEmpty ? ". " : " ") + "A text is written in quotes: \"\(right.shortText)\"")
    }
    for name in unknown {
      if filter?.namesInQuotes.contains(name.path) == true {
        throw ModelError.refused(
          reason: "--where compares two constants, and records have no field \(name.path)"
            + UnknownName.question(name.nearest))
      }
      if let colon = query.sort.first(where: { $0.path == name.path })?.path.shortText.lastIndex(of: ":") {
        let word = name.path.shortText[name.path.shortText.index(after: colon)...].prefix { $0 != "\"" }
        throw UsageError("--sort: “\(word)” is not a direction: asc or desc", verb: arguments.verb)
      }
      complain(name.sentence)
    }
    return query
  }

  /// Returns the fields that `--sort` names. A field whose name has spaces may be written without quotes.
  private func order(
    _ text: String, in datastore: any ReadableDatastore
  ) throws -> [(path: DocumentPath, isDescending: Bool)] {
    try RecordQuery.order(parsing: text) { path throws(ModelError) in
      try RecordQuery(sort: [(path, false)]).unknownNames(in: datastore).isEmpty
    }
  }

  /// Returns the field that a text names.
  func fieldPath(_ text: String) throws(ModelError) -> DocumentPath { try onDocument(DocumentPath(named: text)) }

  /// Prints the result of a query. If a limit cuts it, standard error says how to continue.
  func printRecords(of datastore: any ReadableDatastore) throws {
    let query = try query(in: datastore)
    let limit = try arguments.count("--limit")
    if let limit, limit < 1 { throw UsageError("--limit is 1 or more", verb: arguments.verb) }
    let after = try arguments.value("--after").map { try query.position($0, in: datastore) }
    let plan = try query.plan(in: datastore, need: limit.map { .first($0) } ?? .all)
    if arguments.has("--explain") { return try tell(["plan": .string(plan.text)], or: plan.text) }
    var run = try query.run(
      plan, in: datastore, limit: limit, offset: arguments.count("--offset") ?? 0, after: after)
    if arguments.has("--count") {
      let count = try run.count()
      return isJSON ? try line(["count": .count(count)]) : try output.line("\(count)")
    }
    let lines = recordLines(of: datastore.descriptor, try selection(in: datastore))
    guard let limit else { return try printAll(&run, as: lines) }
    var last: Record?
    while let record = try run.next() {
      last = record
      try output.append { try lines.append(record, to: &$0) }
    }
    if let last, run.keptCount == limit {
      complain("to go on: --after \(query.position(after: last, in: datastore).text)")
    }
  }

  /// Prints the records before one that cannot be printed, too.
  private func printAll(_ run: inout QueryRun, as lines: RecordLines) throws {
    try run.forEachPart { records throws(ModelError) -> (bytes: [UInt8], failure: ModelError?) in
      var bytes: [UInt8] = []
      do throws(ModelError) {
        while try records.next() { if let record = try records.record() { try lines.append(record, to: &bytes) } }
      } catch {
        return (bytes, error)
      }
      return (bytes, nil)
    } size: {
      $0.bytes.count
    } body: { part in
      try output.bytes(part.bytes)
      if let failure = part.failure { throw failure }
    }
  }

  /// Returns a walk over the records that meet `--where`, by identifier; over all of them without it.
  func run(of datastore: any ReadableDatastore) throws -> QueryRun {
    let query = try query(in: datastore)
    return try query.run(query.plan(in: datastore), in: datastore)
  }

  /// Calls `body` for the records that meet `--where`, by identifier; for all of them without it.
  func forEachRecord(of datastore: any ReadableDatastore, _ body: (Record) throws -> Void) throws {
    var run = try run(of: datastore)
    while let record = try run.next() { try body(record) }
  }
}
