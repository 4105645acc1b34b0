import StrataLocks
import StrataEngine

/// The reads of a transaction from its view: keys with their entries, and ranges. A rollback forgets none, for the caller may depend on
/// them.
final class RememberedReads: Sendable {
  private struct State {
    /// The entries of the view: they never change, so each key is asked for once.
    var keys: [TreeKey: ServerEntry?] = [:]
    /// The keys among them that the caller has looked at.
    var seen: Set<TreeKey> = []
    /// The keys that were not asked for: they are presumed to be absent, and the flush proves it.
    var presumed: Set<TreeKey> = []
    var ranges: [TreeRange] = []
  }

  private let state = Mutex(State())

  var keys: Set<TreeKey> { state.withLock { $0.seen } }
  var presumed: Set<TreeKey> { state.withLock { $0.presumed } }
  var ranges: [TreeRange] { state.withLock { $0.ranges } }

  /// The entries of the view for keys; only unknown ones are asked for. At most one round trip.
  func find(_ places: [TreeKey], in store: ServerStore, asOf: UInt64) throws(StorageError) -> [ServerEntry?] {
    try fetch(places, in: store, asOf: asOf)
    return state.withLock { state in
      places.map { place in
        state.seen.insert(place)
        return state.keys[place] ?? nil
      }
    }
  }

  /// Asks for entries that the caller will look at later.
  func fetch(_ places: [TreeKey], in store: ServerStore, asOf: UInt64) throws(StorageError) {
    let unknown = state.withLock { state in places.filter { state.keys[$0] == nil } }
    guard !unknown.isEmpty else { return }
    let found = try store.find(unknown, asOf: asOf, isOfTransaction: true)
    remember(Dictionary(zip(unknown, found)) { first, _ in first })
  }

  func remember(_ found: [TreeKey: ServerEntry?]) {
    state.withLock { state in
      for (place, entry) in found { state.keys.updateValue(entry, forKey: place) }
    }
  }

  func assumeAbsent(_ places: [TreeKey]) {
    state.withLock { state in
      for place in places {
        state.keys.updateValue(nil, forKey: place)
        state.presumed.insert(place)
      }
    }
  }

  /// Whether the view has an entry for a key; nil if that is not known.
  func had(_ place: TreeKey) -> Bool? { state.withLock { state in state.keys[place].map { $0 != nil } } }

  func remember(_ range: KeyRange, of tree: Int32) {
    state.withLock { state in
      let range = TreeRange(tree: tree, keys: range)
      if state.ranges.last != range { state.ranges.append(range) }
    }
  }
}
