import StrataModel
import StrataEngine

/// The ends of a range of entries: the first entry does not lie before `lower`, and the last one lies before `upper`. If an end is nil, the
/// range is open there.
struct EntryBounds {
  var lower: SoughtPlace?
  var upper: SoughtPlace?
}

extension EntryBounds {
  init<Bound>(
    of range: some IndexRangeExpression<Bound>, key: (Bound) throws -> [UInt8],
    bound: (_ key: [UInt8], _ after: Bool) throws -> SoughtPlace
  ) throws {
    func place(_ end: RangeBoundExpression<Bound>, isUpper: Bool) throws -> SoughtPlace? {
      switch end {
      case .extent: nil
      case .including(let value): try bound(key(value), isUpper)
      case .excluding(let value): try bound(key(value), !isUpper)
      }
    }
    lower = try place(range.lowerBoundExpression, isUpper: false)
    upper = try place(range.upperBoundExpression, isUpper: true)
  }

  /// The entries as ranks: two searches, whatever the range holds.
  func ranks(in tree: Tree) throws -> Range<Int> {
    let first = Int(clamping: try lower.map { try tree.rank(of: $0) } ?? 0)
    return first..<max(first, Int(clamping: try upper.map { try tree.rank(of: $0) } ?? tree.entryCount))
  }

  /// The entries as the first page that a server is asked for; nil if only the app knows their order.
  func page(of tree: TreeName, isDescending: Bool, records: TreeName?) -> PageRequest? {
    func key(_ place: SoughtPlace?) -> [UInt8]?? {
      switch place {
      case .bytes(let key): .some(key)
      case .compare: nil
      case nil: .some(nil)
      }
    }
    guard let first = key(lower), let end = key(upper) else { return nil }
    return PageRequest(
      tree: tree, lower: first ?? [], upper: end, limit: ServedRangeCursor.firstPage, isReversed: isDescending,
      records: records)
  }
}
