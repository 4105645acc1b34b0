import StrataEngine
import StrataFoundation
import StrataModel

extension DatastoreCore {
  /// The same datastore, reading one commit.
  func fixed(at commit: Commit.Number) throws -> DatastoreCore {
    DatastoreCore(
      store: store, key: DatastoreKey(key), coder: coder, isReadOnly: true, isIdentifiable: isIdentifiable,
      view: try view(at: commit))
  }

  /// The same datastore, reading the newest commit that is not later than a date.
  func fixed(at date: Date) throws -> DatastoreCore {
    guard let head = try store.currentView(), let store = try store.model()?.engine else {
      throw StoreError(.noSuchCommit, "There is no commit yet.")
    }
    let number = try throwingStoreErrors {
      try store.ancestor(of: head.number, notLaterThan: date.lastNanosecond).number
    }
    return try fixed(at: Commit.Number(number))
  }

  /// The state of a commit; if it is nil, the newest state or, of a view of the past, that one.
  func view(at commit: Commit.Number?) throws -> View {
    guard let newest = try currentView(), let store = try store.model()?.engine else {
      throw StoreError(.noSuchCommit, "There is no commit yet.")
    }
    guard let commit else { return newest }
    return try throwingStoreErrors { try store.view(at: commit.rawValue) }
  }

  func missing(_ index: IndexPlan<Instance>) -> any Error {
    guard let view, let head = try? store.currentView(), let store = try? store.model()?.engine else {
      return DatastoreInterfaceError.indexNotFound
    }
    let broughtBy = firstCommit(after: view.number, head: head, in: store) { later throws(StorageError) in
      guard let records = try later.tree(self.recordsTree) else { return false }
      let descriptor = try? DatastoreDescriptor(bytes: records.attributes.array)
      return descriptor?.index(index.name).map { Self.fits($0, index.descriptor) } ?? false
    }
    return IndexNotYetBuiltError(
      datastore: DatastoreKey(key), index: IndexName(index.name), commit: Commit.Number(view.number),
      broughtBy: broughtBy)
  }

  /// The first commit after one, on the way to the head, whose state has a property that later states keep. O(log n) views.
  private func firstCommit(
    after commit: UInt64, head: View, in store: any Engine, has: (View) throws(StorageError) -> Bool
  ) -> Commit.Number? {
    // A commit beside the head's history may have a greater number.
    guard head.number > commit, (try? has(head)) == true else { return nil }
    var low = commit
    var high = head.number
    while high - low > 1 {
      let middle = low + (high - low) / 2
      guard let view = try? store.view(at: middle), let isThere = try? has(view) else { return nil }
      if isThere { high = middle } else { low = middle }
    }
    return Commit.Number(high)
  }
}
