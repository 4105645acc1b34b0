@testable import StrataPostgres
import StrataEngine
import Testing

@Suite("Trees on a server", .enabled(if: TestServer.isThere, TestServer.missing))
struct TreeTests {
  private static let records = TreeName([1])
  private static let entries = TreeName([2])

  private typealias Model = [[UInt8]: [UInt8]]

  @Test(
    "random changes leave at every commit what a dictionary has, whichever way it is read",
    arguments: [1, 2, 3] as [UInt64])
  func model(_ seed: UInt64) throws {
    let store = try TestServer.store()
    var dice = Dice(seed)
    var model: Model = [:]
    var index: Set<[UInt8]> = []
    var states: [(model: Model, index: Set<[UInt8]>, number: UInt64)] = []
    try store.change { transaction throws(StorageError) in
      try transaction.createTree(Self.records, kind: .records, attributes: [7])
      try transaction.createTree(Self.entries, kind: .entries)
    }
    for _ in 0..<40 {
      let transaction = try store.transaction()
      for _ in 0...dice.roll(12) {
        let key = [UInt8].key(dice.roll(60))
        if dice.roll(3) == 0 {
          try transaction.delete(key, in: Self.records)
          model[key] = nil
        } else {
          // Some lie in a table of their own.
          let value = [UInt8](repeating: UInt8(dice.roll(256)), count: dice.roll(5) == 0 ? 3_000 : dice.roll(40))
          try transaction.set(key, value, in: Self.records)
          model[key] = value
        }
        let entry = [UInt8].key(dice.roll(300))
        if dice.roll(2) == 0 {
          try transaction.insert(entry, in: Self.entries)
          index.insert(entry)
        } else {
          try transaction.remove(entry, in: Self.entries)
          index.remove(entry)
        }
      }
      let commit = try #require(try transaction.commit(CommitInfo(action: "step")))
      states.append((model, index, commit.number))
    }
    for (place, state) in states.enumerated() {
      let view = try store.state(at: state.number)
      let tree = try #require(try view.served(Self.records))
      let keys = state.model.keys.sorted { $0.lexicographicallyPrecedes($1) }
      let entries = try tree.entries(limit: 1_000)
      #expect(entries.map(\.key) == keys)
      #expect(entries.map(\.payload) == keys.map { .bytes(state.model[$0] ?? []) })
      #expect(try tree.count == UInt64(keys.count))
      #expect(try tree.entries(limit: 1_000, isReversed: true).map(\.key) == keys.reversed())
      // By pages, both ways, through a range.
      var walked: [ServerEntry] = []
      var rest = KeyRange()
      while let page = try tree.entries(rest, limit: 3) as [ServerEntry]?, let last = page.last {
        walked += page
        rest.lower = last.key + [0]
      }
      #expect(walked == entries)
      var back: [ServerEntry] = []
      rest = KeyRange()
      while let page = try tree.entries(rest, limit: 3, isReversed: true) as [ServerEntry]?, let last = page.last {
        back += page
        rest.upper = last.key
      }
      #expect(back == entries.reversed())
      let probe = [UInt8].key(dice.roll(60))
      let before = keys.prefix { $0.lexicographicallyPrecedes(probe) }
      #expect(try tree.rank(of: probe) == UInt64(before.count))
      #expect(try tree.look(for: probe)?.payload == state.model[probe].map { .bytes($0) })
      let rank = dice.roll(keys.count + 2)
      let bound = try #require(tree.stored).key(atRank: UInt64(rank))
      #expect(bound == keys.dropFirst(rank).first)
      if let bound {
        #expect(try tree.entries(KeyRange(lower: bound), limit: 4).map(\.key) == Array(keys.dropFirst(rank).prefix(4)))
      }
      let range = KeyRange(lower: .key(20), upper: .key(40))
      #expect(try tree.entries(range, limit: 5).map(\.key) == Array(keys.filter(range.contains).prefix(5)))
      #expect(try tree.count(range) == UInt64(keys.filter(range.contains).count))
      let indexKeys = state.index.sorted { $0.lexicographicallyPrecedes($1) }
      #expect(try #require(try view.served(Self.entries)).entries(limit: 1_000).map(\.key) == indexKeys)
      // The difference to some other commit, either way.
      let other = states[dice.roll(states.count)]
      let (from, to) = (try store.state(at: other.number), view)
      var seen: [[UInt8]: (old: [UInt8]?, new: [UInt8]?)] = [:]
      for next in try differences(from, to, page: 7) {
        func value(_ entry: ServerEntry?) -> [UInt8]? {
          if case .bytes(let bytes)? = entry?.payload { bytes } else { nil }
        }
        seen[next.key] = (value(next.old), value(next.new))
      }
      for key in Set(other.model.keys).union(state.model.keys) where other.model[key] != state.model[key] {
        #expect(seen[key]?.old == other.model[key], "\(place)")
        #expect(seen[key]?.new == state.model[key], "\(place)")
      }
      for (key, values) in seen {
        #expect(values.old == other.model[key] && values.new == state.model[key])
      }
    }
    // The versions of each key are what the states tell.
    for number in 0..<60 {
      let key = [UInt8].key(number)
      var expected: [[UInt8]?] = []
      var last: [UInt8]??
      for state in states {
        let now = state.model[key]
        if last == nil ? now != nil : last != .some(now) { expected.append(now) }
        last = .some(now)
      }
      // A put of the same value is a version too, so neighbours that are equal count once.
      var versions: [[UInt8]?] = []
      for version in try store.newest.versions(of: key, in: Self.records, before: nil, limit: 100).reversed() {
        var value: [UInt8]?
        if let change = version.change, change.kind == .put, case .served(let record) = change.reference {
          value = try record.value.array
        }
        if versions.last != .some(value) { versions.append(value) }
      }
      #expect(versions == expected)
    }
  }

