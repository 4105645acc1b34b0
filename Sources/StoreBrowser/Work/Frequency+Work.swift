import StrataDocuments
package import StrataModel

/// Counts the distinct values of a column.
package struct FrequencyRequest: Sendable, Hashable {
  package var source: RowSource
  package var commit: CommitNumber
  package var path: String
  /// The rows of a filter, where they are known; nil is the whole range, through the filter.
  package var ranks: RowRanks?
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

extension FrequencyRequest: Question {
  package func reply(in context: WorkContext) throws(ModelError) -> FrequencyAnswer { try context.frequency(self) }
}

extension WorkContext {
  static var frequencyLimit: Int { 100_000 }

  func frequency(_ request: FrequencyRequest) throws(ModelError) -> FrequencyAnswer {
    let rows = try RowReader(request.source, ranks: request.ranks, at: request.commit, in: self)
    var tally = Tally()
    if rows.isWhole,
      let index = rows.datastore.indexes.first(where: { $0.descriptor.documentPath?.description == request.path }),
      !index.descriptor.isStale
    {
      let count = try index.count
      var keys = 0
      try index.forEachKey(in: 0..<count, goOn) { key, run in
        tally.add(key.document, ValueText(key: key), key.description, run.count)
        keys += 1
        if keys.isMultiple(of: 256) { report(Progress(done: run.upperBound, total: count)) }
      }
      return tally.answer(request, rowsRead: keys, plan: "INDEX \(index.descriptor.name)")
    }
    let path = try Self.path(request.path)
    try rows.forEach(selecting: [path]) { _, document in
      let value = document?[path]
      if case .array(let elements)? = value {
        for element in elements { tally.add(element) }
      } else {
        tally.add(value ?? .null)
      }
    }
    return tally.answer(request, rowsRead: rows.total, plan: "SCAN")
  }
}

/// Counts by value.
private struct Tally {
  private var counts: [String: ValueCount] = [:]
  private var numbers = NumberSummary()
  private var nulls = 0
  /// Whether there were more distinct values than are kept.
  private var isCut = false

  /// Counts a value, with the literal that is typed for it in a filter.
  mutating func add(_ value: Document, _ text: ValueText? = nil, _ literal: String? = nil, _ count: Int = 1) {
    if case .null = value { nulls += count }
    let text = text ?? ValueText(cell: value)
    let literal = literal ?? (value.isLeaf ? value.compactJSON : text.text)
    numbers.add(value, times: count)
    if counts[literal] == nil, counts.count >= WorkContext.frequencyLimit {
      isCut = true
    } else {
      counts[literal, default: ValueCount(value: text, literal: literal, count: 0)].count += count
    }
  }

  func answer(_ request: FrequencyRequest, rowsRead: Int, plan: String) -> FrequencyAnswer {
    FrequencyAnswer(
      request: request,
      values: counts.values.sorted { $0.count != $1.count ? $0.count > $1.count : $0.literal < $1.literal },
      rowsRead: rowsRead, summary: numbers.count > 0 ? numbers : nil, nulls: nulls, plan: plan, isCut: isCut)
  }
}
