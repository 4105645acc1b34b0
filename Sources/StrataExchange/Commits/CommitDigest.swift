import StrataModel
import StrataDocuments
package import StrataEngine

/// A digest of a commit without its changes, in 128 bits: the same in every store that has it, whatever was compacted there.
///
/// If two commits of one identity have different digests, a store was cloned as files and both copies were written.
package enum CommitDigest {
  package static func text(
    identity: CommitIdentity, parents: [CommitIdentity], date: Int64, action: String, program: String, author: String,
    flags: CommitFlags, undoes: CommitIdentity?
  ) -> String {
    let lasting = flags.rawValue & (CommitFlags.maintenance.union(.undo).union(.restore)).rawValue
    let parts = [
      identity.text, parents.sorted().map(\.text).joined(separator: " "), "\(date)", action, program, author,
      "\(lasting)", undoes?.text ?? "",
    ]
    let digest = SHA256.digest(of: Array(parts.map { "\($0.utf8.count):\($0)" }.joined(separator: ",").utf8))
    var text = ""
    for byte in digest.prefix(16) { Hexadecimal.append(byte, to: &text) }
    return text
  }

  static func text(of commit: CommitRecord, _ node: CommitGraph.Node) -> String {
    text(
      identity: commit.identity, parents: node.parents, date: commit.date, action: commit.action,
      program: commit.program, author: commit.author, flags: commit.flags, undoes: node.undoes)
  }
}
