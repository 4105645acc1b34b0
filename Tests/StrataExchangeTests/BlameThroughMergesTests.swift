import StrataDocuments
import StrataEngine
import StrataModel
import Testing

@testable import StrataExchange

@Suite("Blame through merges")
struct BlameThroughMergesTests {
  /// The commit that a search from commit to commit finds: the first parent that has a value is followed, else the second one that has it.
  private func origin(
    of path: DocumentPath, in record: Int64, at commit: CommitNumber, of store: ExchangedStore
  ) throws -> CommitNumber {
    func value(_ commit: CommitNumber) throws -> Document? {
      guard commit.rawValue > 0 else { return nil }
      let text = try ExchangedStore.text(record, in: store.own.view(at: commit))
      return try text.map { try JSONParser.parse(Array($0.utf8)) }?[path]
    }
    let wanted = try value(commit)
    var commit = commit
    while let parent = try store.own.commit(commit).parents.first(where: { try value($0) == wanted }) {
      commit = parent
    }
    return commit
  }

  private func expectTrueBlame(_ store: ExchangedStore, of record: Int64, _ comment: Comment) throws {
    let datastore = try #require(try store.own.head.datastore("City"))
    let place = RecordPlace(datastore: "City", identifier: try datastore.identifier(parsing: "\(record)"))
    let head = store.own.head.commit
    for keepsValues in [false, true] {
      let life = try store.own.life(of: place, from: head, keepsValues: keepsValues)
      for part in life.parts where part.path.components.count == 1 {
        let origin = try origin(of: part.path, in: record, at: head, of: store)
        #expect(part.commit.number == origin, "\(comment): \(record) \(part.path)")
        let alone = try store.own.life(of: place, at: part.path, from: head).parts.first
        #expect(alone?.commit.number == origin, "\(comment): \(record) \(part.path) alone")
      }
    }
  }

  /// The commits that a search from commit to commit finds to have changed a record: a parent that has the same state is followed alone.
  private func changes(
    of path: DocumentPath, in record: Int64, at commit: CommitNumber, of store: ExchangedStore
  ) throws -> [UInt64] {
    var (found, open) = (Set<CommitNumber>(), Set([commit]))
    while let commit = open.max(), commit.rawValue > 0 {
      open.remove(commit)
      func text(_ commit: CommitNumber) throws -> String? {
        commit.rawValue > 0 ? try ExchangedStore.text(record, in: store.own.view(at: commit)) : nil
      }
      func value(_ commit: CommitNumber) throws -> Document? {
        try text(commit).map { try JSONParser.parse(Array($0.utf8)) }?[path]
      }
      let (parents, wanted) = (try store.own.commit(commit).parents, try text(commit))
      if let parent = try parents.first(where: { try text($0) == wanted }) {
        open.insert(parent)
      } else {
        let isChange =
          try parents.isEmpty ? value(commit) != nil : parents.allSatisfy { try value($0) != value(commit) }
        if isChange { found.insert(commit) }
        open.formUnion(parents)
      }
    }
    return found.map(\.rawValue).sorted(by: >)
  }

  /// Compares the versions of a record and of a field, read a few at a time, with that search.
  private func expectTrueHistory(_ store: ExchangedStore, of record: Int64, _ comment: Comment) throws {
    let datastore = try #require(try store.own.head.datastore("City"))
    let place = RecordPlace(datastore: "City", identifier: try datastore.identifier(parsing: "\(record)"))
    let head = store.own.head.commit
    for path in [DocumentPath.root, try DocumentPath(parsing: ".a"), try DocumentPath(parsing: ".c.d")] {
      for pageSize in [2, Int.max] {
        var (found, open) = ([UInt64](), [head])
        while !open.isEmpty {
          var lines = try VersionLines(of: place, in: store.own, from: open)
          for _ in 0..<pageSize {
            guard let (version, older) = try lines.next() else { break }
            let value = try version.record?.document()[path]
            let isOld = try older.contains { try $0.record?.document()[path] == value }
            if !isOld, value != nil || !older.isEmpty { found.append(version.commit.number.rawValue) }
          }
          open = lines.upcoming.map(\.commit.number)
        }
        let wanted = try changes(of: path, in: record, at: head, of: store)
        #expect(found == wanted, "\(comment): \(record) \(path)")
      }
    }
  }

