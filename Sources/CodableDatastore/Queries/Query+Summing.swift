public import StrataFoundation

// Figures over all instances that meet the condition, whatever the sort and the limit. Values that are nil are left out. Each throws
// ``UnindexedQueryError`` if no index serves the condition and the query is not ``Query/scanning()``, ``StoreError``, and the errors of the
// decoder.

extension Query {
  /// The sum of an integer property; 0 of no instances.
  ///
  /// - Throws: ``InvalidQueryError`` if the sum is none of the type's values.
  public func sum<Value: FixedWidthInteger & Sendable>(of property: KeyPath<Format.Instance, Value>) async throws
    -> Value
  {
    try await figure(Figures().sum(property))
  }

  /// The sum of an integer property that may be nil; 0 of no values.
  ///
  /// - Throws: ``InvalidQueryError`` if the sum is none of the type's values.
  public func sum<Value: FixedWidthInteger & Sendable>(of property: KeyPath<Format.Instance, Value?>) async throws
    -> Value
  {
    try await figure(Figures().sum(property))
  }

  /// The sum of a property of floating-point numbers, or the exact sum of decimal numbers; 0 of no instances.
  ///
  /// - Throws: ``UnindexedQueryError``, ``StoreError``, and the errors of the decoder.
  public func sum<Value: Numeric & Sendable>(of property: KeyPath<Format.Instance, Value>) async throws -> Value {
    try await figure(Figures().sum(property))
  }

  /// The sum of a property of floating-point numbers, or the exact sum of decimal numbers, that may be nil; 0 of no values.
  ///
  /// - Throws: ``UnindexedQueryError``, ``StoreError``, and the errors of the decoder.
  public func sum<Value: Numeric & Sendable>(of property: KeyPath<Format.Instance, Value?>) async throws -> Value {
    try await figure(Figures().sum(property))
  }

  /// The mean of an integer property; nil of no instances.
  ///
  /// - Throws: ``UnindexedQueryError``, ``StoreError``, and the errors of the decoder.
  public func average<Value: BinaryInteger & Sendable>(of property: KeyPath<Format.Instance, Value>) async throws
    -> Double?
  {
    try await figure(Figures().average(property))
  }

  /// The mean of an integer property that may be nil; nil of no values.
  ///
  /// - Throws: ``UnindexedQueryError``, ``StoreError``, and the errors of the decoder.
  public func average<Value: BinaryInteger & Sendable>(of property: KeyPath<Format.Instance, Value?>) async throws
    -> Double?
  {
    try await figure(Figures().average(property))
  }

  /// The mean of a property of floating-point numbers; nil of no instances.
  ///
  /// - Throws: ``UnindexedQueryError``, ``StoreError``, and the errors of the decoder.
  public func average<Value: BinaryFloatingPoint & Sendable>(of property: KeyPath<Format.Instance, Value>) async throws
    -> Double?
  {
    try await figure(Figures().average(property))
  }

  /// The mean of a property of floating-point numbers that may be nil; nil of no values.
  ///
  /// - Throws: ``UnindexedQueryError``, ``StoreError``, and the errors of the decoder.
  public func average<Value: BinaryFloatingPoint & Sendable>(of property: KeyPath<Format.Instance, Value?>) async throws
    -> Double?
  {
    try await figure(Figures().average(property))
  }

  /// The mean of a property of decimal numbers; nil of no instances.
  ///
  /// - Throws: ``UnindexedQueryError``, ``StoreError``, and the errors of the decoder.
  public func average(of property: KeyPath<Format.Instance, Decimal>) async throws -> Decimal? {
    try await figure(Figures().average(property))
  }

  /// The mean of a property of decimal numbers that may be nil; nil of no values.
  ///
  /// - Throws: ``UnindexedQueryError``, ``StoreError``, and the errors of the decoder.
  public func average(of property: KeyPath<Format.Instance, Decimal?>) async throws -> Decimal? {
    try await figure(Figures().average(property))
  }

  /// The distinct values of a property. Holds each of them, and no instance.
  ///
  /// - Throws: ``UnindexedQueryError``, ``StoreError``, and the errors of the decoder.
  public func distinct<Value: Hashable & Sendable>(_ property: KeyPath<Format.Instance, Value>) async throws
    -> Set<Value>
  {
    Set(try await grouped(by: property) { $0.count }.map(\.key))
  }
}
