package import DatastoreModel

package struct WarmUpAnswer: Sendable {
  package var result: WarmUpResult
}

extension WorkContext {
  func warmUp(leavingOut: [RecordPlace], mending: [RecordEdit]) throws(ModelError) -> WarmUpAnswer {
    guard let driver = warmUp else {
      throw .refused(reason: "there are no formats here to migrate to: the app brings them")
    }
    let result = try driver.warmUp(leavingOut: leavingOut, mending: mending) { [cancellation, report] activity in
      report(Progress(done: activity.done, total: activity.total, found: .activity(activity)))
      return !cancellation.isCancelled
    }
    return WarmUpAnswer(result: result)
  }
}
