import StrataDocuments
import StrataEngine
import StrataExpressions
import Testing

@testable import StrataModel

/// Sorts by fields whose index has another order than the sort, or not all values.
@Suite("Sorts beside an index")
struct SortOrderTests {
  private static func ids(
    _ query: RecordQuery, in store: EngineStore, limit: Int? = nil
  ) throws -> [Document?] {
    let datastore = try #require(try store.head.datastore("City"))
    let plan = try query.plan(in: datastore, need: limit.map { .first($0) } ?? .all)
    var run = try query.run(plan, in: datastore, limit: limit)
    var found: [Document?] = []
    while let next = try run.next() { found.append(try next.document()[member: "id"]) }
    return found
  }

  @Test("lists of which an index has one element in common are sorted as lists")
  func elements() throws {
    let store = EngineStore.memory()
    let lists = (0..<100).map { id in id % 20 == 0 ? ["z", "a"] : id % 20 == 10 ? ["a", "m"] : ["b"] }
    try Cities.write(lists.enumerated().map { Cities.document($0, tags: $1) }, to: store)
    let query = RecordQuery(
      filter: try Filter(parsing: "tags has \"a\""), sort: [(DocumentPath([.member("tags")]), false)])
    let datastore = try #require(try store.head.datastore("City"))
    #expect(try query.plan(in: datastore).shortText == "INDEX tags")
    #expect(try Self.ids(query, in: store) == [10, 30, 50, 70, 90, 0, 20, 40, 60, 80])
  }

  @Test("a sort by a path through lists takes their first values, which an index of the path does not have")
  func paths() throws {
    let path = try DocumentPath(parsing: "a.b")
    var list = DocumentList([
      ["id": 1, "a": ["b": "m"]], ["id": 2, "a": [["b": "z"], ["b": "c"]]], ["id": 3, "a": ["b": "d"]], ["id": 4],
    ])
    let store = EngineStore.memory()
    let plan = ImportPlan(
      datastore: "City", identifier: try DocumentPath(parsing: "id"), indexes: [.init(name: "ab", path: path)])
    _ = try Importer(store, plan).run(&list)
    let query = RecordQuery(sort: [(path, false)])
    #expect(try Self.ids(query, in: store) == [4, 3, 1, 2])
    #expect(try Self.ids(query, in: store, limit: 3) == [4, 3, 1])
  }

  @Test("only a plan for a sort looks for entries without a value in an index of such a path")
  func entriesForSort() throws {
    let path = try DocumentPath(parsing: "a.b")
    var list = DocumentList([["id": 1, "a": ["b": "m"]], ["id": 2, "a": ["b": "d"]], ["id": 3]])
    let store = EngineStore.memory()
    let plan = ImportPlan(
      datastore: "City", identifier: try DocumentPath(parsing: "id"), indexes: [.init(name: "ab", path: path)])
    _ = try Importer(store, plan).run(&list)
    let datastore = try #require(try store.head.datastore("City"))
    func reads(_ query: RecordQuery) throws -> UInt64 {
      let before = store.engine.counts.nodeReads
      _ = try query.plan(in: datastore)
      return store.engine.counts.nodeReads - before
    }
    let filter = try Filter(parsing: #"a.b = "m""#)
    _ = try reads(RecordQuery(filter: filter))
    #expect(try reads(RecordQuery(filter: filter)) < reads(RecordQuery(filter: filter, sort: [(path, false)])))
  }

  @Test("data is sorted as the text that records have, and not as the bytes that an index has")
  func data() throws {
    let path = DocumentPath([.member("seal")])
    var descriptor = Cities.descriptor
    descriptor.indexes = [
      IndexDescriptor(name: "seal", kind: .oneToMany, encoding: .data, valueType: "Data", keyPathName: "seal")
    ]
    let store = EngineStore.memory()
    let documents = try ["AA==", "+A==", "/w=="].enumerated().map { id, seal in
      try Cities.document(id).setting(path, to: .string(seal))
    }
    try Cities.write(documents, to: store, as: descriptor)
    #expect(try Self.ids(RecordQuery(sort: [(path, false)]), in: store) == [1, 2, 0])
  }
}
