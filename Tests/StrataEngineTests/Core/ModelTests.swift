import DiskSimulation
import Testing

@testable import StrataEngine

@Suite("Random changes against a dictionary")
struct ModelTests {
  struct Model: Equatable {
    var records: [[UInt8]: [UInt8]] = [:]
    var entries: Set<[UInt8]> = []
  }

  @Test("every commit of a random history reads as the model does", arguments: 0..<6)
  func history(seed: UInt64) throws {
    var random = RandomSource(seed: seed)
    let folder = TemporaryFolder()
    let isMapped = seed % 2 == 0
    var store = try FileStore.create(at: folder.store(), options: StoreOptions(readsMapped: isMapped))
    var model = Model()
    var past: [UInt64: Model] = [0: model]
    let keyRange = [12, 200, 3000][Int(seed % 3)]
    try store.change { transaction in
      try transaction.createTree(people, kind: .records)
      try transaction.createTree(byAge, kind: .entries)
    }
    past[1] = model
    for _ in 0..<60 {
      if random.next() % 12 == 0 {
        try store.close()
        store = try FileStore.open(at: folder.store(), options: StoreOptions(readsMapped: isMapped))
      }
      let transaction = try store.beginBlocking()
      var attempt = model
      for _ in 0..<Int(random.next() % 4 == 0 ? random.next() % 400 : random.next() % 8) {
        try change(transaction, &attempt, &random, keyRange)
        if random.next() % 40 == 0 {
          let savepoint = try transaction.savepoint()
          let kept = attempt
          for _ in 0..<5 { try change(transaction, &attempt, &random, keyRange) }
          if random.next() % 2 == 0 {
            try transaction.rollback(to: savepoint)
            attempt = kept
          }
        }
      }
      if random.next() % 10 == 0 {
        transaction.cancel()
        continue
      }
      guard let pending = try transaction.commit() else { continue }
      try pending.wait()
      model = attempt
      past[pending.number] = model
    }
    for (number, expected) in past {
      try compare(try store.view(at: number), expected)
    }
    #expect(past.count > 30)
  }

  private func change(
    _ transaction: FileTransaction, _ model: inout Model, _ random: inout RandomSource, _ keyRange: Int
  ) throws {
    let number = Int(random.next() % UInt64(keyRange))
    let name =
      number % 7 == 0 ? bytes("a long key, \(String(repeating: "x", count: number % 90)) \(number)") : key(number)
    switch random.next() % 6 {
    case 0, 1, 2:
      let value = [UInt8](repeating: UInt8(truncatingIfNeeded: random.next()), count: Int(random.next() % 60))
      let replaced = try transaction.put(name, value, in: people)
      #expect((replaced != nil) == (model.records[name] != nil))
      model.records[name] = value
    case 3:
      let deleted = try transaction.delete(name, in: people)
      #expect((deleted != nil) == (model.records[name] != nil))
      model.records[name] = nil
    case 4:
      #expect(try transaction.insert(name, in: byAge) == model.entries.insert(name).inserted)
    default:
      #expect(try transaction.remove(name, in: byAge) == (model.entries.remove(name) != nil))
    }
  }

  private func compare(_ view: View, _ model: Model) throws {
    let records = try view.tree(people)
    #expect(records?.entryCount ?? 0 == UInt64(model.records.count))
    if let records {
      let expected = model.records.sorted { $0.key.lexicographicallyPrecedes($1.key) }
      var cursor = records.cursor()
      try cursor.seekToStart()
      for (rank, (key, value)) in expected.enumerated() {
        let entry = try #require(cursor.current)
        #expect(entry.key.array == key)
        #expect(try records.value(of: try #require(entry.payload.record)).array == value)
        if rank % 17 == 0 {
          #expect(try records.rank(of: .bytes(key)) == UInt64(rank))
          var other = records.cursor()
          try other.seek(rank: UInt64(rank))
          #expect(other.current == entry)
          try other.previous()
          #expect(other.current?.key.array == (rank > 0 ? expected[rank - 1].key : nil))
        }
        try cursor.next()
      }
      #expect(cursor.current == nil)
      try cursor.previous()
      #expect(cursor.current?.key.array == expected.last?.key)
    }
    if let entries = try view.tree(byAge) {
      #expect(entries.entryCount == UInt64(model.entries.count))
      for name in model.entries { #expect(try entries.find(.bytes(name)) != nil) }
    }
  }
}
