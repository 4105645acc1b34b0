import StrataModel

/// An index whose entries have the rows of all instances that a query is about, so that no record is read.
struct CoveringIndex<Instance: Sendable, Row> {
  let name: String
  let entries: TypedEntries
  /// The ranks of the entries, in the order of the plan.
  let ranges: [Range<Int>]
  let rows: Rows<Instance, Row>
  let tiers: KeyTiers
  let values: ColumnValues<Instance>

  /// - Returns: nil if no index has the rows, or if the condition is tested on records.
  init?<Format: DatastoreFormat>(
    _ rows: Rows<Instance, Row>, of run: TypedQueryRun<Format>
  ) throws where Format.Instance == Instance {
    let plan = run.plan
    let properties = rows.properties.map { $0 as AnyKeyPath? }
    guard !plan.isTested, properties.contains(where: { $0 != nil }) else { return nil }
    var chosen: (index: IndexPlan<Instance>, places: [Int?])?
    for index in run.core.indexes {
      // Whether the instances that the plan leads to are those of some ranges of the index.
      let isOnWay =
        switch plan.way {
        case .scan: true
        case .index(let way): way.index == index.name
        case .union, .intersection: false
        }
      guard isOnWay, !index.descriptor.kind.hasManyValues,
        index.keyPaths.count < chosen?.index.keyPaths.count ?? .max,
        let places = Self.places(of: properties, in: index.keyPaths)
      else { continue }
      chosen = (index, places)
    }
    guard let (index, places) = chosen, let entries = run.planned.trees[index.name] else { return nil }
    let read = Set(places.compactMap(\.self)).sorted()
    guard let tiers = KeyTiers(index.descriptor.encoding, tierCount: index.keyPaths.count, reading: read),
      try throwingStoreErrors({ try entries.count }) == plan.rows
    else { return nil }
    (name, self.entries, self.rows, self.tiers) = (index.name, entries, rows, tiers)
    ranges = if case .index(let way) = plan.way { way.ranges } else { [0..<plan.rows] }
    values = ColumnValues(keyPlaces: places.map { $0.flatMap { read.firstIndex(of: $0) } }, count: read.count)
  }

  /// The tiers of some properties; nil of a constant. Returns nil if the index lacks a property.
  private static func places(of properties: [AnyKeyPath?], in tiers: [AnyKeyPath]) -> [Int?]? {
    var places: [Int?] = []
    for property in properties {
      let place = property.flatMap { property in
        tiers.firstIndex { $0 == property } ?? tiers.firstIndex { $0 == IndexedProperties.descending(property) }
      }
      guard property == nil || place != nil else { return nil }
      places.append(place)
    }
    return places
  }

  /// Whether the entries of an index have some properties; false of none.
  static func covers(
    _ properties: [(any PartialKeyPath<Instance> & Sendable)?], _ index: IndexPlan<Instance>
  ) -> Bool {
    guard properties.contains(where: { $0 != nil }), !index.descriptor.kind.hasManyValues else { return false }
    return places(of: properties.map { $0 as AnyKeyPath? }, in: index.keyPaths) != nil
  }

  /// The row of an entry's value; nil if the value does not determine it.
  func row(of value: UnsafeRawBufferPointer) -> Row? {
    guard tiers.read(value, into: &values.keys) else { return nil }
    return try? rows.row(values)
  }
}
