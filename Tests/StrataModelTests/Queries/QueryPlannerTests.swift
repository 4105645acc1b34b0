import StrataDocuments
import StrataExpressions
import Testing

@testable import StrataModel

/// The planner on made-up statistics: no store, no record.
@Suite("The query planner")
struct QueryPlannerTests {
  /// An index of integers whose entries are 0, 1, 2 … `spread` times each.
  private func index(_ name: String, _ count: Int, spread: Int = 1) -> QueryIndex {
    QueryIndex(
      name: name, subjects: [.path(DocumentPath([.member(name)]))], encodings: [.integer], count: count,
      rank: { bound throws(ModelError) in
        switch bound {
        case .start: 0
        case .end: count
        case .before(.integer(let value)): min(count, max(0, Int(value) * spread))
        case .after(.integer(let value)): min(count, max(0, (Int(value) + 1) * spread))
        default: 0
        }
      })
  }

  /// Two tiers of integers, 100 entries for each first one.
  private var compound: QueryIndex {
    QueryIndex(
      name: "pair", subjects: [.path(DocumentPath([.member("a")])), .path(DocumentPath([.member("z")]))],
      encodings: [.integer, .descending(.integer)], isCompound: true, count: 10_000,
      rank: { bound throws(ModelError) in
        func place(_ value: KeyValue, after: Bool) -> Int {
          guard case .compound(let tiers) = value, case .integer(let first)? = tiers.first else { return 0 }
          guard tiers.count > 1, case .integer(let second) = tiers[1] else {
            return Int(first) * 100 + (after ? 100 : 0)
          }
          return Int(first) * 100 + 99 - Int(second) + (after ? 1 : 0)
        }
        return switch bound {
        case .start: 0
        case .end: 10_000
        case .before(let value): place(value, after: false)
        case .after(let value): place(value, after: true)
        }
      })
  }

  private func plan(
    _ text: String?, _ indexes: [QueryIndex], rows: Int = 10_000, sort: [(String, Bool)] = [],
    need: QueryPlanner.Need = .all, mayScan: Bool = true
  ) throws -> QueryPlan {
    try QueryPlanner(indexes: indexes, rows: rows, mayScan: mayScan).plan(
      text.map { try Filter(parsing: $0).queryCondition },
      sort: sort.map { QuerySort(.path(DocumentPath([.member($0.0)])), isDescending: $0.1) }, need: need)
  }

