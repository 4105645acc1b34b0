import StrataPostgres
import StrataEngine
import Testing

@Suite("Copies between a file and a server", .enabled(if: TestServer.isThere, TestServer.missing))
struct CopyTests {
  private static let records = TreeName([1])
  private static let entries = TreeName([2])

  /// The key of an entry ends with the record's.
  @Sendable private static func record(_ tree: TreeName, _ key: [UInt8]) -> (tree: TreeName, key: [UInt8])? {
    (records, Array(key.dropFirst(1)))
  }

  /// A history with everything in it: branches, a merge, restores, deletes and what comes again, names, large values, trees that go.
  private func history(_ seed: UInt64) throws -> FileStore {
    let store = FileStore.memory(options: StoreOptions(program: "tests", author: "ada"))
    var dice = Dice(seed)
    try store.make(CommitInfo(action: "trees", names: ["start": 0])) { transaction in
      try transaction.createTree(Self.records, kind: .records, attributes: [1, 2])
      try transaction.createTree(Self.entries, kind: .entries)
      try transaction.createTree(TreeName([3]), kind: .entries)
    }
    var numbers: [UInt64] = [1]
    for step in 0..<40 {
      let isFork = dice.roll(5) == 0
      let base = isFork ? numbers[dice.roll(numbers.count)] : nil
      let transaction = try store.beginBlocking(on: base)
      var info = CommitInfo(date: Int64(step) * 1_000_000_007 + 2_000_000_000_000_000_000, action: "step \(step) é")
      switch dice.roll(9) {
      case 0 where numbers.count > 3:
        try transaction.restore([Self.records, Self.entries], from: store.view(at: numbers[dice.roll(numbers.count)]))
        info.flags = .restore
      case 1: try transaction.setAttributes([UInt8(dice.roll(256))], of: Self.records)
      case 2:
        if try transaction.tree(TreeName([3])) != nil {
          try transaction.dropTree(TreeName([3]))
        } else {
          try transaction.createTree(TreeName([3]), kind: dice.roll(2) == 0 ? .entries : .records)
        }
      default: break
      }
      for _ in 0..<dice.roll(10) {
        let key = [UInt8].key(dice.roll(20))
        if dice.roll(3) == 0 {
          try transaction.delete(key, in: Self.records)
          try transaction.remove([9] + key, in: Self.entries)
        } else {
          let value = [UInt8](repeating: UInt8(dice.roll(256)), count: dice.roll(6) == 0 ? 4_000 : dice.roll(20))
          try transaction.put(key, value, in: Self.records)
          if let reference = try transaction.currentReference(of: key, in: Self.records) {
            try transaction.insert([9] + key, .record(reference), in: Self.entries)
          }
        }
        try transaction.insert(
          [7, UInt8(dice.roll(9))], dice.roll(2) == 0 ? .none : .bytes(Bytes([UInt8(step)])), in: Self.entries)
      }
      if dice.roll(6) == 0 { info.names = ["name \(dice.roll(3))": dice.roll(4) == 0 ? nil : 0] }
      if isFork, dice.roll(2) == 0 { info.movesHead = true }
      if !isFork, dice.roll(5) == 0, let other = numbers.last, let base = transaction.base.number as UInt64?,
        other != base
      {
        info.parents = [base, other]
      }
      guard let pending = try transaction.commit(info) else { continue }
      try pending.wait()
      numbers.append(pending.number)
    }
    return store
  }

  /// What a user can see of a commit.
  private struct Seen: Equatable {
    var identity: CommitIdentity
    var parents: [CommitIdentity]
    var date: Int64
    var texts: [String]
    var flags: CommitFlags
    var restores: CommitIdentity?
    var trees: [TreeName: [String]]
    var attributes: [TreeName: [UInt8]]
  }

