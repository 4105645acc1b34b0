import Foundation
import Testing

@testable import CodableDatastore

@Suite("Selections that a load of a range returns")
struct SelectionTests {
  struct Book: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    var title: String
    var pages: Int
    var tags: [String]
    var shelf: Int?
  }

  struct BookFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case one = 1 }
    typealias Instance = Book
    static let defaultKey: DatastoreKey = "Books"
    static let currentVersion = Version.one
    let title = Index(\.title)
    let shelf = Index(\.shelf)
    let both = Index(\.shelf, \.pages.descending)
    let tags = ManyToManyIndex(\.tags)
  }

  private let all = (0..<400).map { id in
    Book(
      id: id, title: "t\(id * 37 % 101)", pages: id * 7 % 90, tags: ["a", "b\(id % 3)", "c\(id % 5)"],
      shelf: id % 7 == 0 ? nil : id % 7)
  }

  private func filled() async throws -> BookFormat.Datastore {
    let books = MemoryPersistence().datastore(BookFormat.self)
    try await books.persist(contentsOf: all)
    return books
  }

  private func ids(_ selection: Selection<BookFormat, ReadWrite>) async throws -> [Int] {
    try await selection.collectInstances(upTo: .infinity).map(\.id)
  }

  @Test("all of them can be filtered, sorted, cut, counted and summed up, and are served as a query without a range")
  func whole() async throws {
    let books = try await filled()
    #expect(try await books.load(...).count == 400)
    #expect(try await books.load(...).exists)
    #expect(try await books.load(..., order: .descending).first == all.last)
    #expect(try await ids(books.load(..., order: .descending).limit(3, offset: 2)) == [397, 396, 395])
    #expect(try await books.load(...).sum(of: \.pages) == all.reduce(0) { $0 + $1.pages })
    let shelf: Int? = 3
    let third = books.load(..., order: .descending).where(#Predicate { $0.shelf == shelf })
    #expect(try await ids(third) == all.filter { $0.shelf == 3 }.map(\.id).reversed())
    #expect(try await third.explain().hasPrefix("INDEX"))
    let sorted = books.load(...).sorted(by: \.title, .descending).limit(5)
    #expect(try await sorted.explain().contains("along title"))
    #expect(try await ids(sorted) == Array(all.sorted { ($1.title, $0.id) < ($0.title, $1.id) }.map(\.id).prefix(5)))
    let titled = books.load(..., from: \.title).where(#Predicate { $0.shelf == shelf })
    #expect(
      try await ids(titled) == all.filter { $0.shelf == 3 }.sorted { ($0.title, $0.id) < ($1.title, $1.id) }.map(\.id))
    await #expect(throws: UnindexedQueryError.self) {
      try await books.load(...).where(#Predicate { $0.pages > 3 }).count
    }
    #expect(
      try await books.load(...).where(#Predicate { $0.pages > 3 }).scanning().count == all.count { $0.pages > 3 })
  }

  @Test("a range keeps its order when it is filtered and cut, and each instance comes once")
  func ranges() async throws {
    let books = try await filled()
    let range = all.filter { ("t2"..<"t5").contains($0.title) }
    let forward = range.sorted { ($0.title, $0.id) < ($1.title, $1.id) }
    let titles = books.load("t2"..<"t5", from: \.title)
    let least = 40
    #expect(try await ids(titles.where(#Predicate { $0.pages > least })) == forward.filter { $0.pages > 40 }.map(\.id))
    #expect(try await ids(titles.limit(7, offset: 4)) == Array(forward.dropFirst(4).prefix(7).map(\.id)))
    let backward = books.load("t2"..<"t5", order: .descending, from: \.title)
    #expect(try await ids(backward.limit(9)) == forward.reversed().prefix(9).map(\.id))
    #expect(try await backward.first == forward.last)
    #expect(try await titles.count == range.count)
    #expect(try await titles.explain() == "INDEX title in range \(range.count) entries · SORT no")
    #expect(
      try await ids(titles.sorted(by: \.pages).limit(10))
        == range.sorted { ($0.pages, $0.id) < ($1.pages, $1.id) }.prefix(10).map(\.id))
    #expect(try await titles.max(of: \.pages) == range.map(\.pages).max())
    let shelves = try await titles.grouped(by: \.shelf) { $0.count }
    for (shelf, count) in shelves { #expect(count == range.count { $0.shelf == shelf }) }
    let pages = try await books.load(prefix: 3 as Int?, range: 20..., from: \.both).select(\.pages)
      .collectInstances(upTo: .infinity)
    #expect(pages == all.filter { $0.shelf == 3 && $0.pages >= 20 }.map(\.pages).sorted(by: >))
    // Iterated as it is, an instance comes for each of its values.
    let tags = books.load("a"..."b1", from: \.tags)
    let tagged = all.filter { $0.id % 3 < 2 }
    #expect(try await ids(tags).count == 400 + tagged.count)
    #expect(try await tags.count == 400)
    #expect(try await ids(tags.where(#Predicate { $0.pages > least })) == all.filter { $0.pages > 40 }.map(\.id))
  }

  @Test(
    "a range of an index of lists keeps its order when it is filtered and cut: each instance comes at its first value")
  func listRanges() async throws {
    let books = try await filled()
    for (range, order) in [
      (IndexRange(only: "b1"), RangeOrder.ascending), (IndexRange(only: "b1"), .descending),
      (IndexRange(lower: .including("b1"), upper: .including("c3")), .ascending),
      (IndexRange(lower: .including("b1"), upper: .including("c3")), .descending),
    ] {
      let selection = books.load(range, order: order, from: \.tags)
      var seen: Set<Int> = []
      let expected = try await ids(selection).filter { seen.insert($0).inserted }
      #expect(try await ids(selection.limit(9, offset: 3)) == Array(expected.dropFirst(3).prefix(9)))
      #expect(try await selection.first?.id == expected.first)
      #expect(try await selection.count == expected.count)
      let least = 40
      let kept = expected.filter { all[$0].pages > least }
      #expect(try await ids(selection.where(#Predicate { $0.pages > least })) == kept)
      #expect(try await selection.select(\.id).collectInstances(upTo: .infinity) == ids(selection.limit(1_000)))
    }
  }

  @Test("all instances of an index keep its order when they are filtered, until they are sorted")
  func wholeIndexes() async throws {
    let books = try await filled()
    let shelf: Int? = 3
    for order in [RangeOrder.ascending, .descending] {
      let titles = books.load(..., order: order, from: \.title)
      let third = titles.where(#Predicate { $0.shelf == shelf })
      #expect(try await ids(third) == ids(titles).filter { all[$0].shelf == 3 })
      #expect(try await ids(third.limit(4, offset: 2)) == ids(titles).filter { all[$0].shelf == 3 }[2..<6].map(\.self))
      let kept = all.filter { $0.shelf == 3 }.sorted { ($0.pages, $0.id) < ($1.pages, $1.id) }.map(\.id)
      #expect(try await ids(third.sorted(by: \.pages)) == kept)
      #expect(try await ids(third.sorted(by: \.id)) == kept.sorted())
      let identified = books.load(..., order: order).where(#Predicate { $0.shelf == shelf })
      #expect(try await ids(identified.sorted(by: \.pages)) == kept)
      #expect(try await ids(identified.sorted(by: \.id)) == kept.sorted())
    }
  }

  @Test("an index has the order by identifier of what is equal in it, forwards and backwards")
  func identifierLast() async throws {
    let books = try await filled()
    let shelf: Int? = 3
    let third = books.load(where: #Predicate { $0.shelf == shelf })
    let expected = all.filter { $0.shelf == 3 }.map(\.id)
    for (order, ids) in [(RangeOrder.ascending, expected), (.descending, expected.reversed())] {
      let few = third.sorted(by: \.id, order).limit(3, offset: 2)
      #expect(try await self.ids(few) == Array(ids[2..<5]))
      #expect(try await few.explain().contains("SORT \(order == .ascending ? "identifiers" : "no")"))
      let next = third.sorted(by: \.id, order).limit(5).after(
        try third.sorted(by: \.id, order).cursor(after: all[ids[6]]))
      #expect(try await self.ids(next) == Array(ids[7..<12]))
      for titles in [RangeOrder.ascending, .descending] {
        let sorted = books.load(...).sorted(by: \.title, titles).sorted(by: \.id, order).sorted(by: \.pages)
          .limit(20).scanning()
        let isFree = try await sorted.explain().contains("along title")
        #expect(isFree == (order == .ascending || titles == .descending))
        let expected = all.sorted {
          guard $0.title == $1.title else { return ($0.title < $1.title) == (titles == .ascending) }
          return ($0.id < $1.id) == (order == .ascending)
        }
        #expect(try await self.ids(sorted) == expected.prefix(20).map(\.id))
      }
    }
  }

  @Test("pages of all instances go on after a cursor, in the order in which they were loaded")
  func pages() async throws {
    let books = try await filled()
    for selection in [books.load(...), books.load(..., order: .descending), books.load(..., from: \.title)] {
      var found: [Int] = []
      var next = selection
      while let last = try await next.limit(70).collectInstances(upTo: .infinity).map({ book in
        found.append(book.id)
        return book
      }).last {
        next = selection.after(try selection.cursor(after: last))
      }
      #expect(try await found == ids(selection))
    }
  }

  @Test("a range can be changed and deleted, and is kept current")
  func changes() async throws {
    let books = try await filled()
    var live = books.load("t2"..<"t5", from: \.title).live().makeAsyncIterator()
    let range = all.filter { ("t2"..<"t5").contains($0.title) }
    #expect(try await live.next().map { Set($0) } == Set(range))
    #expect(try await books.load("a"..."b1", from: \.tags).update { $0.pages += 1 } == 400)
    #expect(try await books.load(...).sum(of: \.pages) == all.reduce(400) { $0 + $1.pages })
    #expect(try await live.next()?.reduce(0) { $0 + $1.pages } == range.reduce(range.count) { $0 + $1.pages })
    #expect(try await books.load("t2"..<"t5", from: \.title).delete() == range.count)
    #expect(try await live.next() == [])
    #expect(
      try await books.load(..<100).delete { $0.shelf == nil }
        == all.count { $0.id < 100 && $0.shelf == nil && !range.contains($0) })
  }

  @Test("before there are instances a range is empty, whatever is asked; a cursor in it needs a sort")
  func empty() async throws {
    let books = MemoryPersistence().datastore(BookFormat.self)
    let least = 40
    let titles = books.load("t2"..<"t5", from: \.title)
    #expect(try await titles.where(#Predicate { $0.pages > least }).count == 0)
    #expect(try await titles.grouped(by: \.shelf) { $0.count }.isEmpty)
    #expect(try await titles.delete() == 0)
    let place = try titles.sorted(by: \.pages).cursor(after: all[3])
    #expect(try await ids(titles.sorted(by: \.pages).after(place)) == [])
    let own = try titles.cursor(after: all[3])
    await #expect(throws: InvalidQueryError.self) { try await titles.after(own).first }
  }
}
