import StrataEngine
import StrataFoundation
import StrataModel

/// The answer of a query, kept current.
struct LiveQuery<Format: DatastoreFormat, AccessMode: _AccessMode>: AsyncInstances, AsyncIteratorProtocol {
  typealias Instance = Format.Instance

  let query: Query<Format, AccessMode>
  var policy = ObservationBufferingPolicy.bufferingNewest(1)
  /// An app's own condition and order, before those of the query.
  var isIncluded: (@Sendable (Instance) -> Bool)?
  var areInIncreasingOrder: (@Sendable (Instance, Instance) -> Bool)?
  private(set) var buffer: ChangeBuffer?
  private(set) var waiting = WaitingChanges()
  /// Nil if the whole answer must be read: at the beginning, and after an error.
  private(set) var answer: LiveAnswer<Format>?

  mutating func next() async throws -> [Instance]? {
    try Task.checkCancellation()
    guard let buffer, var answer else { return try await begin() }
    // A state of the past has one answer.
    if query.core.view != nil { return nil }
    self.answer = nil
    do {
      while let changes = try await waiting.next(of: buffer, policy) {
        if let instances = try await update(&answer, with: changes) {
          self.answer = answer
          return instances
        }
      }
    } catch is ChangesMissed {
      return try await begin()
    } catch let error as StoreError where error.kind == .closed {
      return nil
    } catch {
      // If a newer program has written, the error is that of every other call.
      _ = try query.core.fits(ReadState(query.core.currentView()))
      throw error
    }
    self.answer = answer
    try Task.checkCancellation()
    return nil
  }

  /// Listens first and reads then, so that no change falls between.
  private mutating func begin() async throws -> [Instance] {
    let core = query.core
    try query.check()
    let buffer =
      self.buffer
      ?? ChangeBuffer(hearsOtherProcesses: true, limit: core.store.connection.configurationInForce.waitingChangesLimit)
    if self.buffer == nil, core.view == nil {
      try core.store.connection.followOtherProcesses(forWriter: !core.store.isReadOnly)
      try core.store.add(buffer, for: core.key)
    }
    // The newest commit, also within a transaction, whose own writes may be taken back yet.
    let isAlone = Transactions.scope(for: core.store) == nil
    if isAlone { _ = try await core.ready(takesAsItIs: true) }
    try core.requireSoundDeclaration()
    let asked: (answer: LiveAnswer<Format>, instances: [Instance])
    do {
      asked = try await ask(core.currentView())
    } catch {
      // Another transaction may keep an index from being built that the query needs.
      guard isAlone, core.view == nil, try !core.fits(ReadState(core.currentView())) else { throw error }
      _ = try await core.ready()
      asked = try await ask(core.currentView())
    }
    (self.buffer, answer) = (buffer, asked.answer)
    return asked.instances
  }

  /// The whole answer at a commit. On no actor: to read, sort or copy many instances would hold it up.
  @concurrent private func ask(_ view: View?) async throws -> (LiveAnswer<Format>, [Instance]) {
    let order = LiveOrder(own: areInIncreasingOrder, order: query.order)
    var answer = LiveAnswer<Format>(order: order, most: query.most ?? .max)
    // All of it is held anyway.
    let isSorted = !query.sorts.isEmpty || areInIncreasingOrder != nil
    let isWhole = query.most == nil && query.offset == 0 && query.cursor == nil && isSorted
    var run = try query.run(in: ReadState(view), sortsItself: isWhole)
    guard let view else { return (answer, []) }
    answer.commit = view.number
    var members: [LiveAnswer<Format>.Member] = []
    while let found = try await run?.next() {
      try Task.checkCancellation()
      if let isIncluded, !isIncluded(found.instance) { continue }
      members.append(.init(place: try order.order.place(of: found.instance, key: found.key), instance: found.instance))
    }
    try answer.fill(members, areSorted: !isWhole)
    return (answer, answer.instances)
  }

  /// Takes changes in, on no actor. Returns nil if the answer stays the same.
  @concurrent private func update(
    _ answer: inout LiveAnswer<Format>, with changes: [StoredChange]
  ) async throws -> [Instance]? {
    try await takesIn(changes, &answer) ? answer.instances : nil
  }