  private func seen(_ store: FileStore) throws -> [Seen] {
    var identities: [UInt64: CommitIdentity] = [:]
    var commits: [CommitRecord] = []
    try store.forEachDescent { descent throws(StorageError) in
      commits.append(try store.commit(descent.number))
      identities[descent.number] = descent.identity
      return true
    }
    return try commits.reversed().map { commit in
      let view = try store.view(at: commit.number)
      var trees: [TreeName: [String]] = [:]
      var attributes: [TreeName: [UInt8]] = [:]
      for name in try view.trees() {
        guard let tree = try view.tree(name) else { continue }
        attributes[name] = tree.attributes.array
        var cursor = tree.cursor()
        try cursor.seekToStart()
        var lines: [String] = []
        while let entry = cursor.current {
          var line = "\(entry.key.array)"
          if case .bytes(let bytes) = entry.payload { line += " bytes \(bytes.array)" }
          if let reference = entry.payload.record {
            let writer = try tree.change(of: reference).commit
            line += " by \(identities[writer].map { "\($0)" } ?? "?") \(try tree.value(of: reference).array)"
          }
          lines.append(line)
          try cursor.next()
        }
        trees[name] = lines
      }
      return Seen(
        identity: commit.identity, parents: commit.parents.compactMap { identities[$0] }, date: commit.date,
        texts: [commit.action, commit.program, commit.author], flags: commit.flags,
        restores: commit.restores.flatMap { identities[$0] }, trees: trees, attributes: attributes)
    }
  }

