/// The data that a read will look at first. A server returns it with its newest state, so that both take one round trip.
package enum Prefetch: Sendable {
  /// Keys whose entries in trees are looked up.
  case keys([PrefetchKey])
  /// The page that will be asked for first.
  case page(PageRequest)
  /// Data that a server was asked for already.
  case asked(any PendingRead)
}

/// A question to a server that is under way.
package protocol PendingRead: AnyObject, Sendable {
  /// Whether the answer is there, or comes within a millisecond. If it does not, the following questions are not waited for at once.
  var isAnswered: Bool { get }
}

/// A key of a tree.
package struct PrefetchKey: Hashable, Sendable {
  package var tree: TreeName
  package var key: [UInt8]

  package init(tree: TreeName, key: [UInt8]) {
    self.tree = tree
    self.key = key
  }
}

/// A page of a range of a tree on a server.
package struct PageRequest: Hashable, Sendable {
  package var tree: TreeName
  package var lower: [UInt8]
  /// The end of the range; if nil, the end of the tree.
  package var upper: [UInt8]?
  package var limit: Int
  /// Whether to begin at the end of the range, in descending order.
  package var isReversed: Bool
  /// The tree of the records that the ends of the keys name; each comes along with its entry. Nil if the tree holds the records.
  package var records: TreeName?

  package init(
    tree: TreeName, lower: [UInt8], upper: [UInt8]?, limit: Int, isReversed: Bool, records: TreeName? = nil
  ) {
    self.tree = tree
    self.lower = lower
    self.upper = upper
    self.limit = limit
    self.isReversed = isReversed
    self.records = records
  }
}

/// An entry of a page.
package struct PageRow: Sendable {
  package var key: Bytes
  /// Its record; nil if it leads to none.
  package var record: RecordReference?

  package init(key: Bytes, record: RecordReference?) {
    self.key = key
    self.record = record
  }
}