  private func takesIn(_ changes: [StoredChange], _ answer: inout LiveAnswer<Format>) async throws -> Bool {
    // An app's own condition or order is asked again of what was only persisted again.
    let changes = changes.filter {
      ($0.commit > answer.commit || $0.isPutBack) && (isIncluded != nil || $0.old != $0.new)
    }
    guard let last = changes.last else { return false }
    let tests = query.predicates.map { PredicateTest($0) }
    // The answer may be newer than a head that was put back, and numbers no longer tell.
    if changes.contains(where: \.isPutBack) { return try await askAgain(&answer, at: nil, changed: []) }
    // Only the index knows the members of a range.
    if query.range != nil { return try await askAgain(&answer, at: last.commit, changed: Set(changes.map(\.key))) }
    if query.offset > 0 {
      // An instance that appears or disappears before the page moves the page. A record that cannot be tested may do so, too.
      for (key, record) in changes.flatMap({ [($0.key, $0.old), ($0.key, $0.new)] }) {
        let isMember = try? await member(key, record, tests) != nil
        guard isMember != false else { continue }
        return try await askAgain(&answer, at: last.commit, changed: Set(changes.map(\.key)))
      }
      return false
    }
    var newest: [[UInt8]: StoredChange] = [:]
    for change in changes { newest[change.key] = change }
    var arrived: [LiveAnswer<Format>.Member] = []
    for (key, change) in newest {
      await query.core.store.yieldTask()
      guard let instance = try await member(key, change.new, tests) else { continue }
      let place = try query.order.place(of: instance, key: key)
      if let cursor = query.cursor, try !query.order.isBefore(cursor.place, place) { continue }
      arrived.append(.init(place: place, instance: instance))
    }
    let outcome = try answer.replace(newest.keys, with: arrived)
    if outcome == .incomplete { _ = try await askAgain(&answer, at: last.commit, changed: []) }
    return outcome != .same
  }

  /// - Parameter commit: nil for the newest.
  private func askAgain(
    _ answer: inout LiveAnswer<Format>, at commit: UInt64?, changed: Set<[UInt8]>
  ) async throws -> Bool {
    let core = query.core
    let asked = commit.flatMap { try? core.view(at: Commit.Number($0)) }
    let before = answer.keys
    // A commit that is forgotten already leaves the newest one, of which other keys may have changed.
    (answer, _) = try await ask(asked ?? core.currentView())
    return asked == nil || before != answer.keys || before.contains { changed.contains($0) }
  }

  /// The instance of a record that meets the query's conditions.
  private func member(_ key: [UInt8], _ record: Bytes?, _ tests: [PredicateTest<Instance>]) async throws -> Instance? {
    guard let record else { return nil }
    do {
      let instance = try await query.core.instance(of: record, key: key, wrapsAll: query.unreadable != nil)
      for test in tests where try !test.holds(instance) { return nil }
      return isIncluded?(instance) == false ? nil : instance
    } catch let error as UnreadableInstanceError {
      guard let unreadable = query.unreadable else { throw error }
      unreadable(error)
      return nil
    }
  }
}

/// An instance of a live answer, and its place in the order of the query. A class, because a sort moves its members many times.
final class LiveMember<Instance: Sendable>: Sendable {
  let place: QueryPlace
  let instance: Instance

  init(place: QueryPlace, instance: Instance) {
    self.place = place
    self.instance = instance
  }
}

/// The order of a live answer: an app's own, then that of the query.
struct LiveOrder<Instance: Sendable>: Sendable {
  let own: (@Sendable (Instance, Instance) -> Bool)?
  let order: QueryOrder<Instance>

  func isBefore(_ left: LiveMember<Instance>, _ right: LiveMember<Instance>) throws -> Bool {
    if let own {
      if own(left.instance, right.instance) { return true }
      if own(right.instance, left.instance) { return false }
    }
    return try order.isBefore(left.place, right.place)
  }

  func sort(_ members: inout [LiveMember<Instance>]) throws {
    var comparisons = 0
    try members.sort { left, right in
      comparisons &+= 1
      if comparisons % 4_096 == 0 { yieldThread() }
      return try isBefore(left, right)
    }
  }
}

extension Array {
  /// Lets a thread that waits for this one's processor, possibly the main thread, run now and then.
  fileprivate func forEachGivingWay(_ body: (Element) -> Void) {
    for (place, element) in enumerated() {
      if place % 1_024 == 1_023 { yieldThread() }
      body(element)
    }
  }
}

