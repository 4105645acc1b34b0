import StrataModel
import StrataDocuments
import StrataEngine
import Testing

@testable import StrataExchange

@Suite("The stream of commits")
struct StreamTests {
  private func filled() throws -> ExchangedStore {
    let store = try ExchangedStore("ada")
    try store.put(#"{"id":1,"name":"London","population":8961989}"#, #"{"id":2,"name":"Paris"}"#, named: "two cities")
    try store.put(1, bytes: #"{ "name" : "Lon\u0064on", "id":1, "population":9002488.0 }"#)
    try store.delete(2)
    try store.put(3, bytes: "{\"id\":3,\n\"name\":\"Köln\"}")
    return store
  }

  @Test("a history goes through the stream into an empty store, exact to the byte, and comes out the same")
  func roundTrip() throws {
    let source = try filled()
    let lines = try source.stream()
    let target = try ExchangedStore("bob", isEmpty: true)
    #expect(try target.receive(lines).count == 5)
    #expect(target.own.head.commit == CommitNumber(0))
    let head = try #require(try target.graph.number(of: source.head))
    try target.own.engine.change(CommitInfo(flags: .bookkeeping, movesHead: false, head: head)) { _ in }
    #expect(target.head == source.head)
    #expect(try target.contents() == source.contents())
    #expect(try target.text(1) == #"{ "name" : "Lon\u0064on", "id":1, "population":9002488.0 }"#)
    #expect(try target.text(3) == "{\"id\":3,\n\"name\":\"Köln\"}")
    // The first line names the store.
    #expect(try target.stream().dropFirst() == lines.dropFirst())
    for commit in [source, target] { try commit.expectSound() }
    let (ours, theirs) = (source.own.engine.head.commit, target.own.engine.head.commit)
    #expect(
      (ours.date, ours.author, ours.action, ours.program) == (theirs.date, theirs.author, theirs.action, theirs.program)
    )
    // Again, nothing comes.
    #expect(try target.receive(lines).isEmpty)
  }

  @Test("a record that is nested as deep as JSON may be goes through the stream, and through an interchange document")
  func deepest() throws {
    let source = try ExchangedStore("ada")
    let lists = JSONParser.depthLimit - 1
    let text =
      #"{"id":1,"name":"London","deep":"# + String(repeating: "[", count: lists) + String(repeating: "]", count: lists)
      + "}"
    try source.put(1, bytes: text)
    let target = try ExchangedStore("bob", isEmpty: true)
    #expect(try target.receive(source.stream()).count == 2)
    let head = try #require(try target.graph.number(of: source.head))
    try target.own.engine.change(CommitInfo(flags: .bookkeeping, movesHead: false, head: head)) { _ in }
    #expect(try target.text(1) == text)

    var document: [UInt8] = []
    try StoreDocument.write(source.own.head) { document += $0 }
    let copy = try ExchangedStore("eve", isEmpty: true)
    #expect(try StoreDocument.read(document, into: copy.own, named: "read").records == 1)
    #expect(try copy.text(1) == text)
  }

  @Test("a line is what the design shows")
  func shape() throws {
    let store = try filled()
    let lines = try store.stream().map(\.text)
    #expect(lines[0].hasPrefix(#"{"strata":1,"store":""#))
    #expect(lines.contains { $0.hasPrefix(#"{"datastore":"City","descriptor":{"coding":"json""#) })
    #expect(lines.contains { $0.hasPrefix(#"{"put":"City","id":1,"version":"1","value":{"id":1,"name":"London","#) })
    #expect(lines.contains { $0.hasPrefix(#"{"delete":"City","id":2,"was":""#) })
    #expect(lines.contains { $0.hasPrefix(#"{"put":"City","id":3,"version":"1","coding":"json","base64":""#) })
    for line in lines { _ = try JSONParser.parse(line) }
  }

  @Test("undo, restore, a dropped and rebuilt index, all go through")
  func otherChanges() throws {
    let store = try filled()
    _ = try store.own.undo(CommitNumber(4), named: "undo")
    _ = try store.own.restore(CommitNumber(2), datastore: nil, named: "restore")
    _ = try store.own.dropIndex("name", of: "City")
    _ = try store.own.addIndex(
      IndexDescriptor(name: "name", kind: .oneToMany, encoding: .string, valueType: "String", rule: ".name"),
      to: "City", options: EditOptions())
    _ = try store.own.rebuildIndex("population", of: "City", options: EditOptions())
    let target = try ExchangedStore("bob", isEmpty: true)
    try target.receive(store.stream())
    let graph = try target.graph
    for (number, commit) in try store.graph.numbers.map({ ($0, try store.own.engine.commit($0)) }) {
      let there = try #require(graph.number(of: commit.identity), "\(number)")
      let view = try target.own.view(at: CommitNumber(there))
      for identifier in 1...3 as ClosedRange<Int64> {
        #expect(
          try ExchangedStore.text(identifier, in: view)
            == ExchangedStore.text(identifier, in: store.own.view(at: CommitNumber(number))))
      }
    }
    try target.expectSound()
  }

