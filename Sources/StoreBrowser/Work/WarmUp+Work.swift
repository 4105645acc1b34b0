package import StrataModel

/// Brings indexes and records into the form that the app's formats declare.
package struct WarmUpRequest: Question {
  package var leavingOut: [RecordPlace]
  package var mending: [RecordEdit]

  package func reply(in context: WorkContext) throws(ModelError) -> WarmUpAnswer {
    guard let driver = context.warmUp else {
      throw .refused(reason: "there are no formats here to migrate to: the app brings them")
    }
    // If the indexes are already as declared, the warm-up was requested because of records of older versions.
    let isReady = try driver.plan().isEmpty
    let result = try driver.warmUp(leavingOut: leavingOut, mending: mending, report: context.going)
    guard isReady, result.failures.isEmpty else { return WarmUpAnswer(result: result) }
    let rewritten = try driver.rewriteOlderRecords(report: context.going)
    return WarmUpAnswer(result: rewritten.commit == nil && rewritten.failures.isEmpty ? result : rewritten)
  }
}

package struct WarmUpAnswer: EndingReply {
  package var result: WarmUpResult

  var ending: WorkRun.Ending {
    if let commit = result.commit { return .done("complete: commit \(commit)") }
    if result.failures.isEmpty { return .done("nothing to do: everything is as the formats declare") }
    let count = result.failures.count
    return .failed("\(count == 1 ? "1 record does" : "\(NumberFormat.count(count)) records do") not decode")
  }
}
