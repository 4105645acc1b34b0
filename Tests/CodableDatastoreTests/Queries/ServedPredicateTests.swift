import CodableDatastore
import Foundation
import Testing

/// Predicates as apps write them, the plans that serve them, and the instances that they read.
@Suite("Predicates that an index serves")
struct ServedPredicateTests {
  struct Branch: Codable, Hashable, Sendable { var city: String }

  enum Size: String, Codable, Comparable, CaseIterable, Sendable {
    case small, medium, large
    static func < (left: Self, right: Self) -> Bool {
      (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
    }
  }

  struct Offer: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    var town: String
    var price: Int
    var rating: Double
    var isOpen: Bool
    var isNew: Bool?
    var due: Date?
    var branch: Branch?
    var size: Size
    var note: String
  }

  struct OfferFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case one = 1 }
    typealias Instance = Offer
    static let defaultKey: DatastoreKey = "Offers"
    static let currentVersion = Version.one
    let town = Index(\.town)
    let townAndPrice = Index(\.town, \.price)
    let rating = Index(\.rating)
    let isOpen = Index(\.isOpen)
    let isNew = Index(\.isNew)
    let due = Index(\.due)
    let city = Index(\.branch?.city)
    let size = Index(\.size)
  }

  private let persistence = MemoryPersistence()
  private let all: [Offer] = (0..<400).map { number in
    Offer(
      id: number, town: "t\(number % 4)", price: number * 7919 % 400 - 200, rating: Double(number % 10) / 2,
      isOpen: number % 3 == 0, isNew: [nil, false, true][number % 3],
      due: number % 5 == 0 ? nil : Date(timeIntervalSinceReferenceDate: Double(number % 50)),
      branch: number % 2 == 0 ? nil : Branch(city: "c\(number % 7)"), size: Size.allCases[number % 3],
      note: "n\(number % 2)")
  }

  private func offers() async throws -> OfferFormat.Datastore {
    let offers = persistence.datastore(OfferFormat.self)
    try await offers.persist(contentsOf: all)
    return offers
  }

  private func expect<Format: DatastoreFormat>(
    _ predicate: Predicate<Offer>, by index: String, in offers: CodableDatastore.Datastore<Format, ReadWrite>,
    _ condition: (Offer) -> Bool, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws where Format.Instance == Offer {
    let query = offers.load(where: predicate)
    let plan = try await query.explain()
    #expect(plan.hasPrefix("INDEX \(index) "), "\(plan)", sourceLocation: sourceLocation)
    #expect(!plan.contains("KEEP"), "\(plan)", sourceLocation: sourceLocation)
    let expected = all.filter(condition)
    #expect(!expected.isEmpty && expected.count < all.count, sourceLocation: sourceLocation)
    #expect(try await query.count == expected.count, "\(plan)", sourceLocation: sourceLocation)
    #expect(try await query.collectInstances(upTo: .infinity) == expected, "\(plan)", sourceLocation: sourceLocation)
  }

  @Test("what no instance occurs in is evaluated once: properties of what is captured, arithmetic, negative numbers")
  func constants() async throws {
    let offers = try await offers()
    let (other, factor) = (all[7], 2.0)
    try await expect(#Predicate { $0.town == other.town }, by: "town", in: offers) { $0.town == other.town }
    try await expect(#Predicate { $0.rating < factor * 1.5 }, by: "rating", in: offers) { $0.rating < 3 }
    try await expect(#Predicate { $0.id < other.id + 3 }, by: "identifier", in: offers) { $0.id < 10 }
    let negative = offers.load(where: #Predicate { $0.town == "t1" && $0.price == -5 })
    #expect(try await negative.explain().hasPrefix("INDEX townAndPrice "))
    #expect(try await negative.all() == all.filter { $0.town == "t1" && $0.price == -5 })
  }

  @Test("Booleans can be indexed, and a predicate that is one is served")
  func booleans() async throws {
    let offers = try await offers()
    try await expect(#Predicate { $0.isOpen }, by: "isOpen", in: offers) { $0.isOpen }
    try await expect(#Predicate { $0.isOpen == false }, by: "isOpen", in: offers) { !$0.isOpen }
    try await expect(#Predicate { $0.isNew == true }, by: "isNew", in: offers) { $0.isNew == true }
    try await expect(#Predicate { $0.isNew == nil }, by: "isNew", in: offers) { $0.isNew == nil }
    #expect(try await offers.load(true, from: \.isOpen).all().map(\.id) == all.filter(\.isOpen).map(\.id))
  }

  @Test("optionals are served: through a chain, and with a value in place of nil")
  func optionals() async throws {
    let offers = try await offers()
    try await expect(#Predicate { $0.branch?.city == "c1" }, by: "city", in: offers) { $0.branch?.city == "c1" }
    let (now, past, future) = (Date(timeIntervalSinceReferenceDate: 20), Date.distantPast, Date.distantFuture)
    try await expect(#Predicate { ($0.due ?? future) < now }, by: "due", in: offers) { ($0.due ?? future) < now }
    try await expect(#Predicate { ($0.due ?? past) < now }, by: "due", in: offers) { ($0.due ?? past) < now }
    try await expect(#Predicate { ($0.due ?? past) >= now }, by: "due", in: offers) { ($0.due ?? past) >= now }
    try await expect(#Predicate { ($0.due ?? now) == now }, by: "due", in: offers) { ($0.due ?? now) == now }
  }

  @Test("the opposite of several conditions is served if each has an index, and so are closures over several optionals")
  func severalConditions() async throws {
    let offers = try await offers()
    let now = Date(timeIntervalSinceReferenceDate: 21)
    let conditions: [(Predicate<Offer>, (Offer) -> Bool)] = [
      (#Predicate { !($0.town == "t1" && $0.rating > 2) }, { !($0.town == "t1" && $0.rating > 2) }),
      (#Predicate { !($0.town == "t1" || $0.rating > 2) }, { !($0.town == "t1" || $0.rating > 2) }),
      (#Predicate { !($0.town == "t1" && !($0.rating > 2)) }, { !($0.town == "t1" && !($0.rating > 2)) }),
      (#Predicate { !($0.note == "n1" || $0.rating > 2) }, { !($0.note == "n1" || $0.rating > 2) }),
      (
        #Predicate { offer in if let due = offer.due, let isNew = offer.isNew { due < now && isNew } else { false } },
        { offer in if let due = offer.due, let isNew = offer.isNew { due < now && isNew } else { false } }
      ),
      (
        #Predicate { offer in if let due = offer.due, let isNew = offer.isNew { due < now && isNew } else { true } },
        { offer in if let due = offer.due, let isNew = offer.isNew { due < now && isNew } else { true } }
      ),
      (
        #Predicate { offer in
          if let due = offer.due, let branch = offer.branch { due < now || branch.city == "c1" } else { offer.isOpen }
        },
        { offer in
          if let due = offer.due, let branch = offer.branch { due < now || branch.city == "c1" } else { offer.isOpen }
        }
      ),
      (
        #Predicate { offer in offer.due.flatMap { due in offer.isNew.flatMap { isNew in due < now && isNew } } == false
        },
        { offer in offer.due.flatMap { due in offer.isNew.flatMap { isNew in due < now && isNew } } == false }
      ),
    ]
    for (predicate, condition) in conditions {
      let query = offers.load(where: predicate)
      let (plan, expected) = (try await query.explain(), all.filter(condition))
      #expect(!plan.hasPrefix("SCAN") && !expected.isEmpty && expected.count < all.count, "\(plan)")
      #expect(try await query.all() == expected, "\(plan)")
      #expect(try await query.count == expected.count, "\(plan)")
    }
  }

  @Test("closures over what an optional holds are served: if let and flatMap, with every value in place of nil")
  func closures() async throws {
    let offers = try await offers()
    let now = Date(timeIntervalSinceReferenceDate: 21)
    try await expect(
      #Predicate { if let due = $0.due { due < now } else { false } }, by: "due", in: offers
    ) { $0.due.map { $0 < now } ?? false }
    try await expect(
      #Predicate { if let due = $0.due { due < now } else { true } }, by: "due", in: offers
    ) { $0.due.map { $0 < now } ?? true }
    try await expect(#Predicate { $0.due.flatMap { $0 < now } == true }, by: "due", in: offers) {
      $0.due.map { $0 < now } == true
    }
    try await expect(#Predicate { true == $0.due.flatMap { $0 == now } }, by: "due", in: offers) { $0.due == now }
    try await expect(
      #Predicate { if let branch = $0.branch { branch.city == "c1" } else { false } }, by: "city", in: offers
    ) { $0.branch?.city == "c1" }
    try await expect(#Predicate { $0.isNew ?? false }, by: "isNew", in: offers) { $0.isNew ?? false }
    try await expect(#Predicate { $0.isNew ?? true }, by: "isNew", in: offers) { $0.isNew ?? true }
    let others: [(Predicate<Offer>, (Offer) -> Bool)] = [
      (
        #Predicate { offer in if let isNew = offer.isNew { isNew && offer.note == "n1" } else { false } },
        { offer in offer.isNew.map { $0 && offer.note == "n1" } ?? false }
      ),
      (
        #Predicate { offer in if let isNew = offer.isNew { !isNew || offer.note == "n1" } else { false } },
        { offer in offer.isNew.map { !$0 || offer.note == "n1" } ?? false }
      ),
      (#Predicate { $0.due.flatMap { $0 < now } == false }, { $0.due.map { $0 < now } == false }),
      (#Predicate { $0.due.flatMap { $0 < now } != true }, { $0.due.map { $0 < now } != true }),
      (#Predicate { $0.due.flatMap { $0 != now } == true }, { $0.due.map { $0 != now } == true }),
      (#Predicate { $0.due.flatMap { !($0 < now) } == true }, { $0.due.map { !($0 < now) } == true }),
      (
        #Predicate { offer in if let due = offer.due { offer.town == "t1" && due < now } else { offer.town == "t2" } },
        { offer in offer.due.map { offer.town == "t1" && $0 < now } ?? (offer.town == "t2") }
      ),
      (
        #Predicate { offer in if let due = offer.due { due < now || offer.town == "t3" } else { false } },
        { offer in offer.due.map { $0 < now || offer.town == "t3" } ?? false }
      ),
      (
        #Predicate { if let branch = $0.branch { branch.city != "c1" } else { false } },
        { $0.branch.map { $0.city != "c1" } ?? false }
      ),
      (
        #Predicate { if let branch = $0.branch { !branch.city.starts(with: "c1") } else { true } },
        { $0.branch.map { !$0.city.starts(with: "c1") } ?? true }
      ),
    ]
    for (place, (predicate, condition)) in others.enumerated() {
      let query = offers.load(where: predicate).scanning()
      let plan = try await query.explain()
      #expect(try await query.all() == all.filter(condition), "\(place): \(plan)")
      #expect(try await query.count == all.filter(condition).count, "\(place): \(plan)")
    }
  }

  @Test("NaN meets no comparison, and a sort by it names the property")
  func notANumber() async throws {
    let offers = try await offers()
    let threshold = Double.nan
    for predicate in [
      #Predicate<Offer> { $0.rating > threshold }, #Predicate { $0.rating == threshold },
      #Predicate { $0.rating <= threshold },
    ] {
      #expect(try await offers.load(where: predicate).count == 0)
    }
    #expect(try await offers.load(where: #Predicate { $0.rating != threshold }).count == all.count)
    struct Measure: Codable, Identifiable, Sendable { var id: Int; var value: Double }
    struct MeasureFormat: DatastoreFormat {
      enum Version: Int, CaseIterable { case one = 1 }
      typealias Instance = Measure
      static let defaultKey: DatastoreKey = "Measures"
      static let currentVersion = Version.one
    }
    let measures: MeasureFormat.Datastore = .propertyListStore(persistence: persistence)
    try await measures.persist(contentsOf: [Measure(id: 1, value: .nan), Measure(id: 2, value: 2)])
    await #expect {
      try await measures.load(where: #Predicate { _ in true }).scanning().sorted(by: \.value).all()
    } throws: { error in
      (error as? InvalidQueryError)?.reason.contains("value of an instance of Measures") == true
    }
  }

  @Test("what no index serves throws also where there is no instance yet, whatever is asked")
  func unindexedOnNothing() async throws {
    let offers = persistence.datastore(OfferFormat.self)
    let query = offers.load(where: #Predicate { $0.note == "n1" })
    await #expect(throws: UnindexedQueryError.self) { try await query.count }
    await #expect(throws: UnindexedQueryError.self) { try await query.all() }
    await #expect(throws: UnindexedQueryError.self) { try await query.delete() }
    await #expect(throws: UnindexedQueryError.self) { try await query.live().firstInstance }
    #expect(try await query.scanning().count == 0)
    #expect(try await offers.load(where: #Predicate { $0.town == "t1" }).all().isEmpty)
    #expect(try await offers.load(where: #Predicate { $0.id != 1 }).count == 0)
  }

  private func predicate<R: Identifiable & Sendable>(_ type: R.Type, _ id: R.ID) -> Predicate<R>
  where R.ID: Codable & Sendable { #Predicate<R> { $0.id == id } }

  @Test("the identifier is found by a predicate of generic code")
  func generic() async throws {
    let offers = try await offers()
    let query = offers.load(where: predicate(Offer.self, 12))
    #expect(try await query.explain().hasPrefix("INDEX identifier 12 1 entry"))
    #expect(try await query.all().map(\.id) == [12])
  }

  @Test("of two indexes the one that has the order leads, and reads no more than the limit")
  func ordered() async throws {
    let offers = try await offers()
    let cheapest = offers.load(where: #Predicate { $0.town == "t2" }).sorted(by: \.price).limit(5)
    #expect(try await cheapest.explain().hasPrefix("INDEX townAndPrice "))
    var iterator = cheapest.makeAsyncIterator()
    var found: [Offer] = []
    while let offer = try await iterator.next() { found.append(offer) }
    #expect(found == Array(all.filter { $0.town == "t2" }.sorted { $0.price < $1.price }.prefix(5)))
    #expect(iterator.explanation?.contains("READ 5 ") == true)
    let first = offers.load(where: #Predicate { $0.town == "t2" })
    #expect(try await first.min(of: \.price) == all.filter { $0.town == "t2" }.map(\.price).min())
  }

  @Test(
    "everything in an order is served by the index that has it, by the identifiers too, and a least value by a first tier"
  )
  func wholeOrders() async throws {
    struct PairFormat: DatastoreFormat {
      enum Version: Int, CaseIterable { case one = 1 }
      typealias Instance = Offer
      static let defaultKey: DatastoreKey = "Pairs"
      static let currentVersion = Version.one
      let pair = Index(\.price, \.rating)
      let rating = Index(\.rating)
    }
    let offers = persistence.datastore(PairFormat.self)
    try await offers.persist(contentsOf: all)
    let everything = offers.load(where: #Predicate { _ in true })
    #expect(try await everything.count == all.count)
    let newest = everything.sorted(by: \.id, .descending).limit(5)
    #expect(try await newest.all().map(\.id) == [399, 398, 397, 396, 395])
    #expect(try await newest.explain().hasSuffix("SORT no"))
    let best = everything.sorted(by: \.rating, .descending).limit(5)
    #expect(try await best.all() == Array(all.filter { $0.rating == 4.5 }.prefix(5)))
    var iterator = best.makeAsyncIterator()
    while try await iterator.next() != nil {}
    #expect(iterator.explanation?.contains("READ 5 ") == true)
    #expect(try await everything.min(of: \.price) == all.map(\.price).min())
    #expect(try await everything.max(of: \.price) == all.map(\.price).max())
  }

  @Test(
    "a compound index serves a tier that only the app orders: its equal values, the range after them, and the order")
  func tiersInAppOrder() async throws {
    struct SizeFormat: DatastoreFormat {
      enum Version: Int, CaseIterable { case one = 1 }
      typealias Instance = Offer
      static let defaultKey: DatastoreKey = "Sizes"
      static let currentVersion = Version.one
      let sizeAndPrice = Index(\.size, \.price.descending)
      let townAndSize = Index(\.town, \.size, \.rating)
    }
    let offers = persistence.datastore(SizeFormat.self)
    try await offers.persist(contentsOf: all)
    let (medium, small) = (Size.medium, Size.small)
    try await expect(#Predicate { $0.size == medium }, by: "sizeAndPrice", in: offers) { $0.size == medium }
    try await expect(#Predicate { $0.size == medium && $0.price > 50 }, by: "sizeAndPrice", in: offers) {
      $0.size == medium && $0.price > 50
    }
    try await expect(
      #Predicate { $0.size == medium && $0.price >= -5 && $0.price < 90 }, by: "sizeAndPrice", in: offers
    ) {
      $0.size == medium && $0.price >= -5 && $0.price < 90
    }
    try await expect(#Predicate { $0.town == "t1" && $0.size > small }, by: "townAndSize", in: offers) {
      $0.town == "t1" && $0.size > small
    }
    try await expect(#Predicate { $0.town == "t1" && $0.size == small && $0.rating < 3 }, by: "townAndSize", in: offers)
    {
      $0.town == "t1" && $0.size == small && $0.rating < 3
    }
    let dearest = offers.load(where: #Predicate { $0.size == medium }).sorted(by: \.price, .descending).limit(5)
    #expect(
      try await dearest.all() == Array(all.filter { $0.size == .medium }.sorted { $0.price > $1.price }.prefix(5)))
    #expect(try await dearest.explain().contains("SORT no"))
    #expect(try await offers.load(where: #Predicate { _ in true }).max(of: \.size) == .large)
  }

  @Test("a type that only the app orders is sorted along its index, whatever index serves the condition")
  func appOrder() async throws {
    let offers = try await offers()
    let expected = all.filter { $0.town == "t1" }.sorted { $0.size != $1.size ? $0.size < $1.size : $0.id < $1.id }
    let query = offers.load(where: #Predicate { $0.town == "t1" }).sorted(by: \.size)
    #expect(try await query.all() == expected)
    #expect(try await query.count == expected.count)
    #expect(try await offers.load(where: #Predicate { $0.town == "t1" }).max(of: \.size) == .large)
  }

  @Test("an index of one descending tier that only the app orders has the order of its type, backwards")
  func descendingAppOrder() async throws {
    struct DescendingFormat: DatastoreFormat {
      enum Version: Int, CaseIterable { case one = 1 }
      typealias Instance = Offer
      static let defaultKey: DatastoreKey = "Descending"
      static let currentVersion = Version.one
      let size = Index(\.size.descending)
    }
    let offers = persistence.datastore(DescendingFormat.self)
    try await offers.persist(contentsOf: all)
    let ascending = all.sorted { $0.size != $1.size ? $0.size < $1.size : $0.id < $1.id }
    let descending = all.sorted { $0.size != $1.size ? $0.size > $1.size : $0.id < $1.id }
    #expect(try await offers.load(...).sorted(by: \.size).all() == ascending)
    #expect(try await offers.load(...).sorted(by: \.size, .descending).all() == descending)
    #expect(try await offers.load(...).max(of: \.size) == .large)
    #expect(try await offers.load(...).min(of: \.size) == .small)
    let (medium, small) = (Size.medium, Size.small)
    try await expect(#Predicate { $0.size == medium }, by: "size", in: offers) { $0.size == medium }
    try await expect(#Predicate { $0.size > small }, by: "size", in: offers) { $0.size > small }
    try await expect(#Predicate { $0.size <= medium }, by: "size", in: offers) { $0.size <= medium }
    try await expect(#Predicate { $0.size != medium }, by: "size", in: offers) { $0.size != medium }
    let counts = try await offers.load(...).grouped(by: \.size, { $0.count })
    #expect(counts.map(\.key) == [.small, .medium, .large])
    #expect(counts.map(\.figures) == [.small, .medium, .large].map { size in all.count { $0.size == size } })
    var (pages, query) = ([Offer](), offers.load(...).sorted(by: \.size).limit(7))
    while let last = try await query.all().last {
      pages += try await query.all()
      query = query.after(try query.cursor(after: last))
    }
    #expect(pages == ascending)
  }

  @Test("a captured Boolean, an empty beginning and NaN leave of a condition what an index serves")
  func foldedConstants() async throws {
    let offers = try await offers()
    let (yes, no, nan, none) = (true, false, Double.nan, "")
    try await expect(#Predicate { no || $0.town == "t1" }, by: "town", in: offers) { $0.town == "t1" }
    try await expect(#Predicate { yes && $0.town == "t1" }, by: "town", in: offers) { $0.town == "t1" }
    try await expect(#Predicate { !yes || !($0.town == "t1") }, by: "town", in: offers) { $0.town != "t1" }
    try await expect(#Predicate { yes ? $0.town == "t1" : $0.note == "n" }, by: "town", in: offers) { $0.town == "t1" }
    for (plan, expected, predicate) in [
      ("SCAN", all, #Predicate<Offer> { yes || $0.town == "t1" }),
      ("INDEX town ", all, #Predicate { $0.town.starts(with: "") }),
      ("INDEX town ", all, #Predicate { $0.town.starts(with: none) }),
      ("INDEX rating ", all, #Predicate { $0.rating != nan }),
      ("INDEX rating ", [], #Predicate { $0.rating == nan }),
      ("INDEX identifier nothing 0 entries", [], #Predicate { no && $0.town == "t1" }),
      ("INDEX identifier nothing 0 entries", [], #Predicate { _ in false }),
    ] {
      let query = offers.load(where: predicate)
      let explained = try await query.explain()
      #expect(explained.hasPrefix(plan), "\(explained)")
      #expect(try await query.all() == expected)
      #expect(try await query.count == expected.count)
    }
    let nothing = offers.load(where: #Predicate { _ in false })
    #expect(try await nothing.sorted(by: \.price).limit(3).all().isEmpty)
    #expect(try await nothing.sum(of: \.price) == 0)
  }

  @Test("a Boolean is a tier of an index like any other property")
  func booleanTiers() async throws {
    struct OpenFormat: DatastoreFormat {
      enum Version: Int, CaseIterable { case one = 1 }
      typealias Instance = Offer
      static let defaultKey: DatastoreKey = "Open"
      static let currentVersion = Version.one
      let openAndPrice = Index(\.isOpen, \.price)
      let townAndOpen = Index(\.town, \.isOpen)
    }
    let offers = persistence.datastore(OpenFormat.self)
    try await offers.persist(contentsOf: all)
    try await expect(#Predicate { $0.isOpen && $0.price < 5 }, by: "openAndPrice", in: offers) {
      $0.isOpen && $0.price < 5
    }
    try await expect(#Predicate { !$0.isOpen && $0.price < 5 }, by: "openAndPrice", in: offers) {
      !$0.isOpen && $0.price < 5
    }
    try await expect(#Predicate { $0.town == "t2" && $0.isOpen }, by: "townAndOpen", in: offers) {
      $0.town == "t2" && $0.isOpen
    }
    let sorted = offers.load(where: #Predicate { $0.town == "t2" }).sorted(by: \.isOpen, .descending)
    let here = all.filter { $0.town == "t2" }
    #expect(try await sorted.all() == here.filter(\.isOpen) + here.filter { !$0.isOpen })
    let along = offers.load(...).sorted(by: \.isOpen).sorted(by: \.price).limit(40)
    #expect(try await along.explain().hasSuffix("SORT no"))
    let closed = all.filter { !$0.isOpen }.sorted { $0.price < $1.price }
    #expect(try await along.all() == Array(closed.prefix(40)))
  }

  @Test("a beginning of a text that may be nil is served with a text in its place")
  func coalescedBeginning() async throws {
    struct Note: Codable, Hashable, Identifiable, Sendable {
      var id: Int
      var text: String?
    }
    struct NoteFormat: DatastoreFormat {
      enum Version: Int, CaseIterable { case one = 1 }
      typealias Instance = Note
      static let defaultKey: DatastoreKey = "Notes"
      static let currentVersion = Version.one
      let text = Index(\.text)
    }
    let notes = persistence.datastore(NoteFormat.self)
    try await notes.persist(contentsOf: (0..<40).map { Note(id: $0, text: $0 % 4 == 0 ? nil : "n\($0 % 3)") })
    let served = notes.load(where: #Predicate { ($0.text ?? "").starts(with: "n1") })
    #expect(try await served.explain().hasPrefix("INDEX text "))
    #expect(try await served.all().map(\.id) == (0..<40).filter { $0 % 4 != 0 && $0 % 3 == 1 })
    let present = notes.load(where: #Predicate { ($0.text ?? "n1").starts(with: "n1") }).scanning()
    #expect(try await present.all().map(\.id) == (0..<40).filter { $0 % 4 == 0 || $0 % 3 == 1 })
  }
}
