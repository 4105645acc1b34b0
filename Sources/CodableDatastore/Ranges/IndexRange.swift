/// One end of a range.
public enum RangeBoundExpression<Bound: Comparable>: Equatable {
  /// No end: as far as there are values.
  case extent
  /// Up to a value, without it.
  case excluding(Bound)
  /// Up to a value, with it.
  case including(Bound)
}

extension RangeBoundExpression: Sendable where Bound: Sendable {}

/// The direction in which a range is read.
public enum RangeOrder: Equatable, Sendable {
  /// From the least to the greatest.
  case ascending
  /// The exact reverse of `ascending`, identifiers included.
  case descending

  /// The resulting order if `self` is applied to elements that are ordered by `other`.
  package func combined(with other: RangeOrder) -> RangeOrder { self == other ? .ascending : .descending }
}

/// The position of a value relative to a range.
public enum RangePosition: Equatable, Sendable {
  /// Before its lower end.
  case before
  /// In it.
  case within
  /// After its upper end.
  case after
}

/// A type that selects a range of values of an index, and the order in which they are read.
///
/// Swift's own ranges conform, and so does ``IndexRange``; a type of your own may.
public protocol IndexRangeExpression<Bound>: Sendable {
  /// The type of the values.
  associatedtype Bound: Comparable & Sendable
  /// The lower end.
  var lowerBoundExpression: RangeBoundExpression<Bound> { get }
  /// The upper end.
  var upperBoundExpression: RangeBoundExpression<Bound> { get }
  /// The direction in which it is read; it is combined with a load's own `order`.
  var order: RangeOrder { get }
}

/// A range of index values with ends of any kind: (a, b), [a, b], open on either side.
///
/// Bounds that are out of order are not an error; such a range is empty.
public struct IndexRange<Bound: Comparable> {
  /// The lower end.
  public var lowerBoundExpression: RangeBoundExpression<Bound>
  /// The upper end.
  public var upperBoundExpression: RangeBoundExpression<Bound>
  /// The direction in which it is read.
  public var order: RangeOrder

  /// Makes a range from its ends; without any, the range contains everything.
  public init(
    lower: RangeBoundExpression<Bound> = .extent,
    upper: RangeBoundExpression<Bound> = .extent,
    order: RangeOrder = .ascending
  ) {
    lowerBoundExpression = lower
    upperBoundExpression = upper
    self.order = order
  }

  /// Makes the range of exactly one value.
  public init(only value: Bound) {
    self.init(lower: .including(value), upper: .including(value))
  }
}

extension IndexRange: Sendable where Bound: Sendable {}
extension IndexRange: IndexRangeExpression {}
