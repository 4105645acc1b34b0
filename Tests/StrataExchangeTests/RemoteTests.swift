import Dispatch
import StrataModel
import StrataDocuments
import StrataExpressions
import StrataLocks
import StrataEngine
import Testing

@testable import StrataExchange

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("Other copies, and the way to them")
struct RemoteTests {
  private func peer(_ store: ExchangedStore) -> StorePeer {
    StorePeer(store.own, name: store.own.path, now: LocalTime.now)
  }

  @Test("a fetch tells how far it is; where it is ended whole commits stay, head too, and the next one goes on")
  func progress() throws {
    let (ours, theirs) = try MergeTests.pair(#"{"id":1,"name":"b"}"#)
    for number in 2...6 { try theirs.put(#"{"id":\#(number),"name":"n"}"#) }
    let head = ours.own.head.commit
    let heard = Mutex<[[Int]]>([])
    #expect(throws: ModelError.cancelled) {
      try ours.exchange.fetch(peer(theirs), as: "bob") { done, total in
        heard.withLock { $0.append([done, total]) }
        return done < 2
      }
    }
    #expect(heard.withLock { $0 } == [[1, 5], [2, 5]])
    #expect(ours.own.head.commit == head)
    #expect(try ours.exchange.fetch(peer(theirs), as: "bob").received == 3)
    let sent = Mutex<[[Int]]>([])
    try ours.fetchAndMerge(theirs)
    try ours.put(#"{"id":7,"name":"n"}"#)
    #expect(
      try ours.exchange.push(peer(theirs), as: "bob") { done, total in
        sent.withLock { $0.append([done, total]) }
        return true
      } == 1)
    #expect(sent.withLock { $0 } == [[1, 1]])
  }

  @Test("an exchange ends although another program commits to the peer between the fetch and the push")
  func busyPeer() throws {
    let (ours, theirs) = try MergeTests.pair(#"{"id":1,"name":"b"}"#)
    try ours.put(#"{"id":2,"name":"ours"}"#)
    var rounds = 0
    func exchange() throws {
      for head in try ours.exchange.fetch(peer(theirs), as: "bob").heads { try ours.merge(head) }
      rounds += 1
      if rounds < 4 { try theirs.put(#"{"id":\#(2 + rounds),"name":"theirs"}"#) }
      _ = try ours.exchange.push(peer(theirs), as: "bob")
    }
    try ours.exchange.untilPushed(exchange)
    #expect(rounds == 4)
    #expect(try ours.contents() == theirs.contents() && ours.contents().count == 5)
    // If the peer never stands still, the last round throws.
    rounds = -1_000
    try ours.put(#"{"id":2,"name":"again"}"#)
    let error = #expect(throws: ExchangeError.self) { try ours.exchange.untilPushed(exchange) }
    #expect("\(error as Any)".contains("fetch and merge first"))
    #expect(rounds == 64 - 1_000)
    // If nothing new is fetched, another round would end as the last.
    var refusals = 0
    #expect(throws: ExchangeError.self) {
      try ours.exchange.untilPushed {
        refusals += 1
        throw ExchangeError.fetchFirst("bob")
      }
    }
    #expect(refusals == 2)
  }

  @Test("what is missing between two long histories is found by a few words, however long they are")
  func haves() throws {
    let (ours, theirs) = try MergeTests.pair(#"{"id":1,"name":"b"}"#)
    for number in 0..<1_500 { try ours.put(1, bytes: "{\"id\":1,\"name\":\"\(number)\"}") }
    try theirs.fetchAndMerge(ours)
    for number in 0..<10 {
      try ours.put(2, bytes: "{\"id\":2,\"name\":\"\(number)\"}")
      try theirs.put(3, bytes: "{\"id\":3,\"name\":\"\(number)\"}")
    }
    let counting = CountingPeer(peer(theirs))
    #expect(try ours.exchange.fetch(counting, as: "bob").received == 10)
    // Heads, and what one lacks; the words of a request are as many as the history has binary digits.
    #expect(counting.calls <= 2)
    #expect(counting.haveCount < 40)
    #expect(counting.lines < 10 * 8 + 100)
    try ours.merge(theirs.head)
    let sending = CountingPeer(peer(theirs))
    #expect(try ours.exchange.push(sending, as: "bob") == 11)
    #expect(sending.calls <= 4)
  }

  @Test("remotes tell how many commits this store is ahead and behind of what was fetched last")
  func states() throws {
    let folder = "/tmp/strata-remotes-\(UInt64.random(in: 0 ... .max))"
    defer { try? removeFolder(folder) }
    let own = try EngineStore.open(path: folder, program: "test", author: "ada", creates: true)
    let ours = ExchangedStore(own)
    try own.engine.change { try DatastoreWriter.create(ExchangedStore.descriptor, in: $0) }
    let theirs = try ExchangedStore("bob", isEmpty: true)
    try theirs.fetchAndMerge(ours)
    try RemotesFile(storeAt: folder).add(Remote(name: "bob", location: "/nowhere"))
    let exchange = StoreExchange(own, now: LocalTime.now)
    #expect(try exchange.remotes().map { [$0.heads.count, $0.ahead, $0.behind] } == [[0, 1, 0]])
    try ours.put(#"{"id":1,"name":"b"}"#)
    for number in 2...4 { try theirs.put(#"{"id":\#(number),"name":"n"}"#) }
    _ = try exchange.fetch(peer(theirs), as: "bob")
    let state = try #require(try exchange.remotes().first)
    #expect([state.heads.count, state.ahead, state.behind] == [1, 1, 3])
    #expect(state.remote.exchangedAt != nil && state.remote.location == "/nowhere")
    try exchange.forget("bob")
    #expect(try own.pins.isEmpty)
  }

  @Test("remotes that several programs add at the same time are all there, the first among them")
  func addedAtOnce() throws {
    let folder = "/tmp/strata-remotes-\(UInt64.random(in: 0 ... .max))"
    defer { try? removeFolder(folder) }
    _ = try EngineStore.open(path: folder, program: "test", author: "ada", creates: true)
    let failures = Mutex<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 6) { number in
      do {
        try RemotesFile(storeAt: folder).add(Remote(name: "bob\(number)", location: "/nowhere"))
      } catch { failures.withLock { $0.append("\(error)") } }
    }
    #expect(failures.withLock { $0 } == [])
    #expect(try RemotesFile(storeAt: folder).read().count == 6)
  }

  @Test("names of the other side come when they are asked for, under the remote's, and never over ours")
  func pins() throws {
    let (ours, theirs) = try MergeTests.pair(#"{"id":1,"name":"b"}"#)
    try ours.own.pin("good", to: ours.own.head.commit)
    let mine = try ours.own.pins
    try theirs.put(#"{"id":2,"name":"two"}"#)
    for name in ["good", "common"] { try theirs.own.pin(name, to: theirs.own.head.commit) }
    #expect(try ours.fetch(theirs).pins == 0)
    #expect(try ours.own.pins.map(\.name) == ["good", "remotes/bob"])
    #expect(try ours.exchange.fetch(peer(theirs), as: "bob", pins: true).pins == 1)
    #expect(try ours.own.pins.map(\.name) == ["good", "remotes/bob", "remotes/bob/good"])
    #expect(try ours.own.pins.contains(mine[0]))
    #expect(StoreExchange.heads(of: "bob", in: try ours.own.pins).map(\.name) == ["remotes/bob"])
  }

  @Test("a head that is dated ahead of this machine's clock is told of")
  func clocks() throws {
    let (ours, theirs) = try MergeTests.pair(#"{"id":1,"name":"b"}"#)
    try theirs.put(#"{"id":2,"name":"two"}"#)
    let late = StoreExchange(ours.own, now: LocalTime.now - 3_630_000_000_000)
    #expect(try late.fetch(peer(theirs), as: "bob").notes.contains { $0.contains("60 minutes ahead") })
    #expect(try ours.fetch(theirs).notes.isEmpty)
  }

  @Test(
    "many files of a store in a folder become one, and go when all who read there have it; a newcomer gets everything")
  func folder() throws {
    let path = "/tmp/strata-folder-\(UInt64.random(in: 0 ... .max))"
    mkdir(path, 0o755)
    defer { try? removeFolder(path) }
    let (ours, theirs) = try MergeTests.pair(#"{"id":1,"name":"b"}"#)
    func folder() throws -> FolderPeer { try FolderPeer(path, name: "stick") }
    func files(_ suffix: String) throws -> Int { try SystemDisk().list(path).count { $0.hasSuffix(suffix) } }
    _ = try theirs.exchange.fetch(folder(), as: "stick")
    for number in 0..<18 {
      try ours.put(#"{"id":2,"name":"n\#(number)"}"#)
      _ = try ours.exchange.push(folder(), as: "stick")
    }
    // The reader knows none of them yet: nothing may go.
    #expect(try files(".jsonl") >= 18)
    #expect(try files(".seen") == 2)
    let fetched = try theirs.exchange.fetch(folder(), as: "stick")
    #expect(fetched.heads == [ours.head])
    try ours.put(#"{"id":2,"name":"last"}"#)
    for _ in 0..<3 {
      _ = try ours.exchange.push(folder(), as: "stick")
      _ = try theirs.exchange.merge(#require(theirs.exchange.fetch(folder(), as: "stick").heads.first), policy: .ask)
      try ours.put(#"{"id":2,"name":"more"}"#)
      try ours.put(#"{"id":2,"name":"last"}"#)
    }
    _ = try ours.exchange.push(folder(), as: "stick")
    #expect(try files(".jsonl") < 18)
    #expect(try files(".new") == 0)
    let newcomer = try ExchangedStore("eve", isEmpty: true)
    let heads = try newcomer.exchange.fetch(folder(), as: "stick").heads
    #expect(heads == [ours.head])
    try newcomer.merge(ours.head)
    #expect(try newcomer.contents() == ours.contents())
    try newcomer.expectSound()
  }

  @Test("a fetch from a folder tells how far it is over all its files, and is ended where that is asked for")
  func folderProgress() throws {
    let path = "/tmp/strata-folder-\(UInt64.random(in: 0 ... .max))"
    mkdir(path, 0o755)
    defer { try? removeFolder(path) }
    let (ours, theirs) = try MergeTests.pair(#"{"id":1,"name":"b"}"#)
    func folder() throws -> FolderPeer { try FolderPeer(path, name: "stick") }
    for file in 0..<4 {
      for number in 0..<3 { try ours.put(#"{"id":2,"name":"n\#(file) \#(number)"}"#) }
      _ = try ours.exchange.push(folder(), as: "stick")
    }
    let heard = Mutex<[[Int]]>([])
    #expect(throws: ModelError.cancelled) {
      try theirs.exchange.fetch(folder(), as: "stick") { done, total in
        heard.withLock { $0.append([done, total]) }
        return done < 5
      }
    }
    #expect(heard.withLock { $0.last?[0] } == 5)
    heard.withLock { $0 = [] }
    let fetched = try theirs.exchange.fetch(folder(), as: "stick") { done, total in
      heard.withLock { $0.append([done, total]) }
      return true
    }
    #expect(fetched.heads == [ours.head])
    let told = heard.withLock { $0 }
    #expect(told.map { $0[0] } == told.map { $0[0] }.sorted() && told.count > 3)
    #expect(Set(told.map { $0[1] }).count == 1, "the files say at the start how many commits they have")
    #expect(told.last?[0] == told.last?[1])
  }

  @Test("a stream that says no count is taken up to a bound, and one that says it whatever its length")
  func unannounced() throws {
    let source = try ExchangedStore("ada")
    for number in 0..<20 { try source.put(#"{"id":\#(number),"name":"b"}"#) }
    var lines = try source.stream()
    func receive(_ limit: Int) throws -> Int {
      let target = try ExchangedStore("bob", isEmpty: true)
      let receiver = try CommitReceiver(target.own, target.graph, now: LocalTime.now, mostUnannounced: limit)
      for line in lines { try receiver.receive(line) }
      try receiver.finish()
      return receiver.received.count
    }
    #expect(try receive(100) == 21)
    lines[0] = Array(lines[0].text.replacing(#","commits":21"#, with: "").utf8)
    #expect(try receive(1 << 20) == 21)
    #expect(throws: ExchangeError.self) { try receive(1_000) }
    do { _ = try receive(1_000) } catch { #expect("\(error)".contains("does not say how many commits it has")) }
  }

  @Test("what came of a fetch that was cut outlives a compaction for a week, and the next fetch goes on from there")
  func unfinished() throws {
    let (ours, theirs) = try MergeTests.pair(#"{"id":1,"name":"b"}"#)
    for number in 2...6 { try theirs.put(#"{"id":\#(number),"name":"n"}"#) }
    func names() throws -> [String] { try ours.own.engine.names.keys.filter { $0.contains("/unfinished/") } }
    func fetch(until limit: Int) throws -> Int {
      try ours.exchange.fetch(peer(theirs), as: "bob") { done, _ in done < limit }.received
    }
    let pins = try ours.own.pins
    #expect(throws: ModelError.cancelled) { _ = try fetch(until: 2) }
    #expect(try names().count == 1)
    #expect(try ours.own.pins == pins, "it is nobody's name")
    _ = try ours.own.compact(.last(1), progress: nil)
    #expect(throws: ModelError.cancelled) { _ = try fetch(until: 1) }
    #expect(try names().count == 1)
    let kept = try ours.graph.numbers
    _ = try ours.own.compact(.last(1), progress: nil)
    #expect(try fetch(until: .max) == 2)
    #expect(try names().isEmpty)
    #expect(try !kept.isEmpty && ours.fetch(theirs).received == 0)
    try ours.expectSound()
  }

  @Test("after a week, and where it is too much, what came of a fetch that was cut goes with a compaction")
  func unfinishedEnds() throws {
    let (ours, theirs) = try MergeTests.pair(#"{"id":1,"name":"b"}"#)
    for number in 2...6 { try theirs.put(#"{"id":\#(number),"name":"n"}"#) }
    func names() throws -> [String] { try ours.own.engine.names.keys.filter { $0.contains("/unfinished/") } }
    func cut(_ exchange: StoreExchange) {
      #expect(throws: ModelError.cancelled) {
        try exchange.fetch(peer(theirs), as: "bob") { done, _ in done < 2 }
      }
    }
    let day: Int64 = 86_400_000_000_000
    cut(ours.exchange)
    try ours.own.engine.forgetExpiredFetches(now: LocalTime.now + 6 * day)
    #expect(try names().count == 1)
    try ours.own.engine.forgetExpiredFetches(now: LocalTime.now + 9 * day)
    #expect(try names().isEmpty)
    _ = try ours.own.compact(.last(1), progress: nil)
    cut(StoreExchange(ours.own, now: LocalTime.now, mostUnfinished: 100))
    #expect(try names().isEmpty)
    // A compaction asks the clock itself.
    let kept = try #require(try ours.graph.numbers.last)
    let expired = UnfinishedFetch.name(under: "remotes/bob", at: LocalTime.now - 30 * day, place: 1)
    try ours.own.engine.change(CommitInfo(flags: .bookkeeping, names: [expired: kept], movesHead: false)) { _ in }
    #expect(try names() == [expired])
    _ = try ours.own.compact(.last(1), progress: nil)
    #expect(try names().isEmpty)
    #expect(try ours.fetch(theirs).received == 5)
    try ours.expectSound()
  }

  @Test("a commit without end is ended, with bounds of memory and of the file, and the store goes on")
  func endless() throws {
    let source = try ExchangedStore("ada")
    try source.put(#"{"id":0,"name":"b"}"#)
    var lines = try source.stream()
    lines.removeLast()
    let target = try ExchangedStore("bob", isEmpty: true)
    let limit = 17 << 20
    let receiver = try CommitReceiver(target.own, target.graph, now: LocalTime.now, mostOfCommit: limit)
    for line in lines { try receiver.receive(line) }
    let before = target.own.engine.fileBytes
    var taken = 0
    func flood(_ line: (Int) -> String) -> String {
      do {
        for number in 1... {
          let bytes = Array(line(number).utf8)
          taken += bytes.count
          try receiver.receive(bytes)
        }
        return "nothing"
      } catch { return "\(error)" }
    }
    let remark = String(repeating: "x", count: 4_000)
    let refusal = flood { #"{"put":"City","id":\#($0),"version":"1","value":{"id":\#($0),"remark":"\#(remark)"}}"# }
    #expect(refusal.contains("goes on after \(limit) bytes"))
    #expect(taken < limit + 8_192)
    #expect(target.own.engine.fileBytes < before + UInt64(limit) * 2)
    #expect(try target.receive(source.stream()).count == 1)
    try target.expectSound()
  }

  @Test(
    "a long commit that is cut keeps nobody from writing: who pushed it, fetched it or read it from a file waited for itself"
  )
  func cutWithinLongCommit() throws {
    let source = try ExchangedStore("ada")
    let remark = String(repeating: "x", count: 1 << 20)
    let documents = try (0..<20).map { try JSONParser.parse(#"{"id":\#($0),"name":"n","remark":"\#(remark)"}"#) }
    _ = try source.own.commit(
      source.own.changes(putting: documents, into: "City"), named: "put", options: EditOptions())
    var lines = try source.stream()
    lines.removeLast(lines.count - 1 - (try #require(lines.lastIndex { $0.text.hasPrefix(#"{"put""#) })))
    let target = try ExchangedStore("bob", isEmpty: true)
    let receiver = try CommitReceiver(target.own, target.graph, now: LocalTime.now)
    for line in lines { try receiver.receive(line) }
    #expect(throws: ExchangeError.self) { try receiver.finish() }
    target.own.engine.releaseLock()
    try target.own.engine.change(CommitInfo(flags: .bookkeeping, movesHead: false)) { _ in }
    struct Cut: Error {}
    #expect(throws: Cut.self) {
      _ = try peer(target).push(
        OutgoingCommits(head: source.head, store: source.own, graph: source.graph, numbers: []) { sink in
          for line in lines { try sink(line + [10]) }
          throw Cut()
        })
    }
    try target.fetchAndMerge(source)
    #expect(target.head == source.head)
    _ = receiver
  }

  @Test("a commit that changes a record again and again, or defines trees without end, is refused")
  func endlessInMemory() throws {
    let source = try ExchangedStore("ada")
    try source.put(#"{"id":0,"name":"b"}"#)
    var lines = try source.stream()
    lines.removeLast()
    func refusal(_ last: [String]) throws -> String {
      let target = try ExchangedStore("bob", isEmpty: true)
      let receiver = try CommitReceiver(target.own, target.graph, now: LocalTime.now)
      for line in lines { try receiver.receive(line) }
      let commit = try #require(
        StreamLine(lines[lines.lastIndex { $0.text.hasPrefix(#"{"commit""#) } ?? 0])?.text("commit"))
      var check = lines.drop { !$0.text.contains(commit) }.reduce(UInt32(0)) { crc32c($0, $1 + [10]) }
      check = last.reduce(check) { crc32c($0, Array($1.utf8) + [10]) }
      let changes = lines.drop { !$0.text.contains(commit) }.count - 1 + last.count
      do {
        for line in last { try receiver.receive(Array(line.utf8)) }
        let end = #"{"end":"\#(commit)","changes":\#(changes),"check":"\#(Hexadecimal.text(of: UInt64(check)))"}"#
        try receiver.receive(Array(end.utf8))
        return "nothing"
      } catch { return "\(error)" }
    }
    func put(_ identifier: Int) -> String {
      #"{"put":"City","id":\#(identifier),"version":"1","value":{"id":\#(identifier)}}"#
    }
    #expect(try refusal([put(1)]) == "nothing")
    #expect(try refusal([put(1), put(2), put(1)]).contains("changes a record twice"))
    #expect(try refusal([put(1), #"{"delete":"City","id":1}"#]).contains("changes a record twice"))
    let trees = (0..<10_001).map { #"{"tree":"\#(Base64.text(of: Array("t\($0)".utf8)))","kind":"entries"}"# }
    #expect(try refusal(trees).contains("more than 10000 trees"))
  }

  @Test("a stream that announces more commits than it has, or fewer, or nothing but blank lines, is refused")
  func announced() throws {
    let source = try ExchangedStore("ada")
    try source.put(#"{"id":1,"name":"b"}"#)
    var lines = try source.stream()
    #expect(lines[0].text.contains(#""commits":2"#))
    func refusal() throws -> String {
      let target = try ExchangedStore("bob", isEmpty: true)
      do {
        try target.receive(lines)
        return "nothing"
      } catch { return "\(error)" }
    }
    let header = lines[0]
    lines[0] = Array(header.text.replacing(#""commits":2"#, with: #""commits":3"#).utf8)
    #expect(try refusal().contains("the stream ends after 2 of 3 commits"))
    lines[0] = Array(header.text.replacing(#""commits":2"#, with: #""commits":1"#).utf8)
    #expect(try refusal().contains("more commits come than the 1 that were announced"))
    lines = [header] + Array(repeating: [0x20], count: 2_000)
    #expect(try refusal() == "line 1002: there are more than 1,000 blank lines")
  }

  // MARK: strata serve

  /// What a server answers to these bytes, and what it ends with.
  private func serve(_ request: String, to store: ExchangedStore, keepsOpen: Bool = false) throws -> (
    String, (any Error)?
  ) {
    var (input, output): ([Int32], [Int32]) = ([0, 0], [0, 0])
    try #require(pipe(&input) == 0 && pipe(&output) == 0)
    let bytes = Array(request.utf8)
    #expect(write(input[1], bytes, bytes.count) == bytes.count)
    if !keepsOpen { close(input[1]) }
    var failure: (any Error)?
    do {
      try PeerServer(store.own, isReadOnly: false, now: LocalTime.now).serve(
        LineReader(descriptor: input[0], name: "client", patience: 30),
        LineWriter(descriptor: output[1], name: "client"))
    } catch { failure = error }
    if keepsOpen { close(input[1]) }
    close(output[1])
    let reader = LineReader(descriptor: output[0], name: "server")
    var text = ""
    while let line = try reader.next() { text += line.text + "\n" }
    return (text, failure)
  }

  @Test("a server does not wait for ever for a client that says nothing")
  func silence() throws {
    let (_, failure) = try serve("", to: ExchangedStore("ada"), keepsOpen: true)
    #expect(failure as? ExchangeError == .peer(name: "client", reason: "nothing came for 0 seconds"))
  }

  @Test("whatever a client asks, a server answers each request with a line, and its store stays as it was")
  func nonsense() throws {
    let store = try ExchangedStore("ada")
    try store.put(#"{"id":1,"name":"b"}"#)
    let head = store.head
    let requests = [
      "hello", "{}", #"{"fetch":7}"#, #"{"fetch":["x"],"wants":["y"],"tips":[1]}"#, #"{"propose":"x"}"#,
      #"{"propose":"00000000000000aa:7"}"#, String(repeating: "[", count: 50_000), #"{"haves":true}"#,
      #"{"pins":true}"#,
    ]
    for request in requests {
      let (answer, failure) = try serve(request + "\n", to: store)
      #expect(failure == nil, "\(request.prefix(40))")
      #expect(answer.split(separator: "\n").count >= 2, "\(request.prefix(40)): \(answer)")
    }
    // A stream that is none, then cut; and one that is cut at once.
    #expect(try serve("{\"receive\":true}\nhello\n{\"done\":true}\n", to: store).0.contains("not a JSON object"))
    #expect(try serve("{\"receive\":true}\n", to: store).0.contains("the stream was cut off"))
    #expect(store.head == head)
    try store.expectSound()
  }

  @Test("bytes that chance wrote are refused by a server and by a receiver, whatever they are")
  func random() throws {
    var random = Xorshift(7)
    let store = try ExchangedStore("ada")
    try store.put(#"{"id":1,"name":"b"}"#)
    let lines = try store.stream()
    let head = store.head
    for _ in 0..<60 {
      // Lines of a stream with some bytes changed, in any order.
      var request = "{\"receive\":true}\n"
      for _ in 0..<6 {
        var line = lines[random.next(below: lines.count)]
        if !line.isEmpty { line[random.next(below: line.count)] = UInt8(0x20 + random.next(below: 0x5F)) }
        request += line.text + "\n"
      }
      let (answer, failure) = try serve(request + "{\"done\":true}\n", to: store)
      #expect(failure == nil && answer.contains("\"error\":"))
    }
    #expect(store.head == head)
    try store.expectSound()
  }

  @Test("writing to who has gone is an error, and the signal for it stays what it was")
  func pipes() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    close(ends[0])
    var before = sigaction()
    sigaction(SIGPIPE, nil, &before)
    let writer = LineWriter(descriptor: ends[1], name: "gone")
    try writer.add(Array("hello\n".utf8))
    #expect(throws: ExchangeError.self) { try writer.flush() }
    var after = sigaction()
    sigaction(SIGPIPE, nil, &after)
    #expect(before.sa_flags == after.sa_flags)
    var pending = sigset_t()
    sigpending(&pending)
    #expect(sigismember(&pending, SIGPIPE) == 0)
    close(ends[1])
  }

  @Test("a line that does not end, and a reader that takes nothing, are errors within their bounds")
  func floods() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    let flood = [UInt8](repeating: 0x78, count: 60_000)
    #expect(write(ends[1], flood, flood.count) == flood.count)
    close(ends[1])
    let reader = LineReader(descriptor: ends[0], name: "peer")
    #expect(throws: ExchangeError.self) { try reader.next(limit: 20_000) }
    try #require(pipe(&ends) == 0)
    let writer = LineWriter(descriptor: ends[1], name: "peer", patience: 30)
    #expect(throws: ExchangeError.peer(name: "peer", reason: "it takes nothing for 0 seconds")) {
      try writer.add([UInt8](repeating: 0x78, count: 1 << 20))
    }
    for end in ends { close(end) }
  }
}

/// Counts what is asked of a peer.
private final class CountingPeer: Peer {
  private let peer: any Peer
  private(set) var calls = 0
  private(set) var haveCount = 0
  private(set) var lines = 0
  var name: String { peer.name }

  init(_ peer: any Peer) { self.peer = peer }

  func heads() throws -> [CommitIdentity] {
    calls += 1
    return try peer.heads()
  }

  func haves() throws -> [Have] {
    calls += 1
    return try peer.haves()
  }

  func fetch(
    haves: [Have], wants: [CommitIdentity], of tips: [CommitIdentity], take: ([UInt8]) throws -> Void
  ) throws {
    calls += 1
    haveCount += haves.count
    try peer.fetch(haves: haves, wants: wants, of: tips) { line in
      lines += 1
      try take(line)
    }
  }

  func push(_ commits: OutgoingCommits) throws -> Bool {
    calls += 2
    return try peer.push(commits)
  }
}

func removeFolder(_ path: String) throws {
  for name in try SystemDisk().list(path) where unlink("\(path)/\(name)") != 0 { try removeFolder("\(path)/\(name)") }
  rmdir(path)
}
