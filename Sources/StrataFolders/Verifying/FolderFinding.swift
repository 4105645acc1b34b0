/// Something that the check of a folder found.
package struct FolderFinding: Hashable, Sendable, CustomStringConvertible {
  package enum Severity: String, Hashable, Comparable, Sendable, CaseIterable {
    /// Nothing is wrong, but the user may want to know it.
    case note
    /// All can be read, but the original library will have trouble with it, or has lost something.
    case warning
    /// Something cannot be read, or is not what it claims to be.
    case damage

    package static func < (left: Self, right: Self) -> Bool {
      guard let left = allCases.firstIndex(of: left), let right = allCases.firstIndex(of: right) else { return false }
      return left < right
    }
  }

  /// The kind of finding, as a word that scripts may rely on.
  package enum Kind: String, Hashable, Sendable {
    case unreadableFile = "unreadable-file"
    case missingFile = "missing-file"
    case incompleteFile = "incomplete-file"
    case brokenEntry = "broken-entry"
    case wrongCount = "wrong-count"
    case disorder
    case duplicateRecord = "duplicate-record"
    case undecodableRecord = "undecodable-record"
    case danglingEntry = "dangling-entry"
    case missingEntry = "missing-entry"
    case repeatedEntry = "repeated-entry"
    case differingCopy = "differing-copy"
    case contradictingEntry = "contradicting-entry"
    case sharedValue = "shared-value"
    case historyEnds = "history-ends"
    case historyLoops = "history-loops"
    case unreachableCommit = "unreachable-commit"
    case orphanFile = "orphan-file"
    /// Q5: a changed identifier type emptied the datastore.
    case lostRecords = "lost-records"
    /// Q6: a date that differs from the one that its index keeps.
    case stuckByDate = "stuck-by-date"
    /// Q7: a value too long to be read back.
    case stuckByLength = "stuck-by-length"
    /// Q8: an index that kept the values of another property.
    case stuckByMeaning = "stuck-by-meaning"
    /// A page that makes the original library crash when it writes near it.
    case oversizedPage = "oversized-page"
    /// A list of pages on which the original library loses its next write.
    case treacherousManifest = "treacherous-manifest"
    /// An empty last page, on which the original library's descending scans fail.
    case emptyLastPage = "empty-last-page"
  }

  package var severity: Severity
  package var kind: Kind
  /// The path within the folder.
  package var file: String?
  package var datastore: String?
  package var index: String?
  /// A sentence without a stop.
  package var message: String
  /// The action to take, as a sentence without a stop.
  package var remedy: String?

  package init(
    _ severity: Severity, _ kind: Kind, file: String? = nil, datastore: String? = nil, index: String? = nil,
    _ message: String, remedy: String? = nil
  ) {
    self.severity = severity
    self.kind = kind
    self.file = file
    self.datastore = datastore
    self.index = index
    self.message = message
    self.remedy = remedy
  }

  package static let backup = "restore the file from a backup; what does not need it can still be read and converted"

  /// Damage of a file that cannot be read, or of a part of it. `lost` says what needs the file.
  init(
    _ error: FolderError, _ kind: Kind? = nil, datastore: String? = nil, index: String? = nil, lost: String = "",
    remedy: String = backup
  ) {
    self.init(
      .damage, kind ?? (error.problem == .missing ? .missingFile : .unreadableFile), file: error.file,
      datastore: datastore, index: index, error.reason + lost, remedy: remedy)
  }

  /// `damage: things/n: …; …`.
  package var description: String {
    let place = [datastore.map { name in index.map { "\(name)/\($0)" } ?? name }, file].compactMap { $0 }
    let lead = place.isEmpty ? "" : place.joined(separator: ", ") + ": "
    return "\(severity.rawValue): \(lead)\(message)" + (remedy.map { "; \($0)" } ?? "")
  }
}

/// The findings of a check of a folder, and the amounts that were checked.
package struct FolderReport: Hashable, Sendable {
  package var findings: [FolderFinding] = []
  package var commitCount = 0
  package var datastoreCount = 0
  package var recordCount = 0
  package var entryCount = 0
  package var pageCount = 0
  package var fileCount = 0
  package var byteCount = 0
  package var orphanCount = 0
  package var orphanBytes = 0

  /// Whether everything can be read and is what it claims to be.
  package var isSound: Bool { !findings.contains { $0.severity == .damage } }
  /// 0, or 3 if something is damaged.
  package var exitStatus: Int32 { isSound ? 0 : 3 }

  /// The amounts that were checked, in one sentence.
  package var summary: String {
    "\(commitCount) commits, \(datastoreCount) datastores, \(recordCount) records, \(entryCount) index entries, "
      + "\(pageCount) pages, \(fileCount) files of \(byteCount) bytes checked"
  }
}
