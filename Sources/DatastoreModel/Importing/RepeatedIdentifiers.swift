/// Finds the identifiers that several rows of a source have, in two readings: the first notes which may be such, the
/// second, needed only where some may, tells their rows.
struct RepeatedIdentifiers {
  /// Where the datastore was empty, a record that is there already is one of this source.
  private let isNew: Bool
  /// Hashes of the identifiers seen, where the datastore had records before.
  private var seen: Set<Int> = []
  private var suspects: [[UInt8]: Int] = [:]
  private var rows: [(identifier: [UInt8], places: [String], count: Int)] = []

  /// Rows told of one identifier; all are counted.
  private static let placeLimit = 5

  init(isNew: Bool) { self.isNew = isNew }

  /// Whether no two rows have one identifier, as far as can be told without the second reading.
  var isEmpty: Bool { suspects.isEmpty }

  /// First reading: a row's identifier, and whether there was no record of it yet. Returns whether an earlier row had it.
  mutating func note(_ identifier: [UInt8], isNew isNewRecord: Bool) -> Bool {
    if isNew ? isNewRecord : seen.insert(identifier.hashValue).inserted { return false }
    guard suspects[identifier] == nil else { return true }
    suspects[identifier] = rows.count
    rows.append((identifier, [], 0))
    return true
  }

  /// Second reading.
  mutating func see(_ identifier: [UInt8], at place: SourcePlace) {
    guard let position = suspects[identifier] else { return }
    rows[position].count += 1
    if rows[position].places.count < Self.placeLimit { rows[position].places.append(place.description) }
  }

  /// Those that more than one row has, in the order in which they were met again.
  var found: [(identifier: [UInt8], places: [String], count: Int)] { rows.filter { $0.count > 1 } }
}
