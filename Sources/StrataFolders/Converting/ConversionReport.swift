import StrataModel

/// The result of a conversion, and what it could not carry over.
package struct ConversionReport: Hashable, Sendable {
  package var path: String
  /// All commits of the new store, as `info` counts them.
  package var commitCount = 0
  package var datastores: [Datastore] = []
  package var staleIndexes: [StaleIndex] = []
  /// The parts that were left out because they cannot be read or kept, each as a sentence that names its place.
  package var omissions: [String] = []
  /// Further notes for the user.
  package var notes: [String] = []

  package struct Datastore: Hashable, Sendable {
    package var key: String
    package var recordCount: Int
    package var indexCount: Int
  }

  /// An index that the app rebuilds at its first warm-up, and that has no entries until then.
  package struct StaleIndex: Hashable, Sendable {
    package var datastore: String
    package var index: String
    package var reason: String
  }

  /// The report in lines, for people.
  package var lines: [String] {
    let records = datastores.reduce(0) { $0 + $1.recordCount }
    var lines = [
      "converted \(counted(datastores.count, "datastore")), \(counted(records, "record")), \(counted(commitCount, "commit")) to \(path)"
    ]
    lines += datastores.map {
      "\($0.key): \(counted($0.recordCount, "record")), \($0.indexCount) \($0.indexCount == 1 ? "index" : "indexes")"
    }
    lines += staleIndexes.map {
      "\($0.datastore): index \($0.index) is rebuilt at the app's first warm-up: \($0.reason)"
    }
    lines += omissions.map { "left out: \($0)" }
    return lines + notes.map { "note: \($0)" }
  }
}
