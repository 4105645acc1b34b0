import StrataDocuments
import StrataEngine
import StrataExchange
import StrataExpressions
import StrataFoundation
import StrataLocks
import StrataModel

extension Persistence where AccessMode == ReadWrite {
  /// The other copies of this store that were added.
  ///
  /// - Throws: ``StoreError`` if the file that lists them is damaged.
  public var remotes: [RemoteStore] {
    get async throws {
      try await _store.exchanging { work in
        try work.remotes.read().map { RemoteStore(name: $0.name, location: $0.location) }
      }
    }
  }

  /// Keeps the name and the location of another copy beside the store. They are not part of its history.
  ///
  /// - Throws: ``StoreError`` if there is a remote of this name already, if the location is invalid, or if the store is in memory.
  public func addRemote(_ remote: RemoteStore) async throws {
    try await _store.exchanging { work in
      // Its folder would be that of the whole file system.
      if work.model.isInMemory { throw ModelError.refused(reason: "a store in memory has no other copies") }
      try work.remotes.add(Remote(name: remote.name, location: remote.location))
    }
  }

  /// Removes a remote. The commits fetched from it stay.
  ///
  /// - Throws: ``StoreError`` if there is no remote of this name.
  public func removeRemote(named name: String) async throws {
    try await _store.exchanging { try $0.remotes.remove(name) }
  }

  /// Fetches the commits of another copy that are missing here, without merging them. Its head is named `remotes/NAME`.
  ///
  /// - Parameter progress: Receives the progress.
  /// - Returns: The number of received commits.
  /// - Throws: ``StoreError`` of kind `refused` within a transaction, and if there is no remote of this name or it cannot be reached, with
  ///   the remote's own words; `CancellationError` if the task was cancelled. Whole commits that arrived stay, beside the history, and the
  ///   next fetch goes on from there.
  @discardableResult
  public func fetch(from name: String, progress: ExchangeProgressHandler? = nil) async throws -> Int {
    try await _store.exchanging(progress) { try $0.fetch($0.peer(name), name).received }
  }

  /// Previews a merge of the head that was fetched from a remote. Writes nothing.
  ///
  /// - Parameter unrelated: Whether to merge stores that have no commit in common.
  /// - Throws: ``StoreError`` if nothing was fetched from a remote of this name, or if the store cannot be read.
  public func planMerge(
    with name: String, settling settlement: MergeSettlement = .ask, unrelated: Bool = false,
    choosing choose: MergeChooser? = nil
  ) async throws -> MergeReport {
    try await _store.exchanging { try $0.merge(name, settlement, unrelated, choose, isDryRun: true) }
  }

  /// Merges the head that was fetched from a remote, field by field, in one commit with two parents. If a conflict is open, nothing is
  /// written, and the report contains it.
  ///
  /// - Parameters:
  ///   - unrelated: Whether to merge stores that have no commit in common.
  ///   - choose: Receives each field, or record, that the settlement leaves open, and chooses a side.
  /// - Throws: ``StoreError`` of kind `refused` within a transaction, and if nothing was fetched from a remote of this name or the store
  ///   cannot be written.
  @discardableResult
  public func merge(
    with name: String, settling settlement: MergeSettlement = .ask, unrelated: Bool = false,
    choosing choose: MergeChooser? = nil
  ) async throws -> MergeReport {
    try await _store.exchanging { try $0.merge(name, settlement, unrelated, choose, isDryRun: false) }
  }

  /// Sends commits to another copy, and moves its head if no commit of its history is lost by that.
  ///
  /// - Parameter progress: Receives the progress.
  /// - Returns: The number of sent commits.
  /// - Throws: ``StoreError`` of kind `refused` if the other copy has commits that are not merged here: fetch and merge first.
  ///   `CancellationError` if the task was cancelled.
  @discardableResult
  public func push(to name: String, progress: ExchangeProgressHandler? = nil) async throws -> Int {
    try await _store.exchanging(with: name, progress) { try $0.push($0.peer(name), name) }
  }

  /// Fetches, merges and pushes, again if another program commits to the other copy meanwhile. Afterwards both copies have the same state,
  /// unless a conflict is open, which the report contains.
  ///
  /// - Parameters:
  ///   - unrelated: Whether to merge stores that have no commit in common.
  ///   - choose: Receives each field, or record, that the settlement leaves open, and chooses a side.
  ///   - progress: Receives the progress.
  /// - Throws: As ``fetch(from:progress:)``, ``merge(with:settling:unrelated:choosing:)`` and ``push(to:progress:)``; earlier steps stay.
  @discardableResult
  public func exchange(
    with name: String, settling settlement: MergeSettlement = .ask, unrelated: Bool = false,
    choosing choose: MergeChooser? = nil, progress: ExchangeProgressHandler? = nil
  ) async throws -> MergeReport {
    try await _store.exchanging(with: name, progress) { work in
      let peer = try work.peer(name)
      return try work.exchange.untilPushed {
        let fetched = try work.fetch(peer, name)
        var report = MergeReport(commit: nil, mergedRecords: 0, conflicts: [], notes: [])
        if !fetched.heads.isEmpty { report = try work.merge(name, settlement, unrelated, choose, isDryRun: false) }
        report.notes = fetched.notes + report.notes
        if !report.isOpen { _ = try work.push(peer, name) }
        return report
      }
    }
  }
}

/// The parts that an exchange works with, on a thread that may block.
struct ExchangeWork {
  let model: EngineStore
  let exchange: StoreExchange
  private let now: Int64
  private let progress: ExchangeProgressHandler?
  private let isCancelled: @Sendable () -> Bool