  /// A commit as it comes from elsewhere, with a datastore of its own.
  private func make(
    _ identity: CommitIdentity, _ pedigree: Pedigree? = nil, on base: UInt64? = nil, movesHead: Bool = true,
    in store: ExchangedStore
  ) throws {
    try store.own.engine.admitCommitsOfOthers()
    let transaction = try store.own.engine.beginBlocking(on: base)
    let descriptor = DatastoreDescriptor(
      key: "Of \(identity.number)", identifierType: "Int", identifierEncoding: .integer, coding: .json)
    try DatastoreWriter.create(descriptor, in: transaction)
    try transaction.commit(CommitInfo(movesHead: movesHead, identity: identity, pedigree: pedigree))?.wait()
  }

  private func its(_ number: UInt64) -> CommitIdentity { CommitIdentity(origin: 0xA1, number: number) }

  @Test("what a commit was made on is told with it, also where another one tells of it here that is not sent")
  func toldByAnother() throws {
    let source = try filled()
    let base = source.head
    let runs = [Pedigree.Run(origin: 0xA1, numbers: 5...9, parents: [base])]
    try make(its(20), Pedigree(parents: [its(7)], squashed: runs), movesHead: false, in: source)
    try make(its(21), Pedigree(parents: [its(7)]), in: source)
    let target = try ExchangedStore("bob", isEmpty: true)
    try target.receive(source.stream())
    let (here, there) = (try source.graph, try target.graph)
    #expect(here.knows(its(20)) && !there.knows(its(20)))
    for known in [base, its(5), its(7)] { #expect(here.contains(known, in: its(21))) }
    #expect(there.ancestry(of: [its(21)]) == here.ancestry(of: [its(21)]))
  }

  @Test("what compaction left out and another sent again goes before what was made on it")
  func sentAgain() throws {
    let source = try filled()
    let (base, number) = (source.head, source.own.engine.head.commit.number)
    let told = [Pedigree.Run(its(7), parents: [base])]
    try make(its(21), Pedigree(parents: [its(7)], squashed: told), in: source)
    try make(its(7), on: number, movesHead: false, in: source)
    let sent = try source.stream().compactMap { StreamLine($0)?.text("commit").flatMap(CommitIdentity.init(text:)) }
    #expect(sent.suffix(2) == [its(7), its(21)])
    #expect(sent.count == 7)
  }

  @Test("a stream that is cut at any byte leaves whole commits only, and the next one goes on")
  func cut() throws {
    let source = try filled()
    let bytes = Array(try source.stream().joined(separator: [UInt8(ascii: "\n")]))
    for length in stride(from: 0, to: bytes.count, by: 97) {
      let target = try ExchangedStore("bob", isEmpty: true)
      let lines = bytes.prefix(length).split(separator: UInt8(ascii: "\n")).map(Array.init)
      #expect(throws: ExchangeError.self) { try target.receive(lines) }
      #expect(target.own.head.commit == CommitNumber(0))
      let kept = try target.graph.numbers.count
      #expect(try target.receive(source.stream()).count == 5 - kept)
      try target.expectSound()
    }
  }

  @Test("any changed byte of a stream is found, with its line, and head stays where it was")
  func garbled() throws {
    let source = try filled()
    let bytes = Array(try source.stream().joined(separator: [UInt8(ascii: "\n")]))
    // Behind the first line, whose store and “since” are for people.
    let start = try #require(bytes.firstIndex(of: UInt8(ascii: "\n"))) + 1
    for place in stride(from: start, to: bytes.count, by: 31) {
      var garbled = bytes
      garbled[place] ^= 1
      let target = try ExchangedStore("bob", isEmpty: true)
      #expect(throws: (any Error).self, "byte \(place)") {
        try target.receive(garbled.split(separator: UInt8(ascii: "\n")).map(Array.init))
      }
      #expect(target.own.head.commit == CommitNumber(0))
      try target.expectSound()
    }
  }

