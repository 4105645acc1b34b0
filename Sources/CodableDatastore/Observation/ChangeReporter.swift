import StrataLocks
import StrataEngine

/// A change of one record, as a transaction noted it for observers.
struct StoredChange: Sendable {
  var datastore: String
  /// The identifier as the store keeps it.
  var key: [UInt8]
  /// The identifier in its own type, if it is known.
  var identifier: (any Sendable)? = nil
  /// The commit that made the change; set when the commit is appended.
  var commit: UInt64 = 0
  /// Whether the commit is older than the reported ones: another process put the head back to it.
  var isPutBack = false
  /// The record before and after; bytes as the store holds them, none of a damaged record.
  var old: Bytes?
  var new: Bytes?

  /// About how many bytes the change takes.
  var byteCount: Int { Self.bytesBesideRecords + key.count + (old?.count ?? 0) + (new?.count ?? 0) }
  static let bytesBesideRecords = 256
}

/// Reports changes to observers: after they are durable, in the order of the commits.
final class ChangeReporter: Sendable {
  /// Whether there has ever been an observer. Until there is one, no caller waits for the lock only to learn that there is none.
  private let isHeard = Atomic(false)
  private let state = Mutex(State())
  private struct State {
    var observers: [String: [WeakObserver]] = [:]
    /// Appended commits that are not durable yet, in their order, with the changes of each datastore.
    var waiting: [WaitingCommit] = []
    var newest: PendingCommit?
    var newestOwn: UInt64 = 0
    /// The states of own commits that the next changes of others may follow on: the newest reported one, and those on their way to the
    /// disk. They are kept only while other processes are followed, because each keeps its file open, which another process's compaction
    /// may have replaced.
    var ownStates: [View] = []
    var followsOthers = false
    /// On a server, the newest commit that was reported to the observers that hear other processes.
    var reported: UInt64 = 0
    /// On a server, this process's own commits after that one, with their changes: the commits of others before them come first.
    var own: [UInt64: [String: [StoredChange]]] = [:]
    var keepsOwn = false

    mutating func recordOwn(_ commit: WaitingCommit) {
      let number = commit.number
      if number >= newestOwn, followsOthers, let view = commit.view { ownStates.append(view) }
      newestOwn = max(newestOwn, number)
      if !commit.changes.isEmpty || !commit.unheard.isEmpty { waiting.append(commit) }
      guard keepsOwn, number > reported else { return }
      // Changes that no observer heard as they were written are read like those of another process.
      if commit.unheard.contains(where: { buffers(of: $0).contains { $0.hearsOtherProcesses } }) { return }
      own[number] = commit.changes
      reportOwn()
    }

    /// Reports own commits to the observers that hear other processes, up to the next commit of another process.
    mutating func reportOwn() {
      while let changes = own.removeValue(forKey: reported + 1) {
        reported += 1
        pass(changes) { $0.hearsOtherProcesses }
      }
    }

    /// Reports a commit to all observers. Those that hear other processes are left out if the commit was reported to them already, or if
    /// `reportOwn` reports it to them, as on a server.
    func report(_ commit: WaitingCommit) {
      // A transaction without a commit has values of its base, which may be older than reported ones.
      let isForAll = !commit.isSeen && (!keepsOwn || !commit.isCommit && commit.number >= reported)
      var changes = commit.changes
      for datastore in commit.unheard where !buffers(of: datastore).isEmpty {
        guard let new = commit.view else { continue }
        do {
          let base = try throwingStoreErrors { try new.earlier(commit.base) }
          changes[datastore] = try ChangeWalk(from: base, to: new, datastore: datastore).all()
        } catch {
          for buffer in buffers(of: datastore) { buffer.fail(error) }
        }
      }
      pass(changes) { isForAll || !$0.hearsOtherProcesses }
    }

    private func pass(_ changes: [String: [StoredChange]], to isMeant: (ChangeBuffer) -> Bool) {
      for (datastore, changes) in changes {
        for buffer in buffers(of: datastore) where isMeant(buffer) { buffer.append(changes) }
      }
    }

    mutating func setReported(_ number: UInt64) {
      reported = number
      own = own.filter { $0.key > number }
      reportOwn()
    }

