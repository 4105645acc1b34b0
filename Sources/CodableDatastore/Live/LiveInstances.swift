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
  /// This is a scan, for a closure tells no index what it asks; ``Query/live(bufferingPolicy:)`` is read by indexes.
  /// Everything is decoded once at the beginning; then each changed instance is decoded once, and put in its place. When
  /// several commits come while the reader is busy it gets one result for all of them. Decoding, choosing and sorting run on no
  /// actor; begun within a transaction it shows what is committed.
  ///
  /// - Parameters:
  ///   - isIncluded: Which instances belong to the result; all by default.
  ///   - areInIncreasingOrder: The order; by default that of the identifiers, which also decides where this one does not. Where
  ///     it is none, as that of floating-point numbers with NaN among them, the result holds the right instances in some order.
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
    private let empty: LiveResult<Format>
    /// Changes up to this commit are in what was read at the beginning.
    private var newest: UInt64 = 0

    fileprivate init(live: LiveInstances) {
      self.live = live
      result = LiveResult(
        order: live.core.identifiers.order, isIncluded: live.isIncluded, areInIncreasingOrder: live.areInIncreasingOrder
      )
      empty = result
    }

    mutating func next() async throws -> [Instance]? {
      try Task.checkCancellation()
      guard let buffer else { return try await begin() }
      // A state of the past has one result.
      if live.core.view != nil { return nil }
      do {
        while let first = try await buffer.next() {
          let changes = ([first] + buffer.takeAll()).filter { $0.commit > newest }
          if try await live.apply(changes, to: &result) { return result.instances }
        }
      } catch is ChangesMissed {
        return try await begin()
      }
      try Task.checkCancellation()
      return nil
    }

    /// Listens first and reads then, so that no change falls between.
    private mutating func begin() async throws -> [Instance] {
      let core = live.core
      let isNew = self.buffer == nil
      let buffer =
        self.buffer
        ?? ChangeBuffer(hearsOtherProcesses: true, limit: core.store.connection.configuration.waitingChangesLimit)
      result = empty
      if isNew, core.view == nil {
        try core.store.connection.followOtherProcesses(forWriter: !core.store.isReadOnly)
        core.store.connection.publication.add(buffer, for: core.key)
      }
      if let view = try await live.beginning() {
        newest = view.commit.number
        try await live.read(view, into: &result)
      }
      self.buffer = buffer
      return result.instances
    }
  }

  /// The state that the result begins with: the newest commit, also within a transaction, whose own writes may be taken back yet.
  private func beginning() async throws -> View? {
    if Transactions.scope(for: core.store) == nil { _ = try await core.ready() }
    try core.requireSoundDeclaration()
    return try core.currentView()
  }

  /// Reads and sorts everything. It runs on no actor, which many instances would hold up.
  @concurrent private func read(_ view: View, into result: inout LiveResult<Format>) async throws {
    guard let tree = try ReadState(view).tree(core.recordsTree) else { return }
    var walk = TreeWalk(tree)
    var count = 0
    while let (key, record) = try walk.next() {
      try Task.checkCancellation()
      await core.store.giveWay()
      count &+= 1
      if count % 32 == 0 { letOthersRun() }
      result.add(key.array, try await core.coder.decode(record).instance)
    }
    result.sort()
  }

  /// Takes changes in, on no actor; whether the result changed.
  @concurrent private func apply(
    _ changes: [StoredChange], to result: inout LiveResult<Format>
  ) async throws -> Bool {
    // Each may move all that comes after it; so many are put at the end and sorted together.
    if changes.count > 64, changes.count > result.instances.count / 64 {
      return try await applyAtOnce(changes, to: &result)
    }
    var isChanged = false
    for change in changes {
      if try result.replace(change.key, with: try await instance(after: change)) { isChanged = true }
    }
    return isChanged
  }

  private func applyAtOnce(_ changes: [StoredChange], to result: inout LiveResult<Format>) async throws -> Bool {
    var instances: [[UInt8]: Instance?] = [:]
    for change in changes {
      await core.store.giveWay()
      instances[change.key] = .some(try await instance(after: change))
    }
    return try result.replace(instances)
  }

  private func instance(after change: StoredChange) async throws -> Instance? {
    if let record = change.new { try await core.coder.decode(record).instance } else { nil }
  }
}

/// The instances of a live result, in their order.
struct LiveResult<Format: DatastoreFormat>: Sendable {
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
  mutating func sort() {
    guard let areInIncreasingOrder else { return }
    var comparisons = 0
    let places = instances.indices.sorted { left, right in
      comparisons &+= 1
      if comparisons % 4_096 == 0 { letOthersRun() }
      if areInIncreasingOrder(instances[left], instances[right]) { return true }
      if areInIncreasingOrder(instances[right], instances[left]) { return false }
      return left < right
    }
    instances = places.map { instances[$0] }
    keys = places.map { keys[$0] }
  }

  /// Sets, replaces or (with nil) removes many instances, and sorts all anew; whether the result changed.
  mutating func replace(_ changes: [[UInt8]: Instance?]) throws -> Bool {
    var isChanged = false
    for (key, instance) in changes {
      if members.removeValue(forKey: key) != nil { isChanged = true }
      guard let instance, isIncluded(instance) else { continue }
      members[key] = instance
      isChanged = true
    }
    guard isChanged else { return false }
    let comparisons = try members.keys.map { ($0, try order.comparison(to: $0)) }
    keys = try comparisons.sorted { left, right in try left.0.withUnsafeBytes { try right.1.place($0) } < 0 }.map(\.0)
    instances = keys.compactMap { members[$0] }
    sort()
    return true
  }

  /// Sets, replaces or (with nil) removes an instance; whether the result changed.
  mutating func replace(_ key: [UInt8], with instance: Instance?) throws -> Bool {
    let old = members.removeValue(forKey: key)
    if let old, let place = try placeHeld(by: key, old) {
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

  /// Where an instance is. A comparison that is no order (of numbers that are none, say) may have put it anywhere.
  private func placeHeld(by key: [UInt8], _ instance: Instance) throws -> Int? {
    let place = try place(of: key, instance)
    return keys.indices.contains(place) && keys[place] == key ? place : keys.firstIndex(of: key)
  }

  /// Where an instance belongs.
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
