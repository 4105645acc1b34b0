package import StrataDocuments
import StrataExpressions

/// Groups records that are equal in some fields, and computes figures over each group.
///
///     let grouping = RecordGrouping(by: [country], figures: [.count, .sum(population)])
///     for group in try grouping.groups(of: RecordQuery(), in: cities) { … }
///
/// Through a list of objects a path leads to many values, as in a condition: the record is in the group of each, and figures are of all.
///
/// Costs a walk of the distinct keys where an index alone can answer, else a look at each record that the query keeps. Memory is that of
/// the groups.
package struct RecordGrouping: Sendable {
  /// A figure over a group. Null and missing values are skipped.
  package enum Figure: Hashable, Sendable {
    case count
    /// The sum of the numbers; 0 if there are none. Exact up to 38 digits.
    case sum(DocumentPath)
    /// The mean of the numbers; null if there are none.
    case mean(DocumentPath)
    /// The first value in the order of a sort; null if there is none.
    case least(DocumentPath)
    /// The last value in the order of a sort; null if there is none.
    case greatest(DocumentPath)

    /// The name of its column: `count`, `sum(population)`.
    package var name: String {
      switch self {
      case .count: "count"
      case .sum(let path): "sum(\(path.shortText))"
      case .mean(let path): "mean(\(path.shortText))"
      case .least(let path): "least(\(path.shortText))"
      case .greatest(let path): "greatest(\(path.shortText))"
      }
    }

    fileprivate var path: DocumentPath? {
      switch self {
      case .count: nil
      case .sum(let path), .mean(let path), .least(let path), .greatest(let path): path
      }
    }
  }

  package var keys: [DocumentPath]
  package var figures: [Figure]

  package init(by keys: [DocumentPath], figures: [Figure]) {
    self.keys = keys
    self.figures = figures
  }

  /// The names of the columns: the keys', then the figures'.
  package var columns: [String] {
    let names = keys.map(TableWriter.heading)
    // A field may have the name of a figure.
    return names + figures.map { names.contains($0.name) ? "\($0.name)(*)" : $0.name }
  }

  /// The groups of the records that a query keeps, in the order of their keys. The query's own order makes no difference.
  ///
  /// - Parameter goOn: called with the records read so far; throws to end the work.
  package func groups(
    of query: RecordQuery, in datastore: any ReadableDatastore, goOn: @escaping (Int) throws -> Void = { _ in }
  ) throws -> [RecordGroup] {
    if let index = try countingIndex(for: query, in: datastore) {
      return try groups(of: index, in: datastore, goOn: goOn)
    }
    var tally = GroupTally(self)
    let query = RecordQuery(filter: query.filter)
    let plan = try query.plan(in: datastore)
    if plan.way == .scan, !(datastore is ReadableRest) {
      try scan(query.named(in: datastore), datastore, into: &tally, goOn: goOn)
    } else {
      var run = try query.run(plan, in: datastore, goOn: goOn)
      while let record = try run.next() { tally.add((try? record.document()) ?? .null) }
    }
    return tally.takeGroups()
  }

  /// The groups of the documents that `read` adds one by one.
  package func groups(of read: ((Document) -> Void) throws -> Void) rethrows -> [RecordGroup] {
    var tally = GroupTally(self)
    try read { tally.add($0) }
    return tally.takeGroups()
  }

  /// How the groups are found, for a person.
  package func explanation(of query: RecordQuery, in datastore: any ReadableDatastore) throws(ModelError) -> String {
    if let index = try countingIndex(for: query, in: datastore) {
      return "INDEX \(index.descriptor.name): its keys are counted, and a record is read for each group"
    }
    return try RecordQuery(filter: query.filter).plan(in: datastore).text
  }

  // MARK: By an index

  /// An index whose distinct keys are the groups: each record stands in it once, under what the app declared to be the field itself.
  private func countingIndex(
    for query: RecordQuery, in datastore: any ReadableDatastore
  ) throws(ModelError) -> (any ReadableIndex)? {
    guard query.filter == nil, keys.count == 1, figures.allSatisfy({ $0 == .count }),
      let index = try datastore.exactIndex(of: keys[0]), !index.descriptor.kind.hasManyValues,
      [.string, .integer, .unsigned].contains(KeyShape(index.descriptor.encoding).encoding),
      try index.count == datastore.count
    else { return nil }
    return index
  }

  private func groups(
    of index: any ReadableIndex, in datastore: any ReadableDatastore, goOn: (Int) throws -> Void
  ) throws -> [RecordGroup] {
    var groups: [RecordGroup] = []
    var runs: [Range<Int>] = []
    try index.forEachKey(in: 0..<index.count, {}) { _, run in runs.append(run) }
    for (position, run) in runs.enumerated() {
      if position % 1_024 == 0 { try goOn(position) }
      guard let entry = try index.entries(at: run.lowerBound..<run.lowerBound + 1).first else { continue }
      // If the record is damaged and left out, the entry still has its value.
      let document = try datastore.record(entry.identifier)?.document()
      let key = document.map { $0[keys[0]] ?? .null } ?? KeyShape(index.descriptor.encoding).part(entry.value).document
      groups.append(
        RecordGroup(
          keys: [key], figures: figures.map { _ in .number(NumberText(Int64(run.count))) },
          count: run.count))
    }
    return KeyShape(index.descriptor.encoding).isDescending ? groups.reversed() : groups
  }

  // MARK: By a scan

  /// Looks at all records, a part on each processor.
  private func scan(
    _ query: RecordQuery, _ datastore: any ReadableDatastore, into tally: inout GroupTally, goOn: (Int) throws -> Void
  ) throws {
    let selection = DocumentSelection(keys + figures.compactMap(\.path))
    let test = query.filter.map { RecordTest($0) }
    try (0..<datastore.count).forEachPart { ranks throws(ModelError) in
      var records = try datastore.records(at: ranks)
      var (part, test) = (GroupTally(self), test)
      while try records.next() {
        guard let record = try records.rawRecord() else { continue }
        if test != nil, (try? test?.keeps(record)) != true { continue }
        part.add((try? record.document(at: selection)) ?? .null)
      }
      return part
    } body: { part, read in
      tally.add(part)
      try goOn(read)
    }
  }
}

