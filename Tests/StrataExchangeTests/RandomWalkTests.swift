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

/// Three to six stores that are edited, compacted and exchanged at random, each transfer cut or garbled where chance wants it. `STRATA_SEED`
/// runs one walk again, `STRATA_WALKS` runs more of them, `STRATA_PROGRAM` names the program that serves stores over pipes; `STRATA_EACH`
/// looks at all stores after each step, to find the one that breaks one.
@Suite("Random walks of exchange")
struct RandomWalkTests {
  private static func value(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

  private static var seeds: [UInt64] {
    if let seed = value("STRATA_SEED").flatMap({ UInt64($0) }) { return [seed] }
    if let count = value("STRATA_WALKS").flatMap({ UInt64($0) }) { return Array(1...max(1, count)) }
    // The last three have found merges that an index of one side refused, because records of the other side had no value for it.
    return Array(1...6) + [9, 17, 167]
  }

  /// The way that leads from one store to another.
  enum Way: String, CaseIterable, Sendable {
    case path
    /// `strata serve` behind two pipes, as over ssh.
    case pipe
    case folder

    /// Ways that can be gone here: `strata` need not be built.
    static var all: [Way] {
      if let way = RandomWalkTests.value("STRATA_WAY") { return [Way(rawValue: way)].compactMap { $0 } }
      return allCases.filter { $0 != .pipe || RandomWalkTests.value("STRATA_PROGRAM") != nil }
    }
  }

  @Test(
    "all stores end equal and sound, with every acknowledged edit in every history", arguments: seeds, Way.all)
  func walk(seed: UInt64, way: Way) throws {
    let folder = "/tmp/strata-walk-\(UInt64.random(in: 0 ... .max))"
    mkdir(folder, 0o755)
    defer { try? removeFolder(folder) }
    var walk = try Walk(seed: seed, way, in: folder)
    var look = EachStep()
    // A store puts its files in a folder together after sixteen.
    for step in 0..<(way == .folder ? 140 : 60) {
      let done = try walk.step()
      guard Self.value("STRATA_EACH") != nil, let fault = try look.fault(in: walk.stores) else { continue }
      Issue.record("seed \(seed), step \(step), \(done): \(fault)")
      return
    }
    try walk.settle()
    let first = walk.stores[0]
    let graph = try first.graph
    let comment: Comment = "seed \(seed), \(way.rawValue)"
    for store in walk.stores {
      #expect(store.head == first.head, comment)
      #expect(try store.contents() == first.contents(), comment)
      let known = try store.graph
      for edit in walk.acknowledged {
        #expect(
          known.contains(edit, in: store.head), "seed \(seed), \(way.rawValue): \(store.own.path) lacks \(edit.text)")
      }
      try store.expectHeadSound("seed \(seed), \(way.rawValue)")
    }
    #expect(walk.acknowledged.allSatisfy { graph.knows($0) })
    #expect(walk.cuts > 0 && walk.acknowledged.count > 5, comment)
  }

  private struct Walk {
    var random: Xorshift
    let way: Way
    let folder: String
    /// Whether some stores are of an app, which has the indexes that it declares; else indexes change.
    let hasApps: Bool
    var stores: [ExchangedStore] = []
    var acknowledged: [CommitIdentity] = []
    var cuts = 0
    private var codes = 100

    /// Records have a set, a dictionary that is written as a list, lists with and without identities, and a code of their own.
    private static var descriptor: DatastoreDescriptor {
      var descriptor = ExchangedStore.descriptor
      descriptor.unorderedFields = [".tags": "set", ".colors": "pairs"]
      descriptor.setIndex(
        "code",
        to: IndexDescriptor(
          name: "code", kind: .oneToOne, encoding: .optional(.integer), valueType: "Int?", rule: ".code",
          isUnique: true))
      return descriptor
    }