  /// All that differs between two views of the records.
  private func differences(
    _ old: ServerView, _ new: ServerView, page limit: Int = 1_000
  ) throws -> [ServerDifference] {
    let tree = try #require(try new.stored(Self.records))
    var (differences, next) = ([] as [ServerDifference], [] as [UInt8]?)
    while let key = next {
      let page = try tree.differences(from: old.asOf, key: key, limit: limit)
      (differences, next) = (differences + page.differences, page.next)
    }
    return differences
  }

  @Test("a load by identifier is one round trip, a page of 100 is one, a commit is one")
  func roundTrips() throws {
    let store = try TestServer.store()
    try store.change { transaction throws(StorageError) in
      try transaction.createTree(Self.records, kind: .records)
      for number in 0..<500 { try transaction.set(.key(number), [1, 2, 3], in: Self.records) }
    }
    let view = store.newest
    var count = store.roundTrips
    let tree = try #require(try view.served(Self.records))
    #expect(store.roundTrips == count)
    _ = try tree.look(for: .key(7))
    #expect(store.roundTrips == count + 1)
    #expect(try tree.entries(KeyRange(lower: .key(100)), limit: 100).count == 100)
    #expect(store.roundTrips == count + 2)
    #expect(try tree.look(for: (0..<100).map { .key($0) }).allSatisfy { $0 != nil })
    #expect(store.roundTrips == count + 3)
    let transaction = try store.transaction()
    count = store.roundTrips
    for number in 0..<50 { try transaction.set(.key(number), [4], in: Self.records) }
    #expect(store.roundTrips == count)
    _ = try transaction.commit()
    #expect(store.roundTrips == count + 1)
    // And what follows needs none to see it.
    #expect(try store.newest.served(Self.records)?.stored?.asOf == store.newest.asOf)
    #expect(store.roundTrips == count + 1)
  }

