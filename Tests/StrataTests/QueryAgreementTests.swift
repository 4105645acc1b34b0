import CodableDatastore
import StrataModel
import Foundation
import StrataLocks
import Testing

@testable import StoreBrowser

/// The same question put to the library, awaited and blocking, to the verbs and to the browser's core, now and at old commits: all answer
/// what a loop over the records does.
@Suite("One query, everywhere")
struct QueryAgreementTests {
  struct Shop: Codable, Hashable, Identifiable, Sendable {
    enum Kind: String, Codable, Comparable, Sendable, CaseIterable {
      case bakery, books, cheese
      static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }
    struct Place: Codable, Hashable, Sendable {
      var city: String
      var code: Int?
    }
    var id: Int
    var name: String
    var town: String?
    var size: UInt64
    var rating: Double
    var isOpen: Bool
    var kind: Kind
    var tags: [String]
    var place: Place
    var branch: Place?
    var token: UUID
    var price: Decimal
    var since: Date
    var note: String
  }

  struct ShopFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case one = 1 }
    typealias Instance = Shop
    static let defaultKey: DatastoreKey = "Shops"
    static let currentVersion = Version.one
    let name = Index(\.name)
    let town = Index(\.town)
    @Direct var size = Index(\.size)
    let rating = Index(\.rating)
    let kind = Index(\.kind)
    let tags = ManyToManyIndex(\.tags)
    let city = Index(\.place.city)
    let branchCity = Index(\.branch?.city)
    let token = Index(\.token)
    let price = Index(\.price)
    let since = Index(\.since)
    let pair = Index(\.town, \.size.descending)
  }

  typealias Tree = PredicateExpressions
  typealias Variable = PredicateExpressions.Variable<Shop>

  /// A condition in the three forms in which it is asked. The predicate is made as the macro makes it, so that conditions can be put
  /// together.
  struct Condition: Sendable {
    var expression: @Sendable (Variable) -> any StandardPredicateExpression<Bool>
    var text: String
    var holds: @Sendable (Shop) -> Bool

    var predicate: Predicate<Shop> { Predicate<Shop>({ expression($0) }) }
  }

  static let tokens = (0..<4).map { UUID(uuidString: "00000000-0000-0000-0000-00000000000\($0)") ?? UUID() }
  static let sizes: [UInt64] = [0, 1, 2, 3, UInt64(Int64.max), UInt64(Int64.max) + 1, .max - 1, .max]

  private static func key<Value>(
    _ shop: Variable, _ path: any KeyPath<Shop, Value> & Sendable
  ) -> Tree.KeyPath<Variable, Value> {
    Tree.build_KeyPath(root: shop, keyPath: path)
  }

  static let leaves: [Condition] = {
    let big = UInt64(Int64.max)
    let price = Decimal(string: "1.25") ?? 0
    let day = Date(timeIntervalSinceReferenceDate: 2000)
    return [
      Condition(
        expression: { Tree.build_Equal(lhs: key($0, \.name), rhs: Tree.build_Arg("Anna")) }, text: "name = \"Anna\"",
        holds: { $0.name == "Anna" }),
      Condition(
        expression: { Tree.build_NotEqual(lhs: key($0, \.name), rhs: Tree.build_Arg("Bob")) }, text: "name != \"Bob\"",
        holds: { $0.name != "Bob" }),
      Condition(
        expression: { Tree.build_Comparison(lhs: key($0, \.name), rhs: Tree.build_Arg("Bob"), op: .lessThan) },
        text: "name < \"Bob\"", holds: { $0.name < "Bob" }),
      Condition(
        expression: { Tree.build_starts(key($0, \.name), with: Tree.build_Arg("An")) },
        text: "name starts with \"An\"", holds: { $0.name.starts(with: "An") }),
      Condition(
        expression: { Tree.build_contains(Tree.build_Arg(["Anna", "Zoë"]), key($0, \.name)) },
        text: "name in (\"Anna\", \"Zoë\")", holds: { ["Anna", "Zoë"].contains($0.name) }),
      Condition(
        expression: {
          Tree.build_Comparison(lhs: key($0, \.size), rhs: Tree.build_Arg(big), op: .greaterThanOrEqual)
        }, text: "size >= \(big)", holds: { $0.size >= big }),
      Condition(
        expression: { Tree.build_Comparison(lhs: Tree.build_Arg(big + 1), rhs: key($0, \.size), op: .lessThan) },
        text: "size > \(big + 1)", holds: { big + 1 < $0.size }),
      Condition(
        expression: { Tree.build_Comparison(lhs: key($0, \.size), rhs: Tree.build_Arg(2), op: .lessThanOrEqual) },
        text: "size <= 2", holds: { $0.size <= 2 }),
      Condition(
        expression: { Tree.build_contains(Tree.build_Arg(UInt64(1)...3), key($0, \.size)) },
        text: "size between 1 and 3", holds: { (1...3).contains($0.size) }),
      Condition(
        expression: { Tree.build_Comparison(lhs: key($0, \.rating), rhs: Tree.build_Arg(0.5), op: .greaterThan) },
        text: "rating > 0.5", holds: { $0.rating > 0.5 }),
      Condition(
        expression: { Tree.build_Equal(lhs: key($0, \.town), rhs: Tree.build_NilLiteral()) }, text: "town is null",
        holds: { $0.town == nil }),
      Condition(
        expression: { Tree.build_Equal(lhs: key($0, \.town), rhs: Tree.build_Arg("Bern" as String?)) },
        text: "town = \"Bern\"", holds: { $0.town == "Bern" }),
      Condition(
        expression: {
          Tree.build_Equal(
            lhs: Tree.build_NilCoalesce(lhs: key($0, \.town), rhs: Tree.build_Arg("Zug")), rhs: Tree.build_Arg("Zug"))
        }, text: "town = \"Zug\" or town is null", holds: { ($0.town ?? "Zug") == "Zug" }),
      Condition(
        expression: { Tree.build_Equal(lhs: key($0, \.kind), rhs: Tree.build_Arg(Shop.Kind.bakery)) },
        text: "kind = \"bakery\"", holds: { $0.kind == .bakery }),
      Condition(
        expression: { Tree.build_contains(Tree.build_Arg([Shop.Kind.cheese, .books]), key($0, \.kind)) },
        text: "kind in (\"cheese\", \"books\")", holds: { $0.kind != .bakery }),
      Condition(
        expression: {
          Tree.build_Comparison(lhs: key($0, \.kind), rhs: Tree.build_Arg(Shop.Kind.bakery), op: .greaterThan)
        },
        text: "kind > \"bakery\"", holds: { $0.kind > .bakery }),
      Condition(
        expression: { Tree.build_contains(Tree.build_Arg(Shop.Kind.bakery..<Shop.Kind.cheese), key($0, \.kind)) },
        text: "kind >= \"bakery\" and kind < \"cheese\"", holds: { $0.kind < .cheese }),
      Condition(
        expression: { Tree.build_contains(key($0, \.tags), Tree.build_Arg("b")) }, text: "tags has \"b\"",
        holds: { $0.tags.contains("b") }),
      Condition(
        expression: {
          Tree.build_Equal(
            lhs: Tree.build_KeyPath(root: key($0, \.place), keyPath: \.city), rhs: Tree.build_Arg("X"))
        }, text: "place.city = \"X\"", holds: { $0.place.city == "X" }),
      Condition(
        expression: {
          Tree.build_Equal(
            lhs: Tree.build_flatMap(key($0, \.branch)) { Tree.build_KeyPath(root: $0, keyPath: \.city) },
            rhs: Tree.build_Arg("Y" as String?))
        }, text: "branch.city = \"Y\"", holds: { $0.branch?.city == "Y" }),
      Condition(
        expression: { Tree.build_Equal(lhs: key($0, \.token), rhs: Tree.build_Arg(tokens[1])) },
        text: "token = \"\(tokens[1].uuidString)\"", holds: { $0.token == tokens[1] }),
      Condition(
        expression: { Tree.build_Comparison(lhs: key($0, \.price), rhs: Tree.build_Arg(price), op: .greaterThan) },
        text: "price > 1.25", holds: { $0.price > price }),
      Condition(
        expression: { Tree.build_Comparison(lhs: key($0, \.since), rhs: Tree.build_Arg(day), op: .lessThan) },
        text: "since < 2000", holds: { $0.since < day }),
      Condition(
        expression: {
          Tree.build_contains(
            Tree.build_Arg(day...Date(timeIntervalSinceReferenceDate: 3000)), key($0, \.since))
        }, text: "since between 2000 and 3000",
        holds: { $0.since >= day && $0.since.timeIntervalSinceReferenceDate <= 3000 }),
      Condition(
        expression: { Tree.build_contains(Tree.build_Arg([tokens[0], tokens[3]]), key($0, \.token)) },
        text: "token in (\"\(tokens[0].uuidString)\", \"\(tokens[3].uuidString)\")",
        holds: { $0.token == tokens[0] || $0.token == tokens[3] }),
      Condition(
        expression: { Tree.build_NotEqual(lhs: key($0, \.price), rhs: Tree.build_Arg(price)) }, text: "price != 1.25",
        holds: { $0.price != price }),
      Condition(
        expression: { Tree.build_Equal(lhs: key($0, \.size), rhs: Tree.build_Arg(UInt64.max)) },
        text: "size = \(UInt64.max)", holds: { $0.size == .max }),
      Condition(
        expression: { Tree.build_NotEqual(lhs: key($0, \.town), rhs: Tree.build_NilLiteral()) },
        text: "not (town is null)", holds: { $0.town != nil }),
      Condition(
        expression: {
          Tree.build_Equal(
            lhs: Tree.build_KeyPath(root: key($0, \.place), keyPath: \.code), rhs: Tree.build_Arg(1 as Int?))
        }, text: "place.code = 1", holds: { $0.place.code == 1 }),
      Condition(
        expression: { Tree.build_Equal(lhs: key($0, \.isOpen), rhs: Tree.build_Arg(false)) }, text: "isOpen = false",
        holds: { !$0.isOpen }),
      Condition(expression: { key($0, \.isOpen) }, text: "isOpen", holds: { $0.isOpen }),
      Condition(
        expression: { Tree.build_Equal(lhs: key($0, \.note), rhs: Tree.build_Arg("n1")) }, text: "note = \"n1\"",
        holds: { $0.note == "n1" }),
      Condition(
        expression: { Tree.build_Comparison(lhs: key($0, \.id), rhs: Tree.build_Arg(20), op: .greaterThan) },
        text: "id > 20", holds: { $0.id > 20 }),
      Condition(
        expression: { Tree.build_contains(Tree.build_Arg(5..<9), key($0, \.id)) }, text: "id >= 5 and id < 9",
        holds: { (5..<9).contains($0.id) }),
    ]
  }()

  private static func condition(depth: Int, using random: inout SeededGenerator) -> Condition {
    guard depth > 0, Int.random(in: 0..<4, using: &random) > 0 else { return random.one(of: leaves) }
    let left = condition(depth: depth - 1, using: &random)
    if Int.random(in: 0..<4, using: &random) == 0 {
      return Condition(
        expression: { not(left.expression($0)) }, text: "not (\(left.text))", holds: { !left.holds($0) })
    }
    let right = condition(depth: depth - 1, using: &random)
    if Bool.random(using: &random) {
      return Condition(
        expression: { all(left.expression($0), right.expression($0)) }, text: "(\(left.text)) and (\(right.text))",
        holds: { left.holds($0) && right.holds($0) })
    }
    return Condition(
      expression: { any(left.expression($0), right.expression($0)) }, text: "(\(left.text)) or (\(right.text))",
      holds: { left.holds($0) || right.holds($0) })
  }

  private static func not(
    _ part: some StandardPredicateExpression<Bool>
  ) -> any StandardPredicateExpression<Bool> { Tree.build_Negation(part) }

  private static func all(
    _ left: some StandardPredicateExpression<Bool>, _ right: some StandardPredicateExpression<Bool>
  ) -> any StandardPredicateExpression<Bool> { Tree.build_Conjunction(lhs: left, rhs: right) }

  private static func any(
    _ left: some StandardPredicateExpression<Bool>, _ right: some StandardPredicateExpression<Bool>
  ) -> any StandardPredicateExpression<Bool> { Tree.build_Disjunction(lhs: left, rhs: right) }

  private static func shop(_ id: Int, using random: inout SeededGenerator) -> Shop {
    func place() -> Shop.Place {
      Shop.Place(
        city: random.one(of: ["X", "Y"]), code: random.one(of: [nil, 1, 2]))
    }
    return Shop(
      id: id, name: random.one(of: ["Anna", "Bob", "Éva", "Zoë", "anna"]),
      town: random.one(of: [nil, "Bern", "Zug"]), size: random.one(of: sizes),
      rating: Double(Int.random(in: -3...3, using: &random)) / 2, isOpen: Bool.random(using: &random),
      kind: random.one(of: Shop.Kind.allCases),
      tags: ["a", "b", "c"].filter { _ in Bool.random(using: &random) }, place: place(),
      branch: Bool.random(using: &random) ? place() : nil, token: random.one(of: tokens),
      price: Decimal(Int.random(in: 0...8, using: &random)) / 4,
      since: Date(timeIntervalSinceReferenceDate: Double(Int.random(in: 0..<5, using: &random) * 1000)),
      note: random.one(of: ["n1", "n2"]))
  }

  /// The seed of a run that failed is its argument; STRATA_SEED runs one again.
  private static let seeds: [UInt64] =
    ProcessInfo.processInfo.environment["STRATA_SEED"].flatMap(UInt64.init).map { [$0] }
    ?? [1, 2, 3, UInt64.random(in: 4...999_999)]

  @Test("random conditions of depth 4 with sorts and limits, between edits, at old commits", arguments: seeds)
  func agreement(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let folder = try TemporaryFolder()
    let path = folder.path("Shops.strata")
    let persistence = try DiskPersistence(readWriteURL: URL(filePath: path))
    let datastore = persistence.datastore(ShopFormat.self)
    var all: [Int: Shop] = [:]
    var states: [(commit: CodableDatastore.Commit.Number, shops: [Shop])] = []
    for _ in 0..<3 {
      var changed: [Shop] = []
      for _ in 0..<30 {
        let shop = Self.shop(Int.random(in: 0..<60, using: &random), using: &random)
        all[shop.id] = shop
        changed.append(shop)
      }
      let shops = changed
      try await datastore.persist(contentsOf: shops)
      if let gone = all.keys.sorted().randomElement(using: &random) {
        try await datastore.delete(gone)
        all[gone] = nil
      }
      states.append((try #require(await persistence.head).id, all.values.sorted { $0.id < $1.id }))
    }
    let store = try EngineStore.open(path: path, readOnly: true)
    for round in 0..<24 {
      let (commit, shops) = states[round % 2 == 0 ? states.count - 1 : round % states.count]
      let condition = Self.condition(depth: 4, using: &random)
      let isSorted = Bool.random(using: &random)
      let (limit, offset) = (Int.random(in: 1...20, using: &random), Int.random(in: 0...8, using: &random))
      let matching = shops.filter(condition.holds)
      let ordered = isSorted ? matching.sorted(by: Self.isBefore) : matching
      let page = Array(ordered.dropFirst(offset).prefix(limit))
      let comment: Testing.Comment = "\(condition.text) at \(commit)"

      // The library.
      let view = try await datastore.view(at: commit)
      var query = view.load(where: condition.predicate).scanning()
      if isSorted { query = query.sorted(by: \.size, .descending).sorted(by: \.name) }
      let asked = query
      #expect(try await asked.collectInstances(upTo: .infinity) == ordered, comment)
      #expect(try await asked.count == matching.count, comment)
      #expect(try await asked.limit(limit, offset: offset).collectInstances(upTo: .infinity) == page, comment)
      var paged: [Shop] = []
      while paged.count < ordered.count {
        let rest = try paged.last.map { asked.after(try asked.cursor(after: $0)) } ?? asked
        let part = try await rest.limit(limit).collectInstances(upTo: .infinity)
        guard !part.isEmpty else { break }
        paged += part
      }
      #expect(paged == ordered, comment)
      let blocking = try await Self.onThread { () throws -> ([Shop], [Shop]) in
        var query = try datastore.blocking.view(at: commit).load(where: condition.predicate).scanning()
        if isSorted { query = query.sorted(by: \.size, .descending).sorted(by: \.name) }
        return (try query.all, try query.limit(limit, offset: offset).all)
      }
      #expect(blocking.0 == ordered, comment)
      #expect(blocking.1 == page, comment)

      // The verbs.
      var arguments = ["records", path, "Shops", "--at", "\(commit.rawValue)", "--where", condition.text, "--json"]
      if isSorted { arguments += ["--sort", "size:desc", "--sort", "name"] }
      func ids(_ run: ProgramRun) -> [Int] { run.objects.compactMap { $0["id"] as? Int } }
      #expect(ids(try ProgramRun(arguments)) == ordered.map(\.id), comment)
      let part = try ProgramRun(arguments + ["--limit", "\(limit)", "--offset", "\(offset)"])
      #expect(ids(part) == page.map(\.id), comment)
      if page.count == limit {
        let cursor = try #require(part.complaint.split(separator: " ").last?.split(separator: "\n").first)
        let rest = ids(try ProgramRun(arguments + ["--after", String(cursor)]))
        #expect(rest == ordered.dropFirst(offset + limit).map(\.id), comment)
      }
      #expect(try ProgramRun(arguments + ["--count"]).objects.first?["count"] as? Int == matching.count, comment)

      // The browser.
      var source = RowSource(datastore: "Shops")
      source.filter = condition.text
      let found = Kept()
      let context = WorkContext(store: store, report: { found.take($0) })
      let number = CommitNumber(commit.rawValue)
      _ = try FilterRequest(source: source, commit: number, bounds: 0..<shops.count).reply(in: context)
      var ranks = found.ranks
      if isSorted {
        source.sort = [SortOrder(path: ".size", isDescending: true), SortOrder(path: ".name", isDescending: false)]
        let sort = SortRequest(source: source, commit: number, ranks: ranks)
        ranks = try #require(sort.reply(in: context).ranks)
      }
      #expect(ranks.map { shops[$0].id } == ordered.map(\.id), comment)
    }
  }

  private static func isBefore(_ left: Shop, _ right: Shop) -> Bool {
    if left.size != right.size { return left.size > right.size }
    return left.name != right.name ? left.name < right.name : left.id < right.id
  }

  /// The ranks that a filter reports.
  private final class Kept: Sendable {
    private let found = Mutex<[Int]>([])
    var ranks: [Int] { found.withLock { $0.sorted() } }
    func take(_ progress: StoreBrowser.Progress) {
      if case .ranks(let ranks) = progress.found { found.withLock { $0 += ranks } }
    }
  }

  private static func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
  }
}

extension SeededGenerator {
  fileprivate mutating func one<Item>(of items: [Item]) -> Item { items[Int.random(in: items.indices, using: &self)] }
}
