import StrataModel
import StrataDocuments
import StrataExpressions
import Foundation
import StrataEngine
import Testing

@testable import StrataExchange

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

  @Test("a tree is known by its name, whatever a line calls it")
  func calledOtherwise() throws {
    for name in [TreeName.records(of: "A"), .index("x", of: "A"), .leftOut(of: "A"), TreeName([1, 2, 3])] {
      let line = try #require(StreamLine(Array(#"{"tree":"\#(Base64.text(of: name.bytes))"}"#.utf8)))
      #expect(TreeLabel(line) == TreeLabel(name))
    }
  }

  @Test("a note of another reader may have any date")
  func ancientNote() throws {
    let path = "/tmp/strata-hostile-\(UInt64.random(in: 0 ... .max))"
    mkdir(path, 0o755)
    defer { try? removeFolder(path) }
    let (ours, theirs) = try MergeTests.pair(#"{"id":1,"name":"b"}"#)
    _ = try theirs.exchange.push(FolderPeer(path, name: "stick"), as: "stick")
    _ = try ours.exchange.fetch(FolderPeer(path, name: "stick"), as: "stick")
    let note = "\(path)/\(ours.own.identity).seen"
    let written = try String(contentsOfFile: note, encoding: .utf8)
    let ancient = written.replacing(/"date":"[^"]*"/, with: "\"date\":\"1678-01-01T00:00:00.000000000Z\"")
    #expect(ancient != written)
    try DurableFile.replace(note, with: Array(ancient.utf8))
    _ = try ours.exchange.fetch(FolderPeer(path, name: "stick"), as: "stick")
    #expect(try String(contentsOfFile: note, encoding: .utf8) != ancient)
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
    #expect(try ours.exchange.fetch(FolderPeer(path, name: "stick"), as: "stick") { _, _ in true }.notes.count == 3)
    #expect(ours.own.head.commit == head)
    #expect(try ours.graph.knows(theirs.head), "what is whole comes all the same")
  }

  @Test("a push to a folder is not refused for a file that is not all there, and is for a whole one")
  func pushBesideHalfFile() throws {
    let path = "/tmp/strata-hostile-\(UInt64.random(in: 0 ... .max))"
    mkdir(path, 0o755)
    defer { try? removeFolder(path) }
    let (ours, theirs) = try MergeTests.pair(#"{"id":1,"name":"b"}"#)
    try theirs.put(#"{"id":2,"name":"two"}"#)
    _ = try theirs.exchange.push(FolderPeer(path, name: "stick"), as: "stick")
    let file = "\(path)/\(try #require(SystemDisk().list(path).first { $0.hasSuffix(".jsonl") }))"
    let whole = Array(try String(contentsOfFile: file, encoding: .utf8).utf8)
    try DurableFile.replace(file, with: Array(whole.dropLast(20)))
    try ours.put(#"{"id":3,"name":"three"}"#)
    #expect(try ours.exchange.push(FolderPeer(path, name: "stick"), as: "stick") > 0)
    try DurableFile.replace(file, with: whole)
    try ours.put(#"{"id":4,"name":"four"}"#)
    #expect(throws: ExchangeError.self) { try ours.exchange.push(FolderPeer(path, name: "stick"), as: "stick") }
    try ours.expectSound()
  }

  @Test("a file that was damaged on its way is written again by its author, once a reader has found that out")
  func damagedFile() throws {
    let path = "/tmp/strata-hostile-\(UInt64.random(in: 0 ... .max))"
    mkdir(path, 0o755)
    defer { try? removeFolder(path) }
    let (ours, theirs) = try MergeTests.pair(#"{"id":1,"name":"b"}"#)
    try theirs.put(#"{"id":2,"name":"two"}"#)
    _ = try theirs.exchange.push(FolderPeer(path, name: "stick"), as: "stick")
    let file = "\(path)/\(try #require(SystemDisk().list(path).first { $0.hasSuffix(".jsonl") }))"
    let whole = try String(contentsOfFile: file, encoding: .utf8)
    try DurableFile.replace(file, with: Array(whole.replacing("two", with: "owt").utf8))
    #expect(try !ours.exchange.fetch(FolderPeer(path, name: "stick"), as: "stick").notes.isEmpty)
    #expect(try !ours.graph.knows(theirs.head))
    // A push of nothing reads no file, and leaves the note as it is.
    for _ in 0..<2 { _ = try ours.exchange.push(FolderPeer(path, name: "stick"), as: "stick") }
    #expect(try theirs.exchange.push(FolderPeer(path, name: "stick"), as: "stick") == 0)
    #expect(try String(contentsOfFile: file, encoding: .utf8) == whole)
    #expect(try ours.exchange.fetch(FolderPeer(path, name: "stick"), as: "stick").notes.isEmpty)
    #expect(try ours.graph.knows(theirs.head))
    try ours.expectSound()
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
      if line.hasPrefix("{\"put") { truncate(file, off_t(LineReader.lineLimit) + (64 << 20)) }
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

  @Test("a long record is read once, and of a line that is too long no more is read than tells that")
  func readsOnce() throws {
    let path = "/tmp/strata-hostile-\(UInt64.random(in: 0 ... .max)).jsonl"
    defer { unlink(path) }
    func read(_ line: String, length: Int? = nil) throws -> (lines: [Int], bytes: Int, isRefused: Bool) {
      try DurableFile.replace(path, with: Array("{\"strata\":1}\n\(line)".utf8))
      // The rest is a hole, of which nothing need be held.
      if let length { truncate(path, off_t(length)) }
      let reader = try LineReader(path: path)
      var lines: [Int] = []
      do {
        while let line = try reader.next() { lines.append(line.count) }
        return (lines, reader.byteCount, false)
      } catch is ExchangeError { return (lines, reader.byteCount, true) }
    }
    let record = "{\"put\":\"City\",\"bytes\":\"\(String(repeating: "A", count: 9 << 20))\"}"
    let whole = try read(record + "\n")
    #expect(whole.lines == [12, record.utf8.count] && !whole.isRefused)
    #expect(whole.bytes == 13 + record.utf8.count + 1)
    let endless = try read(
      "{\"put\":\"City\",\"bytes\":\"\(String(repeating: "A", count: 5 << 20))",
      length: LineReader.lineLimit + (64 << 20))
    #expect(endless.lines == [12] && endless.isRefused)
    #expect((LineReader.lineLimit...(LineReader.lineLimit + (2 << 20))).contains(endless.bytes), "\(endless.bytes)")
    let commit = try read("{\"commit\":\"\(String(repeating: "A", count: 5 << 20))", length: 240 << 20)
    #expect(commit.lines == [12] && commit.isRefused)
    #expect(commit.bytes <= (4 << 20) + (1 << 17), "\(commit.bytes)")
  }

  @Test("of a long line that comes over a pipe no part is held before all of it is there")
  func pipes() throws {
    /// Reads what another thread writes: the lengths of the lines, whether one was refused, and how much lay in files at most.
    func read(_ beginning: String, megabytes: Int, _ rest: String) throws -> (
      lines: [Int], isRefused: Bool, inFiles: UInt64
    ) {
      var ends: [Int32] = [0, 0]
      try #require(pipe(&ends) == 0)
      let (output, done) = (ends[1], DispatchSemaphore(value: 0))
      nonisolated(unsafe) var inFiles: UInt64 = 0
      Thread.detachNewThread {
        let writer = LineWriter(descriptor: output, name: "the test")
        try? writer.add(Array(beginning.utf8))
        let piece = [UInt8](repeating: 0x41, count: 1 << 20)
        for _ in 0..<megabytes {
          guard (try? writer.add(piece)) != nil else { break }
          inFiles = max(inFiles, ScratchFile.bytesInUse)
        }
        try? writer.add(Array(rest.utf8))
        try? writer.flush()
        close(output)
        done.signal()
      }
      let reader = LineReader(descriptor: ends[0], name: "a pipe")
      var (lines, isRefused): ([Int], Bool) = ([], false)
      do {
        while let line = try reader.next() { lines.append(line.count) }
      } catch is ExchangeError { isRefused = true }
      reader.hangUp()
      done.wait()
      return (lines, isRefused, inFiles)
    }
    let beginning = "{\"put\":\"City\",\"bytes\":\""
    let whole = try read("{}\n" + beginning, megabytes: 9, "\"}\n{\"end\":1}\nlast")
    #expect(whole.lines == [2, beginning.utf8.count + (9 << 20) + 2, 9, 4] && !whole.isRefused)
    let endless = try read(beginning, megabytes: (LineReader.lineLimit >> 20) + 64, "\"}\n")
    #expect(endless.lines.isEmpty && endless.isRefused)
    #expect(endless.inFiles > UInt64(LineReader.lineLimit - (8 << 20)), "\(endless.inFiles)")
  }
}