/// The last answer of a live query: the requested page and nothing else.
struct LiveAnswer<Format: DatastoreFormat>: Sendable {
  typealias Member = LiveMember<Format.Instance>

  enum Outcome {
    case same, changed
    /// An instance left the full page, and one that is not held may belong to it now.
    case incomplete
  }

  /// The commit at which it was asked for, whose changes are in it. Later changes come once.
  var commit: UInt64 = 0
  private let order: LiveOrder<Format.Instance>
  private let most: Int
  private var members: [Member] = []
  /// By identifier, as they were put in their places.
  private var held: [[UInt8]: Member] = [:]

  init(order: LiveOrder<Format.Instance>, most: Int) {
    self.order = order
    self.most = most
  }

  var instances: [Format.Instance] {
    var instances: [Format.Instance] = []
    instances.reserveCapacity(members.count)
    members.forEachGivingWay { instances.append($0.instance) }
    return instances
  }

  /// The identifiers, in the order of the answer.
  var keys: [[UInt8]] { members.map(\.place.identifier) }

  mutating func fill(_ found: [Member], areSorted: Bool) throws {
    members = found
    if !areSorted { try order.sort(&members) }
    held.reserveCapacity(found.count)
    found.forEachGivingWay { held[$0.place.identifier] = $0 }
  }

  /// Takes out what changed, and puts in what of it belongs to the query now.
  mutating func replace(_ changed: some Sequence<[UInt8]>, with arrived: [Member]) throws -> Outcome {
    // Of a full page no more is known than what is not behind its end.
    let end = members.count >= most ? members.last : nil
    let gone = changed.compactMap { held.removeValue(forKey: $0) }
    let come = try arrived.filter { member in try end.map { try !order.isBefore($0, member) } ?? true }
    if gone.count + come.count > 64 {
      // Inserting many one by one would move the rest of the array each time.
      let left = Set(gone.map(\.place.identifier))
      members.removeAll { left.contains($0.place.identifier) }
      members += come
      try order.sort(&members)
    } else {
      for member in gone { try remove(member) }
      for member in come { members.insert(member, at: try place(of: member)) }
    }
    for member in come { held[member.place.identifier] = member }
    if end != nil, members.count < most { return .incomplete }
    while members.count > most { held[members.removeLast().place.identifier] = nil }
    return gone.isEmpty && come.isEmpty ? .same : .changed
  }

  private mutating func remove(_ member: Member) throws {
    let (likely, place) = (try self.place(of: member), member.place)
    // A comparison that is not an order (for example of floating-point numbers with NaN) may have put it anywhere.
    let isThere = members.indices.contains(likely) && members[likely].place == place
    if let found = isThere ? likely : members.firstIndex(where: { $0.place == place }) { members.remove(at: found) }
  }

  /// How many members lie before a place.
  private func place(of member: Member) throws -> Int {
    var (low, high) = (0, members.count)
    while low < high {
      let middle = (low + high) / 2
      if try order.isBefore(members[middle], member) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

/// Changes that a live query has not taken in yet, in one group for each answer that is to come of them.
struct WaitingChanges: Sendable {
  private var groups: [[StoredChange]] = []

  /// The changes that the next answer is made of; nil once the task is cancelled.
  mutating func next(
    of buffer: ChangeBuffer, _ policy: ObservationBufferingPolicy
  ) async throws -> [StoredChange]? {
    if groups.isEmpty {
      guard let first = try await buffer.next() else { return nil }
      add([first], policy)
    }
    add(buffer.popAll(), policy)
    return groups.removeFirst()
  }

  private mutating func add(_ changes: [StoredChange], _ policy: ObservationBufferingPolicy) {
    for change in changes {
      if let last = groups.last?.last, last.commit == change.commit {
        groups[groups.count - 1].append(change)
      } else {
        groups.append([change])
      }
    }
    switch policy {
    case .unbounded: break
    case .bufferingNewest(let most): unite(groups.prefix(max(0, 1 + groups.count - max(1, most))).indices)
    // Later changes are not lost: they become part of the last answer.
    case .bufferingOldest(let most): unite(groups.suffix(max(0, 1 + groups.count - max(1, most))).indices)
    }
  }

  private mutating func unite(_ range: Range<Int>) {
    if range.count > 1 { groups.replaceSubrange(range, with: [Array(groups[range].joined())]) }
  }
}
