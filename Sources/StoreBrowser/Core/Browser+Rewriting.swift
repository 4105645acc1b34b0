import DatastoreModel
import TerminalKit

/// The store as a whole: compaction and copies.
extension Browser {
  mutating func compact(_ text: String) {
    do throws(ModelError) {
      present(CompactOverlay(try HistoryRetention(parsing: text.trimmed), keeps: text.trimmed))
    } catch { session.complain(error) }
  }

  mutating func copyStore(to path: String) {
    session.start(.rewrite, Rewrite.copy(to: path, at: session.asOf), label: "copy to \(path)")
  }

  mutating func rewritten(_ reply: RewriteReply) {
    if case .estimate = reply.rewrite { return }
    if case .compact = reply.rewrite {
      history.renew()
      travel(to: nil)
    }
    session.say(reply.sentence)
  }
}
