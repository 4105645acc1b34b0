public import StrataFoundation

/// The figures that can be computed over the instances of a group. Values that are nil are left out.
///
/// ```swift
/// try await cities.load(...).grouped(by: \.country) { $0.count; $0.sum(\.population); $0.max(\.name) }
/// ```
public struct Figures<Instance: Sendable>: Sendable {
  /// How many instances there are.
  public var count: Figure<Instance, _CountFigure> { Figure(column: Column(constant: ())) }

  /// The sum of an integer property; 0 of no instances.
  ///
  /// The call that computes it throws ``InvalidQueryError`` if the sum is not a value of the type.
  public func sum<Value: FixedWidthInteger & Sendable>(
    _ property: KeyPath<Instance, Value>
  ) -> Figure<Instance, _IntegerSumFigure<Value>> {
    Figure(column: Column(property).map { $0 })
  }

  /// The sum of an integer property that may be nil; 0 of no values.
  ///
  /// The call that computes it throws ``InvalidQueryError`` if the sum is not a value of the type.
  public func sum<Value: FixedWidthInteger & Sendable>(
    _ property: KeyPath<Instance, Value?>
  ) -> Figure<Instance, _IntegerSumFigure<Value>> {
    Figure(column: Column(property))
  }

  /// The sum of a property of floating-point numbers, or the exact sum of decimal numbers; 0 of no instances.
  public func sum<Value: Numeric & Sendable>(
    _ property: KeyPath<Instance, Value>
  ) -> Figure<Instance, _NumberSumFigure<Value>> {
    Figure(column: Column(property).map { $0 })
  }

  /// The sum of a property of floating-point numbers, or the exact sum of decimal numbers, that may be nil; 0 of no values.
  public func sum<Value: Numeric & Sendable>(
    _ property: KeyPath<Instance, Value?>
  ) -> Figure<Instance, _NumberSumFigure<Value>> {
    Figure(column: Column(property))
  }

  /// The mean of an integer property; nil of no instances.
  public func average<Value: BinaryInteger & Sendable>(
    _ property: KeyPath<Instance, Value>
  ) -> Figure<Instance, _MeanFigure> {
    Figure(column: Column(property).map { Double($0) })
  }

  /// The mean of an integer property that may be nil; nil of no values.
  public func average<Value: BinaryInteger & Sendable>(
    _ property: KeyPath<Instance, Value?>
  ) -> Figure<Instance, _MeanFigure> {
    Figure(column: Column(property).map { $0.map { Double($0) } })
  }

  /// The mean of a property of floating-point numbers; nil of no instances.
  public func average<Value: BinaryFloatingPoint & Sendable>(
    _ property: KeyPath<Instance, Value>
  ) -> Figure<Instance, _MeanFigure> {
    Figure(column: Column(property).map { Double($0) })
  }

  /// The mean of a property of floating-point numbers that may be nil; nil of no values.
  public func average<Value: BinaryFloatingPoint & Sendable>(
    _ property: KeyPath<Instance, Value?>
  ) -> Figure<Instance, _MeanFigure> {
    Figure(column: Column(property).map { $0.map { Double($0) } })
  }

  /// The mean of a property of decimal numbers; nil of no instances. The sum is exact as long as it has at most 38 digits.
  public func average(_ property: KeyPath<Instance, Decimal>) -> Figure<Instance, _DecimalMeanFigure> {
    Figure(column: Column(property).map { $0 })
  }

  /// The mean of a property of decimal numbers that may be nil; nil of no values.
  public func average(_ property: KeyPath<Instance, Decimal?>) -> Figure<Instance, _DecimalMeanFigure> {
    Figure(column: Column(property))
  }

  /// The least value of a property; nil of no instances.
  public func min<Value: Comparable & Sendable>(
    _ property: KeyPath<Instance, Value>
  ) -> Figure<Instance, _LeastFigure<Value>> {
    Figure(column: Column(property).map { $0 })
  }