    init(seed: UInt64, _ way: Way, in folder: String) throws {
      random = Xorshift(seed)
      (self.way, self.folder, hasApps) = (way, folder, seed.isMultiple(of: 2))
      let first = try store("one", version: "1")
      try first.own.engine.change { try DatastoreWriter.create(Self.descriptor, in: $0) }
      first.own.engine.releaseLock()
      for number in 1...6 as ClosedRange<Int64> {
        try first.put(
          number,
          bytes:
            #"{"id":\#(number),"name":"n\#(number)","a":0,"b":0,"code":\#(number),"tags":["x","y"],"colors":[true,1,false,2],"list":[1,2,3],"items":[{"id":1,"n":0},{"id":2,"n":0}]}"#
        )
      }
      stores = [first]
      if way == .folder { _ = try first.exchange.push(peer(first), as: "stick") }
      for name in ["two", "three", "four", "five"].prefix(2 + random.next(below: 3)) { try join(name) }
    }

    /// Stores over pipes are files, which another process opens too. Some are of an app that converts what the others write.
    private func store(_ name: String, version: String) throws -> ExchangedStore {
      let formats = version == "1" ? [] : [CityApp(version: version, indexes: Self.descriptor.indexes)]
      guard way == .pipe else {
        return ExchangedStore(EngineStore.memory(path: name, program: "test", author: name, formats: formats))
      }
      return ExchangedStore(
        try EngineStore.open(
          path: "\(folder)/\(name)", program: "test", author: name, creates: true, patience: 20, formats: formats))
    }

    /// A store that comes, early or late, and takes over what is there.
    private mutating func join(_ name: String) throws {
      let version = hasApps ? ["1", "1", "2", "3"][random.next(below: 4)] : "1"
      let store = try store(name, version: version)
      try exchange(store, stores[0])
      stores.append(store)
    }

    /// Answers what it did.
    mutating func step() throws -> String {
      let place = random.next(below: stores.count)
      let store = stores[place]
      _ = try store.own.refresh()
      let what = random.next(below: 14)
      switch what {
      case 0..<5: try edit(store)
      case 5:
        if let commit = try store.own.undoCandidate(), commit.rawValue > 8,
          (try? store.own.undo(commit, named: "undo")) != nil
        {
          acknowledged.append(store.head)
        }
      case 6:
        let retention = random.next(below: 2) == 0 ? Retention.all : .last(2 + random.next(below: 4))
        _ = try store.own.compact(retention, progress: nil)
        return "\(store.own.path) compacts to \(retention)"
      case 7: return "\(store.own.path), cut: " + (try exchangeBadly(store))
      case 12: try changeIndex(of: store)
      case 13:
        guard stores.count < 6, random.next(below: 4) == 0 else { return "nobody joins" }
        try join("late \(stores.count)")
        return "one comes late"
      default:
        let other = other(than: store)
        try exchange(store, other)
        return "\(store.own.path) exchanges with \(other.own.path)"
      }
      return "\(store.own.path) edits (\(what))"
    }

    private mutating func edit(_ store: ExchangedStore) throws {
      let identifier = Int64(1 + random.next(below: 8))
      let datastore = try #require(try store.own.head.datastore("City"))
      let old = try datastore.record(datastore.identifier(parsing: "\(identifier)"))
      let before = store.head
      if old != nil, random.next(below: 6) == 0 {
        try store.delete(identifier)
      } else {
        var document =
          try old.map { try JSONParser.parse($0.content) }
          ?? ["id": .number(NumberText(identifier)), "name": "new", "code": .number(NumberText(identifier))]
        let number = Document.number(NumberText(random.next(below: 3)))
        switch random.next(below: 9) {
        case 0:
          document = try document.setting(DocumentPath(parsing: ".name"), to: .string("v\(random.next(below: 3))"))
        case 1: document = try document.setting(DocumentPath(parsing: ".a"), to: number)
        case 2: document = try document.setting(DocumentPath(parsing: ".b"), to: number)
        // Codes belong to one record each, and both sides may give one.
        case 3:
          document = try document.setting(
            DocumentPath(parsing: ".code"), to: .number(NumberText(20 + random.next(below: 3))))
        case 4: document = try shuffling("tags", 1, in: document, adding: [.string("t\(random.next(below: 5))")])
        case 5: document = try shuffling("colors", 2, in: document, adding: [])
        case 6: document = try shuffling("list", 1, in: document, adding: [number])
        case 7: document = try document.removing(DocumentPath(parsing: [".a", ".b", ".code"][random.next(below: 3)]))
        default:
          if random.next(below: 2) == 0 { document = try shuffling("items", 1, in: document, adding: []) }
          document = try ticking("items", number, in: document)
        }
        let version = store.own.formats["City"]?.version ?? old?.version ?? "1"
        // A code that another record has here is refused.
        _ = try? store.put(identifier, version: version, bytes: document.json(.compact).text)
      }
      if store.head != before { acknowledged.append(store.head) }
    }

