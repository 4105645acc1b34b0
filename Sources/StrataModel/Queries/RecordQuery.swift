package import StrataDocuments
package import StrataExpressions

/// A query as it is typed: a condition over documents, and a sort. The browser and the verbs use it.
package struct RecordQuery: Sendable {
  package var filter: Filter?
  package var sort: [(path: DocumentPath, isDescending: Bool)]

  package init(filter: Filter? = nil, sort: [(path: DocumentPath, isDescending: Bool)] = []) {
    self.filter = filter
    self.sort = sort
  }

  /// Returns the plan for a datastore. Reads ranks of its indexes. An index without a declared rule is used if one is proven: for that, the
  /// records of a small datastore are read once.
  package func plan(
    in datastore: any ReadableDatastore, need: QueryPlanner.Need = .all
  ) throws(ModelError) -> QueryPlan {
    let query = named(in: datastore)
    var wanted = Set(query.filter?.paths ?? [])
    wanted.formUnion(query.sort.map(\.path))
    var indexes: [QueryIndex] = []
    for index in datastore.indexes {
      guard let known = try QueryIndex(index, of: datastore, ifOver: wanted, sorts: !query.sort.isEmpty) else {
        continue
      }
      indexes.append(known)
    }
    if let own = try QueryIndex(identifiersOf: datastore, ifOver: wanted) { indexes.append(own) }
    let planner = QueryPlanner(indexes: indexes, rows: try datastore.count, mayScan: true)
    return try planner.plan(
      query.filter?.queryCondition, sort: query.sort.map { QuerySort(.path($0.path), isDescending: $0.isDescending) },
      need: need, sortText: query.sortText)
  }

  /// Runs the query by a plan for this datastore.
  ///
  /// - Parameter goOn: called now and then with the records read so far; throws to end the work.
  package func run(
    _ plan: QueryPlan, in datastore: any ReadableDatastore, limit: Int? = nil, offset: Int = 0,
    after: QueryPosition? = nil, goOn: @escaping (Int) throws -> Void = { _ in }
  ) throws(ModelError) -> QueryRun {
    if let after, after.query != fingerprint(in: datastore) {
      throw .refused(reason: "the cursor is one of another query")
    }
    let read = plan.isSparse ? (datastore as? EngineDatastore)?.readSparsely ?? datastore : datastore
    return QueryRun(plan, named(in: datastore), in: read, limit: limit, offset: offset, after: after, goOn: goOn)
  }

  /// Returns the position after a record of the result.
  package func position(after record: Record, in datastore: any ReadableDatastore) -> QueryPosition {
    QueryPosition(
      query: fingerprint(in: datastore), sortKey: named(in: datastore).sortKey(of: record),
      identifier: record.identifier.bytes)
  }

  /// Returns the position for a text that `QueryPosition.text` made.
  package func position(_ text: String, in datastore: any ReadableDatastore) throws(ModelError) -> QueryPosition {
    try QueryPosition(text, query: fingerprint(in: datastore))
  }

  private func fingerprint(in datastore: any ReadableDatastore) -> String {
    "\(datastore.descriptor.key)\n\(filter?.text ?? "")\n\(sortText)"
  }

  private var sortText: String {
    // Joining nothing takes longer than the plan of a small query, because the types for it are made first.
    sort.isEmpty ? "" : sort.map { $0.path.shortText + ($0.isDescending ? " descending" : "") }.joined(separator: ", ")
  }

  /// Bytes whose order is that of the sort.
  package func sortKey(of document: Document) -> [UInt8] {
    var encoder = KeyEncoder()
    for (path, isDescending) in sort {
      let value = document.sortingValue(at: path)
      if isDescending {
        encoder.appendDescending { (encoder: inout KeyEncoder) in encoder.append(sorting: value) }
      } else {
        encoder.append(sorting: value)
      }
    }
    return encoder.bytes
  }

  func sortKey(of record: Record) -> [UInt8] { sortKey(of: (try? record.document()) ?? .null) }

  /// The query with names of indexes replaced by their paths, if no field of the first thousand records has the name.
  package func named(in datastore: any ReadableDatastore) -> RecordQuery {
    var paths: [DocumentPath: DocumentPath] = [:]
    let used = Set((filter?.paths ?? []) + sort.map(\.path))
    // The declared ones: of a damaged datastore no index serves a query.
    let indexes = datastore.descriptor.indexes
    let over = Set(indexes.flatMap { $0.subjectPaths ?? [] })
    for index in indexes {
      let name = DocumentPath([.member(index.name)])
      guard used.contains(name), !over.contains(name), let path = index.subjectPaths, path.count == 1,
        !datastore.hasField(name)
      else { continue }
      paths[name] = path[0]
    }
    guard !paths.isEmpty else { return self }
    return RecordQuery(
      filter: filter?.replacing { paths[$0] ?? $0 }, sort: sort.map { (paths[$0.path] ?? $0.path, $0.isDescending) })
  }

  /// Returns the names of fields in a text, which has commas between them.
  package static func names(in text: String) -> [String] {
    text.splitOutsideQuotes(at: ",").map(\.trimmingSpaces)
  }

  /// Reads fields to sort by, as they are typed: `population`, `population desc`, `country, population:desc`.
  ///
  /// - Parameters:
  ///   - isDescending: the direction of a field without one.
  ///   - isField: whether a text that cannot be parsed as a path, such as `Order ID`, is the name of a field.
  /// - Throws: `ModelError.invalid` with the column of the error.
  package static func order(
    parsing text: String, isDescending: Bool = false,
    isField: (DocumentPath) throws(ModelError) -> Bool = { _ in false }
  ) throws(ModelError) -> [(path: DocumentPath, isDescending: Bool)] {
    var order: [(path: DocumentPath, isDescending: Bool)] = []
    var column = 1
    for part in text.splitOutsideQuotes(at: ",") {
      defer { column += part.count + 1 }
      let start = column + part.prefix { $0 == " " }.count
      var name = Substring(part.trimmingSpaces)
      var direction = isDescending
      let words: [(String, Bool)] = [("desc", true), ("asc", false), ("descending", true), ("ascending", false)]
      for (word, value) in words where name.lowercased().hasSuffix(word) {
        let rest = name.dropLast(word.count)
        guard rest.last == ":" || rest.last == " " else { continue }
        (name, direction) = (Substring(String(rest.dropLast()).trimmingSpaces), value)
        break
      }
      guard !name.isEmpty else {
        throw .invalid(text: text, column: start, reason: "a field to sort by is expected, as in population desc, name")
      }
      do {
        order.append((try DocumentPath(parsing: String(name)), direction))
      } catch {
        let whole = DocumentPath([.member(String(name))])
        if try isField(whole) {
          order.append((whole, direction))
          continue
        }
        let place = name.firstIndex { $0 == " " || $0 == ":" }
        guard let place else { throw .invalid(text: text, column: start, reason: "\(error)") }
        let word = String(name[name.index(after: place)...]).trimmingSpaces
        throw .invalid(
          text: text, column: start + name.distance(from: name.startIndex, to: place) + 1,
          reason: "“\(word)” is not a direction: asc or desc, and a comma before the next field")
      }
    }
    return order
  }
}

