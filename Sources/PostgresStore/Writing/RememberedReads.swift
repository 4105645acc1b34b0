import Locks
import StorageEngine

/// What a transaction read of its view: keys, with what was there, and ranges. Nothing of it is forgotten by a rollback, for the caller may
/// have gone by it.
final class RememberedReads: Sendable {
  private struct State {
    /// What the view has for a key: it never changes, so it is asked for once.
    var keys: [TreeKey: ServerEntry?] = [:]
    /// Those among them that the caller has looked at.
    var seen: Set<TreeKey> = []
    /// Those that nobody has asked for: they are taken to be absent, and the flush proves it.
    var presumed: Set<TreeKey> = []
    var ranges: [TreeRange] = []
  }

  private let state = Mutex(State())

  var keys: Set<TreeKey> { state.withLock { $0.seen } }
  var presumed: Set<TreeKey> { state.withLock { $0.presumed } }
  var ranges: [TreeRange] { state.withLock { $0.ranges } }

  /// What the view has for keys, of which those are asked for that are not known. At most one round trip.
  func find(_ places: [TreeKey], in store: ServerStore, asOf: UInt64) throws(StorageError) -> [ServerEntry?] {
    try fetch(places, in: store, asOf: asOf)
    return state.withLock { state in
      places.map { place in
        state.seen.insert(place)
        return state.keys[place] ?? nil
      }
    }
  }

  /// Asks for what will be looked at later.
  func fetch(_ places: [TreeKey], in store: ServerStore, asOf: UInt64) throws(StorageError) {
    let unknown = state.withLock { state in places.filter { state.keys[$0] == nil } }
    guard !unknown.isEmpty else { return }
    let found = try store.find(unknown, asOf: asOf, isOfTransaction: true)
    state.withLock { state in
      for (place, entry) in zip(unknown, found) { state.keys.updateValue(entry, forKey: place) }
    }
  }

  /// Takes what was asked for along with the view.
  func take(_ found: [TreeKey: ServerEntry?]) {
    state.withLock { state in
      for (place, entry) in found { state.keys.updateValue(entry, forKey: place) }
    }
  }

  /// Takes keys to be absent.
  func presumeAbsent(_ places: [TreeKey]) {
    state.withLock { state in
      for place in places {
        state.keys.updateValue(nil, forKey: place)
        state.presumed.insert(place)
      }
    }
  }

  /// Whether the view has an entry for a key, where that was found out; nil where it was not.
  func had(_ place: TreeKey) -> Bool? { state.withLock { state in state.keys[place].map { $0 != nil } } }

  func remember(_ range: KeyRange, of tree: Int32) {
    state.withLock { state in
      let range = TreeRange(tree: tree, keys: range)
      if state.ranges.last != range { state.ranges.append(range) }
    }
  }
}
