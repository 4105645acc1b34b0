import DatastoreModel
import StorageEngine

extension Datastore {
  /// A filtered and sorted result that is kept current: the instances as they are now, and again after every commit that
  /// changes them.
  ///
  /// ```swift
  /// for try await large in cities.live(where: { $0.population > 1_000_000 }, sortedBy: { $0.name < $1.name }) {
  ///   show(large)
  /// }
  /// ```
  ///
  /// Everything is decoded once at the beginning; then each changed instance is decoded once, and put in its place. When
  /// several commits come while the reader is busy it gets one result for all of them.
  ///
  /// - Parameters:
  ///   - isIncluded: Which instances belong to the result; all by default.
  ///   - areInIncreasingOrder: The order; by default that of the identifiers, which also decides where this one does not.
  public nonisolated func live(
    where isIncluded: @escaping @Sendable (InstanceType) -> Bool = { _ in true },
    sortedBy areInIncreasingOrder: (@Sendable (InstanceType, InstanceType) -> Bool)? = nil
  ) -> some AsyncInstances<[InstanceType]> {
    LiveInstances(core: core, isIncluded: isIncluded, areInIncreasingOrder: areInIncreasingOrder)
  }
}

/// A result that is kept current.
struct LiveInstances<Format: DatastoreFormat>: AsyncInstances {
  typealias Instance = Format.Instance
  typealias Element = [Instance]

  let core: DatastoreCore<Format>
  let isIncluded: @Sendable (Instance) -> Bool
  let areInIncreasingOrder: (@Sendable (Instance, Instance) -> Bool)?

  func makeAsyncIterator() -> Iterator { Iterator(live: self) }

  struct Iterator: AsyncIteratorProtocol {
    private let live: LiveInstances
    private var buffer: ChangeBuffer?
    private var result: LiveResult<Format>
    /// Changes up to this commit are in what was read at the beginning.
    private var newest: UInt64 = 0

    fileprivate init(live: LiveInstances) {
      self.live = live
      result = LiveResult(
        order: live.core.identifiers.order, isIncluded: live.isIncluded, areInIncreasingOrder: live.areInIncreasingOrder
      )
    }

    mutating func next() async throws -> [Instance]? {
      try Task.checkCancellation()
      guard let buffer else { return try await begin() }
      while let first = await buffer.next() {
        var isChanged = false
        for change in [first] + buffer.takeAll() where change.commit > newest {
          let instance: Instance? =
            if let record = change.new { try await live.core.coder.decode(record).instance } else { nil }
          if try result.replace(change.key, with: instance) { isChanged = true }
        }
        if isChanged { return result.instances }
      }
      try Task.checkCancellation()
      return nil
    }

    /// Listens first and reads then, so that no change falls between.
    private mutating func begin() async throws -> [Instance] {
      let core = live.core
      let buffer = ChangeBuffer(hearsOtherProcesses: true) { _ in true }
      try core.store.connection.followOtherProcesses(forWriter: !core.store.isReadOnly)
      core.store.connection.publication.add(buffer, for: core.key)
      let state = try await core.ready()
      if case .view(let view) = state { newest = view.commit.number }
      if let tree = try state.tree(core.recordsTree) {
        var walk = RecordWalk(tree: tree, source: .itself, ranks: 0..<tree.count, isDescending: false)
        while let (key, record) = try walk.next() {
          try Task.checkCancellation()
          result.add(key.array, try await core.coder.decode(record).instance)
        }
      }
      try result.sort()
      self.buffer = buffer
      return result.instances
    }
  }
}

/// The instances of a live result, in their order.
struct LiveResult<Format: DatastoreFormat> {
  typealias Instance = Format.Instance

  private(set) var instances: [Instance] = []
  /// The key of each.
  private var keys: [[UInt8]] = []
  /// What each member was when it was put in its place, by key.
  private var members: [[UInt8]: Instance] = [:]
  private let order: KeyOrder
  private let isIncluded: @Sendable (Instance) -> Bool
  private let areInIncreasingOrder: (@Sendable (Instance, Instance) -> Bool)?

  init(
    order: KeyOrder, isIncluded: @escaping @Sendable (Instance) -> Bool,
    areInIncreasingOrder: (@Sendable (Instance, Instance) -> Bool)?
  ) {
    self.order = order
    self.isIncluded = isIncluded
    self.areInIncreasingOrder = areInIncreasingOrder
  }

  /// Adds an instance at the end, for `sort` to put in its place.
  mutating func add(_ key: [UInt8], _ instance: Instance) {
    guard isIncluded(instance) else { return }
    instances.append(instance)
    keys.append(key)
    members[key] = instance
  }

  /// Puts everything in its place. What was added came in the order of the identifiers.
  mutating func sort() throws {
    guard let areInIncreasingOrder else { return }
    let places = instances.indices.sorted { left, right in
      if areInIncreasingOrder(instances[left], instances[right]) { return true }
      if areInIncreasingOrder(instances[right], instances[left]) { return false }
      return left < right
    }
    instances = places.map { instances[$0] }
    keys = places.map { keys[$0] }
  }

  /// Sets, replaces or (with nil) removes an instance; whether the result changed.
  mutating func replace(_ key: [UInt8], with instance: Instance?) throws -> Bool {
    let old = members.removeValue(forKey: key)
    if let old {
      let place = try place(of: key, old)
      instances.remove(at: place)
      keys.remove(at: place)
    }
    guard let instance, isIncluded(instance) else { return old != nil }
    let place = try place(of: key, instance)
    instances.insert(instance, at: place)
    keys.insert(key, at: place)
    members[key] = instance
    return true
  }

  /// Where an instance is, or belongs.
  private func place(of key: [UInt8], _ instance: Instance) throws -> Int {
    let comparison = try order.comparison(to: key)
    var low = 0
    var high = instances.count
    while low < high {
      let middle = (low + high) / 2
      if try isBefore(middle, instance, comparison) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private func isBefore(_ place: Int, _ instance: Instance, _ comparison: KeyComparison) throws -> Bool {
    if let areInIncreasingOrder {
      if areInIncreasingOrder(instances[place], instance) { return true }
      if areInIncreasingOrder(instance, instances[place]) { return false }
    }
    return try keys[place].withUnsafeBytes { try comparison.place($0) } < 0
  }
}
