import StrataDocuments
package import StrataEngine

/// The names under which a fetch that was cut keeps what came of it: `remotes/NAME/unfinished/DAY`, of several histories also `…/DAY/2` and
/// on. Compaction keeps what they name, so that the next fetch goes on from there; they go with that one, or when DAY has passed.
package enum UnfinishedFetch {
  /// How long they are kept, in nanoseconds: a week.
  package static let lifetime: Int64 = 7 * 86_400_000_000_000
  private static let middle = "/unfinished/"

  /// - Parameters:
  ///   - heads: the remote's name in a store, `remotes/NAME`.
  ///   - date: when it was cut, in nanoseconds since 1970.
  ///   - place: of several, counted from 0.
  package static func name(under heads: String, at date: Int64, place: Int) -> String {
    let day = day(of: date.addingReportingOverflow(lifetime).partialValue)
    return heads + middle + day + (place == 0 ? "" : "/\(place + 1)")
  }

  package static func isName(_ name: String) -> Bool { name.hasPrefix("remotes/") && name.contains(middle) }

  /// Whether a name is one of these, and its day has passed.
  package static func isExpired(_ name: String, at date: Int64) -> Bool {
    guard isName(name), let range = name.firstRange(of: middle) else { return false }
    return name[range.upperBound...].prefix { $0 != "/" } < day(of: date)
  }

  private static func day(of date: Int64) -> String { CivilTime(nanosecondsSince1970: date).dateText }
}

extension Engine {
  /// Takes away the names that kept what came of cut fetches, where their day has passed: the next compaction that leaves out history
  /// leaves these commits out.
  ///
  /// - Parameter now: nanoseconds since 1970.
  package func forgetExpiredFetches(now: Int64) throws(StorageError) {
    let expired = try names.keys.filter { UnfinishedFetch.isExpired($0, at: now) }
    if expired.isEmpty { return }
    let transaction = try beginBlocking(on: nil)
    let changes = Dictionary(uniqueKeysWithValues: expired.map { ($0, UInt64?.none) })
    try transaction.commit(CommitInfo(action: "exchange", flags: .bookkeeping, names: changes, movesHead: false))?
      .wait()
  }
}
