package import StrataModel

/// Distinct keys of an index with the number of their entries, from a rank on.
package struct KeysRequest: Question, Hashable {
  package var datastore: String
  /// Nil for the order by identifier.
  package var index: String?
  package var commit: CommitNumber
  package var range: KeyInterval?
  package var anchor: Anchor
  package var limit: Int
  package var naming = Naming()

  package enum Anchor: Sendable, Hashable {
    /// Keys starting with the one that has the entry of this rank.
    case from(rank: Int)
    /// Keys that end before this rank.
    case before(rank: Int)
    case start, end
    /// A key, or the one after it if it is gone.
    case key(KeyValue)
    /// The key at or after a value that was typed.
    case text(String)
  }

  package func reply(in context: WorkContext) throws(ModelError) -> KeysAnswer {
    var answer = try context.keysWithoutLabels(self)
    let labels = LabelReader(context: context, commit: commit, naming: naming)
    for row in answer.rows.indices {
      try context.goOn()
      for identifier in answer.rows[row].identifiers.prefix(KeyRow.named) {
        let place = RecordPlace(datastore: datastore, identifier: identifier)
        // An unreadable record has no label, but the index has its entry.
        answer.rows[row].labels.append(try? labels.label(of: place))
      }
    }
    return answer
  }
}

package struct KeysAnswer: Sendable {
  package var request: KeysRequest
  /// The ranks of the range in the index.
  package var bounds: Range<Int>
  package var count: Int
  package var rows: [KeyRow]
}

/// A key with its entries.
package struct KeyRow: Sendable, Hashable {
  package var key: KeyValue
  /// The rank of its first entry.
  package var rank: Int
  package var count: Int
  /// The first records with this key.
  package var identifiers: [StoredKey]
  /// The labels of the first records.
  package var labels: [String?] = []

  /// The number of a key's records that are labelled.
  static let named = 3
}

/// Counts the distinct keys of an index in a range.
struct DistinctRequest: Question, Hashable {
  var datastore: String
  var index: String?
  var commit: CommitNumber
  var range: KeyInterval?

  func reply(in context: WorkContext) throws(ModelError) -> Int {
    let index = try context.datastore(datastore, at: commit).index(index)
    var keys = 0
    try index.forEachKey(in: try WorkContext.bounds(of: range, in: index), context.goOn) { _, _ in keys += 1 }
    return keys
  }
}

extension WorkContext {
  fileprivate func keysWithoutLabels(_ request: KeysRequest) throws(ModelError) -> KeysAnswer {
    let index = try datastore(request.datastore, at: request.commit).index(request.index)
    let bounds = try Self.bounds(of: request.range, in: index)
    var answer = KeysAnswer(request: request, bounds: bounds, count: try index.count, rows: [])
    var place = bounds.lowerBound
    var isBackward = false
    func within(_ rank: Int?) -> Int {
      max(bounds.lowerBound, min(rank ?? bounds.lowerBound, bounds.upperBound - 1))
    }
    switch request.anchor {
    case .start: break
    case .from(let rank): place = max(rank, bounds.lowerBound)
    case .key(let key):
      // At another commit the index may be of another type.
      place = within(try? index.rank(of: .before(key)))
    case .end: (place, isBackward) = (bounds.upperBound, true)
    case .before(let rank): (place, isBackward) = (min(rank, bounds.upperBound), true)
    case .text(let text):
      let value: KeyValue
      do throws(ModelError) {
        let isPlain = index.descriptor.encoding.isText && !text.hasPrefix("\"")
        value = isPlain ? .string(text) : try index.value(parsing: text)
      } catch .invalid(let text, _, let reason) {
        // The line that was typed is gone, so its columns say nothing.
        throw .invalid(text: text, column: nil, reason: reason)
      }
      place = within(try index.rank(of: .before(value)))
    }
    if !isBackward, place < bounds.upperBound, let entry = try index.entries(at: place..<place + 1).first {
      // A rank among a key's entries stands for the key, whose row has all of them.
      place = min(place, max(bounds.lowerBound, try index.rank(of: .before(entry.value))))
    }
    while answer.rows.count < request.limit, isBackward ? place > bounds.lowerBound : place < bounds.upperBound {
      try goOn()
      let known = isBackward ? place - 1 : place
      guard let key = try index.entries(at: known..<known + 1).first?.value else { break }
      var entries = place..<place
      if isBackward {
        entries = min(known, max(bounds.lowerBound, try index.rank(of: .before(key))))..<place
      } else {
        entries = place..<max(place + 1, min(bounds.upperBound, try index.rank(of: .after(key))))
      }
      let identifiers = try index.entries(at: entries.prefix(8)).map(\.identifier)
      answer.rows.append(KeyRow(key: key, rank: entries.lowerBound, count: entries.count, identifiers: identifiers))
      place = isBackward ? entries.lowerBound : entries.upperBound
    }
    if isBackward { answer.rows.reverse() }
    return answer
  }
}

extension KeyEncoding {
  /// Whether keys are texts, so that a search may seek by a prefix.
  var isText: Bool {
    switch self {
    case .string: true
    case .optional(let inner): inner.isText
    default: false
    }
  }
}