extension IndexDescriptor {
  /// The document paths of its tiers, declared or from the names of its key paths.
  var subjectPaths: [DocumentPath]? { declaredRule?.tiers.map(\.path) ?? namedPaths }
}

extension ReadableDatastore {
  /// Returns the order by identifier for nil, otherwise the index of the name.
  package func index(_ name: String?) throws(ModelError) -> any ReadableIndex {
    guard let name else { return primary }
    guard let index = indexes.first(where: { $0.descriptor.name == name }) else {
      throw .noSuchIndex(name, datastore: descriptor.key, known: indexes.map(\.descriptor.name))
    }
    return index
  }

  /// Whether one of the first thousand records has a field.
  fileprivate func hasField(_ path: DocumentPath) -> Bool {
    guard var records = try? records(at: 0..<1_000) else { return false }
    while (try? records.next()) == true {
      let document = try? records.rawRecord()?.document(at: DocumentSelection([path]))
      if document?[path] != nil { return true }
    }
    return false
  }
}

extension QueryIndex {
  /// Makes the planner's form of a store's index. Returns nil if it has none of the paths, or if nothing shows that it has their values for
  /// every record: the name of a key path may differ from that of the encoded field.
  init?(
    _ index: any ReadableIndex, of datastore: any ReadableDatastore, ifOver wanted: Set<DocumentPath>, sorts: Bool
  ) throws(ModelError) {
    let descriptor = index.descriptor
    // If only the app can order identifiers, this code cannot look a record up by one; reading all records costs less.
    guard !descriptor.isStale, descriptor.encoding.isByteOrdered, datastore.primary.descriptor.encoding.isByteOrdered,
      let paths = descriptor.subjectPaths,
      paths.count == descriptor.tierEncodings.count, paths.contains(where: { wanted.contains($0) })
    else { return nil }
    var rule = descriptor.declaredRule
    if rule == nil { rule = try datastore.knownRule(of: descriptor) }
    guard rule?.tiers.map(\.path) == paths else { return nil }
    let count = try index.count
    if try datastore.leftOutCount > 0 {
      // Those that were left out of it may meet the condition as well.
      guard !descriptor.kind.hasManyValues, try count == datastore.count else { return nil }
    }
    self.init(
      name: descriptor.name, subjects: paths.map { .path($0) }, encodings: descriptor.tierEncodings,
      isCompound: paths.count > 1, hasManyValues: descriptor.kind.hasManyValues, count: count,
      rank: { bound throws(ModelError) in try index.rank(of: bound) })
    // Data is sorted as the text that it has in a record.
    if encodings.contains(where: { KeyShape($0).encoding == .data }) { hasOrder = false }
    // Entries are looked at only for a sort: a server is asked for them.
    if sorts, try index.mayLackValues { hasOrder = false }
  }

