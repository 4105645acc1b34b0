import DatastoreModel
import Documents
import Expressions
import StorageEngine
import Testing

@testable import Exchange

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("Numbers and lengths that a stream claims")
struct HostileStreamTests {
  /// The lines of one commit that tells of runs of left-out commits.
  private func commit(
    _ identity: String, squashed: String, parents: [String] = []
  ) throws -> [[UInt8]] {
    let known = try #require(CommitIdentity(text: identity))
    let digest = CommitDigest.text(
      identity: known, parents: parents.compactMap(CommitIdentity.init(text:)), date: 1, action: "", program: "",
      author: "", flags: [], undoes: nil)
    let listed = parents.map { "\"\($0)\"" }.joined(separator: ",")
    let line = Array(
      #"{"commit":"\#(identity)","parents":[\#(listed)],"on":null,"date":"1970-01-01T00:00:00.000000001Z","squashed":\#(squashed),"digest":"\#(digest)"}"#
        .utf8)
    let check = Hexadecimal.text(of: UInt64(crc32c(0, line + [10])))
    return [
      Array(#"{"strata":1,"store":"x","since":[],"commits":1}"#.utf8), line,
      Array(#"{"end":"\#(identity)","changes":0,"check":"\#(check)"}"#.utf8),
    ]
  }

  @Test(
    "runs of left-out commits cost what the runs cost, whatever they count",
    arguments: ["9999999", "18446744073709551615"])
  func runs(last: String) throws {
    let store = try ExchangedStore("ada", isEmpty: true)
    let run = #"[["00000000000000a1:1",\#(last),["00000000000000b1:7"]]]"#
    try store.receive(commit("00000000000000c1:5", squashed: run, parents: ["00000000000000a1:\(last)"]))
    let graph = try store.graph
    #expect(graph.entries.count < 10)
    let tip = try #require(CommitIdentity(text: "00000000000000c1:5"))
    func identity(_ number: UInt64) -> CommitIdentity { CommitIdentity(origin: 0xa1, number: number) }
    #expect(graph.knows(identity(1)) && graph.knows(identity(5_000_000)))
    #expect(graph.contains(identity(5_000_000), in: tip))
    #expect(graph[identity(5_000_000)]?.parents == [identity(4_999_999)])
    #expect(graph[identity(1)]?.parents == [CommitIdentity(origin: 0xb1, number: 7)])
    #expect(graph.leftOut(before: tip).map(\.numbers) == [1...UInt64(last)!])
    // The store goes on.
    try store.own.engine.change { try DatastoreWriter.create(ExchangedStore.descriptor, in: $0) }
    try store.put(#"{"id":1,"name":"b"}"#)
    _ = try store.own.compact(.last(1), progress: nil)
    #expect(try store.graph.entries.count < 20)
    try store.expectSound()
  }

  @Test("a run is cut where a commit within it is named, and where one lies in the file")
  func cut() throws {
    let store = try ExchangedStore("ada", isEmpty: true)
    func identity(_ number: UInt64) -> CommitIdentity { CommitIdentity(origin: 0xa1, number: number) }
    // One was made on the middle of the run, and another one of the run came again.
    try store.receive(
      commit("00000000000000c1:5", squashed: #"[["00000000000000a1:10",90,[]]]"#, parents: ["00000000000000a1:90"]))
    try store.receive(
      commit("00000000000000c2:6", squashed: #"[["00000000000000a1:10",40,[]]]"#, parents: ["00000000000000a1:40"]))
    try store.receive(commit("00000000000000a1:60", squashed: "[]", parents: ["00000000000000a1:59"]))
    try store.receive(
      commit(
        "00000000000000c3:7", squashed: #"[["00000000000000a1:50",70,["00000000000000a1:49"]]]"#,
        parents: ["00000000000000a1:70"]))
    let graph = try store.graph
    let (five, six, seven) = (
      CommitIdentity(origin: 0xc1, number: 5), CommitIdentity(origin: 0xc2, number: 6),
      CommitIdentity(origin: 0xc3, number: 7)
    )
    for number in [10, 39, 40, 41, 59, 60, 61, 70, 71, 90] as [UInt64] {
      #expect(graph.contains(identity(number), in: five), "\(number)")
      #expect(graph.contains(identity(number), in: six) == (number <= 40), "\(number)")
      #expect(graph.contains(identity(number), in: seven) == (number <= 70), "\(number)")
    }
    #expect(graph.number(of: identity(60)) != nil && graph.number(of: identity(59)) == nil)
    #expect(graph.nearestCommonAncestors(five, six) == [identity(40)])
    #expect(graph.nearestCommonAncestors(five, seven) == [identity(70)])
  }

  @Test("counts of commits are hints, and any two of them are")
  func counts() throws {
    let path = "/tmp/strata-hostile-\(UInt64.random(in: 0 ... .max))"
    mkdir(path, 0o755)
    defer { try? removeFolder(path) }
    let (ours, theirs) = try MergeTests.pair(#"{"id":1,"name":"b"}"#)
    try theirs.put(#"{"id":2,"name":"two"}"#)
    _ = try theirs.exchange.push(FolderPeer(path, name: "stick"), as: "stick")
    for (number, count) in [(1, Int.max), (2, Int.max), (3, 1)] {
      try DurableFile.replace(
        "\(path)/00000000000000a\(number)-1-9.jsonl",
        with: Array("{\"strata\":1,\"store\":\"x\",\"since\":[],\"commits\":\(count)}\n".utf8))
    }
    let head = ours.own.head.commit
    #expect(throws: ExchangeError.self) {
      try ours.exchange.fetch(FolderPeer(path, name: "stick"), as: "stick") { _, _ in true }
    }
    #expect(ours.own.head.commit == head)
    #expect(try ours.graph.knows(theirs.head), "what is whole comes all the same")
  }

  @Test("a line that holds no record is refused long before it is all read, with its place")
  func lengths() throws {
    let path = "/tmp/strata-hostile-\(UInt64.random(in: 0 ... .max))"
    mkdir(path, 0o755)
    defer { try? removeFolder(path) }
    let (ours, theirs) = try MergeTests.pair(#"{"id":1,"name":"b"}"#)
    let head = ours.own.head.commit
    let long = String(repeating: "1,", count: 3 << 20)
    for line in [
      "{\"commit\":\"00000000000000a1:9\",\"parents\":[\(long)1]}", "{\"end\":[\(long)1]}",
      "{\"put\":\"City\",\"bytes\":\"",
    ] {
      let file = "\(path)/00000000000000a1-1-9.jsonl"
      try DurableFile.replace(
        file, with: Array("{\"strata\":1,\"store\":\"x\",\"since\":[],\"commits\":1}\n\(line)".utf8))
      // The rest of a record is a hole, of which nothing need be held.
      if line.hasPrefix("{\"put") { truncate(file, 240 << 20) }
      do {
        _ = try ours.exchange.fetch(FolderPeer(path, name: "stick"), as: "stick")
        Issue.record("\(line.prefix(20)) was taken")
      } catch { #expect("\(error)".contains("line 2") && "\(error)".contains("MiB"), "\(error)") }
    }
    #expect(ours.own.head.commit == head)
    try theirs.put(#"{"id":2,"name":"two"}"#)
    try ours.fetchAndMerge(theirs)
    try ours.expectSound()
  }
}
