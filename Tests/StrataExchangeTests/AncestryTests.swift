import StrataModel
import StrataExpressions
import StrataEngine
import Testing

@testable import StrataExchange

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("What an exchange remembers of the commits of a store")
struct AncestryTests {
  @Test("the bases of a merge after criss-crosses of criss-crosses are all of those that it reads")
  func basesOfBases() {
    func identity(_ number: UInt64) -> CommitIdentity { CommitIdentity(origin: 1, number: number) }
    var graph = CommitGraph(generation: 0)
    // Three bases (7, 9, 11) have three bases of their own (4, 5, 6). Two of those alone have commit 1 in common.
    let parents: [[UInt64]] = [
      [], [1], [1], [3], [3, 2], [2], [4, 6], [4, 5], [8, 6], [4, 5], [10, 6], [7, 9], [12, 11], [7, 9], [14, 11],
    ]
    for (place, parents) in parents.enumerated() {
      let number = UInt64(place + 1)
      graph.add(
        CommitRecord(
          number: number, identity: identity(number), parents: parents, date: 0, program: "", author: "", action: ""),
        nil)
    }
    #expect(graph.nearestCommonAncestors(identity(13), identity(15)) == [7, 9, 11].map(identity))
    #expect(graph.nearestCommonAncestors(identity(4), identity(6)) == [identity(1)])
    #expect(graph.basesOfMerge(identity(13), identity(15)).contains(identity(1)))
  }

  private func inFolder(_ body: (String) throws -> Void) throws {
    let folder = "/tmp/strata-ancestry-\(UInt64.random(in: 0 ... .max))"
    mkdir(folder, 0o755)
    defer { try? removeFolder(folder) }
    try body(folder)
  }

  private func open(_ path: String, creates: Bool = false) throws -> ExchangedStore {
    let own = try EngineStore.open(path: path, program: "test", author: "ada", creates: creates)
    if creates { try own.engine.change { try DatastoreWriter.create(ExchangedStore.descriptor, in: $0) } }
    return ExchangedStore(own)
  }

  private func edit(_ store: ExchangedStore, _ count: Int) throws {
    for number in 0..<count { try store.put(Int64(number % 7), bytes: "{\"id\":\(number % 7),\"name\":\"\(number)\"}") }
  }

  /// Frames that some work reads of a store.
  private func reads(of store: ExchangedStore, _ work: () throws -> Void) rethrows -> UInt64 {
    let before = store.own.engine.counts.frameReads
    try work()
    return store.own.engine.counts.frameReads - before
  }

