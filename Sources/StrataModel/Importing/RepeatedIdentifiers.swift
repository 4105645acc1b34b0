/// Finds the identifiers that several rows of a source have, in two readings. The first notes the possible ones. The second, needed only if
/// there are any, finds their rows.
struct RepeatedIdentifiers {
  /// Whether the datastore was empty: then a record that already exists came from this source.
  private let isNew: Bool
  /// Hashes of the identifiers seen, if the datastore had records before.
  private var seen: Set<Int> = []
  private var suspects: [[UInt8]: Int] = [:]
  private var rows: [(identifier: [UInt8], places: [String], count: Int)] = []

  /// The number of rows listed for one identifier; all are counted.
  private static let placeLimit = 5

  init(isNew: Bool) { self.isNew = isNew }

  /// Whether no two rows have one identifier, as far as the first reading can show.
  var isEmpty: Bool { suspects.isEmpty }

  /// First reading: a row's identifier, and whether there was no record of it yet. Returns whether an earlier row had it.
  mutating func add(_ identifier: [UInt8], isNew isNewRecord: Bool) -> Bool {
    if isNew ? isNewRecord : seen.insert(identifier.hashValue).inserted { return false }
    guard suspects[identifier] == nil else { return true }
    suspects[identifier] = rows.count
    rows.append((identifier, [], 0))
    return true
  }

  /// Second reading: a row's identifier and its place.
  mutating func see(_ identifier: [UInt8], at place: SourcePlace) {
    guard let position = suspects[identifier] else { return }
    rows[position].count += 1
    if rows[position].places.count < Self.placeLimit { rows[position].places.append(place.description) }
  }

  /// The identifiers that more than one row has, in the order in which they occurred again.
  var found: [(identifier: [UInt8], places: [String], count: Int)] { rows.filter { $0.count > 1 } }
}
