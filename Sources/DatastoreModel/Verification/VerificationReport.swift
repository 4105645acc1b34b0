/// What a verification of datastores and indexes found.
package struct VerificationReport: Sendable {
  package var datastores: [DatastoreVerification] = []
  /// What concerns no single datastore.
  package var findings: [Finding] = []

  package var allFindings: [Finding] { findings + datastores.flatMap { $0.findings + $0.indexes.flatMap(\.findings) } }

  /// Whether nothing is wrong; what is only worth knowing does not count.
  package var isClean: Bool { !allFindings.contains { $0.severity == .wrong } }
}

package struct DatastoreVerification: Sendable {
  package var key: String
  /// Records read.
  package var records = 0
  package var leftOut = 0
  package var indexes: [IndexVerification] = []
  package var findings: [Finding] = []
}

/// One index against its records, both ways.
package struct IndexVerification: Sendable {
  package var name: String
  package var entries = 0
  /// Entries whose record is not there, or has not got the value.
  package var strays = 0
  /// Values of records that have no entry.
  package var missing = 0
  /// The rule that the values were found by; nil where none is known, and then only order, counts and the existence of
  /// the records were checked.
  package var rule: String?
  package var findings: [Finding] = []
}

/// One thing that was found.
package struct Finding: Sendable, Hashable, CustomStringConvertible {
  package enum Severity: String, Sendable, Hashable {
    /// Something is not as it should be.
    case wrong
    /// All is as it should be, and this is worth knowing.
    case note
  }

  package var severity: Severity
  package var datastore: String
  package var index: String?
  package var record: StoredKey?
  /// What it is, as a sentence without its place.
  package var text: String
  /// What can be done about it.
  package var advice: String?

  package init(
    _ severity: Severity, datastore: String, index: String? = nil, record: StoredKey? = nil, _ text: String,
    advice: String? = nil
  ) {
    self.severity = severity
    self.datastore = datastore
    self.index = index
    self.record = record
    self.text = text
    self.advice = advice
  }

  package var description: String {
    let place = [datastore, index.map { "index \($0)" }, record.map(\.description)].compactMap { $0 }
      .joined(separator: " ")
    return "\(place): \(text)" + (advice.map { " (\($0))" } ?? "")
  }
}
