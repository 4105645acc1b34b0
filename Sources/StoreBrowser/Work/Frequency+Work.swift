package import StrataDocuments
import StrataExpressions
package import StrataModel

/// Counts the distinct values of a column.
package struct FrequencyRequest: RowsQuestion, Hashable {
  package var source: RowSource
  package var commit: CommitNumber
  package var path: String
  /// The rows of a filter, where they are known; nil is the whole range, through the filter.
  package var ranks: RowRanks?

  package func reply(in context: WorkContext) throws(ModelError) -> FrequencyAnswer {
    let rows = try RowReader(source, ranks: ranks, at: commit, in: context)
    var tally = Tally()
    let field = try WorkContext.path(path)
    if rows.isWhole, let index = try rows.datastore.exactIndex(of: field) {
      let count = try index.count
      var keys = 0
      try index.forEachKey(in: 0..<count, context.goOn) { key, run in
        tally.add(key.document, isElement: index.descriptor.kind.hasManyValues, run.count)
        keys += 1
        if keys.isMultiple(of: 256) { context.report(Progress(done: run.upperBound, total: count)) }
      }
      return tally.answer(rowsRead: keys, plan: "INDEX \(index.descriptor.name)")
    }
    try rows.forEach(selecting: [field]) { _, document in
      guard case .array(let elements)? = document?[field] else {
        // A path through a list of objects has many values.
        let values = document.flatMap { $0[field].map { [$0] } ?? $0.values(at: field) } ?? []
        return tally.add(values.isEmpty ? [.null] : values, isElement: false)
      }
      tally.add(elements, isElement: true)
    }
    return tally.answer(rowsRead: rows.total, plan: "SCAN")
  }
}

package struct FrequencyAnswer: Sendable {
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
  package var document: Document
  /// Whether it is an element of lists.
  var isElement: Bool
  package var count: Int
}

private struct Tally {
  private var counts: [[UInt8]: ValueCount] = [:]
  private var numbers = NumberSummary()
  private var nulls = 0
  /// Whether there were more distinct values than are kept.
  private var isCut = false
  /// The most distinct values that are kept.
  private static let limit = 100_000

  /// Counts the values of one record, each once, as the record is found once by its filter.
  mutating func add(_ values: [Document], isElement: Bool) {
    for value in values.distinct { add(value, isElement: isElement) }
  }

  mutating func add(_ value: Document, isElement: Bool, _ count: Int = 1) {
    let value = value.withoutSignOfZero
    if case .null = value { nulls += count }
    numbers.add(value, times: count)
    let key = [value, .bool(isElement)].sortKey
    if counts[key] == nil {
      if counts.count == Self.limit { return isCut = true }
      counts[key] = ValueCount(value: ValueText(cell: value), document: value, isElement: isElement, count: 0)
    }
    counts[key]?.count += count
  }

  func answer(rowsRead: Int, plan: String) -> FrequencyAnswer {
    let sorted = counts.sorted { left, right in
      left.value.count != right.value.count ? left.value.count > right.value.count : left.key.precedes(right.key)
    }
    return FrequencyAnswer(
      values: sorted.map(\.value), rowsRead: rowsRead, summary: numbers.count > 0 ? numbers : nil, nulls: nulls,
      plan: plan, isCut: isCut)
  }
}