  @Test("trees come, change their attributes and go, and every commit has its own")
  func catalog() throws {
    let store = try TestServer.store()
    let (one, two) = (TreeName([0x44, 1]), TreeName([0x44, 2]))
    try store.change { transaction throws(StorageError) in
      try transaction.createTree(one, kind: .records, attributes: [1])
    }
    let first = store.newest
    try store.change { transaction throws(StorageError) in
      try transaction.setAttributes([2], of: one)
      try transaction.createTree(two, kind: .entries)
      try transaction.insert([9], .bytes(Bytes([8])), in: two)
    }
    let second = store.newest
    try store.change { transaction throws(StorageError) in
      try transaction.dropTree(two)
      try transaction.dropTree(one)
      try transaction.createTree(one, kind: .entries)
    }
    let third = store.newest
    #expect(try first.trees(prefix: [0x44]) == [one])
    #expect(try first.served(one)?.attributes == [1])
    #expect(try second.trees(prefix: [0x44]) == [one, two])
    #expect(try second.served(one)?.attributes == [2])
    #expect(try second.served(two)?.look(for: [9])?.payload == .bytes([8]))
    #expect(try third.trees() == [one])
    #expect(try third.served(one)?.kind == .entries)
    #expect(try second.served(two)?.count == 1)
    // Another program sees the same.
    let other = try ServerStore.open(store.url)
    #expect(try other.state(at: second.commit.number).served(one)?.attributes == [2])
    #expect(other.newest.commit == store.newest.commit)
  }

  @Test("a read that goes by the trees as they were heard of sees what others have made of them since")
  func othersTrees() throws {
    let store = try TestServer.store()
    try store.change { transaction throws(StorageError) in
      try transaction.createTree(Self.records, kind: .records, attributes: [1])
      try transaction.set([1], [1], in: Self.records)
    }
    func seen() throws -> (attributes: [UInt8]?, entry: Bool) {
      let view = try store.refresh(prefetching: .keys([PrefetchKey(tree: Self.records, key: [1])]))
      let tree = try view.tree(Self.records)
      return (tree?.attributes.array, try tree?.find([[1]])[0] != nil)
    }
    let other = try ServerStore.open(store.url)
    try other.change { transaction throws(StorageError) in try transaction.setAttributes([2], of: Self.records) }
    #expect(try seen() == ([2], true))
    try other.change { transaction throws(StorageError) in
      try transaction.dropTree(Self.records)
      try transaction.createTree(Self.records, kind: .records, attributes: [3])
    }
    #expect(try seen() == ([3], false))
    try other.change { transaction throws(StorageError) in try transaction.dropTree(Self.records) }
    #expect(try seen().attributes == nil)
    // Nothing new of them costs nothing.
    let count = store.roundTrips
    _ = try seen()
    #expect(store.roundTrips == count + 1)
  }

