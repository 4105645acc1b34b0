import StrataModel
import StrataDocuments
import StrataExpressions
import Foundation
import PostgresPersistence
import StrataPostgres
import StrataEngine
import StrataLocks
import Testing

@testable import StrataExchange

/// Store files that exchange with a store on a server.
@Suite("A store on a server as a remote", .serialized, .enabled(if: TestServer.isThere, TestServer.missing))
struct ServerRemoteTests {
  private let server: TestServer
  private let url: String

  init() throws {
    server = try #require(TestServer.shared)
    url = server.location()
  }

  /// The store on the server, as one that is edited there.
  private func there(creates: Bool = true) throws -> ExchangedStore {
    let engine = try ServerStore.open(
      ServerURL(parsing: url), creates: creates, options: ServerOptions(program: "test", author: "server"),
      record: { $0.recordOfEntry($1) })
    return ExchangedStore(EngineStore(engine, path: "team", program: "test"))
  }

  private func peer(_ url: String? = nil) throws -> ServerPeer {
    let client = ServerRemotes.Client(program: "test", author: "", now: LocalTime.now)
    return try #require(try ServerRemotes.postgres.open(url ?? self.url, "team", client) as? ServerPeer)
  }

  @Test("a notice says that a server is waited for")
  func waiting() {
    let notices = Mutex<[String]>([])
    let client = ServerRemotes.Client(
      program: "test", author: "", now: LocalTime.now, notice: { text in notices.withLock { $0.append(text) } })
    #expect(throws: (any Error).self) {
      try ServerRemotes.postgres.open("postgres://127.0.0.1:1/nothing?wait=0.1", "team", client)
    }
    let given = notices.withLock { $0 }
    #expect(given.count == 1 && given.allSatisfy { $0.hasSuffix("the server is waited for") }, "\(given)")
  }

  /// Fetch, merge and push, as `strata exchange` does.
  private func exchange(_ store: ExchangedStore, _ peer: any Peer, _ policy: MergePolicy = .ask) throws {
    let fetched = try store.exchange.fetch(peer, as: "team")
    for head in fetched.heads { try store.merge(head, policy) }
    _ = try store.exchange.push(peer, as: "team")
  }

  /// Lines of the whole history, without the one that names the store.
  private func history(_ store: ExchangedStore) throws -> [String] { try store.stream().dropFirst().map(\.text) }

  @Test("a store goes to an empty server by a push, comes from it by a fetch, and both sides' edits meet")
  func bothWays() throws {
    let team = try there()
    let laptop = try ExchangedStore("laptop")
    try laptop.put(#"{"id":1,"name":"Bern","population":140000}"#, #"{"id":2,"name":"Basel"}"#)
    try exchange(laptop, peer())
    _ = try team.own.refresh()
    #expect(team.head == laptop.head)
    #expect(try team.contents() == laptop.contents())

    let desk = try ExchangedStore("desk", isEmpty: true)
    try exchange(desk, peer())
    #expect(try history(desk) == history(laptop))
    // Three edit at once: two files, and a program on the server.
    try laptop.put(#"{"id":1,"name":"Bern","population":150000}"#)
    try desk.put(#"{"id":1,"name":"Berne","population":140000}"#, #"{"id":3,"name":"Genf"}"#)
    try team.delete(2)
    for store in [laptop, desk, laptop] { try exchange(store, peer()) }
    _ = try team.own.refresh()
    for store in [laptop, desk] {
      #expect(store.head == team.head)
      #expect(try store.contents() == team.contents())
      try store.expectSound()
    }
    #expect(try team.text(1) == #"{"id":1,"name":"Berne","population":150000}"#)
    #expect(try team.text(2) == nil && team.text(3) != nil)
    try team.expectSound()
    // The histories are the same, the server's told by the server.
    #expect(try Set(history(team)) == Set(history(laptop)))
    // Again: nothing moves.
    #expect(try laptop.exchange.fetch(peer(), as: "team").received == 0)
    #expect(try laptop.exchange.push(peer(), as: "team") == 0)
    // What is edited there goes on.
    try team.put(#"{"id":4,"name":"Chur"}"#)
    try exchange(laptop, peer())
    #expect(try laptop.text(4) != nil && laptop.head == team.head)
  }

  @Test("what was pushed reads there as in the file: counts of changes, and versions of a record through a merge")
  func sameHistory() throws {
    let team = try there()
    let laptop = try ExchangedStore("laptop")
    try laptop.put(#"{"id":1,"name":"a","n":0}"#, #"{"id":2,"name":"a","n":0}"#)
    try exchange(laptop, peer())
    _ = try team.own.refresh()
    try team.put(#"{"id":1,"name":"b","n":0}"#)
    try team.put(#"{"id":5,"name":"new"}"#)
    try laptop.put(#"{"id":2,"name":"c","n":0}"#)
    try laptop.put(#"{"id":2,"name":"d","n":0}"#)
    try exchange(laptop, peer())
    _ = try team.own.refresh()
    #expect(team.head == laptop.head)
    func counts(_ store: ExchangedStore) throws -> [String] {
      let graph = try store.graph
      return try graph.numbers.map { number in
        let commit = try store.own.engine.commit(number)
        let counts = commit.counts.filter { TreeName.records(of: "City") == $0.tree }
          .map { "\($0.inserted) \($0.updated) \($0.deleted)" }
        return "\(commit.identity.text) \(commit.action) \(counts)"
      }.sorted()
    }
    #expect(try counts(team) == counts(laptop))
    try team.expectSameVersions(as: laptop, of: [1, 2, 5])
  }

  @Test("of two sides' edits and deletes each commit tells only its own side's, and a merge those of the side it took")
  func sides() throws {
    let team = try there()
    let (laptop, desk) = (try ExchangedStore("laptop"), try ExchangedStore("desk", isEmpty: true))
    for number in 1...5 { try laptop.put(#"{"id":\#(number),"name":"a"}"#) }
    try exchange(laptop, peer())
    try exchange(desk, peer())
    // One side deletes what the other edits, and both edit one.
    for number in [1, 2] as [Int64] { try laptop.delete(number) }
    try laptop.put(#"{"id":3,"name":"laptop"}"#, #"{"id":6,"name":"laptop"}"#)
    try laptop.delete(5)
    try desk.put(#"{"id":1,"name":"desk"}"#)
    try desk.put(#"{"id":3,"name":"desk"}"#)
    try desk.put(#"{"id":4,"name":"desk"}"#)
    try desk.delete(5)
    try desk.put(#"{"id":5,"name":"again"}"#)
    try exchange(laptop, peer())
    try exchange(desk, peer(), .later)
    try exchange(laptop, peer())
    _ = try team.own.refresh()
    #expect(team.head == laptop.head && team.head == desk.head)
    // The one that merged itself: what comes as a stream tells of a merge's changes as its own.
    try team.expectSameVersions(as: desk, of: [1, 2, 3, 4, 5, 6])
  }

  @Test(
    "of random edits on two sides each commit tells the same versions on the server as in a file",
    arguments: 1...4 as ClosedRange<UInt64>)
  func randomSides(seed: UInt64) throws {
    var random = Xorshift(seed &+ 100)
    let team = try there()
    let file = try ExchangedStore("file")
    try exchange(file, peer())
    for step in 0..<50 {
      let store = random.next(below: 2) == 0 ? file : team
      _ = try store.own.refresh()
      let identifier = Int64(1 + random.next(below: 4))
      switch random.next(below: 8) {
      case 0..<2 where try store.text(identifier) != nil: try store.delete(identifier)
      case 2:
        if let commit = try store.own.undoCandidate(), commit.rawValue > 2 {
          _ = try? store.own.undo(commit, named: "undo")
        }
      case 3 where store.own.path != team.own.path:
        try exchange(store, peer(), [.later, .ours, .theirs][random.next(below: 3)])
      default: try store.put(#"{"id":\#(identifier),"name":"\#(step)"}"#)
      }
    }
    try exchange(file, peer(), .later)
    _ = try team.own.refresh()
    #expect(team.head == file.head)
    try team.expectSameVersions(as: file, of: [1, 2, 3, 4], "seed \(seed)")
  }

  @Test("a push to a head that moved is refused, and one that somebody else has made already is done")
  func moved() throws {
    let team = try there()
    let (laptop, desk) = (try ExchangedStore("laptop"), try ExchangedStore("desk", isEmpty: true))
    try exchange(laptop, peer())
    try exchange(desk, peer())
    try laptop.put(#"{"id":1,"name":"a"}"#)
    try desk.put(#"{"id":1,"name":"b"}"#)
    _ = try desk.exchange.push(peer(), as: "team")
    let error = #expect(throws: ExchangeError.self) { try laptop.exchange.push(peer(), as: "team") }
    #expect(error == .fetchFirst("team"))
    // Also where it moves between the question and the push.
    _ = try laptop.exchange.fetch(peer(), as: "team")
    try laptop.merge(desk.head, .ours)
    let late = try peer()
    let moving = MovingPeer(late) { try team.put(#"{"id":9,"name":"there"}"#) }
    _ = try team.own.refresh()
    #expect(throws: ExchangeError.fetchFirst("team")) { try laptop.exchange.push(moving, as: "team") }
    #expect(try team.text(9) != nil && team.text(1) == #"{"id":1,"name":"b"}"#)
    try exchange(laptop, peer())
    let done = MovingPeer(try peer()) {}
    #expect(try laptop.exchange.push(done, as: "team") == 0)
    let twice = try ExchangedStore("twice", isEmpty: true)
    try exchange(twice, peer())
    try twice.put(#"{"id":7,"name":"x"}"#)
    let again = MovingPeer(try peer()) { _ = try twice.exchange.push(peer(), as: "team") }
    _ = try twice.exchange.push(again, as: "team")
    _ = try team.own.refresh()
    #expect(team.head == twice.head)
  }

  @Test("a fetch of ten new commits from a thousand asks as often as the ten cost, and a push waits a few times")
  func roundTrips() throws {
    let team = try there()
    let laptop = try ExchangedStore("laptop")
    for number in 0..<1_000 { try laptop.put(#"{"id":\#(number % 50),"name":"n\#(number)"}"#) }
    let first = try peer()
    try exchange(laptop, first)
    #expect(first.roundTrips < 60, "a push of 1,000 commits waited \(first.roundTrips) times")
    _ = try team.own.refresh()
    for number in 0..<10 { try team.put(#"{"id":\#(number),"name":"there \#(number)"}"#) }
    let second = try peer()
    let fetched = try laptop.exchange.fetch(second, as: "team")
    #expect(fetched.received == 10)
    #expect(second.roundTrips <= 60, "a fetch of 10 commits waited \(second.roundTrips) times")
    try laptop.merge(try #require(fetched.heads.first))
    let third = try peer()
    #expect(try laptop.exchange.fetch(third, as: "team").received == 0)
    #expect(third.roundTrips <= 6, "a fetch of nothing waited \(third.roundTrips) times")
  }

  @Test("a server that was pruned is known to have what it had: exchange goes on, and nobody takes it for a clone")
  func pruned() throws {
    let team = try there()
    let (laptop, desk) = (try ExchangedStore("laptop"), try ExchangedStore("desk", isEmpty: true))
    for number in 0..<6 { try laptop.put(#"{"id":\#(number),"name":"n\#(number)"}"#) }
    try exchange(laptop, peer())
    try exchange(desk, peer())
    _ = try team.own.refresh()
    try team.put(#"{"id":1,"name":"there"}"#)
    try team.put(#"{"id":2,"name":"there"}"#)
    _ = try team.own.engine.compact(.last(2)) { _ in true }
    try laptop.put(#"{"id":3,"name":"laptop"}"#)
    try desk.put(#"{"id":4,"name":"desk"}"#)
    for store in [laptop, desk, laptop] { try exchange(store, peer()) }
    let fresh = try ExchangedStore("fresh", isEmpty: true)
    try exchange(fresh, peer())
    _ = try team.own.refresh()
    for store in [laptop, desk, fresh] {
      #expect(store.head == team.head)
      #expect(try store.contents() == team.contents())
      try store.expectHeadSound("pruned")
    }
    #expect(try team.text(3) == #"{"id":3,"name":"laptop"}"# && team.text(4) == #"{"id":4,"name":"desk"}"#)
  }

  @Test("what was pruned between the look and the lock of a push is named by identity")
  func prunedMeanwhile() throws {
    let team = try there()
    let laptop = try ExchangedStore("laptop")
    for number in 0..<6 { try laptop.put(#"{"id":\#(number),"name":"n\#(number)"}"#) }
    try exchange(laptop, peer())
    let (before, old) = (laptop.head, try laptop.own.engine.commit(3).identity)
    _ = try team.own.refresh()
    let known = try team.graph
    _ = try team.own.engine.compact(.last(2)) { _ in true }
    #expect(known.number(of: old) == 3 && (try? team.own.engine.commit(3)) == nil)
    let number = try laptop.put(#"{"id":1,"name":"again"}"#).rawValue
    let graph = try laptop.graph
    let commit: HistoryUpload.Commit = (
      (number, laptop.head), Pedigree(parents: [before, old], undoes: old, squashed: [])
    )
    let isMoved = try HistoryUpload.append(
      [commit], of: laptop.own.engine, from: (number - 1, before), to: (number, laptop.head),
      identity: { graph.identity(of: $0) }, known: { known.number(of: $0) },
      on: #require(team.own.engine as? ServerStore))
    #expect(isMoved)
    _ = try team.own.refresh()
    let head = team.own.engine.head.commit
    #expect(head.identity == laptop.head && head.undoes == nil)
    #expect(try head.parents.map { try team.own.engine.commit($0).identity } == [before])
    let pedigree = try #require(try team.own.engine.pedigree(of: head))
    #expect(pedigree.parents == [before, old] && pedigree.undoes == old)
  }

  @Test("an exchange cut at any byte leaves both sides whole, and the next one brings them together")
  func cuts() throws {
    let proxy = try #require(CuttingProxy(to: server))
    defer { proxy.close() }
    let schema = try #require(url.split(separator: "=").last.map(String.init))
    let team = try there()
    let laptop = try ExchangedStore("laptop")
    try exchange(laptop, peer())
    let cutURL = server.location(schema, folder: proxy.folder)
    var random = Xorshift(7)
    var failures = 0
    for round in 0..<24 {
      _ = try team.own.refresh()
      try team.put(#"{"id":1,"name":"team \#(round)"}"#)
      try laptop.put(#"{"id":2,"name":"laptop \#(round)"}"#, #"{"id":\#(10 + round),"name":"\#(round)"}"#)
      let (before, mine) = (team.head, laptop.head)
      proxy.arm(CuttingProxy.Cut(isToServer: round % 2 == 0, bytes: 600 + random.next(below: 24_000)))
      do {
        try exchange(laptop, peer(cutURL))
      } catch {
        failures += 1
        #expect(!"\(error)".isEmpty)
      }
      _ = try team.own.refresh()
      // The server has what it had, or all that the laptop has; nothing between.
      #expect(team.head == before || team.head == laptop.head, "round \(round)")
      #expect(try laptop.graph.contains(mine, in: laptop.head))
      try exchange(laptop, peer())
      _ = try team.own.refresh()
      #expect(team.head == laptop.head)
      #expect(try team.contents() == laptop.contents())
    }
    #expect(failures > 0 && proxy.cutCount > 5, "\(failures) of \(proxy.cutCount)")
    try team.expectHeadSound("cut")
    try laptop.expectSound()
  }

  private static var seeds: [UInt64] {
    if let text = ProcessInfo.processInfo.environment["STRATA_SEED"], let seed = UInt64(text) { return [seed] }
    let count = ProcessInfo.processInfo.environment["STRATA_WALKS"].flatMap { UInt64($0) } ?? 3
    return Array(1...max(1, count))
  }

  @Test(
    "files and a server that are edited and exchanged at random end equal, with every edit in every history",
    arguments: seeds)
  func walk(seed: UInt64) throws {
    var random = Xorshift(seed)
    let team = try there()
    let files = try ["one", "two", "three"].map { try ExchangedStore($0, isEmpty: $0 != "one") }
    try files[0].put(#"{"id":1,"name":"n1","a":0,"b":0}"#, #"{"id":2,"name":"n2","a":0,"b":0}"#)
    for store in files { try exchange(store, peer()) }
    var acknowledged: [CommitIdentity] = []
    func policy() -> MergePolicy { [.later, .ours, .theirs][random.next(below: 3)] }
    for _ in 0..<40 {
      let place = random.next(below: files.count + 1)
      let store = place < files.count ? files[place] : team
      if place == files.count { _ = try store.own.refresh() }
      let what = random.next(below: 9)
      let before = store.head
      switch what {
      case 0..<5:
        let identifier = Int64(1 + random.next(below: 6))
        if try store.text(identifier) != nil, random.next(below: 5) == 0 {
          try store.delete(identifier)
        } else {
          let old = try store.text(identifier) ?? #"{"id":\#(identifier),"name":"new","a":0,"b":0}"#
          let field = ["name", "a", "b"][random.next(below: 3)]
          let value = random.next(below: 3)
          let document = try JSONParser.parse(old).setting(
            DocumentPath(parsing: ".\(field)"), to: field == "name" ? .string("v\(value)") : .number(NumberText(value)))
          try store.put(document.json(.compact).text)
        }
      case 5:
        if let commit = try store.own.undoCandidate(), commit.rawValue > 2 {
          _ = try? store.own.undo(commit, named: "undo")
        }
      case 6 where place == files.count || random.next(below: 2) == 0:
        _ = try store.own.engine.compact(.last(2 + random.next(below: 4))) { _ in true }
      default:
        if place < files.count { try exchange(store, peer(), policy()) }
      }
      if store.head != before, what <= 5 { acknowledged.append(store.head) }
    }
    for store in files + files { try exchange(store, peer(), policy()) }
    _ = try team.own.refresh()
    for store in files + [team] {
      #expect(store.head == team.head, "seed \(seed)")
      #expect(try store.contents() == team.contents(), "seed \(seed)")
      let graph = try store.graph
      for edit in acknowledged {
        #expect(graph.contains(edit, in: store.head), "seed \(seed): \(store.own.path) lacks \(edit.text)")
      }
      try store.expectHeadSound("seed \(seed)")
    }
    #expect(acknowledged.count > 8)
  }

  @Test("a server that is gone, a role that may only read, a newer format and no store at all are a sentence each")
  func refusals() throws {
    _ = try there()
    let schema = try #require(url.split(separator: "=").last.map(String.init))
    let laptop = try ExchangedStore("laptop")
    func sentence(_ url: String, _ body: (ServerPeer) throws -> Void) -> String {
      do {
        try body(peer(url))
        return ""
      } catch {
        return "\(error)"
      }
    }
    let missing = sentence(server.location()) { _ in }
    #expect(missing.contains("there is no store in schema") && missing.contains("strata copy"), "\(missing)")
    let gone = sentence("postgres://strata@/postgres?host=/nowhere&schema=x&wait=0") { _ in }
    #expect(gone.contains("no connection to"), "\(gone)")
    let grant = "grant usage on schema \(schema) to reader; grant select on all tables in schema \(schema) to reader"
    #expect(server.psql(grant) == 0)
    let reader = server.location(schema, user: "reader")
    let refused = sentence(reader) { peer in _ = try laptop.exchange.push(peer, as: "team") }
    #expect(refused.contains("may not write"), "\(refused)")
    let store = try ExchangedStore("empty", isEmpty: true)
    #expect(try store.exchange.fetch(peer(reader), as: "team").received == 0)
    #expect(server.psql("update \(schema).store set format = 99") == 0)
    let newer = sentence(url) { _ in }
    #expect(newer.contains("newer than this program"), "\(newer)")
  }

  @Test("a remote is kept without a password: one in its URL is refused, and quoted nowhere")
  func passwords() throws {
    ServerRemotes.install(.postgres)
    for text in [
      "postgres://app:sesame@db.example/app", "postgresql://app:@db.example/app",
      "postgres://db.example/app?password=sesame", "postgres://db.example/app?p%61ssword=sesame",
      "postgres://app:ses/ame@db.example/app", "postgres://app:ses?ame@db.example/app",
      "postgres://db.example/app?sslpassword=sesame",
    ] {
      let error = #expect(throws: ExchangeError.self) { try RemoteLocation(parsing: text) }
      let sentence = error?.description ?? ""
      #expect(sentence.contains("PGPASSWORD") && !sentence.contains("ses"), "\(text): \(sentence)")
    }
    #expect(try RemoteLocation(parsing: "postgres://app@db.example:5433/app?schema=x") != .path(""))
    let wrong = #expect(throws: ExchangeError.self) { try RemoteLocation(parsing: "postgres://db.example:x/app") }
    #expect(wrong?.description.contains("a port is a number") == true)
  }
}

/// A peer at which something happens between what it tells of its head and a push.
private final class MovingPeer: Peer {
  private let peer: any Peer
  private let move: () throws -> Void
  var name: String { peer.name }

  init(_ peer: any Peer, _ move: @escaping () throws -> Void) {
    self.peer = peer
    self.move = move
  }

  func heads() throws -> [CommitIdentity] { try peer.heads() }
  func haves() throws -> [Have] { try peer.haves() }

  func fetch(
    haves: [Have], wants: [CommitIdentity], of tips: [CommitIdentity], take: ([UInt8]) throws -> Void
  ) throws {
    try peer.fetch(haves: haves, wants: wants, of: tips, take: take)
  }

  func push(_ commits: OutgoingCommits) throws -> Bool {
    try move()
    return try peer.push(commits)
  }
}