  @Test("what a hostile stream claims is refused, with the line and the reason")
  func hostile() throws {
    let source = try filled()
    let lines = try source.stream()
    func refusal(_ change: (inout [String]) -> Void, of store: ExchangedStore? = nil) throws -> String {
      var texts = lines.map(\.text)
      change(&texts)
      let target = try store ?? ExchangedStore("bob", isEmpty: true)
      do {
        try target.receive(texts.map { Array($0.utf8) })
        return "nothing"
      } catch {
        #expect(target.own.head.commit == CommitNumber(0))
        return "\(error)"
      }
    }
    #expect(try refusal { $0 = [] } == "line 0: the stream is empty")
    #expect(try refusal { $0[0] = "hello" } == "line 1: it is not a JSON object on one line")
    #expect(
      try refusal { $0[0] = #"{"strata":2}"# } == "line 1: this is a stream of version 2; this program knows version 1")
    #expect(
      try refusal { $0[1] = String(repeating: "[", count: 100_000) } == "line 2: it is not a JSON object on one line")
    #expect(
      try refusal { texts in
        let second = texts.indices.filter { texts[$0].hasPrefix(#"{"commit""#) }[1]
        texts.removeSubrange(1..<second)
      }.contains("is missing"))
    #expect(try refusal { $0[1] = $0[1].replacing("ada", with: "eve") }.contains("the digest of"))
    func commit(_ parents: [CommitIdentity], date: Int64) -> String {
      let identity = CommitIdentity(origin: 7, number: 7)
      let digest = CommitDigest.text(
        identity: identity, parents: parents, date: date, action: "", program: "", author: "", flags: [], undoes: nil)
      let list = parents.map { "\"\($0.text)\"" }.joined(separator: ",")
      return
        "{\"commit\":\"\(identity.text)\",\"parents\":[\(list)],\"date\":\"\(MomentText.text(date))\",\"digest\":\"\(digest)\"}"
    }
    #expect(
      try refusal { $0[1] = commit([], date: .max - 1) }.contains("more than a day ahead of this machine's clock"))
    let own = CommitIdentity(origin: 7, number: 7)
    #expect(try refusal { $0[1] = commit([own], date: 5) }.contains("which it was made on, is missing"))
    #expect(
      try refusal {
        $0[1] =
          String(commit([], date: 5).dropLast()) + ",\"squashed\":[[\"0000000000000001:9\",3,[]]]}"
      }
      .contains("“squashed” holds"))
    #expect(
      try refusal { $0[1] = String(commit([], date: 5).dropLast()) + ",\"squashed\":[1,2,3,4,5,6,7,8,9]}" }
        .contains("not a list of runs"))
    #expect(try refusal { $0.append(#"{"put":"City","id":1}"#) }.contains("stands outside of a commit"))
    // One identity, two commits: a clone.
    let other = try ExchangedStore("eve", isEmpty: true)
    try other.receive(lines)
    let last = try #require(lines.lastIndex { $0.text.hasPrefix(#"{"commit""#) })
    let text = lines[last].text
    let forged = text.replacing("\"author\":\"ada\"", with: "\"author\":\"eve\"")
    let line = try #require(StreamLine(Array(forged.utf8)))
    let identity = try #require(CommitIdentity(text: line.text("commit") ?? ""))
    let digest = CommitDigest.text(
      identity: identity, parents: (line.texts("parents") ?? []).compactMap(CommitIdentity.init(text:)),
      date: try #require(MomentText.nanoseconds(line.text("date") ?? "")), action: line.text("action") ?? "",
      program: line.text("program") ?? "", author: "eve", flags: [], undoes: nil)
    let forgery = forged.replacing(line.text("digest") ?? "?", with: digest)
    #expect(try refusal({ $0[last] = forgery }, of: other).contains("is another one there"))
  }

  @Test("SHA-256 gives the published digests")
  func digests() {
    func hex(_ text: String) -> String {
      var digits = ""
      for byte in SHA256.digest(of: Array(text.utf8)) { Hexadecimal.append(byte, to: &digits) }
      return digits
    }
    #expect(hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    #expect(hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(
      hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")
        == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
  }

  @Test("a store that was compacted sends what it has, with the names of what it left out")
  func compacted() throws {
    let source = try filled()
    _ = try source.own.engine.compact(.last(2)) { _ in true }
    let target = try ExchangedStore("bob", isEmpty: true)
    #expect(try target.receive(source.stream()).count == 2)
    let (ours, theirs) = (try source.graph, try target.graph)
    #expect(Set(ours.identities) == Set(theirs.identities))
    for identity in ours.identities { #expect(theirs[identity]?.parents == ours[identity]?.parents) }
    try target.expectSound()
  }
}

