import StrataModel
import StrataDocuments
import StrataExpressions
import StrataEngine
import Testing

@testable import StrataExchange

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("Those who come late to a folder")
struct LateComerTests {
  private func inFolder(_ body: (String) throws -> Void) throws {
    let path = "/tmp/strata-late-\(UInt64.random(in: 0 ... .max))"
    mkdir(path, 0o755)
    defer { try? removeFolder(path) }
    try body(path)
  }

  private func files(_ path: String) throws -> [String] {
    try SystemDisk().list(path).filter { $0.hasSuffix(".jsonl") }.sorted()
  }

  private func lines(_ path: String, _ file: String) throws -> [[UInt8]] {
    let reader = try LineReader(path: path + "/" + file)
    var lines: [[UInt8]] = []
    while let line = try reader.next() { lines.append(line) }
    return lines
  }

  private func header(_ path: String, _ file: String) throws -> StreamLine {
    try #require(try LineReader(path: path + "/" + file).next().flatMap { StreamLine($0) })
  }

  /// Two stores that edit by turns, and exchange over a folder after each edit.
  private func exchange(_ rounds: Int, _ path: String) throws -> (ExchangedStore, ExchangedStore) {
    let (ours, theirs) = try MergeTests.pair(#"{"id":1,"name":"b"}"#, #"{"id":2,"name":"b"}"#)
    for round in 0..<rounds {
      for (store, id) in [(ours, 1), (theirs, 2)] as [(ExchangedStore, Int64)] {
        try store.put(id, bytes: #"{"id":\#(id),"name":"\#(round)"}"#)
        for head in try store.exchange.fetch(FolderPeer(path, name: "stick"), as: "stick").heads {
          try store.merge(head, .later)
        }
        _ = try store.exchange.push(FolderPeer(path, name: "stick"), as: "stick")
      }
    }
    _ = try ours.exchange.fetch(FolderPeer(path, name: "stick"), as: "stick")
    try ours.merge(theirs.head)
    return (ours, theirs)
  }

  private func expectWhole(_ path: String, like store: ExchangedStore) throws {
    let late = try ExchangedStore("eve", isEmpty: true)
    let heads = try late.exchange.fetch(FolderPeer(path, name: "stick"), as: "stick").heads
    #expect(heads == [store.head])
    try late.merge(store.head)
    #expect(try late.contents() == store.contents())
    let (known, wanted) = (try late.graph, try store.graph)
    for number in wanted.numbers(in: [store.head], butNotIn: []) {
      let identity = try #require(wanted.identity(of: number))
      let there = try #require(known.number(of: identity), "\(identity.text) did not come")
      // Links are what a history is listed by.
      #expect(
        try late.own.engine.commit(there).parents.count == store.own.engine.commit(number).parents.count,
        "\(identity.text)")
    }
    try late.expectSameVersions(as: store, of: [1, 2])
    try late.expectSound()
  }

  @Test("after many exchanges one who comes late gets every commit, linked to all that it was made on")
  func combined() throws {
    try inFolder { path in
      let (ours, _) = try exchange(24, path)
      let put = try files(path).filter { try (header(path, $0).number("commits") ?? 0) > 10 }
      #expect(!put.isEmpty, "nothing was put together")
      for file in try files(path) {
        let commits = try lines(path, file).compactMap { StreamLine($0) }.filter { $0.kind == "commit" }
        let (own, parents) = (
          Set(commits.compactMap { $0.text("commit") }), Set(commits.flatMap { $0.texts("parents") ?? [] })
        )
        let since = try Set(#require(header(path, file).texts("since")))
        #expect(since.isEmpty == parents.isSubset(of: own), "\(file)")
      }
      try expectWhole(path, like: ours)
    }
  }

  @Test(
    "a file that names none of the commits it builds on is read after those that have them, in whatever order they lie")
  func forgotten() throws {
    try inFolder { path in
      let (ours, _) = try exchange(8, path)
      // As programs of old wrote a file that they put together.
      for file in try files(path) {
        var lines = try lines(path, file)
        let count = try #require(try header(path, file).number("commits"))
        lines[0] = Array(#"{"strata":1,"store":"x","since":[],"commits":\#(count)}"#.utf8)
        try DurableFile.replace(path + "/" + file, with: Array(lines.map { $0 + [10] }.joined()))
      }
      try expectWhole(path, like: ours)
      // Who has the commits says anew what such a file builds on.
      let before = try files(path)
      try ours.put(1, bytes: #"{"id":1,"name":"heal"}"#)
      _ = try ours.exchange.push(FolderPeer(path, name: "stick"), as: "stick")
      #expect(try Set(files(path)).isSuperset(of: before))
      let open = try files(path).filter { try header(path, $0).texts("since") == [] }
      #expect(open.count == 1, "the first file alone builds on nothing")
      try expectWhole(path, like: ours)
    }
  }

  @Test("a store that pruned the commit on which another one was made gets it from the folder again")
  func prunedParent() throws {
    try inFolder { path in
      func stick() throws -> FolderPeer { try FolderPeer(path, name: "stick") }
      let (ours, theirs) = try MergeTests.pair(#"{"id":1,"name":"b"}"#, #"{"id":2,"name":"b"}"#)
      try ours.put(1, bytes: #"{"id":1,"name":"middle"}"#)
      try theirs.fetchAndMerge(ours)
      try theirs.put(2, bytes: #"{"id":2,"name":"theirs"}"#)
      try ours.put(1, bytes: #"{"id":1,"name":"end"}"#)
      _ = try ours.exchange.push(stick(), as: "stick")
      for head in try theirs.exchange.fetch(stick(), as: "stick").heads { try theirs.merge(head) }
      _ = try theirs.exchange.push(stick(), as: "stick")
      // What they made lies on a commit in the middle of our file.
      _ = try ours.own.compact(.last(1), progress: nil)
      let heads = try ours.exchange.fetch(stick(), as: "stick").heads
      #expect(heads == [theirs.head])
      try ours.merge(theirs.head)
      #expect(try ours.contents() == theirs.contents())
      try ours.expectSound()
    }
  }

  @Test("a store that pruned a commit and got it again writes it to the folder, because others are made on it")
  func prunedBase() throws {
    try inFolder { path in
      func stick() throws -> FolderPeer { try FolderPeer(path, name: "stick") }
      let (ours, theirs) = try MergeTests.pair(#"{"id":1,"name":"b"}"#, #"{"id":2,"name":"b"}"#)
      for number in 0..<4 { try ours.put(1, bytes: #"{"id":1,"name":"\#(number)"}"#) }
      _ = try ours.own.compact(.last(1), progress: nil)
      _ = try ours.exchange.push(stick(), as: "stick")
      // What they make lies on a commit that no file has.
      try theirs.put(2, bytes: #"{"id":2,"name":"theirs"}"#)
      try ours.fetchAndMerge(theirs)
      _ = try ours.exchange.push(stick(), as: "stick")
      let late = try ExchangedStore("eve", isEmpty: true)
      #expect(try late.exchange.fetch(stick(), as: "stick").heads == [ours.head])
      try late.merge(ours.head)
      #expect(try late.contents() == ours.contents())
      try late.expectSound()
    }
  }

  @Test("a file that begins with a whole commit is not written again, because no file has the commits before it")
  func wholeFile() throws {
    try inFolder { path in
      func stick() throws -> FolderPeer { try FolderPeer(path, name: "stick") }
      let (ours, theirs) = try MergeTests.pair(#"{"id":1,"name":"b"}"#, #"{"id":2,"name":"b"}"#)
      for number in 0..<4 {
        try ours.put(1, bytes: #"{"id":1,"name":"\#(number)"}"#)
        try theirs.fetchAndMerge(ours)
      }
      _ = try ours.own.compact(.last(1), progress: nil)
      _ = try ours.exchange.push(stick(), as: "stick")
      let whole = try lines(path, #require(files(path).first))
      // They have all the commits that ours has pruned.
      try theirs.put(2, bytes: #"{"id":2,"name":"theirs"}"#)
      _ = try theirs.exchange.push(stick(), as: "stick")
      #expect(try files(path).contains { try lines(path, $0) == whole })
      let late = try ExchangedStore("eve", isEmpty: true)
      #expect(try late.exchange.fetch(stick(), as: "stick").heads == [theirs.head])
      try late.merge(theirs.head)
      #expect(try late.contents() == theirs.contents())
      try late.expectSound()
    }
  }
}