  @Test("the range with the fewest entries leads, and what it settles is not tested")
  func fewest() throws {
    let indexes = [index("a", 10_000), index("b", 10_000, spread: 100)]
    #expect(try plan("a < 5", indexes).text == "INDEX a ..<5 5 entries · SORT identifiers")
    #expect(try plan("a < 500 and b = 3", indexes).text.hasPrefix("INTERSECT (INDEX b 3 100 entries, INDEX a"))
    #expect(
      try plan("a < 9000 and b = 3", indexes).text
        == "INDEX b 3 100 entries · KEEP a < 9000 and b = 3 · SORT no")
    #expect(try plan("a < 5 and c = 1", indexes).isTested)
    #expect(try plan("a > 3 and a <= 7", indexes).entryCount == 4)
    #expect(try plan("a > 7 and a < 3", indexes).entryCount == 0)
  }

  @Test("ties go by name, stale and unknown indexes serve nothing, and what no index serves is a scan")
  func ties() throws {
    let condition = "x = 1 and y = 1"
    #expect(
      try plan(condition, [index("y", 10_000), index("x", 10_000)]).text.hasPrefix("INTERSECT (INDEX x 1 1 entry"))
    #expect(try plan("c = 1", [index("a", 10)]).text == "SCAN 10000 records · KEEP c = 1 · SORT no")
    #expect(try plan("a = 1 or c = 1", [index("a", 10_000)]).way == .scan)
    #expect(try plan("not (a = 1 and c = 1)", [index("a", 10_000)]).way == .scan)
    #expect(try plan(nil, []).text == "SCAN 10000 records · SORT no")
  }

  @Test("alternatives are united where each has an index; those of one index are one run of ranges")
  func unions() throws {
    let indexes = [index("a", 10_000), index("b", 10_000)]
    #expect(try plan("a = 1 or b = 2", indexes).shortText == "UNION")
    #expect(
      try plan("a = 1 or a = 2 or a = 7", indexes).way
        == .index(
          IndexRanges(index: "a", ranges: [1..<3, 7..<8], shown: "1, 2, 7")))
    #expect(try plan("a in (4, 2)", indexes).entryCount == 2)
    #expect(try plan("not a = 3", indexes, mayScan: false).entryCount == 9_999)
  }

  @Test("ranges have in common what each number lies in both")
  func commonRanges() {
    var random = SeededGenerator(seed: 7)
    func ranges() -> [Range<Int>] {
      (0..<Int.random(in: 0...6, using: &random)).map { _ in
        let start = Int.random(in: 0...30, using: &random)
        return start..<start + Int.random(in: 0...6, using: &random)
      }.united
    }
    for _ in 0..<200 {
      let (left, right) = (ranges(), ranges())
      let common = left.intersected(with: right)
      #expect(
        common.flatMap { $0 }
          == (0...40).filter { number in
            left.contains { $0.contains(number) } && right.contains { $0.contains(number) }
          })
    }
  }

  @Test("a compound index takes equal tiers and one range after them, also of a descending tier")
  func compounds() throws {
    #expect(try plan("a = 3", [compound]).entryCount == 100)
    let plan = try plan("a = 3 and z > 89", [compound])
    #expect(plan.entryCount == 10)
    #expect(!plan.isTested)
    #expect(try self.plan("z > 89", [compound]).way == .scan)
  }

  @Test("an order is free where the index has it: whole, in a range, backwards, behind equal tiers")
  func orders() throws {
    #expect(try plan(nil, [index("a", 10_000)], sort: [("a", false)]).order == .along(index: "a", isDescending: false))
    #expect(
      try plan("a > 5", [index("a", 10_000)], sort: [("a", true)], mayScan: false).order
        == .along(index: "a", isDescending: true))
    #expect(try plan("a = 3", [compound], sort: [("z", true)]).order == .along(index: "pair", isDescending: false))
    #expect(try plan("a = 3", [compound], sort: [("z", false)]).order == .along(index: "pair", isDescending: true))
    #expect(try plan("a = 3", [compound], sort: [("q", false)]).order == .sort)
    // The second tier would come between records that are equal in the first.
    #expect(try plan(nil, [compound], sort: [("a", false)]).order == .sort)
    // An index that lacks records has no order of all of them.
    #expect(try plan(nil, [index("a", 9_000)], sort: [("a", false)]).order == .sort)
    #expect(try plan("c = 1", [index("a", 10_000)], sort: [("a", false)]).order == .sort)
    #expect(
      try plan("c = 1", [index("a", 10_000)], sort: [("a", false)], need: .first(20)).order
        == .along(index: "a", isDescending: false))
  }

  @Test(
    "records that are equal in an index lie by identifier, which it has in the order of a sort, forwards or backwards")
  func identifiers() throws {
    var own = index("n", 10_000)
    own.name = ""
    let indexes = [own, index("a", 10_000, spread: 10)]
    func order(_ text: String?, _ sort: [(String, Bool)]) throws -> QueryPlan.Order {
      try plan(text, indexes, sort: sort, need: .first(20), mayScan: false).order
    }
    #expect(try order(nil, [("n", true)]) == .along(index: "", isDescending: true))
    #expect(try order(nil, [("n", true), ("a", false)]) == .along(index: "", isDescending: true))
    #expect(try order(nil, [("a", false), ("n", false), ("z", true)]) == .along(index: "a", isDescending: false))
    #expect(try order(nil, [("a", true), ("n", false)]) == .along(index: "a", isDescending: true))
    #expect(try order(nil, [("a", true), ("n", true)]) == .reversed(index: "a"))
    #expect(try order(nil, [("a", false), ("n", true)]) == .sort)
    #expect(try order("a = 3", [("n", false)]) == .along(index: "a", isDescending: false))
    #expect(try order("a = 3", [("n", true)]) == .reversed(index: "a"))
    #expect(try order("a > 9990", [("n", true)]) == .sort)
    let pair = QueryIndex(
      name: "pair", subjects: own.subjects + indexes[1].subjects, encodings: [.integer, .integer], isCompound: true,
      count: 10_000, rank: { _ throws(ModelError) in 0 })
    #expect(
      try plan(nil, [own, pair], sort: [("n", true), ("a", true)], need: .first(20)).order
        == .along(index: "", isDescending: true))
  }

  @Test("an index that leads to most records is left alone where all may be read, and used where they may not")
  func most() throws {
    let (indexes, condition) = ([index("a", 10_000)], "a > 1000 and c = 1")
    #expect(try plan(condition, indexes).way == .scan)
    #expect(try plan(condition, indexes, mayScan: false).entryCount == 8_999)
  }
}
