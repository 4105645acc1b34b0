import DatastoreModel

extension Answer {
  /// What work of the cockpit came to, in words that stay.
  func ending(for time: TimeText) -> WorkRun.Ending {
    switch self {
    case .warmedUp(let answer): return Self.ending(answer.result)
    case .indexFailed(_, let total):
      return .failed("\(total == 1 ? "1 record does" : "\(NumberFormat.count(total)) records do") not fit the index")
    case .indexChanged(let report): return .done(report.sentence)
    case .exported(let answer) where answer.unasked != nil: return .cancelled
    case .exported(let answer):
      return .done(
        "\(NumberFormat.counted(answer.records, "record")), \(NumberFormat.bytes(answer.bytes)) in \(answer.file)")
    case .verified(let answer): return .done(answer.sentence)
    case .rewritten(let rewrite, let report): return .done(rewrite.sentence(report))
    case .reply(let reply as any WordedReply): return .done(reply.sentence)
    default: return .done("done")
    }
  }

  private static func ending(_ result: WarmUpResult) -> WorkRun.Ending {
    if let commit = result.commit { return .done("complete: commit \(commit)") }
    if result.failures.isEmpty { return .done("nothing to do: everything is as the formats declare") }
    let count = result.failures.count
    return .failed("\(count == 1 ? "1 record does" : "\(NumberFormat.count(count)) records do") not decode")
  }
}

/// The reply of long work that says in a sentence what was done.
protocol WordedReply: Sendable {
  var sentence: String { get }
}

extension VerifyAnswer {
  var sentence: String {
    let read = "\(NumberFormat.count(entriesRead)) entries, \(NumberFormat.count(recordsRead)) records"
    return isClean
      ? "verify ✓ \(read)" + (staleness.map { "; \($0)" } ?? ": 0 orphans, 0 missing")
      : "verify ✗ \(read): \(orphanCount) orphans, \(missingCount) missing, \(unreadableCount) unreadable"
  }
}

extension Rewrite {
  func sentence(_ report: RewriteReport) -> String {
    switch self {
    case .estimate: "estimated"
    case .compact:
      "compacted: \(NumberFormat.bytes(report.bytesBefore)) to \(NumberFormat.bytes(report.bytesAfter)), "
        + "\(NumberFormat.counted(report.commitsKept, "commit")) kept, "
        + "\(NumberFormat.count(report.commitsSquashed)) squashed"
    case .copy(let path, _):
      "\(path): \(NumberFormat.counted(report.commitsKept, "commit")), \(NumberFormat.bytes(report.bytesAfter))"
    }
  }
}
