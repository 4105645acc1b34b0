import StrataModel
import StrataLocks

/// An index of any encoding over values that a test has in hand, which counts the searches in it.
final class ValueIndex: ReadableIndex {
  let descriptor: IndexDescriptor
  let entries: [(bytes: [UInt8], value: KeyValue)]
  private let searchCount = Atomic<Int>(0)

  var searches: Int { searchCount.load(ordering: .relaxed) }

  init(_ encoding: KeyEncoding, _ values: [KeyValue]) throws(ModelError) {
    descriptor = IndexDescriptor(name: "value", kind: .oneToMany, encoding: encoding, valueType: "Value")
    var entries: [(bytes: [UInt8], value: KeyValue)] = []
    for value in values { entries.append((try encoding.encode(value), value)) }
    self.entries = entries.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
  }

  var count: Int { entries.count }

  func entries(at ranks: Range<Int>) -> [IndexEntry] {
    searchCount.add(1, ordering: .relaxed)
    return ranks.clamped(to: 0..<count).map { rank in
      IndexEntry(
        value: entries[rank].value, identifier: StoredKey(bytes: [UInt8(rank & 255)], value: .integer(Int64(rank))))
    }
  }

  func rank(of bound: KeyBound) throws(ModelError) -> Int {
    searchCount.add(1, ordering: .relaxed)
    let limit: [UInt8]
    switch bound {
    case .start: return 0
    case .end: return count
    case .before(let value): limit = try descriptor.encoding.bound(before: value)
    case .after(let value): limit = try descriptor.encoding.bound(after: value)
    }
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].bytes.lexicographicallyPrecedes(limit) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  func rank(of identifier: StoredKey, value: KeyValue?) -> Int? { nil }
  func value(parsing text: String) throws(ModelError) -> KeyValue { try descriptor.encoding.parse(text) }
}
