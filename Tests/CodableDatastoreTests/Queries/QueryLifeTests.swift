import CodableDatastore
import Foundation
import StrataLocks
import Testing

/// Queries while others write, and what cannot be asked.
@Suite("Queries beside writers, and bad ones")
struct QueryLifeTests {
  let persistence = MemoryPersistence()

  @Test("pages by cursor meet no instance twice and leave none out, while others insert and delete", arguments: 1...4)
  func paging(seed: Int) async throws {
    let books = BookFormat.datastore(persistence)
    var numbers = (0..<150).map { $0 * 4 }
    try await books.persist(contentsOf: Book.numbered(numbers))
    let query =
      [
        books.load(where: #Predicate { $0.pages >= 0 }).sorted(by: \.pages),
        books.load(where: #Predicate { $0.pages >= 0 }).sorted(by: \.pages, .descending),
        books.load(where: #Predicate { $0.pages >= 0 }).sorted(by: \.shelf).sorted(by: \.title, .descending),
        books.load(where: #Predicate { $0.pages >= 0 }),
      ][seed - 1]
    let always = Set(numbers.filter { $0 % 8 == 0 })
    numbers.removeAll { always.contains($0) }
    var seen: [Int] = []
    var page = try await query.limit(7).all()
    var step = 0
    while let last = page.last {
      seen += page.map(\.id)
      for _ in 0..<3 {
        step += 1
        let number = (step * 37 + seed) % 600
        guard number % 8 != 0 else { continue }
        if step % 2 == 0 {
          try await books.persist(Book.numbered([number])[0])
        } else {
          try await books.deleteIfPresent(number)
        }
      }
      page = try await query.after(query.cursor(after: last)).limit(7).all()
    }
    #expect(Set(seen).count == seen.count, "none twice")
    #expect(always.isSubset(of: Set(seen)), "none left out")
  }

  @Test("a page by cursor goes on beside instances that do not decode and are left out")
  func pagingBesideUnreadable() async throws {
    struct Refusal: Error {}
    let fails = Atomic(false)
    let books = BookFormat.Datastore.JSONStore(
      persistence: persistence,
      migrations: [
        .first: { decoder, data in
          let book = try decoder.decode(Book.self, from: data)
          if fails.load(ordering: .relaxed), (20...60).contains(book.id) { throw Refusal() }
          return book
        }, .second: { try $0.decode(Book.self, from: $1) },
      ])
    try await books.persist(contentsOf: Book.numbered(1...80))
    fails.store(true, ordering: .relaxed)
    let query = books.load(where: #Predicate { $0.pages >= 0 }).sorted(by: \.pages).skippingUnreadable()
    for (id, next) in [(1, 2), (19, 61), (40, 61), (60, 61), (61, 62), (79, 80)] {
      #expect(try await query.after(query.cursor(after: Book.numbered([id])[0])).first?.id == next)
    }
    #expect(try await query.after(query.cursor(after: Book.numbered([80])[0])).first == nil)
  }

  @Test("a cursor is one of the same query also if an equal captured set has its elements in another order")
  func cursorOfCapturedSet() async throws {
    let books = PlainBookFormat.datastore(persistence)
    try await books.persist(contentsOf: Book.numbered(1...40))
    func query(_ numbers: Set<Int>) -> Query<PlainBookFormat, ReadWrite> {
      books.load(where: #Predicate { numbers.contains($0.id) })
    }
    // Room for more elements gives them another order, as another process does.
    var wide = Set(1...3_000)
    wide.subtract(31...3_000)
    let cursor = try query(wide).cursor(after: Book.numbered([25])[0])
    #expect(try await query(Set(1...30)).after(cursor).all().map(\.id) == Array(26...30))
    await #expect(throws: InvalidQueryError.self) { try await query(Set(1...31)).after(cursor).all() }
  }

  @Test("so it is with an equal captured dictionary")
  func cursorOfCapturedDictionary() async throws {
    let books = PlainBookFormat.datastore(persistence)
    try await books.persist(contentsOf: Book.numbered(1...40))
    func query(_ marks: [Int: Bool]) -> Query<PlainBookFormat, ReadWrite> {
      books.load(where: #Predicate { marks[$0.id] == true }).scanning()
    }
    var wide = Dictionary(uniqueKeysWithValues: (1...3_000).map { ($0, true) })
    for number in 31...3_000 { wide[number] = nil }
    let cursor = try query(wide).cursor(after: Book.numbered([25])[0])
    let equal = Dictionary(uniqueKeysWithValues: (1...30).map { ($0, true) })
    #expect(try await query(equal).after(cursor).all().map(\.id) == Array(26...30))
    await #expect(throws: InvalidQueryError.self) { try await query([1: true]).after(cursor).all() }
  }

  @Test("a live query's answer is a loop's over the records after every change, with its sort, offset and limit")
  func live() async throws {
    let books = BookFormat.datastore(persistence)
    try await books.persist(contentsOf: Book.numbered(1...20))
    let query = books.load(where: #Predicate { $0.pages > 50 }).sorted(by: \.shelf, .descending).sorted(by: \.pages)
      .limit(6, offset: 2)
    func expected() async throws -> [Book] {
      let sorted = try await books.load(...).all().filter { $0.pages > 50 }.sorted {
        $0.shelf != $1.shelf ? $1.shelf < $0.shelf : $0.pages != $1.pages ? $0.pages < $1.pages : $0.id < $1.id
      }
      return Array(sorted.dropFirst(2).prefix(6))
    }
    var answers = query.live().makeAsyncIterator()
    #expect(try await answers.next() == expected())
    let changes: [() async throws -> Void] = [
      { try await books.persist(Book(id: 99, title: "New", pages: 55, shelf: "Shelf 3")) },
      { try await books.update(99) { $0.pages = 500 } },
      { try await books.delete(7) },
      { try await books.update(3) { $0.pages = 70 } },
      { try await books.load(where: #Predicate { $0.pages > 100 }).update { $0.shelf = "Shelf 9" } },
      { try await books.load(where: #Predicate { $0.pages > 150 }).delete() },
    ]
    var last = try await expected()
    for change in changes {
      try await change()
      let now = try await expected()
      guard now != last else { continue }
      #expect(try await answers.next() == now)
      last = now
    }
  }

  @Test("an update that changes an identifier is refused, of one instance and of a selection, and changes nothing")
  func sameIdentifier() async throws {
    let books = BookFormat.datastore(MemoryPersistence())
    try await books.persist(contentsOf: Book.numbered(1...3))
    await #expect(throws: InvalidKeyError.self) { try await books.update(2) { $0.id = 9 } }
    await #expect(throws: InvalidKeyError.self) { try await books.load(2...).update { $0.id += 10 } }
    #expect(try await books.load(...).all() == Book.numbered(1...3))
    try await books.persist(Book(id: 7, title: "Seven"), to: 4)
    #expect(try await books.update(4) { $0.title = "Still seven" }.new.id == 7)
    #expect(try await books.load(4)?.title == "Still seven")
  }

  @Test(
    "a live query tells every answer that differs from the one before, once, through random changes",
    arguments: [1, 2, 3, 4, 5, 6])
  func everyAnswer(seed: Int) async throws {
    let books = BookFormat.datastore(persistence)
    try await books.persist(contentsOf: Book.numbered(stride(from: 1, to: 30, by: 2)))
    let all = books.load(where: #Predicate { $0.pages > 50 })
    let cursor = try all.sorted(by: \.pages).cursor(after: Book.numbered([9])[0])
    let queries = [
      all, all.limit(5), all.sorted(by: \.shelf, .descending).limit(4), all.sorted(by: \.pages, .descending).limit(3),
      all.sorted(by: \.title).limit(4, offset: 3), all.sorted(by: \.pages).after(cursor).limit(5),
    ]
    let query = queries[seed - 1]
    var live = query.live(bufferingPolicy: .unbounded).makeAsyncIterator()
    var newest = query.live().makeAsyncIterator()
    var answers = [try await query.all()]
    #expect(try await live.next() == answers[0])
    #expect(try await newest.next() == answers[0])
    var step = seed
    for _ in 0..<60 {
      step = (step * 73 + 41) % 1009
      let number = step % 31
      switch step % 5 {
      case 0: try await books.deleteIfPresent(number)
      case 1: try await books.persist(Book.numbered([number])[0])
      case 2: try await books.load(where: #Predicate { $0.id == number }).update { $0.pages += 70 }
      case 3: try await books.load(where: #Predicate { $0.id == number }).update { $0.shelf = "Shelf \(step % 3)" }
      default: try await books.persist(contentsOf: Book.numbered(number..<number + 3))
      }
      let answer = try await query.all()
      if answer != answers.last { answers.append(answer) }
    }
    var told = [answers[0]]
    while told.count < answers.count, let answer = try await live.next() { told.append(answer) }
    #expect(told == answers)
    #expect(try await newest.next() == answers.last, "who is slow gets the newest")
  }

  @Test("a live query tells that a full page has become shorter")
  func shorterPage() async throws {
    let books = BookFormat.datastore(persistence)
    try await books.persist(contentsOf: Book.numbered(1...3))
    let query = books.load(where: #Predicate { $0.pages > 0 }).sorted(by: \.pages).limit(3)
    var answers = query.live(bufferingPolicy: .unbounded).makeAsyncIterator()
    #expect(try await answers.next()?.count == 3)
    try await books.delete(1)
    try await books.update(3) { $0.pages = 0 }
    try await books.persist(contentsOf: Book.numbered(7...7))
    #expect(try await answers.next()?.count == 2)
    #expect(try await answers.next()?.map(\.id) == [2])
    #expect(try await answers.next()?.map(\.id) == [2, 7])
  }

  @Test("the values of a long list are looked up, and a plan shows the first of them")
  func longList() async throws {
    let books = BookFormat.datastore(persistence)
    try await books.persist(contentsOf: Book.numbered(1...40))
    let many = (1...1_000).map { $0 * 2 }
    let query = books.load(where: #Predicate { many.contains($0.id) })
    #expect(try await query.count == 20)
    #expect(
      try await query.where(#Predicate { many.contains($0.id) && $0.id > 30 }).all().map(\.id) == [32, 34, 36, 38, 40])
    #expect(try await query.explain().contains("16, …"))
  }

  @Test("of a state of the past there is one answer, whatever comes later")
  func past() async throws {
    let books = BookFormat.datastore(persistence)
    try await books.persist(contentsOf: Book.numbered(1...10))
    let past = try await books.view(at: #require(await persistence.head).id)
    let query = past.load(where: #Predicate { $0.pages > 50 })
    var (live, scanned) = (query.live().makeAsyncIterator(), past.live(where: { $0.pages > 50 }).makeAsyncIterator())
    let answer = try await live.next()
    #expect(answer == Book.numbered(6...10))
    #expect(try await scanned.next() == answer)
    try await books.delete(7...8)
    #expect(try await live.next() == nil)
    #expect(try await scanned.next() == nil)
    #expect(try await query.live().firstInstance == answer)
  }

  @Test("many changes at once are taken in as one")
  func manyAtOnce() async throws {
    let books = BookFormat.datastore(persistence)
    try await books.persist(contentsOf: Book.numbered(1...100))
    let query = books.load(where: #Predicate { $0.pages > 500 }).sorted(by: \.pages, .descending)
    var live = query.live().makeAsyncIterator()
    #expect(try await live.next()?.count == 50)
    try await books.load(where: #Predicate { $0.id > 20 }).update { $0.pages = 2_000 - $0.pages }
    try await books.delete(95...97)
    #expect(try await live.next() == query.all())
  }

  @Test("a live query that cannot be asked says so, and one whose condition throws goes on when it no longer does")
  func liveErrors() async throws {
    let books = BookFormat.datastore(persistence)
    try await books.persist(contentsOf: Book.numbered(1...3))
    let query = books.load(where: #Predicate { $0.pages > 1 })
    for bad in [query.limit(0), query.limit(-1), query.limit(1, offset: -1)] {
      await #expect(throws: InvalidQueryError.self) { try await bad.live().firstInstance }
    }
    await #expect(throws: UnindexedQueryError.self) {
      try await books.load(where: #Predicate { $0.title.contains("x") }).live().firstInstance
    }
    var live = books.load(where: #Predicate { $0.authors[1] == "Everybody" }).scanning().live().makeAsyncIterator()
    #expect(try await live.next()?.count == 3)
    try await books.persist(Book(id: 4, title: "Nobody"))
    await #expect(throws: PredicateError.self) { try await live.next() }
    try await books.delete(4)
    #expect(try await live.next()?.map(\.id) == [1, 2, 3])
  }

  @Test("an update's closure may write beside what it changes")
  func nested() async throws {
    let books = BookFormat.datastore(persistence)
    try await books.persist(contentsOf: Book.numbered(1...3))
    let changed = try await books.load(where: #Predicate { $0.pages > 10 }).update { book in
      book.title += "!"
      try await books.persist(Book(id: book.id + 100, title: "copy"))
    }
    #expect(changed == 2)
    #expect(try await books.load(...).all().map(\.title) == ["Book 001", "Book 002!", "Book 003!", "copy", "copy"])
  }

  @Test("the order of the identifiers serves, until an instance lies under another one than its own")
  func identifiers() async throws {
    let books = BookFormat.datastore(persistence)
    try await books.persist(contentsOf: Book.numbered(1...30))
    let query = books.load(where: #Predicate { $0.id > 10 && $0.id <= 13 })
    #expect(try await query.explain().hasPrefix("INDEX identifier"))
    #expect(try await query.explain().hasSuffix("3 entries · SORT no"))
    #expect(try await query.all().map(\.id) == [11, 12, 13])
    #expect(try await query.count == 3)
    #expect(try await query.sorted(by: \.id, .descending).all().map(\.id) == [13, 12, 11])
    try await books.persist(Book(id: 12, title: "elsewhere"), to: 500)
    #expect(try await query.scanning().explain().hasPrefix("SCAN"))
    #expect(try await query.scanning().all().map(\.title) == ["Book 011", "Book 012", "Book 013", "elsewhere"])
    await #expect(throws: UnindexedQueryError.self) { try await query.all() }
  }

  @Test("a sort by what has no order, and one by a property that only the app can order, are errors")
  func order() async throws {
    let books = BookFormat.datastore(persistence)
    try await books.persist(contentsOf: Book.numbered(1...3))
    let cursor = try books.load(where: #Predicate { $0.pages > 1 }).cursor(after: Book.numbered([1])[0])
    await #expect(throws: InvalidQueryError.self) {
      try await books.load(where: #Predicate { $0.pages > 2 }).after(cursor).all()
    }
    let message = try #require(
      await #expect(throws: InvalidQueryError.self) {
        try await books.load(where: #Predicate { $0.pages > 1 }).limit(-3).all()
      })
    #expect(message.errorDescription == "A limit is 1 or more, not -3.")
    // Of a store that has changed: it goes on behind the place, though its record is gone.
    try await books.delete(1)
    let rest = try await books.load(where: #Predicate { $0.pages > 1 }).after(cursor).all()
    #expect(rest.map(\.id) == [2, 3])
  }
}
