import StorageEngine
import Synchronization

/// A change of one record, as a transaction noted it for observers.
struct StoredChange: Sendable {
  var datastore: String
  /// The identifier as the store keeps it.
  var key: [UInt8]
  /// The identifier in its own type, where it is known.
  var identifier: (any Sendable)? = nil
  /// The commit that made it; set when it is appended.
  var commit: UInt64 = 0
  /// The record before, and after; bytes as the store holds them.
  var old: Bytes?
  var new: Bytes?
}

/// Tells observers of changes: after they are durable, in the order of the commits.
final class Publication: Sendable {
  /// Whether anybody has ever listened, so that nobody else waits for the lock to hear that nobody does.
  private let isHeard = Atomic(false)
  private let state = Mutex(State())
  private struct State {
    var observers: [String: [WeakObserver]] = [:]
    /// Appended commits that are not durable yet, in their order.
    var waiting: [(number: UInt64, changes: [StoredChange])] = []
    var newest: PendingCommit?
    /// The newest commit that this process made.
    var newestOwn: UInt64 = 0
    /// The newest state whose changes were told, where other processes are followed.
    var lastSeen: View?
    var watch: (any DiskWatch)?
  }

  private struct WeakObserver { weak var buffer: ChangeBuffer? }

  /// Whether anybody would hear of a change.
  func hasObservers(of datastore: String) -> Bool {
    guard isHeard.load(ordering: .acquiring) else { return false }
    return state.withLock { state in state.observers[datastore]?.contains { $0.buffer != nil } ?? false }
  }

  func add(_ buffer: ChangeBuffer, for datastore: String) {
    isHeard.store(true, ordering: .releasing)
    state.withLock { state in
      state.observers[datastore, default: []].removeAll { $0.buffer == nil }
      state.observers[datastore, default: []].append(WeakObserver(buffer: buffer))
    }
  }

  /// Notes a commit that was appended, or that there was nothing to append (`pending` nil). Called in the writer's turn.
  func append(_ changes: [StoredChange], pending: PendingCommit?, base: UInt64) -> AppendedCommit {
    state.withLock { state in
      if let pending { state.newest = pending }
      let number = pending?.number ?? base
      if pending != nil { state.newestOwn = max(state.newestOwn, number) }
      if !changes.isEmpty {
        let numbered = changes.map { change in
          var change = change
          change.commit = number
          return change
        }
        state.waiting.append((number, numbered))
      }
      // Without anything of its own to wait for, a transaction still is durable only when what it read is.
      let awaited = pending ?? (state.newest?.number == base ? state.newest : nil)
      return AppendedCommit(number: number, pending: awaited, publication: self)
    }
  }

  /// Tells of what lies between two states: changes that were not made by this library's own calls.
  func publish(from old: View, to new: View) async throws {
    for datastore in state.withLock({ Array($0.observers.keys) }) where hasObservers(of: datastore) {
      var walk = try ChangeWalk(from: old, to: new, datastore: datastore)
      while let change = try walk.next() {
        state.withLock { state in
          state.newestOwn = max(state.newestOwn, new.commit.number)
          for observer in state.observers[datastore] ?? [] { observer.buffer?.append(change) }
        }
      }
    }
  }

  // MARK: Other processes

  /// Begins to follow, if nobody does yet.
  func beginFollowing(at view: View, _ watch: () throws -> any DiskWatch) throws {
    guard state.withLock({ $0.watch == nil }) else { return }
    let watch = try watch()
    state.withLock { state in
      guard state.watch == nil else { return }
      state.watch = watch
      state.lastSeen = view
    }
  }

  /// Tells what came since the newest state that was told of, if it was not this process that brought it.
  func notice(_ view: View, viewAt: (UInt64) -> View?) {
    let (old, listeners) = state.withLock { state in
      let number = view.commit.number
      guard let lastSeen = state.lastSeen, number > lastSeen.commit.number, number > state.newestOwn else {
        return (nil as View?, [] as [(String, [ChangeBuffer])])
      }
      let old = state.newestOwn > lastSeen.commit.number ? viewAt(state.newestOwn) : lastSeen
      state.lastSeen = view
      let listeners = state.observers.map { key, observers in
        (key, observers.compactMap(\.buffer).filter(\.hearsOtherProcesses))
      }
      return (old, listeners)
    }
    guard let old else { return }
    for (datastore, buffers) in listeners where !buffers.isEmpty {
      guard var walk = try? ChangeWalk(from: old, to: view, datastore: datastore) else { continue }
      while let change = try? walk.next() { for buffer in buffers { buffer.append(change) } }
    }
  }

  /// Everything up to a commit is durable.
  fileprivate func publish(upTo number: UInt64) {
    state.withLock { state in
      while let first = state.waiting.first, first.number <= number {
        state.waiting.removeFirst()
        for change in first.changes {
          for observer in state.observers[change.datastore] ?? [] { observer.buffer?.append(change) }
        }
      }
      if state.newest?.number == number { state.newest = nil }
    }
  }

  fileprivate func drop(_ number: UInt64) {
    state.withLock { state in state.waiting.removeAll { $0.number == number } }
  }
}

/// A commit on its way to the disk.
struct AppendedCommit: Sendable {
  fileprivate let number: UInt64
  fileprivate let pending: PendingCommit?
  fileprivate let publication: Publication

  /// Waits until the commit is durable, unless it need not be, and tells the observers.
  func finish(isDurable: Bool) async throws {
    if isDurable, let pending {
      do {
        try await pending.durable()
      } catch {
        publication.drop(number)
        throw StoreError(error)
      }
    }
    publication.publish(upTo: number)
  }
}
