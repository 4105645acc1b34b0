import DatastoreModel
#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

// Figures over all instances that meet the condition, whatever the sort and the limit. Values that are nil are left out. Each throws
// ``UnindexedQueryError`` if no index serves the condition and the query is not ``Query/scanning()``.

extension Query {
  /// The sum of an integer property; 0 of no instances.
  ///
  /// - Throws: ``InvalidQueryError`` if the sum is none of the type's values.
  public func sum<Value: FixedWidthInteger>(of property: KeyPath<Format.Instance, Value>) async throws -> Value {
    try await sum(property.name(in: Format.self)) { $0[keyPath: property] }
  }

  /// The sum of an integer property that may be nil; 0 of no values.
  ///
  /// - Throws: ``InvalidQueryError`` if the sum is none of the type's values.
  public func sum<Value: FixedWidthInteger>(of property: KeyPath<Format.Instance, Value?>) async throws -> Value {
    try await sum(property.name(in: Format.self)) { $0[keyPath: property] }
  }

  /// The sum of a property of floating-point numbers; 0 of no instances.
  ///
  /// - Throws: ``UnindexedQueryError``, ``StoreError``, and the errors of the decoder.
  public func sum<Value: BinaryFloatingPoint>(of property: KeyPath<Format.Instance, Value>) async throws -> Value {
    try await gathered(into: 0) { $0 += $1[keyPath: property] }
  }

  /// The sum of a property of floating-point numbers that may be nil; 0 of no values.
  ///
  /// - Throws: ``UnindexedQueryError``, ``StoreError``, and the errors of the decoder.
  public func sum<Value: BinaryFloatingPoint>(of property: KeyPath<Format.Instance, Value?>) async throws -> Value {
    try await gathered(into: 0) { $0 += $1[keyPath: property] ?? 0 }
  }

  /// The exact sum of a property of decimal numbers; 0 of no instances.
  ///
  /// - Throws: ``UnindexedQueryError``, ``StoreError``, and the errors of the decoder.
  public func sum(of property: KeyPath<Format.Instance, Decimal>) async throws -> Decimal {
    try await gathered(into: 0) { $0 += $1[keyPath: property] }
  }

  /// The exact sum of a property of decimal numbers that may be nil; 0 of no values.
  ///
  /// - Throws: ``UnindexedQueryError``, ``StoreError``, and the errors of the decoder.
  public func sum(of property: KeyPath<Format.Instance, Decimal?>) async throws -> Decimal {
    try await gathered(into: 0) { $0 += $1[keyPath: property] ?? 0 }
  }

  /// The mean of an integer property; nil of no instances.
  ///
  /// - Throws: ``UnindexedQueryError``, ``StoreError``, and the errors of the decoder.
  public func average<Value: BinaryInteger>(of property: KeyPath<Format.Instance, Value>) async throws -> Double? {
    try await average { Double($0[keyPath: property]) }
  }

  /// The mean of an integer property that may be nil; nil of no values.
  ///
  /// - Throws: ``UnindexedQueryError``, ``StoreError``, and the errors of the decoder.
  public func average<Value: BinaryInteger>(of property: KeyPath<Format.Instance, Value?>) async throws -> Double? {
    try await average { $0[keyPath: property].map { Double($0) } }
  }

  /// The mean of a property of floating-point numbers; nil of no instances.
  ///
  /// - Throws: ``UnindexedQueryError``, ``StoreError``, and the errors of the decoder.
  public func average<Value: BinaryFloatingPoint>(of property: KeyPath<Format.Instance, Value>) async throws -> Double?
  {
    try await average { Double($0[keyPath: property]) }
  }

  /// The mean of a property of floating-point numbers that may be nil; nil of no values.
  ///
  /// - Throws: ``UnindexedQueryError``, ``StoreError``, and the errors of the decoder.
  public func average<Value: BinaryFloatingPoint>(
    of property: KeyPath<Format.Instance, Value?>
  ) async throws -> Double? {
    try await average { $0[keyPath: property].map { Double($0) } }
  }

  /// The distinct values of a property, in no order. Holds each of them, and no instance.
  ///
  /// - Throws: ``UnindexedQueryError``, ``StoreError``, and the errors of the decoder.
  public func distinct<Value: Hashable>(_ property: KeyPath<Format.Instance, Value>) async throws -> Set<Value> {
    try await gathered(into: []) { $0.insert($1[keyPath: property]) }
  }

  private func sum<Value: FixedWidthInteger>(
    _ name: String, of value: (Format.Instance) -> Value?
  ) async throws -> Value {
    // Terms of both signs may leave the type's range and come back into it.
    let sum = try await gathered(into: WideSum()) { sum, instance in
      if let value = value(instance) { sum.add(value) }
    }
    guard let sum = sum.value(Value.self) else {
      throw InvalidQueryError(reason: "The sum of \(name) is beyond the range of \(Value.self).")
    }
    return sum
  }

  private func average(of value: (Format.Instance) -> Double?) async throws -> Double? {
    let (sum, count) = try await gathered(into: (0.0, 0)) { gathered, instance in
      guard let value = value(instance) else { return }
      gathered.0 += value
      gathered.1 += 1
    }
    return count == 0 ? nil : sum / Double(count)
  }

  /// Goes over the instances that meet the condition, in whatever order takes least.
  private func gathered<Result>(
    into result: Result, _ add: (inout Result, Format.Instance) -> Void
  ) async throws -> Result {
    var query = self
    (query.most, query.offset, query.cursor, query.sorts) = (nil, 0, nil, [])
    var result = result
    var run = try await query.run()
    while let found = try await run?.next() {
      try Task.checkCancellation()
      add(&result, found.instance)
    }
    return result
  }
}

/// A sum of integers of up to 128 bits that cannot overflow: its positive and its negative part.
private struct WideSum {
  private var low: UInt128 = 0
  private var high: Int128 = 0

  mutating func add(_ value: some FixedWidthInteger) {
    let (sum, overflows) = low.addingReportingOverflow(UInt128(truncatingIfNeeded: value))
    low = sum
    // The bits above the lower 128: all set in a negative number.
    high += (value < 0 ? -1 : 0) + (overflows ? 1 : 0)
  }

  func value<Value: FixedWidthInteger>(_ type: Value.Type) -> Value? {
    switch high {
    case 0: Value(exactly: low)
    case -1 where low >> 127 == 1: Value(exactly: Int128(bitPattern: low))
    default: nil
    }
  }
}

extension KeyPath {
  /// As messages call the property.
  fileprivate func name<Format: DatastoreFormat>(in format: Format.Type) -> String {
    KeyPathName.path(of: self, from: Format.Instance.self).map { String($0.dropFirst()) } ?? "a computed property"
  }
}
