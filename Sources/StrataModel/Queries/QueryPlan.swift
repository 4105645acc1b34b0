/// How a query is answered.
package struct QueryPlan: Hashable, Sendable {
  /// Which entries are looked at.
  package indirect enum Way: Hashable, Sendable {
    /// Every record.
    case scan
    case index(IndexRanges)
    /// The records of any of several ways.
    case union([Way])
    /// The records that all of several ways have.
    case intersection([Way])
  }

  /// The order in which records are returned, and the work that it takes.
  package enum Order: Hashable, Sendable {
    /// They are met in it: along an index, or with an empty name by identifier.
    case along(index: String, isDescending: Bool)
    /// They are met in the exact reverse of an index, or with an empty name of the records: identifiers descend too.
    case reversed(index: String)
    /// Identifiers are gathered and put in their order.
    case identifiers
    /// Keys are gathered and sorted.
    case sort

    /// Whether records come in the order of their identifiers.
    package var isByIdentifier: Bool {
      switch self {
      case .along(let index, let isDescending): index.isEmpty && !isDescending
      case .identifiers: true
      case .reversed, .sort: false
      }
    }
  }

  package var way: Way
  package var order: Order
  /// Whether each record is tested.
  package var isTested: Bool
  /// The condition; empty if there is none.
  package var condition: String
  /// The number of records of the datastore.
  package var rows: Int
  /// The sort, as text for a person.
  package var sort = ""

  /// The entries of one range of an index, or with an empty name of the records: all of them, in their order or in the exact reverse
  /// of it. A record with several values comes once for each, or once at the first of them.
  package static func entries(
    of index: String, at ranks: Range<Int>, isReversed: Bool, rows: Int, oncePerRecord: Bool = false
  ) -> QueryPlan {
    QueryPlan(
      way: .index(IndexRanges(index: index, ranges: [ranks], shown: "in range", hasManyValues: oncePerRecord)),
      order: isReversed ? .reversed(index: index) : .along(index: index, isDescending: false), isTested: false,
      condition: "", rows: rows)
  }

  /// Entries that are looked at, at most.
  package var entryCount: Int { way.count(rows) }

  /// Whether so few of the records are read that hardly two lie on neighbouring pages.
  var isSparse: Bool { entryCount < rows / 32 }

  /// How many records the query has, if ranks are enough to know it.
  package var exactCount: Int? { !isTested && (way == .scan || way.isDistinct) ? entryCount : nil }

  /// Whether an index serves the query, at least by its order.
  package var isServed: Bool {
    way != .scan || (condition.isEmpty && order != .sort)
  }

  /// One line: `INDEX population 1000000 ..> 562 entries · KEEP name ^= "San" · SORT no`.
  package var text: String { parts.joined(separator: " · ") }

  /// The parts of the line, in order.
  package var parts: [String] {
    var parts = [way.text(rows)]
    if case .along(let index, let isDescending) = order, way == .scan, !index.isEmpty {
      parts[0] += " along \(index)\(isDescending ? " descending" : "")"
    }
    if case .reversed(let index) = order { parts[0] += index.isEmpty ? " backwards" : " along \(index) backwards" }
    if isTested { parts.append("KEEP \(condition)") }
    switch order {
    case .along, .reversed: parts.append("SORT no")
    case .identifiers: parts.append("SORT identifiers")
    case .sort: parts.append("SORT \(sort)")
    }
    return parts
  }

  /// `INDEX population`, `SCAN`: for a title.
  package var shortText: String { way.shortText }
}

extension QueryPlan.Way {
  func count(_ rows: Int) -> Int {
    switch self {
    case .scan: rows
    case .index(let ranges): ranges.count
    case .union(let ways): ways.reduce(0) { $0 + $1.count(rows) }
    case .intersection(let ways): ways.map { $0.count(rows) }.min() ?? 0
    }
  }

  fileprivate func text(_ rows: Int) -> String {
    switch self {
    case .scan: "\(shortText) \(counted(rows, "record"))"
    case .index(let ranges): "\(shortText) \(ranges.shown) \(counted(ranges.count, "entry", "entries"))"
    case .union(let ways), .intersection(let ways):
      "\(shortText) (" + ways.map { $0.text(rows) }.joined(separator: ", ") + ")"
    }
  }

  fileprivate var shortText: String {
    switch self {
    case .scan: "SCAN"
    case .index(let ranges): "INDEX \(ranges.index.isEmpty ? "identifier" : ranges.index)"
    case .union: "UNION"
    case .intersection: "INTERSECT"
    }
  }

  /// Whether no record comes twice.
  var isDistinct: Bool {
    switch self {
    case .scan: true
    case .index(let ranges): !ranges.hasManyValues || (ranges.ranges.count <= 1 && ranges.fixedTiers > 0)
    case .union, .intersection: false
    }
  }
}
