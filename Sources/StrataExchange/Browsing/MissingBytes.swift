import StrataModel

/// A request for bytes of the store's file: with the reading that takes them, or with the bytes behind them.
struct MissingBytes: Codable {
  var offset: UInt64
  var count: UInt64
  var file: UInt64
  var ahead: UInt64 = 0
  var reading: AnnouncedReading?
  /// The most new bytes of the reading.
  var budget: UInt64 = 0
}

extension AnnouncedReading {
  private static let most = 1_000

  /// The same reading, as far as it is done for another computer.
  var bounded: AnnouncedReading {
    switch self {
    case .commits(let newest, let limit, let folded):
      .commits(from: Array(newest.prefix(Self.most)), limit: min(max(0, limit), Self.most), folded: folded)
    case .versions(let key, let datastore, let newest, let limit):
      .versions(of: key, in: datastore, from: newest, limit: min(max(0, limit), Self.most))
    default: self
    }
  }

  /// Whether it is of more rows than a screen has.
  var isLong: Bool {
    guard case .entries(let ranges, _, _) = self else { return false }
    return ranges.reduce(0) { $0 + $1.count } > Self.most
  }

  /// Whether a record that is looked up may be one of this page of entries.
  func hasRecord(of other: AnnouncedReading) -> Bool {
    guard case .entries(_, let tree, let commit) = self, case .keys(_, let records, let same) = other else {
      return false
    }
    return commit == same && records.datastoreKey == tree.indexName?.datastore ?? tree.datastoreKey
  }

  /// Whether another reading is likely to go on where this one ended.
  func leads(to other: AnnouncedReading) -> Bool {
    switch (self, other) {
    case (.entries(let first, let tree, let commit), .entries(let next, let sameTree, let sameCommit)):
      tree == sameTree && commit == sameCommit
        && first.lexicographicallyPrecedes(next) { $0.lowerBound < $1.lowerBound }
    default: self == other
    }
  }
}