  @Test("what came with its tree by COPY is counted and told apart in every view, also of a tree that was brought back")
  func copied() throws {
    let store = try TestServer.store()
    try store.change { transaction throws(StorageError) in
      try transaction.createTree(Self.records, kind: .records)
      for number in 0..<2_500 { try transaction.set(.key(number), [1], in: Self.records) }
    }
    let first = store.newest
    try store.change { transaction throws(StorageError) in
      try transaction.delete(.key(7), in: Self.records)
      try transaction.set(.key(9_000), [2], in: Self.records)
      try transaction.set(.key(9_001), [2], in: Self.records)
    }
    let second = store.newest
    try store.change { transaction throws(StorageError) in
      try transaction.set(.key(7), [3], in: Self.records)
      try transaction.delete(.key(8), in: Self.records)
    }
    let third = store.newest
    for (view, count) in [(first, 2_500), (second, 2_501), (third, 2_501)] {
      #expect(try view.served(Self.records)?.count == UInt64(count))
      #expect(try view.served(Self.records)?.count(KeyRange(upper: .key(10))) == (view.asOf == first.asOf ? 10 : 9))
    }
    #expect(try differences(first, second).map(\.key) == [7, 9_000, 9_001].map { .key($0) })
    #expect(try differences(second, third).map(\.key) == [7, 8].map { .key($0) })
    try store.change { transaction throws(StorageError) in try transaction.dropTree(Self.records) }
    let gone = store.newest
    let counts = try store.commit(gone.commit.number).counts
    #expect(counts.map(\.tree) == [Self.records] && counts.map(\.deleted) == [2_501])
    let transaction = try store.beginBlocking(on: nil)
    try transaction.restore([Self.records], from: store.view(at: first.commit.number))
    _ = try transaction.commit(CommitInfo())
    let back = store.newest
    // Dropped and brought back by one transaction.
    let both = try store.beginBlocking(on: nil)
    try both.dropTree(Self.records)
    try both.restore([Self.records], from: store.view(at: third.commit.number))
    _ = try both.commit(CommitInfo())
    #expect(try store.newest.served(Self.records)?.count == 2_501)
    #expect(try gone.served(Self.records) == nil)
    #expect(try back.served(Self.records)?.count == 2_500)
    #expect(try third.served(Self.records)?.count == 2_501)
    #expect(try third.served(Self.records)?.count(KeyRange(upper: .key(10))) == 9)
    #expect(try differences(third, back).map(\.key) == [7, 8, 9_000, 9_001].map { .key($0) })
  }

  @Test("an entry leads to its record after a restore, also to one that a later commit had given the same value")
  func entriesOfRestored() throws {
    let store = try TestServer.store(record: { _, key in (Self.records, Array(key.dropFirst())) })
    try store.change { transaction throws(StorageError) in
      try transaction.createTree(Self.records, kind: .records)
      try transaction.createTree(Self.entries, kind: .entries)
    }
    let states: [[UInt8]] = [[1, 1], [2, 2], [1, 3]]
    for state in states {
      try store.change { transaction throws(StorageError) in
        for (key, value) in zip([1, 2] as [UInt8], state) {
          try transaction.put([key], [value], in: Self.records)
          guard let reference = try transaction.currentReference(of: [key], in: Self.records) else { continue }
          try transaction.insert([9, key], .record(reference), in: Self.entries)
        }
      }
    }
    let transaction = try store.beginBlocking(on: nil)
    try transaction.restore(nil, from: store.view(at: 2))
    _ = try transaction.commit(CommitInfo())
    let (records, index) = (try store.newest.served(Self.records), try store.newest.served(Self.entries))
    for key in [1, 2] as [UInt8] {
      let record = try #require(try records?.look(for: [key]))
      #expect(record.payload == .bytes([1]))
      #expect(try index?.look(for: [9, key])?.payload == .record(writtenBy: record.written))
    }
  }

  @Test("what a server cannot take is refused before anything is sent")
  func limits() throws {
    let store = try TestServer.store()
    try store.change { transaction throws(StorageError) in try transaction.createTree(Self.records, kind: .records) }
    let transaction = try store.transaction()
    let count = store.roundTrips
    #expect(throws: StorageError.keyTooLong(count: 1_001, limit: 1_000)) {
      try transaction.set([UInt8](repeating: 1, count: 1_001), [], in: Self.records)
    }
    let error = #expect(throws: StorageError.self) {
      try transaction.createTree(TreeName(Array("Icity\0name".utf8)), kind: .entries, order: .caller)
    }
    #expect("\(try #require(error))".contains("OrderedKey"))
    #expect(store.roundTrips == count)
    try transaction.set([UInt8](repeating: 0xFF, count: 1_000), [1], in: Self.records)
    _ = try transaction.commit()
    #expect(try store.newest.served(Self.records)?.entries(limit: 10).count == 1)
    #expect(try store.newest.served(Self.records)?.count == 1)
  }
}
