import StrataModel
import StrataEngine

/// A value that is asked for in one tier of an index, as the index keeps it, whichever way the tier is ordered.
struct TierKey: Sendable {
  let key: @Sendable () throws -> KeyValue

  init<Value: Indexable>(_ value: Value) {
    if let turned = value as? any DescendingValue {
      self = turned.tierKey
    } else {
      let coder = KeyCoder<Value>.make()
      key = { try coder.encoding.decode(coder.key(of: value)) }
    }
  }
}

/// A range that is asked for in one tier of an index.
struct TierRange: Sendable {
  let interval: @Sendable () throws -> KeyInterval

  init<Bound: Indexable>(_ range: some IndexRangeExpression<Bound>) {
    @Sendable func end(_ bound: RangeBoundExpression<Bound>) throws -> KeyInterval.Bound {
      switch bound {
      case .extent: .open
      case .including(let value): .including(try TierKey(value).key())
      case .excluding(let value): .excluding(try TierKey(value).key())
      }
    }
    interval = { KeyInterval(lower: try end(range.lowerBoundExpression), upper: try end(range.upperBoundExpression)) }
  }
}

extension DatastoreCore {
  /// The instances of an index whose first tiers have given values, and whose next one lies in a range.
  func instances<Bound: Indexable, Index: IndexRepresentation<Instance>, Mode: _AccessMode>(
    prefix: [TierKey] = [], range: some IndexRangeExpression<Bound>, order: RangeOrder,
    from path: KeyPath<Format, Index>
  ) -> Selection<Format, Mode> {
    instances(prefix: prefix, range: TierRange(range), order: range.order.combined(with: order), from: path)
  }

  /// The instances of an index whose first tiers have given values, and whose next one lies in a range, if there is one.
  func instances<Index: IndexRepresentation<Instance>, Mode: _AccessMode>(
    prefix: [TierKey], range: TierRange?, order: RangeOrder, from path: KeyPath<Format, Index>
  ) -> Selection<Format, Mode> {
    let stored = StoredRange(self, indexAt: path, isDescending: order == .descending) { core, index in
      try core.ordering(index: index.name) {
        let (prefix, encoding) = (try prefix.map { try $0.key() }, index.descriptor.encoding)
        var interval = try range?.interval() ?? KeyInterval()
        let encodings = index.tiers?.encodings ?? [encoding]
        guard prefix.count + (range == nil ? 0 : 1) <= encodings.count else {
          throw NotOrdered(description: "more tiers than the index has")
        }
        if encodings.dropFirst(prefix.count).first?.isDescending == true {
          interval = KeyInterval(lower: interval.upper, upper: interval.lower)
        }
        var bounds = EntryBounds()
        let ends = interval.bounds(after: prefix, isCompound: encodings.count > 1)
        bounds.lower = try index.order.place(of: ends.lower, encoding, index.tiers)
        bounds.upper = try index.order.place(of: ends.upper, encoding, index.tiers)
        return bounds
      }
    }
    return Selection(core: self, range: stored)
  }
}
