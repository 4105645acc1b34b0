/// Brings a store up to the formats that an app declares. The browser runs it on a thread of its own and goes on
/// reading the commit before meanwhile.
package protocol WarmUpDriver: AnyObject, Sendable {
  /// What there is to do, found without writing: one step a datastore and index, with what it is for
  /// (`City: index population, new`). Empty where everything is as declared.
  func plan() throws(ModelError) -> [String]
  /// Does it. `report` hears how far it is and answers whether to go on; where it answers `false`, nothing is written
  /// and `ModelError.cancelled` is thrown. Records that cannot be decoded are answered, and leave the store as it was
  /// unless they are among `leavingOut`. Blocks the calling thread.
  ///
  /// - Parameter mending: changes of records that are made before anything is decoded, in the same transaction; each
  ///   record must still have the old content named in it.
  func warmUp(
    leavingOut: [RecordPlace], mending: [RecordEdit], report: @escaping @Sendable (Activity) -> Bool
  ) throws(ModelError) -> WarmUpResult
  /// Writes all records of older versions anew, in one commit a datastore. Reports, is cancelled and blocks as a warm-up.
  func rewriteOlderRecords(report: @escaping @Sendable (Activity) -> Bool) throws(ModelError) -> WarmUpResult
}

extension WarmUpDriver {
  /// Rewrites nothing: for formats that convert no records.
  package func rewriteOlderRecords(
    report: @escaping @Sendable (Activity) -> Bool
  ) throws(ModelError) -> WarmUpResult { WarmUpResult(commit: nil) }

  /// The same without changes of records.
  package func warmUp(
    leavingOut: [RecordPlace], report: @escaping @Sendable (Activity) -> Bool
  ) throws(ModelError) -> WarmUpResult {
    try warmUp(leavingOut: leavingOut, mending: [], report: report)
  }
}

/// How a warm-up ended.
package struct WarmUpResult: Sendable, Hashable {
  /// The commit that it made; nil where there was nothing to do or records failed.
  package var commit: CommitNumber?
  package var failures: [WarmUpFailure]

  package init(commit: CommitNumber?, failures: [WarmUpFailure] = []) {
    self.commit = commit
    self.failures = failures
  }
}

/// A record that does not decode.
package struct WarmUpFailure: Sendable, Hashable {
  package var place: RecordPlace
  /// `isbn: keyNotFound("isbn") at .isbn`
  package var reason: String
  package var byteCount: Int

  package init(place: RecordPlace, reason: String, byteCount: Int) {
    self.place = place
    self.reason = reason
    self.byteCount = byteCount
  }
}
