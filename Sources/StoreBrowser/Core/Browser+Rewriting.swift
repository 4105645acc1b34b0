import DatastoreModel
import TerminalKit

/// The store as a whole: compaction and copies.
extension Browser {
  mutating func compact(_ text: String) {
    do throws(ModelError) {
      overlays.append(.compact(CompactOverlay(try HistoryRetention(parsing: text.trimmed), keeps: text.trimmed)))
    } catch { session.complain(error.description) }
  }

  mutating func take(_ report: RewriteReport, of rewrite: Rewrite) {
    switch rewrite {
    case .estimate(let retention):
      guard case .compact(var overlay)? = overlays.last, overlay.retention == retention else { return }
      overlay.take(report)
      replaceTop(.compact(overlay))
    case .compact:
      if case .compact? = overlays.last { overlays.removeLast() }
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

  mutating func pressCompact(_ chord: KeyChord, _ overlay: CompactOverlay) {
    var overlay = overlay
    switch chord.description {
    case "Esc", "q":
      overlays.removeLast()
      guard session.isRunning(.rewrite) else { return }
      session.cancel(.rewrite)
      if overlay.isRunning { session.say("cancelled: the store is as it was") }
    case "Enter":
      overlay.start(in: &session)
      replaceTop(.compact(overlay))
    default: break
    }
  }
}
