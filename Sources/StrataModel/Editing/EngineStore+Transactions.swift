import StrataExpressions
package import StrataEngine

extension EngineStore {
  /// Runs one transaction and waits until its commit is durable. Returns its number, or that of the base if nothing changed. If
  /// `body` throws, nothing is written. The writer's lock is released at the end unless `keepsLock` is set. `body` may run on a
  /// thread that writes for several transactions.
  func transact(_ info: CommitInfo, _ body: (any WriteTransaction) throws -> Void) throws(ModelError) -> CommitNumber {
    if case .readOnly(let reason) = access { throw .readOnly(reason: reason) }
    defer { if !keepsLock { engine.releaseLock() } }
    var base: UInt64 = 0
    var isFirst = true
    return try onStorage {
      let written = try engine.write(info) { transaction in
        base = transaction.base.number
        isFirst = try letter?.record(in: transaction) ?? true
        if isFirst { try body(transaction) }
      }
      let number = try written.get() ?? base
      if isFirst { letter?.keep() }
      return CommitNumber(number)
    }
  }

  /// Runs one transaction on the newest state alone, which nothing repeats. Returns nil, and writes nothing, if `body` returns false.
  package func transactOnce(
    _ info: CommitInfo, _ body: (any WriteTransaction) throws -> Bool
  ) throws(ModelError) -> CommitNumber? {
    try onStorage {
      let transaction = try engine.beginBlocking() as any WriteTransaction
      do {
        guard try body(transaction) else {
          transaction.cancel()
          return nil
        }
      } catch {
        transaction.cancel()
        throw error
      }
      let pending = try transaction.commit(info)
      if info.durability == .durable { try pending?.wait() }
      return pending.map { CommitNumber($0.number) }
    }
  }

  /// The state that a transaction began on.
  func baseView(of transaction: any WriteTransaction) throws(ModelError) -> EngineView {
    let head = engine.head
    return head.number == transaction.base.number
      ? view(head) : try engineView(at: CommitNumber(transaction.base.number))
  }

  /// A datastore in the state that a transaction began on, or as the transaction has made it.
  func datastore(_ key: String, in transaction: any WriteTransaction) throws(ModelError) -> EngineDatastore {
    let base = try baseView(of: transaction)
    if let datastore = try base.ownDatastore(key) { return datastore }
    let tree = try onStorage { try transaction.tree(.records(of: key)) }
    guard let tree else { return try base.requiredDatastore(key) }
    return EngineDatastore(view: base, descriptor: try descriptors.descriptor(tree.attributes.array), tree: tree)
  }

  /// Reports this process's work to other processes while `body` runs and makes a commit, and then the result. The listeners get the
  /// progress.
  ///
  /// - Parameters:
  ///   - steps: what is done already, what is done first, and what follows as far as it is known.
  ///   - datastore: whose records may fail.
  ///   - startedAt: when the work began, in nanoseconds since 1970. With nil it began now.
  func whileBusy<Value>(
    _ title: String, _ steps: [Activity.Step], of datastore: String = "", startedAt: Int64? = nil,
    progress: WorkProgress?, activity: ActivityProgress? = nil,
    _ body: (WorkMeter) throws -> Value
  ) throws(ModelError) -> Value {
    let meter = WorkMeter(
      store: self, title: title, steps: steps, datastore: datastore, startedAt: startedAt ?? LocalTime.now,
      progress: progress, activity: activity)
    do {
      if activity != nil { try meter.report() }
      let value = try onStorage { try body(meter) }
      meter.end()
      meter.close(.success(value as? CommitNumber))
      return value
    } catch {
      meter.close(.failure(error))
      throw error
    }
  }
}
