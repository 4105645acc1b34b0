import StrataModel
import StrataEngine

extension DatastoreCore {
  /// Rebuilds one index, if it was built by an older version.
  func migrate(
    index: IndexPlan<Instance>, ifLessThan minimumVersion: Format.Version, listener: WarmUpListener
  ) async throws {
    let place = indexes.firstIndex { $0.name == index.name }
    try await force(listener) { stored, plan in
      guard let place, let existing = stored.index(index.name) else { return }
      if VersionTag<Format>.isOlder(existing.version, than: minimumVersion) { plan.rebuilt.insert(place) }
    }
  }

  func migrateEntireStore(ifLessThan minimumVersion: Format.Version, listener: WarmUpListener) async throws {
    try await force(listener) { _, plan in
      plan.rewritesOlderThan = VersionTag<Format>.text(of: minimumVersion)
    }
  }

  /// Warms up with more work than the store needs.
  private func force(
    _ listener: WarmUpListener, _ add: (DatastoreDescriptor, inout WarmUpPlan) -> Void
  ) async throws {
    listeners.add(listener)
    defer { listeners.remove(listener) }
    try requireSoundDeclaration()
    await listener.hear(.evaluating)
    guard let tree = try Transactions.readState(for: store).tree(recordsTree) else {
      return await listener.hear(.complete(total: 0))
    }
    let stored = try descriptor(of: tree)
    var forced = try plan(for: stored, isEmpty: tree.isWithoutEntries)
    add(stored, &forced)
    do {
      if !forced.isEmpty { try await warmUp(forced: forced) }
    } catch let error as UnreadableInstanceError {
      throw error.thrown
    }
    await listener.hear(.complete(total: Int(clamping: try tree.entryCount)))
  }
}
