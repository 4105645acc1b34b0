import DatastoreModel
import TerminalKit

/// The store as a whole: compaction and copies.
extension Browser {
  mutating func compact(_ text: String) {
    do throws(ModelError) {
      present(CompactOverlay(try HistoryRetention(parsing: text.trimmed), keeps: text.trimmed))
    } catch { session.complain(error.description) }
  }

  mutating func copyStore(to path: String) {
    session.start(.rewrite, .rewrite(.copy(to: path, at: session.asOf)), label: "copy to \(path)")
  }

  mutating func rewritten(_ rewrite: Rewrite, _ report: RewriteReport) {
    switch rewrite {
    case .estimate: break
    case .compact:
      history.renew()
      travel(to: nil)
      session.say(
        "compacted: \(Self.bytes(report)), \(NumberFormat.counted(report.commitsKept, "commit")) kept, "
          + "\(NumberFormat.count(report.commitsSquashed)) squashed")
    case .copy(let path, _):
      session.say(
        "\(path): \(NumberFormat.counted(report.commitsKept, "commit")), \(NumberFormat.bytes(report.bytesAfter))")
    }
  }

  private static func bytes(_ report: RewriteReport) -> String {
    "\(NumberFormat.bytes(report.bytesBefore)) to \(NumberFormat.bytes(report.bytesAfter))"
  }
}
