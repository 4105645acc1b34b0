import StrataLocks

extension Query {
  /// The values of some properties of each instance, as tuples in the order of the answer.
  ///
  /// ```swift
  /// for try await (name, population) in large.select(\.name, \.population) { print(name, population) }
  /// ```
  ///
  /// If an index has the properties and serves the query, only its entries are read. Otherwise, if the texts of the records have the
  /// properties, only these members are decoded, and few whole instances. Each iteration shows the state at its beginning.
  public func select<First: Sendable, Second: Sendable, each Value: Sendable>(
    _ first: KeyPath<Format.Instance, First>, _ second: KeyPath<Format.Instance, Second>,
    _ others: repeat KeyPath<Format.Instance, each Value>
  ) -> SelectedValues<Format, AccessMode, (First, Second, repeat each Value)> {
    let rows = KeyedRow.rows(Column(constant: ()), Column(first), Column(second), repeat Column(each others))
    return SelectedValues(query: self, rows: rows.map { $0.values })
  }

  /// The value of a property of each instance, in the order of the answer; see ``select(_:_:_:)``.
  public func select<Value: Sendable>(
    _ property: KeyPath<Format.Instance, Value>
  ) -> SelectedValues<Format, AccessMode, Value> {
    SelectedValues(query: self, rows: Rows(Column(property)))
  }
}

/// The selected values of a query's instances, one after the other: see ``Query/select(_:_:_:)``.
public struct SelectedValues<Format: DatastoreFormat, AccessMode: _AccessMode, Element>: AsyncInstances {
  let query: Query<Format, AccessMode>
  let rows: Rows<Format.Instance, Element>

  /// The values, one after the other.
  public func makeAsyncIterator() -> Iterator { Iterator(self) }

  /// Reads the values.
  public struct Iterator: AsyncIteratorProtocol {
    private let query: Query<Format, AccessMode>
    private let rows: Rows<Format.Instance, Element>
    private var reading: RowReading<Format.Instance, Element>
    private var run: TypedQueryRun<Format>?
    private var covered: CoveredRows<Format.Instance, Element>?
    private var isOpened = false
    private var coveredCount = 0

    init(_ selected: SelectedValues) {
      (query, rows, reading) = (selected.query, selected.rows, RowReading(selected.rows))
    }

    /// The values of the next instance. On the caller's own executor.
    ///
    /// - Throws: As the query's own iterator does; also if an `init(from:)` of the type is found to change stored values: then ask again.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> Element? {
      try Task.checkCancellation()
      if !isOpened {
        isOpened = true
        run = try await query.reading(rows.properties).run()
        if let run { covered = try await CoveredRows(rows, of: run) }
      }
      try run?.scope?.requireReadable()
      if covered != nil {
        coveredCount += 1
        run?.scope?.work?.uses.add(1, ordering: .relaxed)
        if coveredCount & 15 == 0, let slices = run?.slices, slices.isUsedUp() { await slices.yieldTask() }
        return try covered?.next()
      }
      do {
        return try await run?.next(&reading)
      } catch {
        run = nil
        throw error
      }
    }

    /// The values of the next instance; throws as ``next(isolation:)``.
    public mutating func next() async throws -> Element? { try await next(isolation: nil) }
  }
}