/// Records that are equal in the keys of a grouping.
package struct RecordGroup: Sendable, Equatable {
  /// The value of each key; null also where it is missing.
  package var keys: [Document]
  /// The figures in the order of the grouping.
  package var figures: [Document]
  package var count: Int

  /// The values of its columns: the keys, then the figures.
  package var cells: [Document] { keys + figures }
}

extension Document {
  /// Zero without its sign, because `-0.0` equals `0.0`; any other value unchanged.
  package var withoutSignOfZero: Document {
    guard case .number(let number) = self, number.text.hasPrefix("-"), number.double == 0,
      number.text.utf8.prefix(while: { $0 | 0x20 != UInt8(ascii: "e") }).allSatisfy({ !(0x31...0x39 ~= $0) })
    else { return self }
    return .number(NumberText(unchecked: String(number.text.dropFirst())))
  }
}

extension [RecordGroup] {
  /// Sorts groups by a column; equal ones stay as they are.
  package mutating func sort(by column: Int, isDescending: Bool) {
    let keys = map { $0.cells[column].sortKey }
    let order = indices.sorted { left, right in
      if keys[left] == keys[right] { return left < right }
      return keys[left].lexicographicallyPrecedes(keys[right]) != isDescending
    }
    self = order.map { self[$0] }
  }
}

/// The groups that were met so far. Its size for a group decides how much memory many groups take.
private struct GroupTally: Sendable {
  private struct Group: Sendable {
    let keys: [Document]
    var count = 0
    /// One for each path of the figures.
    var values: [Values]
  }

  /// The values of one path in a group, as far as the figures need them.
  private struct Values: Sendable {
    var total = DecimalSum()
    var least: End?
    var greatest: End?

