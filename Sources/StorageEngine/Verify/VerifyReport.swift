/// What a look at every byte of a store found.
package struct VerifyReport: Sendable {
  /// In the order in which they were found, at most `limit` of them.
  package private(set) var findings: [VerifyFinding] = []
  /// All findings, those beyond the limit too.
  package private(set) var findingCount = 0
  /// Commits whose frames were found, whole or not.
  package var commits: UInt64 = 0
  package var nodes: UInt64 = 0
  /// Change entries in the frames.
  package var changes: UInt64 = 0
  /// Bytes from the file's start to the end of the last frame.
  package var bytes: UInt64 = 0

  package static let limit = 10_000

  /// Whether nothing is damaged; notes do not count.
  package private(set) var isClean = true

  package mutating func add(_ finding: VerifyFinding) {
    findingCount += 1
    if finding.severity == .damage { isClean = false }
    if findings.count < VerifyReport.limit { findings.append(finding) }
  }
}

/// One thing that is not as it should be.
package struct VerifyFinding: Sendable, Hashable, CustomStringConvertible {
  package enum Severity: Sendable, Hashable {
    /// Nothing is lost and nothing need be done.
    case note
    /// Something cannot be read, or is not what was written.
    case damage
  }

  package var severity: Severity
  /// The kind of the bytes: `frame header`, `changes`, `tree node`, `commit record`, …
  package var what: String
  /// Where in the data file they begin.
  package var offset: FileOffset
  /// The first commit that it concerns, where that is known.
  package var commit: UInt64?
  package var tree: TreeName?
  /// The key in the tree, where it concerns one.
  package var key: [UInt8]?
  /// What is wrong, as the end of a sentence that begins with the place.
  package var problem: String
  /// What is lost by it and what can be saved, in one sentence; empty where nothing is lost.
  package var saved = ""

  /// One line: what, where, and what is wrong with it.
  package var description: String { sentence(tree: tree.map { "\($0)" }, key: nil) }

  /// As `description`. `tree`, `key`: what who knows the trees calls them; nil where there is none, or no word for it.
  package func sentence(tree: String?, key: String?) -> String {
    let key = key.map { " \($0)" } ?? ""
    let commit = commit.map { " of commit #\($0)" } ?? ""
    let tree = tree.map { " in \($0)" } ?? ""
    return "\(what)\(key)\(commit)\(tree) at byte \(offset): \(problem)" + (saved.isEmpty ? "" : "; \(saved)")
  }
}

/// How far a verification or a salvage has come.
package struct VerifyProgress: Sendable, Hashable {
  package enum Phase: String, Sendable { case frames, trees }

  package var phase: Phase
  /// Bytes of frames, or commits whose trees were walked.
  package var done: UInt64
  package var total: UInt64
}
