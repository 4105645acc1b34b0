package import StrataDocuments
import StrataExpressions

/// Names in a query that do not exist in a datastore.
package struct UnknownName: Hashable, Sendable {
  package var path: DocumentPath
  /// Existing names that are similar, closest first.
  package var nearest: [String]

  /// `no field country; did you mean countrycode?`
  package var sentence: String { "no field \(path.shortText)\(Self.question(nearest))" }

  /// Returns the names that the user may have meant by another one, because they begin alike, have the same characters or differ by a third
  /// of them: at most three, the closest first.
  package static func nearest(to name: String, among known: some Sequence<String>) -> [String] {
    let near = Set(known).map { (distance: distance(name, $0), name: $0) }
      .filter {
        $0.distance <= max(1, name.count / 3) || name.lowercased().sorted() == $0.name.lowercased().sorted()
          || name.hasPrefix($0.name) || beginAlike(name, $0.name)
      }
      .sorted { ($0.distance, $0.name) < ($1.distance, $1.name) }
    return near.prefix(3).map(\.name)
  }

  /// `; did you mean countrycode?`, or an empty text if no name is close.
  package static func question(_ nearest: [String]) -> String {
    nearest.isEmpty ? "" : "; did you mean \(nearest.joined(separator: ", "))?"
  }

  private static func beginAlike(_ left: String, _ right: String) -> Bool {
    right.hasPrefix(left) || zip(left.lowercased(), right.lowercased()).prefix { $0 == $1 }.count >= 3
  }

  /// The number of characters to change, add or remove to turn one text into the other.
  private static func distance(_ left: String, _ right: String) -> Int {
    let (left, right) = (Array(left.lowercased().prefix(60)), Array(right.lowercased().prefix(60)))
    var row = Array(0...right.count)
    for (place, character) in left.enumerated() {
      var diagonal = row[0]
      row[0] = place + 1
      for (column, other) in right.enumerated() {
        let best = min(row[column], row[column + 1]) + 1
        (diagonal, row[column + 1]) = (row[column + 1], min(best, diagonal + (character == other ? 0 : 1)))
      }
    }
    return row[right.count]
  }
}

extension RecordQuery {
  /// Returns the paths of the query that none of the first thousand records has, and that are not the name of an index. Reads records until
  /// each path was found.
  package func unknownNames(in datastore: any ReadableDatastore) throws(ModelError) -> [UnknownName] {
    var known: Set<String> = []
    for index in datastore.descriptor.indexes {
      known.insert(index.name)
      for path in index.subjectPaths ?? [] { known.insert(path.shortText) }
    }
    var missing: [DocumentPath] = []
    for path in (filter?.paths ?? []) + sort.map(\.path)
    where !path.isRoot && !known.contains(path.shortText) && !missing.contains(path) {
      missing.append(path)
    }
    var records = try datastore.records(at: 0..<min(1000, try datastore.count))
    var hasRead = false
    while !missing.isEmpty, try records.next() {
      guard let document = try? records.rawRecord()?.document() else { continue }
      hasRead = true
      missing.removeAll { document[$0] != nil || !document.values(at: $0).isEmpty }
      if case .object(let members) = document { for member in members { known.insert(member.name) } }
    }
    guard hasRead else { return [] }
    return missing.map { UnknownName(path: $0, nearest: UnknownName.nearest(to: $0.shortText, among: known)) }
  }
}