  /// Makes the planner's form of the primary tree, in the order of the identifiers.
  init?(identifiersOf datastore: any ReadableDatastore, ifOver wanted: Set<DocumentPath>) throws(ModelError) {
    let primary = datastore.primary
    guard primary.descriptor.encoding.isByteOrdered, case .integer = primary.descriptor.encoding,
      let text = primary.descriptor.rule, let path = try? DocumentPath(parsing: text), wanted.contains(path)
    else { return nil }
    self.init(
      name: "", subjects: [.path(path)], encodings: [primary.descriptor.encoding], count: try primary.count,
      rank: { bound throws(ModelError) in try primary.rank(of: bound) })
  }
}

struct ReadableEntries: QueryEntries {
  let index: any ReadableIndex
  let isPrimary: Bool

  var hasBytesAsOrder: Bool { index.descriptor.encoding.isByteOrdered }

  var count: Int { get throws(ModelError) { try index.count } }

  func cursor(at ranks: Range<Int>, isBackward: Bool) -> any EntryCursor {
    WindowedEntries(index: index, ranks: ranks, isBackward: isBackward)
  }

  func ranks(sharingValueAt rank: Int) throws(ModelError) -> Range<Int> {
    guard !isPrimary, let entry = try index.entries(at: rank..<rank + 1).first else { return rank..<rank + 1 }
    return try index.rank(of: .before(entry.value))..<index.rank(of: .after(entry.value))
  }

  func place(of identifier: StoredKey) throws(ModelError) -> Int? { try index.rank(of: identifier, value: nil) }

  func rank(after identifier: StoredKey) throws(ModelError) -> Int {
    try index.rank(of: .after(try index.descriptor.encoding.decode(identifier.bytes)))
  }
}

/// Entries that are read in batches, which grow as the walk continues.
struct WindowedEntries: EntryCursor {
  let index: any ReadableIndex
  var ranks: Range<Int>
  let isBackward: Bool
  var size = 128
  var window: [IndexEntry] = []
  var used = 0

  private static let mostInWindow = 4096

  mutating func next() throws(ModelError) -> QueryCandidate? {
    while used == window.count, !ranks.isEmpty { try fill() }
    guard used < window.count else { return nil }
    defer { used += 1 }
    return QueryCandidate(key: window[isBackward ? window.count - 1 - used : used].identifier)
  }

  private mutating func fill() throws(ModelError) {
    let count = min(size, ranks.count)
    let part = isBackward ? ranks.upperBound - count..<ranks.upperBound : ranks.lowerBound..<ranks.lowerBound + count
    ranks = isBackward ? ranks.lowerBound..<part.lowerBound : part.upperBound..<ranks.upperBound
    window = part.isEmpty ? [] : try index.entries(at: part)
    used = 0
    size = min(size * 2, Self.mostInWindow)
  }
}

extension Document {
  /// The value by which a record is sorted; the first if a list has several.
  func sortingValue(at path: DocumentPath) -> Document? { self[path] ?? values(at: path).first }

  /// Bytes whose order is that of a sort by the value. Values with equal bytes are one group.
  package var sortKey: [UInt8] { [self].sortKey }
}

extension [Document] {
  /// The same, without values that are equal to one before.
  package var distinct: [Document] {
    guard count > 1 else { return self }
    var seen: Set<[UInt8]> = []
    return filter { seen.insert($0.sortKey).inserted }
  }

  /// Bytes whose order is that of a sort by these values, one after the other.
  package var sortKey: [UInt8] {
    var encoder = KeyEncoder()
    for value in self { encoder.append(sorting: value) }
    return encoder.bytes
  }
}

extension KeyEncoder {
  /// Appends the sort key of a field: missing and null first, then false, true, numbers by their exact value, dates, texts, objects and
  /// data by their JSON, and lists by their elements.
  fileprivate mutating func append(sorting value: Document?) {
    switch value {
    case nil, .null?: appendNull()
    case .bool(let flag)?: append(UInt8(flag ? 2 : 1))
    case .number(let number)?:
      append(UInt8(3))
      append(DecimalDigits(number.text))
    case .date(let seconds)?:
      append(UInt8(4))
      append(date: seconds)
    case .string(let text)?:
      append(UInt8(5))
      append(text)
    case .array(let elements)?:
      append(UInt8(7))
      for element in elements {
        append(true)
        append(sorting: element)
      }
      append(false)
    case let other?:
      append(UInt8(6))
      append(other.compactJSON)
    }
  }
}

extension String {
  /// Returns the parts between separators that are outside quotes.
  package func splitOutsideQuotes(at separator: Character) -> [String] {
    var (isQuoted, isEscaped) = (false, false)
    return split(omittingEmptySubsequences: false) { character in
      if character == "\"", !isEscaped { isQuoted.toggle() }
      isEscaped = isQuoted && character == "\\" && !isEscaped
      return character == separator && !isQuoted
    }.map(String.init)
  }
}