  @Test(
    "blame names the edit that a merge took over, and the history has the commits of both sides",
    arguments: 1...12 as ClosedRange<UInt64>)
  func randomMerges(seed: UInt64) throws {
    var random = Xorshift(seed)
    let (ours, theirs) = try MergeTests.pair(
      #"{"id":1,"name":"n","a":0,"b":0,"c":{"d":0,"e":0},"tags":[1,2]}"#,
      #"{"id":2,"name":"n","a":0,"b":0,"c":{"d":0,"e":0},"tags":[]}"#)
    var merges = 0
    for number in 1...40 {
      let (store, other) = random.next(below: 2) == 0 ? (ours, theirs) : (theirs, ours)
      if random.next(below: 4) == 0 {
        try store.fetchAndMerge(other, .later)
        if store.own.engine.head.commit.parents.count > 1 { merges += 1 }
      } else {
        // One side makes the third record: made on both, its equal fields would have two origins.
        let record = Int64(1 + random.next(below: store.own === ours.own ? 3 : 2))
        let path = try DocumentPath(parsing: [".a", ".b", ".c.d", ".c.e", ".tags[0]"][random.next(below: 5)])
        let old = try store.text(record) ?? #"{"id":\#(record),"name":"n","c":{},"tags":[]}"#
        let new = try JSONParser.parse(Array(old.utf8)).setting(path, to: .number(NumberText(number)))
        try store.put(record, bytes: new.json(.compact).text)
      }
    }
    #expect(merges > 2)
    for store in [ours, theirs] {
      for record in 1...3 as ClosedRange<Int64> where try store.text(record) != nil {
        try expectTrueBlame(store, of: record, "seed \(seed), \(store.own.path)")
        try expectTrueHistory(store, of: record, "seed \(seed), \(store.own.path)")
      }
    }
  }

  @Test("a value that came through ten thousand merges, one within the other, is followed to its edit")
  func nestedMerges() throws {
    let (ours, _) = try MergeTests.pair(#"{"id":1,"name":"n","a":0}"#)
    let base = ours.own.engine.head.commit.number
    let datastore = try #require(try ours.own.head.datastore("City"))
    let place = RecordPlace(datastore: "City", identifier: try datastore.identifier(parsing: "1"))
    func commit(on second: UInt64?) throws -> UInt64 {
      let transaction = try ours.own.engine.beginBlocking(on: base)
      let record = RecordBytes.make(version: "1", content: Array(#"{"id":1,"name":"n","a":7}"#.utf8))
      _ = try transaction.put(place.identifier.bytes, record, in: .records(of: "City"))
      let info = CommitInfo(action: "side", parents: second.map { [base, $0] }, movesHead: false)
      let pending = try #require(try transaction.commit(info))
      try pending.wait()
      return pending.number
    }
    let edit = try commit(on: nil)
    var newest = edit
    for _ in 0..<10_000 { newest = try commit(on: newest) }
    let life = try ours.own.life(of: place, from: CommitNumber(newest))
    let commits = Dictionary(uniqueKeysWithValues: life.parts.map { ($0.path.description, $0.commit.number.rawValue) })
    #expect(commits[".a"] == edit && commits[".name"] == base, "\(commits)")
    var lines = try VersionLines(of: place, in: ours.own, from: [CommitNumber(newest)])
    var (versions, open) = (0, 0)
    while try lines.next() != nil { (versions, open) = (versions + 1, max(open, lines.upcoming.count)) }
    #expect(versions == 10_002 && open == 2, "\(versions) versions on \(open) lines at once")
  }
}