  @Test(
    "a fetch, a push and a merge of a few new commits read few, however many there are, each by a process of its own")
  func fewReads() throws {
    try inFolder { here in
      let there = here + "-there"
      defer { try? removeFolder(there) }
      let first = try open(here, creates: true)
      try edit(first, 900)
      try first.own.engine.close()
      let own = try EngineStore.open(path: there, program: "test", author: "bob", creates: true)
      let cloned = ExchangedStore(own)
      let source = try open(here)
      try cloned.fetchAndMerge(source)
      // Who takes in a commit of another store for the first time is written anew.
      try cloned.put(3, bytes: #"{"id":3,"name":"c"}"#)
      try source.fetchAndMerge(cloned)
      _ = try cloned.exchange.graph()
      _ = try source.exchange.graph()
      for store in [cloned, source] { try store.own.engine.close() }
      #expect(access(here + "/ancestry", F_OK) == 0 && access(there + "/ancestry", F_OK) == 0)

      let (ours, theirs) = (try open(here), try open(there))
      for number in 0..<10 {
        try ours.put(1, bytes: "{\"id\":1,\"name\":\"a\(number)\"}")
        try theirs.put(2, bytes: "{\"id\":2,\"name\":\"b\(number)\"}")
      }
      let peer = StorePeer(theirs.own, name: "there", now: LocalTime.now)
      var (readThere, received, sent): (UInt64, Int, Int) = (0, 0, 0)
      let fetch = try reads(of: ours) {
        readThere = try reads(of: theirs) {
          received = try ours.exchange.fetch(peer, as: "there").received
        }
      }
      let merge = try reads(of: ours) { _ = try ours.exchange.merge(theirs.head, policy: .ask) }
      let push = try reads(of: ours) { sent = try ours.exchange.push(peer, as: "there") }
      #expect((received, sent) == (10, 11))
      #expect(ours.head == theirs.head)
      for (what, count) in [("fetch", fetch), ("its peer", readThere), ("merge", merge), ("push", push)] {
        #expect(count < 450, "\(what) of 10 of 900 commits read \(count) frames")
      }
    }
  }

  @Test("what is remembered and read on is what is read anew, after undo, merges, foreign commits and compaction")
  func same() throws {
    try inFolder { folder in
      let (ours, theirs) = try MergeTests.pair(#"{"id":1,"name":"b"}"#)
      let file = AncestryFile(storeAt: folder)
      func check(_ place: SourceLocation = #_sourceLocation) throws {
        let fresh = try ours.graph
        guard var read = file.read(of: ours.own.engine) else {
          try file.write(fresh, of: ours.own.engine)
          return
        }
        try read.update(ours.own.engine)
        #expect(read.numbers == fresh.numbers, sourceLocation: place)
        #expect(Set(read.identities) == Set(fresh.identities), sourceLocation: place)
        for identity in fresh.identities {
          #expect(read[identity]?.number == fresh[identity]?.number, sourceLocation: place)
          #expect(read[identity]?.parents == fresh[identity]?.parents, sourceLocation: place)
          #expect(read[identity]?.undoes == fresh[identity]?.undoes, sourceLocation: place)
          #expect(read.leftOut(before: identity) == fresh.leftOut(before: identity), sourceLocation: place)
        }
        #expect(read.leaves == fresh.leaves, sourceLocation: place)
        try file.write(fresh, of: ours.own.engine)
      }
      try check()
      for round in 0..<3 {
        try edit(ours, 5)
        try check()
        _ = try ours.own.undo(ours.own.head.commit, named: "undo")
        try check()
        try theirs.put("{\"id\":50,\"name\":\"round \(round)\"}")
        try ours.fetchAndMerge(theirs)
        try check()
        _ = try ours.own.compact(.last(4), progress: nil)
        #expect(file.read(of: ours.own.engine) == nil, "it is of the file before")
        try check()
        try check()
      }
    }
  }

  @Test("a file that is cut, changed, or of another store is read by nobody")
  func damaged() throws {
    try inFolder { folder in
      let store = try ExchangedStore("ada")
      try edit(store, 9)
      let file = AncestryFile(storeAt: folder)
      #expect(file.read(of: store.own.engine) == nil)
      try file.write(store.graph, of: store.own.engine)
      #expect(try file.read(of: store.own.engine)?.numbers == store.graph.numbers)
      let other = try ExchangedStore("bob")
      try edit(other, 9)
      #expect(file.read(of: other.own.engine) == nil)
      let path = folder + "/ancestry"
      let written = try SystemDisk().open(path, .read)
      var bytes = [UInt8](repeating: 0, count: Int(try written.status.size))
      _ = try bytes.withUnsafeMutableBytes { try written.read(into: $0, at: 0) }
      for length in stride(from: 0, to: bytes.count, by: 41) {
        try DurableFile.replace(path, with: Array(bytes.prefix(length)))
        #expect(file.read(of: store.own.engine) == nil)
      }
      for place in stride(from: 0, to: bytes.count, by: 7) {
        var changed = bytes
        changed[place] ^= 4
        try DurableFile.replace(path, with: changed)
        #expect(file.read(of: store.own.engine) == nil, "byte \(place)")
      }
    }
  }
}