  /// The least value of a property that may be nil; nil of no values.
  public func min<Value: Comparable & Sendable>(
    _ property: KeyPath<Instance, Value?>
  ) -> Figure<Instance, _LeastFigure<Value>> {
    Figure(column: Column(property))
  }

  /// The greatest value of a property; nil of no instances. NaN is greater than all others.
  public func max<Value: Comparable & Sendable>(
    _ property: KeyPath<Instance, Value>
  ) -> Figure<Instance, _GreatestFigure<Value>> {
    Figure(column: Column(property).map { $0 })
  }

  /// The greatest value of a property that may be nil; nil of no values. NaN is greater than all others.
  public func max<Value: Comparable & Sendable>(
    _ property: KeyPath<Instance, Value?>
  ) -> Figure<Instance, _GreatestFigure<Value>> {
    Figure(column: Column(property))
  }
}

/// One figure over the instances of a group: see ``Figures``.
public struct Figure<Instance: Sendable, Kind: _FigureKind>: Sendable {
  let column: Column<Instance, Kind.Value>
}

/// Several figures, in the order in which they were written.
public struct FigureList<Instance: Sendable, each Kind: _FigureKind>: Sendable {
  let figures: (repeat Figure<Instance, each Kind>)
}

/// Puts the figures of a closure together.
@resultBuilder
public enum FigureBuilder<Instance: Sendable> {
  /// The figures of the closure's statements.
  public static func buildBlock<each Kind: _FigureKind>(
    _ figures: repeat Figure<Instance, each Kind>
  ) -> FigureList<Instance, repeat each Kind> {
    FigureList(figures: (repeat each figures))
  }

  /// The one figure of the closure: its type stays plain.
  public static func buildBlock<Kind: _FigureKind>(_ figure: Figure<Instance, Kind>) -> Figure<Instance, Kind> {
    figure
  }
}

// MARK: - Kinds

/// How a figure is computed: what a group's instances have come to so far.
public protocol _FigureKind: Sendable {
  /// The value of an instance.
  associatedtype Value: Sendable
  /// The figure.
  associatedtype Output: Sendable
  /// That of no instances.
  init()
  /// Takes in a value that `times` instances have.
  mutating func add(_ value: Value, times: Int)
  /// Takes in integers by their sum. Returns false if the figure needs each of them.
  mutating func add(_ integers: _IntegerSum) -> Bool
  /// Takes in other instances of the group.
  mutating func add(_ other: Self)
  /// The figure; throws ``InvalidQueryError`` if its type does not have it.
  var output: Output { get throws }
}

extension _FigureKind {
  /// Returns false: the figure needs each value.
  public mutating func add(_ integers: _IntegerSum) -> Bool { false }

  static var takesSums: Bool {
    var none = Self()
    return none.add(_IntegerSum())
  }
}

/// The number of instances.
public struct _CountFigure: _FigureKind {
  private var count = 0
  /// None.
  public init() {}
  /// Counts `times` more.
  public mutating func add(_ value: Void, times: Int) { count += times }

  /// Counts the integers.
  public mutating func add(_ integers: _IntegerSum) -> Bool {
    count += integers.count
    return true
  }

  /// Counts the others.
  public mutating func add(_ other: Self) { count += other.count }
  /// The number.
  public var output: Int { count }
}

/// A sum of integers of up to 128 bits. The terms may leave the range of their type and come back into it.
public struct _IntegerSumFigure<Number: FixedWidthInteger & Sendable>: _FigureKind {
  /// The sum's 128 lower bits, and those above with the sign.
  private var low: UInt128 = 0
  private var high: Int128 = 0
  /// 0.
  public init() {}

  /// Adds a value that is not nil.
  public mutating func add(_ value: Number?, times: Int) {
    guard let value else { return }
    let product = UInt128(value.magnitude).multipliedFullWidth(by: UInt128(times))
    let sum = value < 0 ? low.subtractingReportingOverflow(product.low) : low.addingReportingOverflow(product.low)
    let above = Int128(product.high) + (sum.overflow ? 1 : 0)
    (low, high) = (sum.partialValue, high + (value < 0 ? -above : above))
  }