    /// Changes one of the elements that have an identity.
    private mutating func ticking(_ name: String, _ number: Document, in document: Document) throws -> Document {
      guard case .array(var elements)? = document[member: name], !elements.isEmpty else { return document }
      let place = random.next(below: elements.count)
      elements[place] = try elements[place].setting(DocumentPath(parsing: ".n"), to: number)
      return try document.setting(DocumentPath(parsing: "." + name), to: .array(elements))
    }

    /// A list in another order, so many elements being moved together.
    private mutating func shuffling(
      _ name: String, _ size: Int, in document: Document, adding: [Document]
    ) throws -> Document {
      guard case .array(let elements)? = document[member: name] else {
        return try document.setting(DocumentPath(parsing: "." + name), to: .array(adding))
      }
      var parts = stride(from: 0, to: elements.count - size + 1, by: size).map { Array(elements[$0..<($0 + size)]) }
      for place in parts.indices.reversed() { parts.swapAt(place, random.next(below: place + 1)) }
      let isAdded = parts.count < 6 && random.next(below: 2) == 0 && !parts.contains(adding)
      return try document.setting(
        DocumentPath(parsing: "." + name), to: .array(parts.flatMap { $0 } + (isAdded ? adding : [])))
    }

    /// Adds an index over one field or another, drops it, or fills it anew where a merge has left it to be filled.
    private mutating func changeIndex(of store: ExchangedStore) throws {
      if hasApps { return }
      let datastore = try #require(try store.own.head.datastore("City"))
      let before = store.head
      if let index = datastore.descriptor.index("b") {
        if index.isStale, random.next(below: 4) > 0 {
          // Refused if a record has no value that it could hold.
          _ = try? store.own.rebuildIndex("b", of: "City", options: EditOptions())
        } else {
          _ = try store.own.dropIndex("b", of: "City")
        }
      } else {
        let (rule, isOptional) = (random.next(below: 2) == 0 ? ".a" : ".b", random.next(below: 2) == 0)
        _ = try? store.own.addIndex(
          IndexDescriptor(
            name: "b", kind: .oneToMany, encoding: isOptional ? .optional(.integer) : .integer,
            valueType: isOptional ? "Int?" : "Int", rule: rule),
          to: "City", options: EditOptions())
      }
      if store.head != before { acknowledged.append(store.head) }
    }

    // MARK: Exchange

