import StrataEngine
public import StrataFoundation
import StrataModel

/// On a server, another transaction has changed data that this one read, so nothing of it was written.
///
/// Single calls, such as `persist`, are repeated automatically; a closure is run again only with ``TransactionOptions/retriesConflicts``.
/// On disk this is never thrown: writers wait for each other there.
public struct TransactionConflict: LocalizedError, Hashable, Sendable {
  /// A place of the conflict: a datastore, or an index of one, and the stored key in it.
  public struct Place: Hashable, Sendable {
    /// The datastore.
    public var datastore: DatastoreKey
    /// The index, or nil for the instances themselves.
    public var index: IndexName?
    /// The stored form of the identifier or of the index's value, for comparison; nil if the datastore itself was changed.
    public var key: [UInt8]?
  }

  /// Some of the places in conflict.
  public var places: [Place]
  /// The number of the commit that the transaction read.
  public var commit: UInt64

  /// One sentence for a person.
  public var errorDescription: String? {
    let names = Set(places.map { place in place.index.map { "\(place.datastore) by \($0)" } ?? "\(place.datastore)" })
    return "Another writer changed what was read since commit #\(commit)"
      + (names.isEmpty ? "." : ": \(names.sorted().joined(separator: ", ")).")
  }

  init(_ conflict: StrataEngine.TransactionConflict) {
    commit = conflict.asOf
    places = conflict.places.compactMap { place in
      if let datastore = place.tree.datastoreKey {
        return Place(datastore: DatastoreKey(datastore), index: nil, key: place.key)
      }
      guard let (datastore, index) = place.tree.indexName else { return nil }
      return Place(datastore: DatastoreKey(datastore), index: IndexName(index), key: place.key)
    }
  }
}
