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
  package var columns: [String] { keys.map(\.shortText) + figures.map(\.name) }

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
      while let found = try run.next() { tally.add(found.document ?? .null) }
    }
    return tally.groups
  }

  /// The groups of the documents that `read` adds one by one.
  package func groups(of read: ((Document) -> Void) throws -> Void) rethrows -> [RecordGroup] {
    var tally = GroupTally(self)
    try read { tally.add($0) }
    return tally.groups
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
      let document = try datastore.record(entry.identifier)?.document()
      groups.append(
        RecordGroup(
          keys: [document?[keys[0]] ?? .null], figures: figures.map { _ in .number(NumberText(Int64(run.count))) },
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
    try datastore.forEachPart(of: 0..<datastore.count) { records, _ throws(ModelError) in
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

private struct GroupTally: Sendable {
  private struct Group: Sendable {
    var keys: [Document]
    var count = 0
    /// For each figure, in its place.
    var numbers: [NumberSummary]
    var ends: [(key: [UInt8], value: Document)?]
  }

  private let grouping: RecordGrouping
  private var found: [[UInt8]: Group] = [:]

  init(_ grouping: RecordGrouping) { self.grouping = grouping }

  mutating func add(_ document: Document) {
    var groups = [grouping.keys.map { document[$0] ?? .null }]
    for (place, path) in grouping.keys.enumerated() where groups[0][place] == .null {
      let values = document.values(at: path).distinct
      if values.isEmpty { continue }
      groups = groups.flatMap { keys in values.map { keys[..<place] + [$0] + keys[(place + 1)...] } }
    }
    for keys in groups { add(document, to: keys) }
  }

  private mutating func add(_ document: Document, to keys: [Document]) {
    let figures = grouping.figures
    modify(keys.sortKey, keys) { group in
      group.count += 1
      for (place, figure) in figures.enumerated() {
        guard let path = figure.path else { continue }
        for value in document[path].map({ [$0] }) ?? document.values(at: path) where value != .null {
          switch figure {
          case .count: break
          case .sum, .mean: if case .number = value { group.numbers[place].add(value) }
          case .least, .greatest: Self.keepExtreme((value.sortKey, value), as: figure, into: &group.ends[place])
          }
        }
      }
    }
  }

  mutating func add(_ other: GroupTally) {
    let figures = grouping.figures
    for (key, part) in other.found {
      modify(key, part.keys) { group in
        group.count += part.count
        for (place, figure) in figures.enumerated() {
          group.numbers[place].add(part.numbers[place])
          if let end = part.ends[place] { Self.keepExtreme(end, as: figure, into: &group.ends[place]) }
        }
      }
    }
  }

  private static func keepExtreme(
    _ new: (key: [UInt8], value: Document), as figure: RecordGrouping.Figure,
    into end: inout (key: [UInt8], value: Document)?
  ) {
    guard let old = end else { return end = new }
    let isBefore = new.key.lexicographicallyPrecedes(old.key)
    if case .least = figure { if isBefore { end = new } } else if !isBefore { end = new }
  }

  private mutating func modify(_ key: [UInt8], _ keys: [Document], _ body: (inout Group) -> Void) {
    let figures = grouping.figures.count
    body(
      &found[
        key,
        default: Group(
          keys: keys, numbers: Array(repeating: NumberSummary(), count: figures),
          ends: Array(repeating: nil, count: figures))
      ])
  }

  var groups: [RecordGroup] {
    found.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { _, group in
      RecordGroup(
        keys: group.keys.map(\.withoutSignOfZero),
        figures: grouping.figures.enumerated().map { place, figure in
          switch figure {
          case .count: .number(NumberText(Int64(group.count)))
          case .sum: .number(group.numbers[place].sum ?? NumberText(Int64(0)))
          case .mean: group.numbers[place].mean.map { .number($0) } ?? .null
          case .least, .greatest: group.ends[place]?.value ?? .null
          }
        }, count: group.count)
    }
  }
}