    mutating func add(_ other: Values) {
      total.add(other.total)
      if let end = other.least { addLeast(end) }
      if let end = other.greatest { addGreatest(end) }
    }

    mutating func addLeast(_ new: End) { if least.map({ new.isBefore($0) }) ?? true { least = new } }
    mutating func addGreatest(_ new: End) { if !(greatest.map { new.isBefore($0) } ?? false) { greatest = new } }
  }

  private struct End: Sendable {
    let key: [UInt8]
    let value: Document

    func isBefore(_ other: End) -> Bool { key.lexicographicallyPrecedes(other.key) }
  }

  /// A path of the figures, and which of its values they need.
  private struct Wanted: Sendable {
    let path: DocumentPath
    let total: Bool
    let least: Bool
    let greatest: Bool

    init(_ path: DocumentPath, _ figures: [RecordGrouping.Figure]) {
      self.path = path
      total = figures.contains(.sum(path)) || figures.contains(.mean(path))
      least = figures.contains(.least(path))
      greatest = figures.contains(.greatest(path))
    }

    func values(in document: Document) -> Values {
      var values = Values()
      for value in document[path].map({ [$0] }) ?? document.values(at: path) where value != .null {
        if total, case .number(let number) = value { values.total.add(number) }
        guard least || greatest else { continue }
        let end = End(key: value.sortKey, value: value)
        if least { values.addLeast(end) }
        if greatest { values.addGreatest(end) }
      }
      return values
    }
  }

  private let grouping: RecordGrouping
  private let wanted: [Wanted]
  private var found: [[UInt8]: Group] = [:]

  init(_ grouping: RecordGrouping) {
    self.grouping = grouping
    wanted = grouping.figures.reduce(into: []) { wanted, figure in
      guard let path = figure.path, !wanted.contains(where: { $0.path == path }) else { return }
      wanted.append(Wanted(path, grouping.figures))
    }
  }

  mutating func add(_ document: Document) {
    var groups = [grouping.keys.map { document[$0] ?? .null }]
    for (place, path) in grouping.keys.enumerated() where groups[0][place] == .null {
      let values = document.values(at: path).distinct
      if values.isEmpty { continue }
      groups = groups.flatMap { keys in values.map { keys[..<place] + [$0] + keys[(place + 1)...] } }
    }
    let values = wanted.map { $0.values(in: document) }
    for keys in groups { add(values, 1, to: keys.sortKey, keys) }
  }

  mutating func add(_ other: GroupTally) {
    for (key, group) in other.found { add(group.values, group.count, to: key, group.keys) }
  }

  private mutating func add(_ values: [Values], _ count: Int, to key: [UInt8], _ keys: [Document]) {
    guard let place = found.index(forKey: key) else {
      found[key] = Group(keys: keys.map(\.withoutSignOfZero), count: count, values: values)
      return
    }
    found.values[place].count += count
    for path in values.indices { found.values[place].values[path].add(values[path]) }
  }

  /// The groups in the order of their keys. Takes them out, so that none is held twice.
  mutating func takeGroups() -> [RecordGroup] {
    var sorted = found.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    found = [:]
    var groups: [RecordGroup] = []
    groups.reserveCapacity(sorted.count)
    while let (_, group) = sorted.popLast() {
      groups.append(
        RecordGroup(keys: group.keys, figures: grouping.figures.map { figure($0, of: group) }, count: group.count))
    }
    return groups.reversed()
  }

  private func figure(_ figure: RecordGrouping.Figure, of group: Group) -> Document {
    guard let place = wanted.firstIndex(where: { $0.path == figure.path }) else {
      return .number(NumberText(Int64(group.count)))
    }
    let values = group.values[place]
    return switch figure {
    case .count: .null
    case .sum: .number(values.total.sum ?? NumberText(Int64(0)))
    case .mean: values.total.mean.map { .number($0) } ?? .null
    case .least: values.least?.value ?? .null
    case .greatest: values.greatest?.value ?? .null
    }
  }
}
