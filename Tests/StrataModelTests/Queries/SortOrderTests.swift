import StrataDocuments
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
}
