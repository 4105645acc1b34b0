import DatastoreModel
import Documents
import Exchange
import Expressions
#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import StorageEngine

extension Persistence where AccessMode == ReadWrite {
  /// The other copies of this store that were added.
  ///
  /// - Throws: ``StoreError`` where the file that lists them is damaged.
  public var remotes: [RemoteStore] {
    get async throws {
      try await _store.exchanging { work in
        try work.remotes.read().map { RemoteStore(name: $0.name, location: $0.location) }
      }
    }
  }

  /// Keeps the name and the location of another copy beside the store; it is no part of its history.
  ///
  /// - Throws: ``StoreError`` where there is one of this name, or the location is none.
  public func addRemote(_ remote: RemoteStore) async throws {
    try await _store.exchanging { try $0.remotes.add(Remote(name: remote.name, location: remote.location)) }
  }

  /// Forgets a remote. What was fetched from it stays.
  ///
  /// - Throws: ``StoreError`` where there is no remote of this name.
  public func removeRemote(named name: String) async throws {
    try await _store.exchanging { try $0.remotes.remove(name) }
  }

  /// Brings the commits of another copy that are missing here, without merging them. Its head is named `remotes/NAME`.
  ///
  /// - Returns: How many commits came.
  /// - Throws: ``StoreError`` of kind `refused` within a transaction, and where there is no remote of this name or it
  ///   cannot be reached, with the remote's own words.
  @discardableResult
  public func fetch(from name: String) async throws -> Int {
    try await _store.exchanging { try $0.exchange.fetch($0.peer(name), as: name).received }
  }

  /// What merging the head that was fetched from a remote would do. Writes nothing.
  ///
  /// - Throws: ``StoreError`` where nothing was fetched from a remote of this name, or the store cannot be read.
  public func planMerge(with name: String, settling settlement: MergeSettlement = .ask) async throws -> MergeReport {
    try await _store.exchanging { try $0.merge(name, settlement, isDryRun: true) }
  }

  /// Merges the head that was fetched from a remote, field by field, in one commit with two parents; where a conflict is open, nothing is
  /// written, and the report tells it.
  ///
  /// - Throws: ``StoreError`` of kind `refused` within a transaction, and where nothing was fetched from a remote of this
  ///   name or the store cannot be written.
  @discardableResult
  public func merge(with name: String, settling settlement: MergeSettlement = .ask) async throws -> MergeReport {
    try await _store.exchanging { try $0.merge(name, settlement, isDryRun: false) }
  }

  /// Sends commits to another copy, and moves its head where nothing of its history is lost by that.
  ///
  /// - Returns: How many commits were sent.
  /// - Throws: ``StoreError`` of kind `refused` where it has commits that are not merged here: fetch and merge first.
  @discardableResult
  public func push(to name: String) async throws -> Int {
    try await _store.exchanging { try $0.exchange.push($0.peer(name), as: name) }
  }

  /// Fetches, merges and pushes: afterwards both copies have the same, unless a conflict is open, which the report tells.
  ///
  /// - Throws: As ``fetch(from:)``, ``merge(with:settling:)`` and ``push(to:)``; what was done before it stays.
  @discardableResult
  public func exchange(with name: String, settling settlement: MergeSettlement = .ask) async throws -> MergeReport {
    try await _store.exchanging { work in
      let peer = try work.peer(name)
      let heads = try work.exchange.fetch(peer, as: name).heads
      var report = MergeReport(commit: nil, mergedRecords: 0, conflicts: [], notes: [])
      if !heads.isEmpty { report = try work.merge(name, settlement, isDryRun: false) }
      if !report.isOpen { _ = try work.exchange.push(peer, as: name) }
      return report
    }
  }
}

/// What an exchange works with, on a thread that may wait.
struct ExchangeWork {
  let model: OwnStore
  let exchange: StoreExchange
  private let now: Int64

  init(_ model: OwnStore) {
    self.model = model
    now = LocalTime.now
    exchange = StoreExchange(model, now: now)
  }

  var remotes: RemotesFile { RemotesFile(storeAt: model.path) }

  func peer(_ name: String) throws -> any Peer {
    let folder = model.path.lastIndex(of: "/").map { String(model.path[..<$0]) } ?? "."
    return try RemotePeers(
      program: StoreConnection.programName, author: "", now: now,
      ssh: ProcessInfo.processInfo.environment["STRATA_SSH"]
    ).open(remotes.remote(name).location, name: name, from: folder.isEmpty ? "/" : folder)
  }

  func merge(_ name: String, _ settlement: MergeSettlement, isDryRun: Bool) throws -> MergeReport {
    let prefix = StoreExchange.name(of: name)
    let pins = try model.pins.filter { $0.name == prefix || $0.name.hasPrefix(prefix + "/") }
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
      let merged = try exchange.merge(head, policy: policy, isDryRun: isDryRun, named: "Merge \(name)")
      report.commit = merged.head.map { Commit.Number($0.rawValue) }
      report.mergedRecords += merged.plan.cleanCount
      report.notes += merged.plan.notes
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

extension _StoreHandle {
  /// Runs what exchanges, in the writer's turn and on a thread that may wait; observers hear what it changed.
  func exchanging<R: Sendable>(_ body: @escaping @Sendable (ExchangeWork) throws -> R) async throws -> R {
    if Transactions.scope(for: self) != nil { throw StoreError.withinTransaction("A store cannot be exchanged") }
    try await prepare()
    guard let model = try model(forWriting: true) else { throw StoreError.closed }
    try await connection.turns.take()
    defer { connection.turns.pass() }
    let before = try throwingStoreErrors { () throws(StorageError) in try model.engine.refresh() }
    let connection = connection
    return try await onThread {
      defer {
        let after = model.engine.head
        if after.commit.number != before.commit.number { connection.publication.publish(after, madeOn: before) }
      }
      do {
        return try body(ExchangeWork(model))
      } catch let error as ModelError {
        return try throwingModelErrors { () throws(ModelError) in throw error }
      } catch let error as ExchangeError {
        throw StoreError(.refused, error.description)
      }
    }
  }
}
