import StrataModel
import StrataEngine

/// A value that is asked for in one tier of an index.
struct TierKey: Sendable {
  /// How the value's type is kept, and its key in either direction.
  let encoding: KeyEncoding
  let ascending: @Sendable () throws -> [UInt8]
  let descending: @Sendable () throws -> [UInt8]

  init<Value: Indexable>(_ value: Value) {
    let coder = KeyCoder<Value>.make()
    encoding = coder.encoding
    ascending = { try coder.key(of: value) }
    descending = { try KeyCoder<Descending<Value>>.make().key(of: Descending(value)) }
  }

  /// The key in a tier; throws where the tier is of another type.
  func key(in tier: KeyEncoding) throws -> [UInt8] {
    // A value that is descending itself, as the tier is.
    if tier == encoding { return try ascending() }
    if case .descending(let inner) = tier {
      try require(inner)
      return try descending()
    }
    try require(tier)
    return try ascending()
  }

  private func require(_ tier: KeyEncoding) throws {
    guard tier != encoding, tier != .optional(encoding) else { return }
    throw NotOrdered(description: "a value of the type \(encoding.name) in a tier of the type \(tier.name)")
  }
}

/// A range that is asked for in one tier of an index.
struct TierRange: Sendable {
  enum End: Sendable {
    case extent
    case including(TierKey)
    case excluding(TierKey)

    init<Bound: Indexable>(_ bound: RangeBoundExpression<Bound>) {
      switch bound {
      case .extent: self = .extent
      case .including(let value): self = .including(TierKey(value))
      case .excluding(let value): self = .excluding(TierKey(value))
      }
    }
  }

  var lower: End
  var upper: End

  init<Bound: Indexable>(_ range: some IndexRangeExpression<Bound>) {
    lower = End(range.lowerBoundExpression)
    upper = End(range.upperBoundExpression)
  }
}

extension DatastoreCore {
  /// The instances of an index whose first tiers have given values, and whose next one lies in a range.
  func instances<Index: IndexRepresentation<Instance>, Mode: _AccessMode>(
    prefix: [TierKey], range: TierRange?, order: RangeOrder, from path: KeyPath<Format, Index>
  ) -> Selection<Format, Mode> {
    let stored = StoredRange(self, indexAt: path, isDescending: order == .descending) { core, index in
      try core.ordering(index: index.name) {
        guard case .compound(let tiers) = index.descriptor.encoding, index.order.treeOrder == .bytes,
          prefix.count + (range == nil ? 0 : 1) <= tiers.count
        else { throw NotOrdered(description: "more tiers than the index has in byte order") }
        var start: [UInt8] = []
        for (tier, value) in zip(tiers, prefix) { start += try value.key(in: tier) }
        guard let range else {
          return EntryBounds(from: start, to: start + [0xFF])
        }
        let tier = tiers[prefix.count]
        let (low, high) = tier.isDescending ? (range.upper, range.lower) : (range.lower, range.upper)
        let from: [UInt8] =
          switch low {
          case .extent: start
          case .including(let value): start + (try value.key(in: tier))
          case .excluding(let value): start + (try value.key(in: tier)) + [0xFF]
          }
        let to: [UInt8] =
          switch high {
          case .extent: start + [0xFF]
          case .including(let value): start + (try value.key(in: tier)) + [0xFF]
          case .excluding(let value): start + (try value.key(in: tier))
          }
        return EntryBounds(from: from, to: to)
      }
    }
    return Selection(core: self, range: stored)
  }
}

extension KeyEncoding {
  fileprivate var isDescending: Bool {
    if case .descending = self { true } else { false }
  }
}
