package import StrataModel

/// Compares a datastore with its indexes, or with one of them.
package struct VerifyRequest: Question, Hashable {
  package var datastore: String
  /// Nil verifies every index of the datastore.
  package var index: String?
  package var commit: CommitNumber

  package func reply(in context: WorkContext) throws(ModelError) -> VerifyAnswer {
    let datastore = try context.datastore(datastore, at: commit)
    return VerifyAnswer(request: self, found: try datastore.verify(index: index, progress: context.goingOn))
  }
}

package struct VerifyAnswer: WordedReply, Equatable {
  package var request: VerifyRequest
  package var found: DatastoreVerification

  package var isClean: Bool { found.isClean }

  /// A failure gets its sign where it is shown.
  var sentence: String { "verify \(isClean ? "✓ " : "")\(amount): \(outcome.joined(separator: ", "))" }

  /// The numbers of entries and records that were read.
  var amount: String {
    "\(NumberFormat.counted(sum(found.indexes, \.entries), "entry", "entries")), "
      + NumberFormat.counted(found.records, "record")
  }

  /// The numbers of faults by kind, and the indexes of which less can be said.
  var outcome: [String] {
    let current = found.indexes.filter { !$0.isStale }
    let (orphans, missing) = (sum(current, \.strays), sum(current, \.missing))
    var parts = [NumberFormat.counted(orphans, "orphan"), "\(NumberFormat.count(missing)) missing"]
    if found.faultyRecords > 0 {
      parts.append(NumberFormat.counted(found.faultyRecords, "faulty record"))
    } else if !isClean, orphans + missing == 0 {
      let faults = found.allFindings.filter { $0.severity == .wrong }
      parts.append(NumberFormat.counted(faults.count, "other fault"))
    }
    let unknown = current.filter { $0.rule == nil }.map(\.name)
    if !unknown.isEmpty { parts.append("values of \(unknown.joined(separator: ", ")) not compared") }
    let stale = found.indexes.filter(\.isStale)
    if !stale.isEmpty { parts.append("stale: \(stale.map(\.name).joined(separator: ", "))\(disagreement(of: stale))") }
    return parts
  }

  private func disagreement(of stale: [IndexVerification]) -> String {
    switch sum(stale, \.strays) + sum(stale, \.missing) {
    case 0: ""
    case 1: " (1 entry disagrees)"
    case let count: " (\(NumberFormat.count(count)) entries disagree)"
    }
  }

  private func sum(_ indexes: [IndexVerification], _ figure: any KeyPath<IndexVerification, Int> & Sendable) -> Int {
    indexes.reduce(0) { $0 + $1[keyPath: figure] }
  }
}
