// Other copies of the store, as ``Persistence`` has them.

extension BlockingPersistence where Base.AccessMode == ReadWrite {
  /// The other copies that the store knows.
  @available(*, noasync)
  public var remotes: [RemoteStore] { get throws { try call { try await persistence.remotes } } }

  /// Adds another copy.
  @available(*, noasync)
  public func addRemote(_ remote: RemoteStore) throws { try call { try await persistence.addRemote(remote) } }

  /// Removes another copy.
  @available(*, noasync)
  public func removeRemote(named name: String) throws { try call { try await persistence.removeRemote(named: name) } }

  /// Fetches the commits of another copy that are missing here; returns their number.
  @available(*, noasync)
  @discardableResult
  public func fetch(from name: String) throws -> Int { try call { try await persistence.fetch(from: name) } }

  /// Previews a merge.
  @available(*, noasync)
  public func planMerge(
    with name: String, settling settlement: MergeSettlement = .ask, unrelated: Bool = false
  ) throws -> MergeReport {
    try call { try await persistence.planMerge(with: name, settling: settlement, unrelated: unrelated) }
  }

  /// Merges the head that was fetched from another copy.
  @available(*, noasync)
  @discardableResult
  public func merge(
    with name: String, settling settlement: MergeSettlement = .ask, unrelated: Bool = false
  ) throws -> MergeReport {
    try call { try await persistence.merge(with: name, settling: settlement, unrelated: unrelated) }
  }

  /// Sends commits to another copy; returns their number.
  @available(*, noasync)
  @discardableResult
  public func push(to name: String) throws -> Int { try call { try await persistence.push(to: name) } }

  /// Fetches, merges and pushes.
  @available(*, noasync)
  @discardableResult
  public func exchange(
    with name: String, settling settlement: MergeSettlement = .ask, unrelated: Bool = false
  ) throws -> MergeReport {
    try call { try await persistence.exchange(with: name, settling: settlement, unrelated: unrelated) }
  }
}
