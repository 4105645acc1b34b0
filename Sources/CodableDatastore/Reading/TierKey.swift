import StrataModel
import StrataEngine

/// A value that is asked for in one tier of an index, as the index keeps it, whichever way the tier is ordered.
struct TierKey: Sendable {
  let key: @Sendable () throws -> KeyValue

  init<Value: Indexable>(_ value: Value) {
    if let turned = value as? any DescendingValue {
      self = TierKey(turned.value)
    } else {
      let coder = KeyCoder<Value>.make()
      key = { try coder.encoding.decode(coder.key(of: value)) }
    }
  }
}

extension DatastoreCore {
  /// The instances of an index whose first tiers have given values, and whose next one lies in a range.
  func instances<Index: IndexRepresentation<Instance>, Interval: IndexRangeExpression, Mode: _AccessMode>(
    prefix: [TierKey], range: Interval = WholeRange<Int>(), order: RangeOrder, from path: KeyPath<Format, Index>
  ) -> Selection<Format, Mode> where Interval.Bound: Indexable {
    let order = range.order.combined(with: order)
    let stored = StoredRange(self, indexAt: path, isDescending: order == .descending) { core, index in
      func end(_ bound: RangeBoundExpression<Interval.Bound>) throws -> KeyInterval.Bound {
        switch bound {
        case .extent: .open
        case .including(let value): .including(try TierKey(value).key())
        case .excluding(let value): .excluding(try TierKey(value).key())
        }
      }
      return try core.ordering(index: index.name) {
        let (prefix, encoding) = (try prefix.map { try $0.key() }, index.descriptor.encoding)
        var interval = KeyInterval(
          lower: try end(range.lowerBoundExpression), upper: try end(range.upperBoundExpression))
        let encodings = index.tiers?.encodings ?? [encoding]
        guard prefix.count <= encodings.count else { throw NotOrdered(description: "more tiers than the index has") }
        if encodings.dropFirst(prefix.count).first?.isDescending == true {
          interval = KeyInterval(lower: interval.upper, upper: interval.lower)
        }
        let ends = interval.bounds(after: prefix, isCompound: encodings.count > 1)
        return EntryBounds(
          lower: try index.order.place(of: ends.lower, encoding, index.tiers),
          upper: try index.order.place(of: ends.upper, encoding, index.tiers))
      }
    }
    return Selection(core: self, range: stored)
  }
}
