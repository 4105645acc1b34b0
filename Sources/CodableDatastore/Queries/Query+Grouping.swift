extension Query {
  /// Groups the instances that meet the condition by a property, and computes figures over each group.
  ///
  /// ```swift
  /// for (country, (count, population)) in try await cities.grouped(by: \.country, { $0.count; $0.sum(\.population) }) {
  ///   print(country, count, population)
  /// }
  /// ```
  ///
  /// The sort and the limit make no difference. If an index has the property and those of the figures, and the condition is a range of
  /// that index or there is none, the index alone is read: the cost is that of its distinct values. All processors count and sum integers
  /// along it. Otherwise each matching record is read once, without a condition that an index serves on all processors; few instances are
  /// decoded if the texts of the records have the properties.
  ///
  /// - Parameters:
  ///   - property: The property in which the instances of a group are equal.
  ///   - figures: The figures of a group.
  /// - Returns: The groups, in the order of the property; if its type has none, in that of its descriptions.
  /// - Throws: ``UnindexedQueryError``, ``StoreError``, and the errors of the decoder; ``InvalidQueryError`` if a sum is beyond its type.
  public func grouped<Key: Hashable & Sendable, each Kind: _FigureKind>(
    by property: KeyPath<Format.Instance, Key>,
    @FigureBuilder<Format.Instance> _ figures: (Figures<Format.Instance>) -> FigureList<
      Format.Instance, repeat each Kind
    >
  ) async throws -> [(key: Key, figures: (repeat (each Kind).Output))] {
    let list = figures(Figures()).figures
    let tally = try await tally(by: Column(property), repeat each list)
    var groups: [(key: Key, figures: (repeat (each Kind).Output))] = []
    for (key, figures) in tally.output { groups.append((key, (repeat try (each figures.kinds).output))) }
    let isBefore = Self.order(of: Key.self)
    groups.sort { isBefore($0.key, $1.key) }
    return groups
  }

  /// Groups the instances that meet the condition by a property, and computes one figure over each group; see ``grouped(by:_:)``.
  ///
  /// ```swift
  /// let counts = try await cities.load(...).grouped(by: \.country) { $0.count }.map { "\($0.key): \($0.figures)" }
  /// ```
  ///
  /// - Throws: As ``grouped(by:_:)`` with several figures.
  public func grouped<Key: Hashable & Sendable, Kind: _FigureKind>(
    by property: KeyPath<Format.Instance, Key>,
    @FigureBuilder<Format.Instance> _ figure: (Figures<Format.Instance>) -> Figure<Format.Instance, Kind>
  ) async throws -> [(key: Key, figures: Kind.Output)] {
    let tally = try await tally(by: Column(property), figure(Figures()))
    var groups: [(key: Key, figures: Kind.Output)] = []
    for (key, figures) in tally.output { groups.append((key, try figures.kinds.output)) }
    let isBefore = Self.order(of: Key.self)
    groups.sort { isBefore($0.key, $1.key) }
    return groups
  }

  /// The order of a type; that of its values' descriptions if it has none, and nil before them.
  private static func order<Key>(of type: Key.Type) -> (Key, Key) -> Bool {
    func order<Own: Comparable>(_ type: Own.Type) -> Any {
      let isBefore: (Own, Own) -> Bool = { $0 < $1 }
      return isBefore
    }
    func place(_ key: Key) -> (Int, String) {
      (Mirror(reflecting: key).displayStyle == .optional && "\(key)" == "nil" ? 0 : 1, "\(key)")
    }
    return (type as? any Comparable.Type).flatMap { order($0) as? (Key, Key) -> Bool } ?? { place($0) < place($1) }
  }

  private func tally<Key: Hashable & Sendable, each Kind: _FigureKind>(
    by key: Column<Format.Instance, Key>, _ figures: repeat Figure<Format.Instance, each Kind>
  ) async throws -> GroupTally<Key, repeat each Kind> {
    try await tally(
      KeyedRow.rows(key, repeat (each figures).column), into: GroupTally<Key, repeat each Kind>(), isGrouped: true,
      takesSums: GroupFigures<repeat each Kind>.takeSums
    ) { tally, row, sums in tally.add(sums, to: row.key) }
  }

  /// A figure over all instances that meet the condition, whatever the sort and the limit.
  func figure<Kind: _FigureKind>(_ figure: Figure<Format.Instance, Kind>) async throws -> Kind.Output {
    try await tally(Rows(figure.column), into: Kind(), isGrouped: false, takesSums: Kind.takesSums) { kind, _, sums in
      for sum in sums { _ = kind.add(sum) }
    }.output
  }

  /// Takes in the rows of all instances that meet the condition: along an index that has them, or else of the records.
  ///
  /// - Parameters:
  ///   - isGrouped: Whether the first column tells groups apart.
  ///   - takesSums: Whether the sums of the other columns determine the figures.
  ///   - add: Adds these sums of a group.
  private func tally<Kind: _FigureKind>(
    _ rows: Rows<Format.Instance, Kind.Value>, into initial: Kind, isGrouped: Bool, takesSums: Bool,
    _ add: (inout Kind, Kind.Value, ArraySlice<_IntegerSum>) -> Void
  ) async throws -> Kind {
    try await whole {
      guard var run = try await everything.reading(rows.properties).run() else { return initial }
      if let index = try CoveringIndex(rows, of: run) {
        if takesSums, let groups = try await index.sums(isGrouped: isGrouped) {
          var tally = initial
          for (row, sums) in groups { add(&tally, row, sums) }
          return tally
        }
        if let known = try await run.walked(index, into: initial) { return known }
      }
      return try await run.folded(rows, into: initial)
    }
  }
}

private struct GroupTally<Key: Hashable & Sendable, each Kind: _FigureKind>: _FigureKind {
  private(set) var output: [Key: GroupFigures<repeat each Kind>] = [:]

  mutating func add(_ row: KeyedRow<Key, repeat (each Kind).Value>, times: Int) {
    output[row.key, default: GroupFigures()].add(row, times: times)
  }

  mutating func add(_ sums: ArraySlice<_IntegerSum>, to key: Key) {
    output[key, default: GroupFigures()].add(sums)
  }

  mutating func add(_ other: Self) {
    for (key, figures) in other.output { output[key, default: GroupFigures()].add(figures) }
  }
}

private struct GroupFigures<each Kind: _FigureKind>: Sendable {
  private(set) var kinds: (repeat each Kind)

  init() { kinds = (repeat (each Kind)()) }

  mutating func add(_ row: KeyedRow<some Any, repeat (each Kind).Value>, times: Int) {
    kinds = (repeat Self.added(each kinds, each row.values, times))
  }

  /// Whether sums of integers determine all figures.
  static var takeSums: Bool {
    for kind in repeat (each Kind).self { if !kind.takesSums { return false } }
    return true
  }

  mutating func add(_ sums: ArraySlice<_IntegerSum>) {
    var sums = sums
    func added<Own: _FigureKind>(_ kind: Own) -> Own {
      var kind = kind
      _ = kind.add(sums.removeFirst())
      return kind
    }
    kinds = (repeat added(each kinds))
  }

  mutating func add(_ other: Self) { kinds = (repeat Self.added(each kinds, each other.kinds)) }

  private static func added<Own: _FigureKind>(_ kind: Own, _ value: Own.Value, _ times: Int) -> Own {
    var kind = kind
    kind.add(value, times: times)
    return kind
  }

  private static func added<Own: _FigureKind>(_ kind: Own, _ other: Own) -> Own {
    var kind = kind
    kind.add(other)
    return kind
  }
}
