import DiskSimulation
import Testing

@testable import StrataEngine

@Suite("History")
struct HistoryTests {
  /// A store with `count` commits that each change one record, a microsecond apart.
  private func longStore(_ count: Int) throws -> FileStore {
    let store = FileStore.memory()
    try store.change(CommitInfo(date: 0)) { try $0.createTree(people, kind: .records) }
    for number in 2...count {
      let transaction = try store.beginBlocking()
      try transaction.put(key(number % 100), bytes("\(number)"), in: people)
      _ = try transaction.commit(CommitInfo(date: Int64(number) * 1000, durability: .collated))
    }
    return store
  }

  @Test("any of 100,000 commits, by number and by date, is at most 2 log₂ n frame reads away, by date twice that")
  func jumps() throws {
    let count = 100_000
    let store = try longStore(count)
    #expect(store.head.commit.number == UInt64(count))
    let limit = UInt64(2 * 17)
    // The store's creation is later than the dates above; the date of the first commit is the oldest one.
    var random = RandomSource(seed: 5)
    var (farthest, farthestByDate) = (UInt64(0), UInt64(0))
    let numbers =
      [1, 2, 3, 65_535, 65_536, 99_999].map(UInt64.init) + (0..<500).map { _ in random.next() % UInt64(count) + 1 }
    for number in numbers {
      var before = store.counts.frameReads
      let view = try store.view(at: number)
      #expect(view.commit.number == number)
      farthest = max(farthest, store.counts.frameReads - before)
      if number > 1 { #expect(try view.text(key(Int(number) % 100)) == "\(number)") }

      before = store.counts.frameReads
      #expect(try store.ancestor(of: UInt64(count), number: number).number == number)
      farthest = max(farthest, store.counts.frameReads - before)

      if number > 1 {
        before = store.counts.frameReads
        #expect(try store.ancestor(of: UInt64(count), notLaterThan: Int64(number) * 1000 + 999).number == number)
        farthestByDate = max(farthestByDate, store.counts.frameReads - before)
      }
    }
    #expect(farthest <= limit)
    // The commit behind the one that is found tells whether clocks and dates differ there: one more search, and the reads of clocks.
    #expect(farthestByDate <= 2 * limit + 8)
  }

  @Test("in a history of forks an ancestor is at most 2 log₂ n frame reads away, and any commit too")
  func jumpsAmongForks() throws {
    let store = FileStore.memory()
    try store.change { try $0.createTree(people, kind: .records) }
    var random = RandomSource(seed: 6)
    var parents: [UInt64: UInt64] = [:]
    let count: UInt64 = 20_000
    while store.newestNumber < count {
      let newest = store.newestNumber
      // Long branches that leave each other at any place.
      let base = random.next() % 40 == 0 ? random.next() % newest + 1 : newest
      let transaction = try store.beginBlocking(on: base)
      try transaction.put(key(Int(newest % 50)), bytes("\(newest)"), in: people)
      let pending = try #require(try transaction.commit(CommitInfo(movesHead: true, durability: .collated)))
      parents[pending.number] = base
    }
    var farthest: UInt64 = 0
    for _ in 0..<300 {
      let start = random.next() % count + 1
      var line = [start]
      while let parent = parents[line[line.count - 1]] { line.append(parent) }
      let wanted = line[Int(random.next() % UInt64(line.count))]
      let before = store.counts.frameReads
      _ = try store.view(at: start)
      let found = store.counts.frameReads
      #expect(try store.ancestor(of: start, number: wanted).number == wanted)
      // It looks up where to begin once more.
      farthest = max(farthest, found - before, store.counts.frameReads - found - (found - before))
    }
    #expect(farthest <= 2 * 15)
  }

  @Test("a record's versions are complete across insert, update, delete and re-insertion, also while deleted")
  func versions() throws {
    let store = FileStore.memory()
    try store.change { try $0.createTree(people, kind: .records) }
    try store.change { try $0.put(key(1), bytes("a"), in: people) }
    try store.change { try $0.put(key(2), bytes("other"), in: people) }
    try store.change { try $0.put(key(1), bytes("b"), in: people) }
    try store.change { try $0.delete(key(1), in: people) }
    #expect(try history(store.head) == ["#5 -", "#4 b", "#2 a"])
    try store.change { try $0.put(key(1), bytes("c"), in: people) }
    #expect(try history(store.head) == ["#6 c", "#5 -", "#4 b", "#2 a"])
    #expect(try history(store.view(at: 4)) == ["#4 b", "#2 a"])
    #expect(try store.head.tree(people)?.tombstones?.entryCount == 0)
    #expect(store.head.commit.counts.map { [$0.inserted, $0.updated, $0.deleted] } == [[1, 0, 0]])
  }

  @Test("a restore by roots costs a few hundred bytes, counts what it changed, and history goes on across it")
  func restore() throws {
    let store = FileStore.memory()
    try store.change { transaction in
      try transaction.createTree(people, kind: .records)
      for number in 0..<2000 { try transaction.put(key(number), bytes("old \(number)"), in: people) }
      try transaction.put(key(1), bytes("a"), in: people)
    }
    try store.change { try $0.put(key(1), bytes("b"), in: people) }
    try store.change { transaction in
      try transaction.delete(key(1), in: people)
      try transaction.put(key(5000), bytes("new"), in: people)
    }
    let restored = try store.change(CommitInfo(action: "restore")) { try $0.restore(nil, from: try store.view(at: 2)) }
    let commit = try store.commit(restored)
    #expect(commit.frameBytes < 600)
    #expect(commit.flags.contains(.restore))
    #expect(commit.restores == 2)
    #expect(commit.counts.map { [$0.inserted, $0.updated, $0.deleted] } == [[1, 0, 1]])
    #expect(try store.head.text(key(1)) == "b")
    #expect(try store.head.text(key(5000)) == nil)
    #expect(try history(store.head) == ["#4 b restored", "#3 -", "#2 b", "#1 a"])
    try store.change { try $0.put(key(1), bytes("c"), in: people) }
    // To before the record's first change of all, and back again.
    try store.change { try $0.restore([people], from: try store.view(at: 1)) }
    #expect(try history(store.head) == ["#6 a restored", "#5 c", "#4 b restored", "#3 -", "#2 b", "#1 a"])
    #expect(try history(store.head, key: key(5000)) == ["#4 not there restored", "#3 new"])
    #expect(try history(store.view(at: 3)) == ["#3 -", "#2 b", "#1 a"])
    try store.change { try $0.put(key(5000), bytes("again"), in: people) }
    #expect(try history(store.head, key: key(5000)) == ["#7 again", "#4 not there restored", "#3 new"])
  }

  private func history(_ view: View, key probe: [UInt8] = key(1)) throws -> [String] {
    var lines: [String] = []
    var cursor = try view.versions(of: .bytes(probe), in: people)
    while let version = try cursor.next() {
      var text = "not there"
      if let change = version.change {
        text = change.kind == .delete ? "-" : try view.value(of: change.reference).text
      }
      lines.append("#\(version.commit) \(text)\(version.isRestored ? " restored" : "")")
    }
    return lines
  }

  @Test(
    "a difference of two views tells every change and reads only what differs", arguments: [TreeOrder.bytes, .caller])
  func differences(order: TreeOrder) throws {
    let store = FileStore.memory()
    func place(_ wanted: Int) -> KeyProbe? {
      order == .bytes
        ? nil : .compare { Int($0.loadUnaligned(as: UInt32.self).byteSwapped) - wanted }
    }
    try store.change { transaction in
      try transaction.createTree(people, kind: .records, order: order)
      for number in 0..<20_000 {
        try transaction.put(key(number * 2), bytes("x"), in: people, probe: place(number * 2))
      }
    }
    var random = RandomSource(seed: 9)
    var expected: [[UInt8]: String] = [:]
    try store.change { transaction in
      for _ in 0..<200 {
        let number = Int(random.next() % 40_000)
        let isThere = expected[key(number)].map { $0 != "deleted" } ?? (number % 2 == 0)
        if isThere, random.next() % 3 == 0, expected[key(number)] == nil {
          try transaction.delete(key(number), in: people, probe: place(number))
          expected[key(number)] = "deleted"
        } else if expected[key(number)] == nil {
          try transaction.put(key(number), bytes("y"), in: people, probe: place(number))
          expected[key(number)] = number % 2 == 0 ? "updated" : "inserted"
        }
      }
    }
    let before = store.counts.nodeReads
    var cursor = try difference(store.view(at: 1), store.head, tree: people)
    var found: [[UInt8]: String] = [:]
    var last: [UInt8] = []
    while let difference = try cursor.next() {
      found[difference.key.array] = difference.old == nil ? "inserted" : difference.new == nil ? "deleted" : "updated"
      if order == .bytes { #expect(last.lexicographicallyPrecedes(difference.key.array)) }
      last = difference.key.array
    }
    #expect(found == expected)
    #expect(store.counts.nodeReads - before <= UInt64(20 * expected.count + 200))
    let other = store.counts.nodeReads
    var same = try difference(store.head, store.head, tree: people)
    #expect(try same.next() == nil)
    #expect(store.counts.nodeReads - other <= 10)
    // Beside an empty tree, all of the other one comes in its own order, as far as it is asked for.
    var keys: [Bytes] = []
    var entries = try #require(try store.head.tree(people)).cursor()
    try entries.seekToStart()
    while let entry = entries.current {
      keys.append(entry.key)
      try entries.next()
    }
    for (old, new) in [(try store.view(at: 0), store.head), (store.head, try store.view(at: 0))] {
      let before = store.counts.nodeReads
      var all = try difference(old, new, tree: people)
      var found = [try #require(try all.next()).key]
      #expect(store.counts.nodeReads - before <= 10)
      while let difference = try all.next() { found.append(difference.key) }
      #expect(found == keys)
    }
  }

  @Test("a difference pairs the records of a tree made anew in another order", arguments: [TreeOrder.bytes, .caller])
  func anotherOrder(order: TreeOrder) throws {
    let store = FileStore.memory()
    for order in [order == .bytes ? TreeOrder.caller : .bytes, order] {
      try store.change { transaction in
        if try transaction.tree(people) != nil { try transaction.dropTree(people) }
        try transaction.createTree(people, kind: .records, order: order)
        for number in 1...3 {
          let descending = KeyProbe.compare { number - Int($0.loadUnaligned(as: UInt32.self).byteSwapped) }
          try transaction.put(key(number), bytes("x"), in: people, probe: order == .bytes ? nil : descending)
        }
      }
    }
    var cursor = try difference(store.view(at: 1), store.head, tree: people)
    var found: [Difference] = []
    while let next = try cursor.next() { found.append(next) }
    #expect(Set(found.map(\.key)) == Set((1...3).map { Bytes(key($0)) }))
    #expect(found.count == 3 && found.allSatisfy { $0.old != nil && $0.new != nil })
    // A restore across the two counts in the same way.
    try store.change { try $0.restore(nil, from: store.view(at: 1)) }
    let count = try #require(store.head.commit.counts.first)
    #expect([count.inserted, count.updated, count.deleted] == [0, 3, 0])
  }

  @Test(
    "between any two of many commits the difference is exact, and reads at most 20 nodes for each of its changes and 200"
  )
  func anyDifference() throws {
    let store = FileStore.memory()
    var random = RandomSource(seed: 15)
    var states: [[Int: Int]] = [[:]]
    var stamp = 0
    for round in 0..<40 {
      var base = states.count - 1
      if round % 9 == 8 { base = Int(random.next() % UInt64(states.count)) }
      var state = states[base]
      try store.change(CommitInfo(movesHead: true), on: base == 0 ? nil : UInt64(base)) { transaction in
        if try transaction.tree(people) == nil { try transaction.createTree(people, kind: .records) }
        if round % 13 == 12 {
          base = Int(random.next() % UInt64(states.count - 1)) + 1
          state = states[base]
          return try transaction.restore(nil, from: try store.view(at: UInt64(base)))
        }
        // One, a few, or many; next to each other, or anywhere.
        let count = round == 0 ? 30_000 : [1, 7, 60, 900, 4_000][Int(random.next() % 5)]
        let start = Int(random.next() % 40_000)
        let isDense = round == 0 || random.next() % 2 == 0
        for place in 0..<count {
          let number = isDense ? start + place : Int(random.next() % 50_000)
          stamp += 1
          if random.next() % 4 == 0 {
            try transaction.delete(key(number), in: people)
            state[number] = nil
          } else {
            try transaction.put(key(number), bytes("\(stamp)"), in: people)
            state[number] = stamp
          }
        }
        try transaction.put(key(0), bytes("\(stamp)"), in: people)
        state[0] = stamp
      }
      states.append(state)
    }
    for _ in 0..<80 {
      let old = Int(random.next() % 40) + 1
      let new = random.next() % 2 == 0 ? min(40, old + 1) : Int(random.next() % 40) + 1
      let (oldView, newView) = (try store.view(at: UInt64(old)), try store.view(at: UInt64(new)))
      let before = store.counts.nodeReads
      var cursor = try difference(oldView, newView, tree: people)
      var count = 0
      while try cursor.next() != nil { count += 1 }
      let reads = store.counts.nodeReads - before
      #expect(reads <= UInt64(20 * count + 200), "#\(old) to #\(new): \(reads) reads for \(count) differences")
      let keys = Set(states[old].keys).union(states[new].keys)
      // A restore brings back the same versions, so what differs are the values.
      #expect(count == keys.count { states[old][$0] != states[new][$0] }, "#\(old) to #\(new)")
    }
  }

  @Test("bytes that are live and dead are counted exactly")
  func liveBytes() throws {
    let store = FileStore.memory()
    var random = RandomSource(seed: 3)
    try store.change { transaction in
      try transaction.createTree(people, kind: .records, attributes: bytes("some attributes"))
      try transaction.createTree(byAge, kind: .entries)
    }
    for round in 0..<60 {
      try store.change { transaction in
        for _ in 0..<Int(random.next() % 60) + 1 {
          let number = Int(random.next() % 900)
          switch random.next() % 4 {
          case 0, 1: try transaction.put(key(number), bytes("value \(random.next() % 100)"), in: people)
          case 2: try transaction.delete(key(number), in: people)
          default: try transaction.insert(key(number), in: byAge)
          }
        }
        if round == 30 { try transaction.setAttributes(bytes("others"), of: people) }
        try transaction.put(key(round), bytes("at least one change"), in: people)
      }
      if round == 40 { try store.change { try $0.restore([people], from: try store.view(at: 20)) } }
      if round == 50 { try store.change { try $0.dropTree(byAge) } }
      if round == 50 { try store.change { try $0.createTree(byAge, kind: .entries) } }
    }
    for number in 1...store.head.commit.number {
      let view = try store.view(at: number)
      #expect(view.commit.liveBytes == (try LiveBytes(view).count()))
    }
  }
}

/// Counts the bytes of all nodes and entries that a view consists of, by walking it.
struct LiveBytes {
  let view: View
  init(_ view: View) { self.view = view }

  func count() throws -> UInt64 {
    var sum = try nodes(view.commit.links.catalog)
    for name in try view.trees() {
      let entry = try #require(try view.catalogEntry(name))
      sum += try nodes(entry.root) + nodes(entry.tombstones) + UInt64(entry.attributes.length)
      for root in [entry.root, entry.tombstones] where entry.kind == .records {
        var cursor = Cursor(file: view.file, root: TreeRoot(pointer: root))
        try cursor.seekToStart()
        while let found = cursor.current {
          sum += UInt64(found.payload.record?.length ?? 0)
          try cursor.next()
        }
      }
    }
    return sum
  }

  private func nodes(_ pointer: NodePointer) throws -> UInt64 {
    if pointer.isNone { return 0 }
    let node = try view.file.node(at: pointer)
    // A node that is stored as patches keeps the node alive of which it is.
    let stored = try view.file.bytes(at: pointer.offset, count: Int(pointer.length), what: "")
    var sum = UInt64(pointer.length)
    if stored[0] == 5 { sum += UInt64(stored[10]) + UInt64(stored[11]) << 8 }
    if node.view.form == .inner {
      for index in 0..<node.view.count { sum += try nodes(node.view.pointer(index)) }
    }
    return sum
  }
}
