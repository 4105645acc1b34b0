import Documents
package import DatastoreModel

/// Counts the distinct values of a column.
package struct FrequencyRequest: Sendable, Hashable {
  package var source: RowSource
  package var commit: CommitNumber
  package var path: String
  package var bounds: Range<Int>
  /// The rows of a filter; nil is the whole range.
  package var ranks: [Int]?
}

package struct FrequencyAnswer: Sendable {
  package var request: FrequencyRequest
  /// Most frequent first.
  package var values: [ValueCount]
  package var rowsRead: Int
  package var summary: NumberSummary?
  package var nulls: Int
  package var plan: String
  /// More distinct values than are kept.
  package var isCut: Bool
}

package struct ValueCount: Sendable, Hashable {
  var value: ValueText
  /// As it is typed in a filter.
  package var literal: String
  package var count: Int
}

/// Of a column's numbers.
package struct NumberSummary: Sendable, Hashable {
  package var count: Int
  package var least: Double
  package var greatest: Double
  package var sum: Double
}

extension FrequencyRequest: Question {
  package func reply(in context: WorkContext) throws(ModelError) -> FrequencyAnswer { try context.frequency(self) }
}

extension WorkContext {
  static var frequencyLimit: Int { 100_000 }

  func frequency(_ request: FrequencyRequest) throws(ModelError) -> FrequencyAnswer {
    let datastore = try datastore(request.source.datastore, at: request.commit)
    if request.ranks == nil, request.source.range == nil,
      let index = datastore.indexes.first(where: { $0.descriptor.documentPath?.description == request.path }),
      !index.descriptor.isStale
    {
      return try frequency(request, along: index)
    }
    return try scanFrequency(request, in: datastore)
  }

  /// Two searches a distinct value, whatever the number of records.
  private func frequency(
    _ request: FrequencyRequest, along index: any ReadableIndex
  ) throws(ModelError) -> FrequencyAnswer {
    var tally = Tally()
    var rank = 0
    let count = try index.count
    var steps = 0
    while rank < count, let entry = try index.entries(at: rank..<rank + 1).first {
      try goOn()
      let end = max(rank + 1, try index.rank(of: .after(entry.value)))
      tally.add(entry.value, count: end - rank)
      rank = end
      steps += 1
      if steps.isMultiple(of: 256) { report(Progress(done: rank, total: count)) }
      if tally.isFull { break }
    }
    return tally.answer(request, rowsRead: steps, plan: "INDEX \(index.descriptor.name)")
  }

  private func scanFrequency(
    _ request: FrequencyRequest, in datastore: any ReadableDatastore
  ) throws(ModelError) -> FrequencyAnswer {
    let path = try Self.path(request.path)
    let index = try datastore.index(request.source.index)
    let total = request.ranks?.count ?? request.bounds.count
    var tally = Tally()
    var read = 0
    for start in stride(from: 0, to: total, by: 128) {
      try goOn()
      let places = start..<min(total, start + 128)
      let ranks = request.ranks.map { Array($0[places]) } ?? places.map { request.bounds.lowerBound + $0 }
      for (_, entry) in try entries(at: ranks, of: index) {
        read += 1
        let value = try datastore.record(entry.identifier).flatMap { try? $0.document()[path] }
        if case .array(let elements) = value {
          for element in elements { tally.add(element) }
        } else {
          tally.add(value)
        }
      }
      report(Progress(done: read, total: total))
      if tally.isFull { break }
    }
    return tally.answer(request, rowsRead: read, plan: "SCAN")
  }
}

/// Counts by value.
private struct Tally {
  private var counts: [String: ValueCount] = [:]
  private var numbers: NumberSummary?
  private var nulls = 0

  var isFull: Bool { counts.count >= WorkContext.frequencyLimit }

  mutating func add(_ value: Document?) {
    switch value {
    case nil, .null:
      nulls += 1
      count(ValueText(text: "—", kind: .null), literal: "null", 1)
    case .some(let value):
      let text = ValueText(cell: value)
      count(text, literal: value.isLeaf ? value.compactJSON : text.text, 1)
      if let number = value.number { add(number, 1) }
    }
  }

  mutating func add(_ key: KeyValue, count: Int) {
    self.count(ValueText(key: key), literal: key.description, count)
    switch key {
    case .null: nulls += count
    case .integer(let number): add(Double(number), count)
    case .unsigned(let number): add(Double(number), count)
    case .double(let number): add(number, count)
    case .decimal(let text): if let number = Double(text) { add(number, count) }
    default: break
    }
  }

  private mutating func count(_ value: ValueText, literal: String, _ count: Int) {
    counts[literal, default: ValueCount(value: value, literal: literal, count: 0)].count += count
  }

  private mutating func add(_ number: Double, _ count: Int) {
    guard var summary = numbers else {
      numbers = NumberSummary(count: count, least: number, greatest: number, sum: number * Double(count))
      return
    }
    summary.count += count
    summary.least = min(summary.least, number)
    summary.greatest = max(summary.greatest, number)
    summary.sum += number * Double(count)
    numbers = summary
  }

  func answer(_ request: FrequencyRequest, rowsRead: Int, plan: String) -> FrequencyAnswer {
    FrequencyAnswer(
      request: request,
      values: counts.values.sorted { $0.count != $1.count ? $0.count > $1.count : $0.literal < $1.literal },
      rowsRead: rowsRead, summary: numbers, nulls: nulls, plan: plan, isCut: isFull)
  }
}