    func buffers(of datastore: String) -> [ChangeBuffer] { observers[datastore]?.compactMap(\.buffer) ?? [] }

    /// The observers that hear other processes, by datastore.
    var listeners: [(datastore: String, buffers: [ChangeBuffer])] {
      observers.keys.map { ($0, buffers(of: $0).filter(\.hearsOtherProcesses)) }.filter { !$1.isEmpty }
    }
  }

  private struct WaitingCommit {
    var number: UInt64
    var changes: [String: [StoredChange]]
    /// False if the transaction had nothing to append; the number is then that of its base.
    var isCommit: Bool
    /// Whether it was found, like one of another process, before it was noted here.
    var isSeen = false
    /// The datastores that were written to while they had no observer. One that comes before the commit is reported gets all of its
    /// changes: the difference between the commit that it was made on and the state that it made, which is nil on a server.
    var unheard: Set<String> = []
    var base: UInt64 = 0
    var view: View?
  }

  /// The state of following other processes' commits. The lock is held while they are read, so that each is reported once.
  private let following = Mutex(Following())
  private struct Following {
    /// The newest state whose changes were reported.
    var lastSeen: View?
    var watch: (any DiskWatch)?
  }

  private struct WeakObserver {
    weak var buffer: ChangeBuffer?
    /// The persistence that it listens by.
    let owner: ObjectIdentifier?
  }

  func hasObservers(of datastore: String) -> Bool {
    guard isHeard.load(ordering: .acquiring) else { return false }
    return state.withLock { !$0.buffers(of: datastore).isEmpty }
  }

  func add(_ buffer: ChangeBuffer, for datastore: String, of owner: _StoreHandle? = nil) {
    isHeard.store(true, ordering: .releasing)
    state.withLock { state in
      state.observers[datastore, default: []].removeAll { $0.buffer == nil }
      state.observers[datastore, default: []].append(
        WeakObserver(buffer: buffer, owner: owner.map { ObjectIdentifier($0) }))
    }
  }

  /// Ends what listens by a persistence.
  func endObservers(of owner: _StoreHandle) {
    let observers = state.withLock { $0.observers.values.joined().filter { $0.owner == ObjectIdentifier(owner) } }
    for observer in observers { observer.buffer?.end() }
  }

  /// Notes a commit that was appended, or a transaction that had nothing to append (`pending` is nil). Called in the writer's turn.
  ///
  /// Cost: grows with the changes, which are sorted by datastore here, so that reporting them does not.
  func append(
    _ changes: consuming [StoredChange], unheard: Set<String> = [], pending: PendingCommit?, base: UInt64
  ) -> AppendedCommit {
    let number = pending?.number ?? base
    for index in changes.indices { changes[index].commit = number }
    let byDatastore = ChangeReporter.byDatastore(changes)
    return state.withLock { state in
      if let pending {
        state.newest = pending
        state.recordOwn(
          WaitingCommit(
            number: number, changes: byDatastore, isCommit: true, unheard: unheard, base: base, view: pending.view))
      } else if !byDatastore.isEmpty {
        state.waiting.append(WaitingCommit(number: number, changes: byDatastore, isCommit: false))
      }
      // A transaction without anything of its own to wait for is durable only when the commit that it read is.
      let awaited = pending ?? (state.newest?.number == base ? state.newest : nil)
      return AppendedCommit(number: number, pending: awaited, publication: self)
    }
  }