    private func peer(_ other: ExchangedStore) throws -> any Peer {
      switch way {
      case .path: StorePeer(other.own, name: other.own.path, now: LocalTime.now)
      case .pipe:
        try PipePeer(
          [#require(RandomWalkTests.value("STRATA_PROGRAM")), "serve", other.own.path], name: other.own.path)
      case .folder: try FolderPeer(folder, name: "stick")
      }
    }

    /// What a remote is called: all stores share one folder.
    private func remote(_ other: ExchangedStore) -> String {
      way == .folder ? "stick" : String(other.own.path.split(separator: "/").last ?? "").replacing(" ", with: "-")
    }

    private mutating func other(than store: ExchangedStore) -> ExchangedStore {
      let others = stores.filter { $0.own !== store.own }
      return others[random.next(below: others.count)]
    }

    /// An exchange with a peer whose line is cut or garbled, or with a folder in which a file is half there or garbled.
    private mutating func exchangeBadly(_ store: ExchangedStore) throws -> String {
      let other = other(than: store)
      let forges = random.next(below: 2) == 0
      guard way != .folder else { return try exchangeWithBadFile(store, forges: forges) }
      let number = forges ? Self.forgedNumbers[random.next(below: 4)] : nil
      let peer = CutPeer(try peer(other), after: random.next(below: 6_000), forging: number)
      do {
        try exchange(store, with: peer, as: remote(other))
      } catch is CutPeer.Cut {
        cuts += 1
      } catch is ExchangeError {
        // A line that was cut in two, as a receiver sees it.
        cuts += 1
      }
      _ = try other.own.refresh()
      return "exchanges with \(other.own.path)"
    }

    private mutating func exchangeWithBadFile(_ store: ExchangedStore, forges: Bool) throws -> String {
      let files = try SystemDisk().list(folder).filter { $0.hasSuffix(".jsonl") }.sorted()
      let name = files[random.next(below: files.count)]
      let path = folder + "/" + name
      var lines: [[UInt8]] = []
      let reader = try LineReader(path: path)
      while let line = try reader.next() { lines.append(line + [10]) }
      let bytes = Array(lines.joined())
      let place = random.next(below: bytes.count)
      var bad = Array(bytes.prefix(place))
      if forges { bad = forged(bytes, at: place, number: Self.forgedNumbers[random.next(below: 4)]) }
      try DurableFile.replace(path, with: bad)
      defer { try? DurableFile.replace(path, with: bytes) }
      cuts += 1
      do {
        try exchange(store, with: FolderPeer(folder, name: "stick"), as: "stick")
      } catch is ExchangeError {}
      return "exchanges while \(name) is bad"
    }

    /// Counts, lengths and numbers of commits that nobody has.
    private static let forgedNumbers = ["9223372036854775807", "18446744073709551615", "0", "-1"]

    /// Whoever settles a merge settles it for all.
    private mutating func policy() -> MergePolicy { [.later, .ours, .theirs][random.next(below: 3)] }

    private mutating func exchange(_ store: ExchangedStore, _ other: ExchangedStore) throws {
      try exchange(store, with: peer(other), as: remote(other))
      _ = try other.own.refresh()
    }

    /// Fetch, merge, push. A collision is settled as a person does it, by another value.
    private mutating func exchange(_ store: ExchangedStore, with peer: any Peer, as remote: String) throws {
      _ = try store.own.refresh()
      for head in try store.exchange.fetch(peer, as: remote).heads {
        var found = codes
        let ours = try store.documents(at: store.head)
        let merged = try store.exchange.merge(head, policy: policy()) { conflict in
          guard let collision = conflict.collision else { return }
          found += 1
          let document = try JSONParser.parse(collision.content.bytes).setting(
            DocumentPath(parsing: ".code"), to: .number(NumberText(found)))
          conflict.choose(content: RecordContent(version: collision.content.version, bytes: document.json(.compact)))
        }
        codes = found
        _ = try #require(merged.head, "\(merged.plan.open.map(\.sentence))")
        try expectFair(store.documents(at: store.head), ours, store.documents(at: head))
      }
      _ = try store.exchange.push(peer, as: remote)
    }

    /// One round with the first, twice, makes all equal where nobody edits; once more where versions of an app merged differently.
    mutating func settle() throws {
      if cuts == 0 {
        try stores[1].put(7, bytes: #"{"id":7,"name":"to be cut","a":1,"b":1}"#)
        acknowledged.append(stores[1].head)
        let peer = CutPeer(StorePeer(stores[1].own, name: "two", now: LocalTime.now), after: 100)
        #expect(throws: (any Error).self) { try stores[0].exchange.fetch(peer, as: "two") }
        cuts += 1
      }
      for _ in 0..<2 {
        for store in stores.dropFirst() { try exchange(store, stores[0]) }
        // In a folder nobody moves another one's head.
        if way == .folder { try exchange(stores[0], stores[1]) }
      }
    }
  }
}

/// What `STRATA_EACH` looks for: records that are not sound, and commits whose past a store does not know as the one that made them did.
private struct EachStep {
  /// The past of each commit, as the first store knew it that had it.
  private var pasts: [CommitIdentity: Set<CommitIdentity>] = [:]

  mutating func fault(in stores: [ExchangedStore]) throws -> String? {
    for store in stores {
      let head = store.own.engine.head.commit
      let report = try store.own.verifyModel(at: store.own.head.commit)
      guard report.isClean else {
        return "\(store.own.path) is not sound: \(head.action) of \(head.parents): \(report.allFindings)"
      }
      let graph = try store.graph
      for identity in graph.numbers.compactMap({ graph.identity(of: $0) }) {
        let past = graph.ancestry(of: [identity])
        guard let known = pasts[identity] else {
          pasts[identity] = past
          continue
        }
        let lost = known.subtracting(past).map(\.text).sorted()
        if !lost.isEmpty { return "\(store.own.path) does not know that \(identity.text) was made on \(lost)" }
      }
    }
    return nil
  }
}