extension StreamTests {
  @Test("a store with compressed values and one without send each other the same lines")
  func compressedValues() throws {
    let plain = try ExchangedStore("ada")
    let documents = (1...3_000).map { number in
      #"{"id":\#(number),"name":"city \#(number)","population":\#(number * 7919),"zone":"Europe/Berlin","country":"DE","kind":"populated place"}"#
    }
    let parsed = try documents.map { try JSONParser.parse($0) }
    _ = try plain.own.commit(plain.own.changes(putting: parsed, into: "City"), named: "put", options: EditOptions())
    let packed = try ExchangedStore("bob", isEmpty: true)
    try packed.receive(plain.stream())
    let head = try #require(try packed.graph.number(of: plain.head))
    try packed.own.engine.change(CommitInfo(flags: .bookkeeping, movesHead: false, head: head)) { _ in }
    try packed.own.declareCompression(true, of: ["City"])
    _ = try packed.own.compact(.all, progress: nil)
    #expect(try #require(packed.own.head.datastore("City")?.compressedShare) < 0.5)
    #expect(try packed.contents() == plain.contents())
    try packed.put(3, bytes: #"{"id":3,"name":"changed"}"#)
    let common = plain.head
    #expect(try packed.stream(since: [common]).map(\.text).contains { $0.contains("changed") })
    // Everything, and the commits since, go back to the one without.
    try plain.receive(packed.stream(since: [common]))
    let there = try #require(try plain.graph.number(of: packed.head))
    #expect(try ExchangedStore.text(3, in: plain.own.view(at: CommitNumber(there))) == #"{"id":3,"name":"changed"}"#)
    #expect(try ExchangedStore.text(4, in: plain.own.view(at: CommitNumber(there))) == packed.text(4))
    let again = try ExchangedStore("cy", isEmpty: true)
    try again.receive(packed.stream())
    for store in [plain, packed, again] { try store.expectSound() }
  }
}