  /// Reports a commit that no call of this library made, such as an undo, after all earlier ones: its changes since the state that it was
  /// made on. The commit is durable. Called in the writer's turn.
  ///
  /// - Parameters:
  ///   - new: The commit.
  ///   - parent: The commit that it was made on.
  func publish(_ new: View, madeOn parent: View) {
    let number = new.commit.number
    let isServed = state.withLock(\.keepsOwn)
    // Commits of other processes that it was made on come first.
    if !isServed { notice(asParent: true) { parent } }
    var changes: [StoredChange] = []
    for datastore in state.withLock({ Array($0.observers.keys) }) where hasObservers(of: datastore) {
      do {
        changes += try ChangeWalk(from: parent, to: new, datastore: datastore).all()
      } catch {
        // The commit is noted all the same: earlier ones must be reported.
        for buffer in state.withLock({ $0.buffers(of: datastore) }) { buffer.fail(error) }
      }
    }
    let byDatastore = ChangeReporter.byDatastore(changes)
    following.withLock { following in
      let isSeen = following.lastSeen.map { $0.commit.number >= number } ?? false
      let commit = WaitingCommit(number: number, changes: byDatastore, isCommit: true, isSeen: isSeen, view: new)
      state.withLock { $0.recordOwn(commit) }
      publish(upTo: number)
      if !isServed, !isSeen, following.lastSeen != nil { following.lastSeen = new }
    }
  }

  var newestOwn: UInt64 { state.withLock { $0.newestOwn } }

  /// Whether each commit must be noted, because there are observers or other processes are followed.
  var isFollowed: Bool { state.withLock { $0.followsOthers || !$0.observers.isEmpty } }

  private static func byDatastore(_ changes: [StoredChange]) -> [String: [StoredChange]] {
    guard let first = changes.first else { return [:] }
    // Not grouped: copying many changes would noticeably delay tasks that wait for the executor.
    if changes.allSatisfy({ $0.datastore == first.datastore }) { return [first.datastore: changes] }
    return Dictionary(grouping: changes, by: \.datastore)
  }

  // MARK: Other processes

  /// Begins to follow other processes, unless this is done already.
  ///
  /// - Parameter isServed: Whether commits of others lie between this process's own, as on a server; see `noticeEach`.
  func beginFollowing(at view: View, isServed: Bool = false, _ watch: () throws -> any DiskWatch) throws {
    guard following.withLock({ $0.watch == nil }) else { return }
    let watch = try watch()
    following.withLock { following in
      guard following.watch == nil else { return }
      following.watch = watch
      following.lastSeen = view
      state.withLock { state in
        state.followsOthers = true
        state.ownStates = [state.newest?.view].compactMap(\.self)
        state.keepsOwn = isServed
        state.reported = max(view.number, state.newestOwn)
      }
    }
  }

  /// Ends the following of other processes, before the store is closed. The one that is opened next may be another.
  func endFollowing() {
    let watch = following.withLock { following in
      following.lastSeen = nil
      return following.watch.take()
    }
    state.withLock { state in
      (state.followsOthers, state.keepsOwn, state.ownStates, state.own, state.newestOwn) = (false, false, [], [:], 0)
    }
    withExtendedLifetime(watch) {}
  }

  /// Reports the changes since the last reported state, if another process made them: the difference between the two states, whatever has
  /// become of the commits between them.
  ///
  /// If the difference cannot be read, the observers get the error, and all of the difference the next time: no change is skipped.
  ///
  /// - Parameters:
  ///   - isParent: Whether the state may be older than the last reported one. Otherwise an older one is a head that was put back.
  ///   - view: Takes the newest state.
  ///   - changes: Reads the difference between the last reported state and the newest one.
  func notice(
    asParent isParent: Bool = false, _ view: () throws -> View,
    changes: (_ told: View, _ new: View, _ datastore: String) throws -> [StoredChange] = {
      try ChangeWalk(from: $0, to: $1, datastore: $2).all()
    }
  ) {
    let listeners = state.withLock(\.listeners)
    do {
      try following.withLock { following in
        guard var told = following.lastSeen else { return }
        let view = try view()
        let number = view.number
        let isPutBack = !isParent && number < told.commit.number
        // Read after the view: a transaction's commit that the view contains is noted by now, and was reported. Of other commits of this
        // process `publish` finds out whether they were reported here.
        let states = state.withLock(\.ownStates)
        if let own = states.last(where: { $0.commit.number <= number }) ?? states.first,
          own.commit.number > told.commit.number
        {
          told = own
        }
        guard isPutBack || number >= told.commit.number else { return }
        if number != told.commit.number {
          // Another process builds on durable commits: those of this process may still wait for their callers to report them.
          publish(upTo: told.commit.number)
          var found = try listeners.map { datastore, buffers in (buffers, try changes(told, view, datastore)) }
          for place in found.indices where isPutBack {
            for change in found[place].1.indices { found[place].1[change].isPutBack = true }
          }
          for (buffers, changes) in found { for buffer in buffers { buffer.append(changes) } }
        }
        following.lastSeen = view
        state.withLock { $0.ownStates.removeAll { isPutBack || $0.commit.number <= number } }
      }
    } catch {
      for (_, buffers) in listeners { for buffer in buffers { buffer.fail(error) } }
    }
  }

