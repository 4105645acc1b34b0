package import DatastoreModel

package struct WarmUpAnswer: Sendable {
  package var result: WarmUpResult
}

extension WorkContext {
  func warmUp(leavingOut: [RecordPlace], mending: [RecordEdit]) throws(ModelError) -> WarmUpAnswer {
    guard let driver = warmUp else {
      throw .refused(reason: "there are no formats here to migrate to: the app brings them")
    }
    let hear: @Sendable (Activity) -> Bool = { [cancellation, report] activity in
      report(Progress(done: activity.done, total: activity.total, found: .activity(activity)))
      return !cancellation.isCancelled
    }
    // Where the indexes are as declared, a warm-up was asked for because of records of older versions.
    let isReady = try driver.plan().isEmpty
    let result = try driver.warmUp(leavingOut: leavingOut, mending: mending, report: hear)
    guard isReady, result.failures.isEmpty else { return WarmUpAnswer(result: result) }
    let rewritten = try driver.rewriteOlderRecords(report: hear)
    return WarmUpAnswer(result: rewritten.commit == nil && rewritten.failures.isEmpty ? result : rewritten)
  }
}
