import StrataModel
import StrataDocuments
import StrataExpressions
import StrataEngine
import Testing

@testable import StrataExchange

/// A version of an app: it converts records of older versions, and notes its own in each.
struct CityApp: CompiledFormat {
  let version: String
  var indexes = ExchangedStore.descriptor.indexes
  var datastore: String { "City" }
  var recordOrder: KeyOrder { .bytes }

  func order(ofIndex name: String) -> EntryOrder { .bytes }

  func keys(of content: RecordContent) throws(ModelError) -> (identifier: [UInt8], values: [String: [[UInt8]]]) {
    do {
      let document = try JSONParser.parse(content.bytes)
      var values: [String: [[UInt8]]] = [:]
      for index in indexes {
        let value = try document[DocumentPath(parsing: "." + index.name)]
        let key = index.encoding.keyValue(from: value ?? .null)
        values[index.name] = try key.map { [try index.encoding.encode($0)] } ?? []
      }
      let identifier = KeyEncoding.integer.keyValue(from: document[member: "id"] ?? .null)
      return (try KeyEncoding.integer.encode(identifier ?? .null), values)
    } catch { throw .refused(reason: "\(error)") }
  }

  func createTrees(for content: RecordContent, in transaction: any WriteTransaction) throws(ModelError) {
    throw .refused(reason: "the stores of this suite have their datastore")
  }

  func lifted(_ content: RecordContent) throws(ModelError) -> RecordContent {
    do {
      var document = try JSONParser.parse(content.bytes)
      document = try document.setting(DocumentPath(parsing: ".app"), to: .string(version))
      return RecordContent(version: version, bytes: document.json(.compact))
    } catch { throw .refused(reason: "\(error)") }
  }
}

@Suite("Two versions of an app merge")
struct AppVersionTests {
  private func store(_ name: String, _ version: String) -> ExchangedStore {
    ExchangedStore(EngineStore.memory(path: name, program: "test", author: name, formats: [CityApp(version: version)]))
  }

  /// Base of version 1, both sides edited by version 2; then one of them is at `left`, the other at `right`.
  private func edited(_ left: String, _ right: String) throws -> (ExchangedStore, ExchangedStore) {
    let first = try ExchangedStore("one")
    try first.put(#"{"id":1,"name":"b","n":0}"#)
    try first.put(#"{"id":2,"name":"b","n":0}"#)
    let (ours, theirs) = (store("ada", left), store("bob", right))
    for store in [ours, theirs] { try store.fetchAndMerge(first) }
    try ours.put(1, version: "2", bytes: #"{"id":1,"name":"x","n":0,"app":"2"}"#)
    try theirs.put(1, version: "2", bytes: #"{"id":1,"name":"b","n":5,"app":"2"}"#)
    return (ours, theirs)
  }

  @Test(
    "merged at once by an older and a newer version, the newer one's merge stands, without another one",
    arguments: [false, true])
  func atOnce(isNewerFirst: Bool) throws {
    let (ours, theirs) = try isNewerFirst ? edited("3", "2") : edited("2", "3")
    let (left, right) = (ours.head, theirs.head)
    try ours.fetch(theirs)
    try theirs.fetch(ours)
    try ours.merge(right)
    try theirs.merge(left)
    #expect(ours.head != theirs.head)
    let newer = isNewerFirst ? ours.head : theirs.head
    for round in 1...2 {
      try ours.fetchAndMerge(theirs)
      try ours.push(theirs)
      #expect((ours.head, theirs.head) == (newer, newer), "round \(round)")
    }
    #expect(try ours.contents() == theirs.contents())
    #expect(try ours.text(1).map { try JSONParser.parse($0) } == ["id": 1, "name": "x", "n": 5, "app": "3"])
    #expect(try ours.fetch(theirs).received == 0 && ours.push(theirs) == 0)
    for store in [ours, theirs] { try store.expectSound() }
  }

  @Test(
    "what is made on the newer version's merge takes the place of the older one's, and a head that was replaced is merged no more"
  )
  func goesOn() throws {
    let (ours, theirs) = try edited("2", "3")
    let (left, right) = (ours.head, theirs.head)
    try ours.fetch(theirs)
    try theirs.fetch(ours)
    try ours.merge(right)
    try theirs.merge(left)
    let older = ours.head
    try theirs.put(2, version: "3", bytes: #"{"id":2,"name":"later","n":0,"app":"3"}"#)
    try theirs.fetch(ours)
    #expect(try theirs.exchange.planMerge(older).kind == .nothing)
    try ours.fetchAndMerge(theirs)
    #expect(ours.head == theirs.head)
    #expect(try ours.contents() == theirs.contents())
  }

  @Test("an edit by the older version and a migration by the newer one come out the same, whichever side merges")
  func migrated() throws {
    let (ours, theirs) = try edited("3", "3")
    try theirs.put(1, version: "3", bytes: #"{"id":1,"name":"b","n":0,"app":"3"}"#)
    let (left, right) = (ours.head, theirs.head)
    try ours.fetch(theirs)
    try theirs.fetch(ours)
    try ours.merge(right)
    try theirs.merge(left)
    #expect(ours.head == theirs.head)
    #expect(try ours.contents() == theirs.contents())
  }

  @Test("two stores that have made one commit of merges that differ are told so")
  func diverged() throws {
    let (ours, theirs) = try MergeTests.pair(#"{"id":1,"name":"b"}"#)
    try ours.put(#"{"id":2,"name":"two"}"#)
    try theirs.put(#"{"id":3,"name":"three"}"#)
    let (left, right) = (ours.head, theirs.head)
    try ours.fetch(theirs)
    try theirs.fetch(ours)
    try ours.merge(right)
    // As programs of old made it: the same commit, of another content.
    var plan = try theirs.exchange.planMerge(left)
    let bytes = Array(#"{"id":1,"name":"differs"}"#.utf8)
    let place = RecordPlace(
      datastore: "City", identifier: StoredKey(bytes: try KeyEncoding.integer.encode(.integer(1)), value: .integer(1)))
    plan.clean.edits.changes.append(
      RecordEdit(
        datastore: "City", identifier: place.identifier,
        old: RecordContent(version: "1", bytes: Array(#"{"id":1,"name":"b"}"#.utf8)),
        new: RecordContent(version: "1", bytes: bytes)))
    _ = try #require(try theirs.exchange.commit(plan))
    #expect(ours.head == theirs.head)
    let notes = try ours.fetch(theirs).notes
    #expect(notes.count == 1 && notes[0].contains("not the same records"), "\(notes)")
    #expect(try ours.exchange.headCheck().hasPrefix("City 3\n"))
    let (same, again) = try MergeTests.pair(#"{"id":1,"name":"b"}"#)
    #expect(try same.fetch(again).notes.isEmpty)
  }
}