  /// As `notice`, on a server, where commits of others lie between this process's own: reports each commit, in the order of their numbers.
  /// If commits were pruned meanwhile, reports the difference between the last reported state and the newest one; if that state is gone
  /// too, reports the commits as missed.
  ///
  /// - Parameters:
  ///   - view: Takes the newest state.
  ///   - state: Takes the state of a commit.
  ///   - isOvertaken: Whether this process has begun a commit meanwhile whose number it does not know. Then nothing after its newest known
  ///     commit is reported: it may be its own.
  func noticeEach(_ view: () throws -> View, at commit: (UInt64) throws -> View, isOvertaken: () -> Bool) {
    let listeners = state.withLock(\.listeners)
    do {
      try following.withLock { following in
        guard let begin = following.lastSeen else { return }
        let newest = try view().number
        let end = isOvertaken() ? min(newest, newestOwn) : newest
        func report(after told: UInt64, upTo number: UInt64) throws {
          // The state before the first commit cannot be asked for.
          let (old, new) = (told == 0 ? begin : try commit(told), try commit(number))
          let found = try listeners.map { ($1, try ChangeWalk(from: old, to: new, datastore: $0).all()) }
          state.withLock { state in
            // Otherwise it turned out to be a commit of this process.
            guard state.reported == told else { return }
            for (buffers, changes) in found { for buffer in buffers { buffer.append(changes) } }
            state.setReported(number)
          }
        }
        func isPruned(_ error: any Error) -> Bool { (error as? StoreError)?.kind == .noSuchCommit }
        while case let told = state.withLock(\.reported), told < end {
          do {
            try report(after: told, upTo: told + 1)
          } catch  where isPruned(error) {
            do {
              try report(after: told, upTo: newest)
            } catch  where isPruned(error) {
              for (datastore, buffers) in listeners {
                let missed = ChangesMissed(
                  datastore: DatastoreKey(datastore), first: Commit.Number(told + 1), last: Commit.Number(newest))
                for buffer in buffers { buffer.fail(missed) }
              }
              state.withLock { $0.setReported(newest) }
            }
          }
        }
      }
    } catch {
      for (_, buffers) in listeners { for buffer in buffers { buffer.fail(error) } }
    }
  }

  /// Whether own commits wait for those of others before them.
  var hasWaitingOwn: Bool { state.withLock { !$0.own.isEmpty } }

  /// Reports everything up to a durable commit. Costs as much for a commit of a million changes as for one of a single change.
  fileprivate func publish(upTo number: UInt64) {
    state.withLock { state in
      while let first = state.waiting.first, first.number <= number {
        state.waiting.removeFirst()
        state.report(first)
      }
      if state.newest?.number == number { state.newest = nil }
      if let last = state.ownStates.lastIndex(where: { $0.commit.number <= number }) {
        state.ownStates.removeFirst(last)
      }
    }
  }

  fileprivate func drop(_ number: UInt64) {
    state.withLock { state in
      state.waiting.removeAll { $0.number == number }
      state.ownStates.removeAll { $0.commit.number == number }
    }
  }
}

/// A commit on its way to the disk.
struct AppendedCommit: Sendable {
  fileprivate let number: UInt64
  fileprivate let pending: PendingCommit?
  fileprivate let publication: ChangeReporter

  /// Waits until the commit is durable, unless it need not be, and reports its changes to observers. Returns whether it waited.
  func finish(isDurable: Bool) async throws -> Bool {
    if isDurable, let pending {
      do {
        try await pending.durable()
      } catch {
        publication.drop(number)
        throw StoreError(error)
      }
    }
    publication.publish(upTo: number)
    return isDurable && pending != nil
  }
}