  init(_ model: EngineStore, _ progress: ExchangeProgressHandler?, isCancelled: @escaping @Sendable () -> Bool) {
    self.model = model
    self.progress = progress
    self.isCancelled = isCancelled
    now = LocalTime.now
    exchange = StoreExchange(model, now: now)
  }

  var remotes: RemotesFile { RemotesFile(storeAt: model.path) }

  func peer(_ name: String) throws -> any Peer {
    try RemotePeers(program: StoreConnection.programName, author: StoreConnection.userName, now: now)
      .open(remotes.remote(name), of: model)
  }

  private func report(_ step: ExchangeProgress.Step) -> WorkProgress {
    { [progress, isCancelled] done, total in
      progress?(ExchangeProgress(step: step, done: done, total: total))
      return !isCancelled()
    }
  }

  func fetch(_ peer: any Peer, _ name: String) throws -> StoreExchange.Fetched {
    try exchange.fetch(peer, as: name, progress: report(.fetching))
  }

  func push(_ peer: any Peer, _ name: String) throws -> Int {
    // The other store may be exchanging with this one, and waits for its lock.
    model.engine.releaseLock()
    // Another persistence of this process may have written there, and keeps the lock for the next write.
    if let path = (peer as? StorePeer)?.path { StoreConnection.releaseIdleLock(ofStoreAt: path) }
    return try exchange.push(peer, as: name, progress: report(.sending))
  }

  func merge(
    _ name: String, _ settlement: MergeSettlement, _ unrelated: Bool, _ choose: MergeChooser?, isDryRun: Bool
  ) throws -> MergeReport {
    let pins = StoreExchange.heads(of: name, in: try model.pins)
    guard !pins.isEmpty else { throw ModelError.refused(reason: "nothing was fetched from \(name) yet") }
    var report = MergeReport(commit: nil, mergedRecords: 0, conflicts: [], notes: [])
    let policy: MergePolicy =
      switch settlement {
      case .ask: .ask
      case .ours: .ours
      case .theirs: .theirs
      case .later: .later
      }
    for pin in pins where !report.isOpen {
      guard let head = try exchange.graph().identity(of: pin.commit.rawValue) else { continue }
      let merged = try exchange.merge(
        head, policy: policy, unrelated: unrelated, isDryRun: isDryRun, named: "Merge \(name)"
      ) { conflict in
        if let choose { conflict.choose(by: choose) }
      }
      report.commit = merged.head.map { Commit.Number($0.rawValue) }
      report.mergedRecords += merged.plan.cleanCount
      report.notes += merged.plan.remarks
      report.conflicts += merged.plan.conflicts.map { conflict in
        MergeReport.Conflict(
          datastore: DatastoreKey(conflict.place.datastore), identifier: conflict.place.identifier.description,
          fields: conflict.fields.map(\.path.description), isSettled: conflict.isSettled, description: conflict.sentence
        )
      }
    }
    return report
  }
}

extension MergeConflict {
  /// Calls the chooser for each field; for the record if there are none, or if the record cannot hold the chosen ones together.
  fileprivate mutating func choose(by choose: MergeChooser) {
    let before = self
    func ask(_ field: String?, _ base: String?, _ ours: String?, _ theirs: String?) -> MergeSide? {
      let conflict = MergeReport.FieldConflict(
        datastore: DatastoreKey(before.place.datastore), identifier: before.place.identifier.description,
        field: field, base: base, ours: ours, theirs: theirs)
      return switch choose(conflict) {
      case .base: .base
      case .ours: .mine
      case .theirs: .theirs
      case .open: nil
      }
    }
    func text(_ value: Document?) -> String? { value.map { String(decoding: $0.json(.compact), as: UTF8.self) } }
    do {
      for field in fields {
        if let side = ask(field.path.description, text(field.base), text(field.mine), text(field.theirs)) {
          try self.choose(side, for: field.path)
        }
      }
      guard fields.isEmpty else { return }
    } catch {
      self = before
    }
    let (base, ours, theirs) = (base.map(document), ours.map(document), theirs.map(document))
    if let side = ask(nil, text(base), text(ours), text(theirs)) { self.choose(whole: side) }
  }
}

/// The queue of the exchanges that write to another store of this machine.
private let exchangesHere = TurnQueue()

extension _StoreHandle {
  /// Runs an exchange, in the writer's turn and on a thread that may block; its changes are reported to observers.
  ///
  /// - Parameter name: The remote that is written to. Those to stores of this machine run one after the other: two that write to each
  ///   other's stores would wait for each other.
  func exchanging<R: Sendable>(
    with name: String? = nil, _ progress: ExchangeProgressHandler? = nil,
    _ body: @escaping @Sendable (ExchangeWork) throws -> R
  ) async throws -> R {
    let model = try await modelForWriting("A store cannot be exchanged")
    let connection = connection
    let location = name.flatMap { try? RemotesFile(storeAt: model.path).remote($0).location }
    let isHere = if case .path? = location.flatMap({ try? RemoteLocation(parsing: $0) }) { true } else { false }
    if isHere { try await exchangesHere.acquire() }
    defer { if isHere { exchangesHere.pass() } }
    let cancelled = Mutex(Task.isCancelled)
    return try await withTaskCancellationHandler {
      try await connection.alone {
        let before = try throwingStoreErrors { try model.engine.refresh() }
        defer {
          let after = model.engine.head
          if after.commit.number != before.commit.number { connection.publication.publish(after, madeOn: before) }
        }
        do {
          return try throwingStoreErrors { try body(ExchangeWork(model, progress) { cancelled.withLock { $0 } }) }
        } catch let error as ExchangeError {
          throw StoreError(.refused, error.description)
        }
      }
    } onCancel: {
      cancelled.withLock { $0 = true }
    }
  }
}
