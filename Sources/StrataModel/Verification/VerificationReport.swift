/// The findings of a verification of datastores and indexes.
package struct VerificationReport: Sendable {
  package var datastores: [DatastoreVerification] = []
  /// Findings that do not concern a single datastore.
  package var findings: [Finding] = []

  package var allFindings: [Finding] { findings + datastores.flatMap(\.allFindings) }

  /// Whether nothing is wrong; notes do not count.
  package var isClean: Bool { !allFindings.contains { $0.severity == .wrong } }
}

package struct DatastoreVerification: Sendable, Hashable {
  package var key: String
  /// Records read.
  package var records = 0
  /// Faults of records; only the first are among the findings.
  package var faultyRecords = 0
  package var leftOut = 0
  package var indexes: [IndexVerification] = []
  package var findings: [Finding] = []

  package init(key: String) { self.key = key }

  package var allFindings: [Finding] { findings + indexes.flatMap(\.findings) }

  /// Whether nothing is wrong; notes do not count.
  package var isClean: Bool { !allFindings.contains { $0.severity == .wrong } }
}

/// One index compared with its records, both ways.
package struct IndexVerification: Sendable, Hashable {
  package var name: String
  /// Whether it is marked stale: its disagreements are not faults.
  package var isStale: Bool
  package var entries = 0
  /// Entries whose record is missing, or does not have the value.
  package var strays = 0
  /// Values of records without an entry.
  package var missing = 0
  /// The rule that gave the values; nil if none is known. Then only order, counts and the existence of the records were checked.
  package var rule: String?
  package var findings: [Finding] = []

  package init(
    name: String, isStale: Bool, entries: Int, strays: Int, missing: Int, rule: String?, findings: [Finding]
  ) {
    self.name = name
    self.isStale = isStale
    self.entries = entries
    self.strays = strays
    self.missing = missing
    self.rule = rule
    self.findings = findings
  }
}

/// One finding.
package struct Finding: Sendable, Hashable, CustomStringConvertible {
  package enum Severity: String, Sendable, Hashable {
    /// Something is wrong.
    case wrong
    /// Nothing is wrong, but this is worth knowing.
    case note
  }

  package var severity: Severity
  package var datastore: String
  package var index: String?
  package var record: StoredKey?
  /// The finding as a sentence, without its place.
  package var text: String
  /// A remedy for the user.
  package var advice: String?

  package init(
    severity: Severity, datastore: String, index: String? = nil, record: StoredKey? = nil, text: String,
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
