/// The findings of a verification of every byte of a store.
package struct VerifyReport: Sendable {
  /// In the order in which they were found, at most `limit` of them.
  package private(set) var findings: [VerifyFinding] = []
  /// The number of all findings, including those beyond the limit.
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

/// One deviation from the expected contents.
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
  /// The place in the data file where they begin.
  package var offset: FileOffset
  /// The first commit that it concerns, if that is known.
  package var commit: UInt64?
  package var tree: TreeName?
  /// The key in the tree, if it concerns one.
  package var key: [UInt8]?
  /// The problem, as the end of a sentence that begins with the place.
  package var problem: String
  /// The data that is lost by it and the data that can be saved, in one sentence; empty if nothing is lost.
  package var saved = ""

  /// One line: the kind of the bytes, the place, and the problem.
  package var description: String { sentence(tree: tree.map { "\($0)" }, key: nil) }

  /// As `description`. `tree`, `key`: the words of a caller that knows the trees; nil if there is none, or no word for it.
  package func sentence(tree: String?, key: String?) -> String {
    let key = key.map { " \($0)" } ?? ""
    let commit = commit.map { " of commit #\($0)" } ?? ""
    let tree = tree.map { " in \($0)" } ?? ""
    return "\(what)\(key)\(commit)\(tree) at byte \(offset): \(problem)" + (saved.isEmpty ? "" : "; \(saved)")
  }
}

/// How far a verification or a salvage has come: first bytes of frames, then commits whose trees were walked.
package typealias VerifyProgress = (done: UInt64, total: UInt64)
