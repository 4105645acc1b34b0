infix operator ..>
postfix operator ..>

extension Comparable {
  /// A range without its lower bound and with its upper one: (minimum, maximum]. Traps if they are out of order; a range of two equal
  /// bounds is empty.
  public static func ..> (minimum: Self, maximum: Self) -> IndexRange<Self> {
    precondition(minimum <= maximum, "Range requires lowerBound <= upperBound")
    return IndexRange(lower: .excluding(minimum), upper: .including(maximum))
  }

  /// All values above a value, without it.
  public static postfix func ..> (minimum: Self) -> IndexRange<Self> {
    IndexRange(lower: .excluding(minimum), upper: .extent)
  }
}

extension Range: IndexRangeExpression {
  /// The range's lower bound, included.
  public var lowerBoundExpression: RangeBoundExpression<Bound> { .including(lowerBound) }
  /// The range's upper bound, excluded.
  public var upperBoundExpression: RangeBoundExpression<Bound> { .excluding(upperBound) }
  /// Always ascending.
  public var order: RangeOrder { .ascending }
}

extension ClosedRange: IndexRangeExpression {
  /// The range's lower bound, included.
  public var lowerBoundExpression: RangeBoundExpression<Bound> { .including(lowerBound) }
  /// The range's upper bound, included.
  public var upperBoundExpression: RangeBoundExpression<Bound> { .including(upperBound) }
  /// Always ascending.
  public var order: RangeOrder { .ascending }
}

extension PartialRangeUpTo: IndexRangeExpression {
  /// No bound: the range begins with the least value.
  public var lowerBoundExpression: RangeBoundExpression<Bound> { .extent }
  /// The range's upper bound, excluded.
  public var upperBoundExpression: RangeBoundExpression<Bound> { .excluding(upperBound) }
  /// Always ascending.
  public var order: RangeOrder { .ascending }
}

extension PartialRangeThrough: IndexRangeExpression {
  /// No bound: the range begins with the least value.
  public var lowerBoundExpression: RangeBoundExpression<Bound> { .extent }
  /// The range's upper bound, included.
  public var upperBoundExpression: RangeBoundExpression<Bound> { .including(upperBound) }
  /// Always ascending.
  public var order: RangeOrder { .ascending }
}

extension PartialRangeFrom: IndexRangeExpression {
  /// The range's lower bound, included.
  public var lowerBoundExpression: RangeBoundExpression<Bound> { .including(lowerBound) }
  /// No bound: the range ends with the greatest value.
  public var upperBoundExpression: RangeBoundExpression<Bound> { .extent }
  /// Always ascending.
  public var order: RangeOrder { .ascending }
}

/// All values, for calls that take `...`.
struct WholeRange<Bound: Comparable & Sendable>: IndexRangeExpression {
  var lowerBoundExpression: RangeBoundExpression<Bound> { .extent }
  var upperBoundExpression: RangeBoundExpression<Bound> { .extent }
  var order: RangeOrder { .ascending }
}