  /// Adds the sum.
  public mutating func add(_ integers: _IntegerSum) -> Bool {
    let sum = low.addingReportingOverflow(UInt128(truncatingIfNeeded: integers.sum))
    (low, high) = (sum.partialValue, high + (integers.sum < 0 ? -1 : 0) + (sum.overflow ? 1 : 0))
    return true
  }

  /// Adds the other sum.
  public mutating func add(_ other: Self) {
    let sum = low.addingReportingOverflow(other.low)
    (low, high) = (sum.partialValue, high + other.high + (sum.overflow ? 1 : 0))
  }

  /// The sum; throws ``InvalidQueryError`` if the type does not have it.
  public var output: Number {
    get throws {
      let sum = high == -1 && low >> 127 == 1 ? Number(exactly: Int128(bitPattern: low)) : nil
      guard let sum = high == 0 ? Number(exactly: low) : sum else {
        throw InvalidQueryError(reason: "The sum is beyond the range of \(Number.self).")
      }
      return sum
    }
  }
}

/// A sum of numbers of any type.
public struct _NumberSumFigure<Number: Numeric & Sendable>: _FigureKind {
  /// The sum.
  public private(set) var output: Number = 0
  /// 0.
  public init() {}

  /// Adds a value that is not nil.
  public mutating func add(_ value: Number?, times: Int) {
    guard let value else { return }
    // A small type does not have each count.
    guard let factor = Number(exactly: times) else { return (0..<times).forEach { _ in output += value } }
    output += value * factor
  }

  /// Adds the other sum.
  public mutating func add(_ other: Self) { output += other.output }
}

/// A mean of numbers.
public struct _MeanFigure: _FigureKind {
  private var (sum, count) = (0.0, 0)
  /// That of no numbers.
  public init() {}

  /// Adds a value that is not nil.
  public mutating func add(_ value: Double?, times: Int) {
    guard let value else { return }
    (sum, count) = (sum + value * Double(times), count + times)
  }

  /// Adds the integers.
  public mutating func add(_ integers: _IntegerSum) -> Bool {
    (sum, count) = (sum + Double(integers.sum), count + integers.count)
    return true
  }

  /// Adds the other's numbers.
  public mutating func add(_ other: Self) { (sum, count) = (sum + other.sum, count + other.count) }

  /// The mean.
  public var output: Double? { count == 0 ? nil : sum / Double(count) }
}

/// A mean of decimal numbers.
public struct _DecimalMeanFigure: _FigureKind {
  private var (sum, count) = (_NumberSumFigure<Decimal>(), 0)
  /// That of no numbers.
  public init() {}

  /// Adds a value that is not nil.
  public mutating func add(_ value: Decimal?, times: Int) {
    sum.add(value, times: times)
    if value != nil { count += times }
  }

  /// Adds the other's numbers.
  public mutating func add(_ other: Self) {
    sum.add(other.sum)
    count += other.count
  }

  /// The mean.
  public var output: Decimal? { count == 0 ? nil : sum.output / Decimal(count) }
}

/// The least of some values. NaN is greater than all others.
public struct _LeastFigure<Value: Comparable & Sendable>: _FigureKind {
  /// The value.
  public private(set) var output: Value?
  /// That of no values.
  public init() {}

  /// Compares a value that is not nil.
  public mutating func add(_ value: Value?, times: Int) {
    if let value, output.map({ value < $0 || $0 != $0 }) ?? true { output = value }
  }

  /// Compares the other's value.
  public mutating func add(_ other: Self) { add(other.output, times: 1) }
}

/// The greatest of some values. NaN is greater than all others.
public struct _GreatestFigure<Value: Comparable & Sendable>: _FigureKind {
  /// The value.
  public private(set) var output: Value?
  /// That of no values.
  public init() {}

  /// Compares a value that is not nil.
  public mutating func add(_ value: Value?, times: Int) {
    if let value, output.map({ $0 < value || value != value }) ?? true { output = value }
  }

  /// Compares the other's value.
  public mutating func add(_ other: Self) { add(other.output, times: 1) }
}