  @Test(
    "a store with its whole history goes to a server and back, and every commit is the same",
    arguments: [1, 2, 3, 4] as [UInt64])
  func roundTrip(_ seed: UInt64) throws {
    let source = try history(seed)
    let server = try TestServer.store(record: Self.record)
    let report = try HistoryUpload.run(from: source, to: server)
    #expect(report.commits == Int(source.commitCount))
    // On the server every commit of the past has its states.
    let expected = try seen(source)
    try source.forEachDescent { commit throws(StorageError) in
      do {
        let there = try server.state(at: commit.number)
        let here = try source.view(at: commit.number)
        #expect(try there.trees() == here.trees())
        #expect(there.commit.identity == commit.identity && there.commit.date == here.commit.date)
        for name in try here.trees() {
          let (tree, other) = (try #require(try here.tree(name)), try #require(try there.served(name)))
          #expect(try other.count == (try tree.count))
          var cursor = tree.cursor()
          try cursor.seekToStart()
          for entry in try other.entries(limit: 1_000) {
            #expect(entry.key == cursor.current?.key.array)
            if let reference = cursor.current?.payload.record, tree.kind == .records {
              #expect(entry.payload == .bytes(try tree.value(of: reference).array))
            }
            try cursor.next()
          }
        }
      } catch {
        Issue.record(error)
      }
      return true
    }
    #expect(server.head.commit.identity == source.head.commit.identity)
    #expect(try server.names == source.names)
    let back = FileStore.memory(options: StoreOptions(program: "other"))
    try HistoryDownload.run(from: server, to: back)
    let found = try seen(back)
    #expect(found.count == expected.count)
    for (found, expected) in zip(found, expected) { #expect(found == expected) }
    #expect(back.head.commit.identity == source.head.commit.identity)
    #expect(
      try back.names.mapValues { try back.commit($0).identity }
        == source.names.mapValues { try source.commit($0).identity })
    // What is written to the server afterwards stands on head, and goes back too.
    try server.change(CommitInfo(action: "later")) { transaction throws(StorageError) in
      try transaction.put(.key(99), [9], in: Self.records)
    }
    #expect(server.head.commit.parents == [source.head.commit.number])
    let again = FileStore.memory()
    try HistoryDownload.run(from: server, to: again)
    #expect(again.head.commit.action == "later")
    #expect(try again.head.tree(Self.records)?.count == (source.head.tree(Self.records)?.count ?? 0) + 1)
  }

  @Test("a compacted store keeps what it tells of the commits that were left out")
  func compacted() throws {
    let source = try history(9)
    _ = try source.compact(.last(10))
    let server = try TestServer.store(record: Self.record)
    try HistoryUpload.run(from: source, to: server)
    let back = FileStore.memory()
    try HistoryDownload.run(from: server, to: back)
    #expect(try seen(back).map(\.identity) == seen(source).map(\.identity))
    #expect(try seen(back).map(\.trees) == seen(source).map(\.trees))
    func pedigrees(_ store: FileStore) throws -> [Pedigree?] {
      var pedigrees: [Pedigree?] = []
      try store.forEachDescent { commit throws(StorageError) in
        pedigrees.append(commit.pedigree)
        return true
      }
      return pedigrees
    }
    #expect(try pedigrees(back) == pedigrees(source))
    #expect(try pedigrees(source).contains { $0 != nil })
  }

  @Test("a copy of a pruned server has its names: those that a pruned commit gave, and none that one took away")
  func namesByPrunedCommits() throws {
    let server = try TestServer.store(record: Self.record)
    try server.change(CommitInfo(names: ["kept": 0, "gone": 0])) { transaction throws(StorageError) in
      try transaction.createTree(Self.records, kind: .records)
    }
    let named = server.head.commit.number
    let changes: [[String: UInt64?]] = [["gone": nil], ["late": named], [:]]
    for (value, names) in changes.enumerated() {
      try server.change(CommitInfo(names: names)) { transaction throws(StorageError) in
        try transaction.put([1], [UInt8(value)], in: Self.records)
      }
    }
    try server.prune(before: server.head.commit.number)
    let back = FileStore.memory()
    try HistoryDownload.run(from: server, to: back)
    #expect(try server.names == ["kept": named, "late": named])
    #expect(try back.names == server.names)
  }

  @Test("a name that the file moved and removed in other letters is moved and removed on the server")
  func spellings() throws {
    let (one, two) = ("caf\u{E9}", "cafe\u{301}")
    for last in [nil, 0] as [UInt64?] {
      let source = FileStore.memory()
      try source.make(CommitInfo(names: [one: 0])) { try $0.createTree(Self.records, kind: .records) }
      try source.make(CommitInfo(names: [two: 0])) { try $0.put([1], [1], in: Self.records) }
      try source.make(CommitInfo(names: [one: last])) { try $0.put([1], [2], in: Self.records) }
      let server = try TestServer.store(record: Self.record)
      try HistoryUpload.run(from: source, to: server)
      _ = try server.refresh()
      #expect(try server.names == source.names)
      _ = try server.transaction().commit(CommitInfo(names: [two: nil]))
      #expect(try server.names == [:])
    }
  }

  @Test("what a server cannot order is refused with a sentence, nothing is copied, and a copy needs an empty schema")
  func refused() throws {
    let source = FileStore.memory()
    try source.make { transaction in try transaction.createTree(Self.records, kind: .records, order: .caller) }
    let server = try TestServer.store(record: Self.record)
    let error = try #require(#expect(throws: StorageError.self) { try HistoryUpload.run(from: source, to: server) })
    #expect("\(error)".contains("OrderedKey"))
    #expect(try server.refresh().commit.number == 0)
    let other = try history(5)
    try HistoryUpload.run(from: other, to: server)
    let twice = try #require(#expect(throws: StorageError.self) { try HistoryUpload.run(from: other, to: server) })
    #expect("\(twice)".contains("empty"))
  }

  @Test("the refusal of a key that is too long for a server names the key and its commit")
  func longKey() throws {
    let source = FileStore.memory()
    let key = Array("key of many bytes".utf8) + [UInt8](repeating: 0x61, count: 1_000)
    try source.make { try $0.createTree(Self.entries, kind: .entries) }
    try source.make { try $0.insert(key, .none, in: Self.entries) }
    let server = try TestServer.store(record: Self.record)
    let error = try #require(#expect(throws: StorageError.self) { try HistoryUpload.run(from: source, to: server) })
    #expect("\(error)".contains("#2") && "\(error)".contains("key of many bytes"), "\(error)")
  }

  @Test("a copy whose connection is lost at its end does not say that nothing was written")
  func lostAtTheEnd() throws {
    let (server, source) = (try #require(TestServer.shared), try history(5))
    let target = try TestServer.store(record: Self.record)
    let schema = target.url.schema
    // The end of the transaction ends the connection.
    let made = server.psql(
      """
      create function \(schema).leave() returns trigger language plpgsql as $$
      begin
        perform pg_terminate_backend(pg_backend_pid());
        perform pg_sleep(60);
        return null;
      end $$;
      create constraint trigger leave after insert on \(schema).commit deferrable initially deferred
        for each row execute function \(schema).leave();
      """)
    #expect(made == 0)
    let error = try #require(#expect(throws: StorageError.self) { try HistoryUpload.run(from: source, to: target) })
    guard case .server(.outcomeUnknown, let reason) = error else {
      Issue.record("another error: \(error)")
      return
    }
    #expect(!reason.contains("nothing was written"))
  }
}

extension FileStore {
  func make(_ info: CommitInfo = CommitInfo(), _ body: (FileTransaction) throws -> Void) throws {
    let transaction = try beginBlocking()
    try body(transaction)
    try transaction.commit(info)?.wait()
  }
}
