package import StrataDocuments

/// Converts a store to the formats that an app declares. The browser runs it on a separate thread and meanwhile reads the commit before it.
package protocol WarmUpDriver: AnyObject, Sendable {
  /// Returns the steps of a warm-up, found without writing: one per datastore and index, with its reason (`City: index population, new`).
  /// Empty if everything is as declared.
  func plan() throws(ModelError) -> [String]
  /// Runs the warm-up on the calling thread. `report` receives the progress; if it returns `false`, nothing is written and this throws
  /// `ModelError.cancelled`. Records that do not decode are returned; unless all are in `leavingOut`, the store stays unchanged.
  ///
  /// - Parameter mending: changes of records to make before anything is decoded, in the same transaction. Each record must still have the
  ///   old content named in it.
  func warmUp(
    leavingOut: [RecordPlace], mending: [RecordEdit], report: @escaping @Sendable (Activity) -> Bool
  ) throws(ModelError) -> WarmUpResult
  /// Rewrites all records of older versions, in one commit per datastore. Reports, can be cancelled and blocks like a warm-up.
  func rewriteOlderRecords(report: @escaping @Sendable (Activity) -> Bool) throws(ModelError) -> WarmUpResult
}

/// The result of a warm-up.
package struct WarmUpResult: Sendable, Hashable {
  /// The commit that it made; nil if nothing was to be done or records failed.
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

  /// The field that the reason names first, as in `.price is "cheap"`; nil if it names none.
  package var path: DocumentPath? {
    let words = reason.split(separator: " ").lazy.filter { $0.hasPrefix(".") }
    return words.compactMap { try? DocumentPath(parsing: String($0)) }.first
  }
}
