import CodableDatastore
import Foundation
import Testing

@Suite("Indexes of texts without case and accents")
struct FoldingTests {
  struct Place: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    var name: String
    var other: String?
  }

  struct PlaceFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case one = 1 }
    typealias Instance = Place
    static let defaultKey: DatastoreKey = "Places"
    static let currentVersion = Version.one
    let name = Index(\.name, folding: .caseAndDiacritics)
    let other = Index(\.other, folding: .caseAndDiacritics)
  }

  private static let names = [
    "Zürich", "zurich", "ZURICH", "Zu\u{308}rich", "Zug", "Strasse", "STRASSE", "Straße", "Ångström", "angstrom",
    "Élan", "elan",
    "ΟΔΟΣ", "οδός", "が", "か", "한국", "Øre", "", "i\u{307}", "İ", "naïve", "Naive", "z",
  ]

  private func filled() async throws -> (PlaceFormat.Datastore, [Place]) {
    let all = Self.names.enumerated().map { id, name in Place(id: id, name: name, other: id % 3 == 0 ? nil : name) }
    let places = MemoryPersistence().datastore(PlaceFormat.self)
    try await places.persist(contentsOf: all)
    return (places, all)
  }

  /// What Foundation takes for the same text.
  private func plain(_ text: String) -> String {
    text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
  }

  @Test("texts of Latin and Greek letters are folded as Foundation folds them; other letters keep their marks")
  func folds() {
    for (one, other) in Self.names.flatMap({ name in Self.names.map { (name, $0) } }) {
      guard (one + other).unicodeScalars.allSatisfy({ $0.value < 0x530 }), !(one + other).contains("ß") else {
        continue
      }
      #expect((one.folded == other.folded) == (plain(one) == plain(other)), "\(one) \(other)")
    }
    #expect("Straße".folded == "STRASSE" && "か".folded != "が".folded)
    for name in Self.names { #expect(name.folded.text.folded == name.folded) }
  }

  @Test("equality, order and beginning are served by the index, in predicates and loads")
  func served() async throws {
    let (places, all) = try await filled()
    for name in Self.names {
      let wanted = name.folded
      let equal = places.load(where: #Predicate { $0.name.folded == wanted })
      #expect(try await equal.collectInstances(upTo: .infinity) == all.filter { $0.name.folded == wanted })
      #expect(try await equal.explain().hasPrefix("INDEX name"))
      #expect(try await places.load(wanted, from: \.name).count == all.count { $0.name.folded == wanted })
      let optional: FoldedText? = wanted
      let other = places.load(where: #Predicate { $0.other?.folded == optional })
      #expect(try await other.count == all.count { $0.other?.folded == optional })
      #expect(try await other.explain().hasPrefix("INDEX other"))
      for length in 1..<3 where name.count > length {
        let prefix = String(name.prefix(length))
        let kept = all.filter { $0.name.folded.text.hasPrefix(prefix.folded.text) }
        #expect(
          try await places.load(prefix: prefix, from: \.name).collectInstances(upTo: .infinity).count == kept.count)
        let start = prefix.folded
        let begins = places.load(where: #Predicate { $0.name.folded.starts(with: start) })
        #expect(try await begins.collectInstances(upTo: .infinity) == kept)
        #expect(try await begins.explain().hasPrefix("INDEX name"))
      }
    }
    #expect(try await places.load(where: #Predicate { $0.name.folded == "zürich" }).count == 4)
    let sorted = try await places.load(...).sorted(by: \.name.folded).collectInstances(upTo: .infinity)
    #expect(sorted == all.sorted { ($0.name.folded, $0.id) < ($1.name.folded, $1.id) })
  }

  @Test("a query that no index serves names a declaration that does")
  func advice() async throws {
    struct PlainFormat: DatastoreFormat {
      typealias Version = PlaceFormat.Version
      typealias Instance = Place
      static let defaultKey: DatastoreKey = "Places"
      static let currentVersion = Version.one
    }
    let places = MemoryPersistence().datastore(PlainFormat.self)
    let error = await #expect(throws: UnindexedQueryError.self) {
      try await places.load(where: #Predicate { $0.name.folded == "x" }).count
    }
    #expect(error?.errorDescription?.contains("Index(\\.name.folded)") == true)
  }

  @Test("an index over one folded text that an app computes does not answer for another one, also behind an optional")
  func computed() async throws {
    struct Person: Codable, Hashable, Identifiable, Sendable {
      struct Names: Codable, Hashable, Sendable {
        var first: String
        var last: String
        var firstKey: FoldedText { FoldedText(first) }
        var lastKey: FoldedText { FoldedText(last) }
      }
      var id: Int
      var names: Names?
      var firstKey: FoldedText { FoldedText(names?.first ?? "") }
      var lastKey: FoldedText { FoldedText(names?.last ?? "") }
    }
    struct FirstFormat: DatastoreFormat {
      typealias Version = PlaceFormat.Version
      typealias Instance = Person
      static let defaultKey: DatastoreKey = "People"
      static let currentVersion = Version.one
      let first = Index(\.firstKey)
    }
    struct LastFormat: DatastoreFormat {
      typealias Version = PlaceFormat.Version
      typealias Instance = Person
      static let defaultKey: DatastoreKey = "People"
      static let currentVersion = Version.one
      let last = Index(\.lastKey)
      let inner = Index(\.names?.firstKey)
    }
    let persistence = MemoryPersistence()
    let person = Person(id: 1, names: Person.Names(first: "Ada", last: "Lovelace"))
    let (ada, lovelace) = ("Ada".folded, "Lovelace".folded)
    do {
      let people = persistence.datastore(FirstFormat.self)
      try await people.persist(person)
      #expect(try await people.load(where: #Predicate { $0.firstKey == ada }).all() == [person])
      #expect(try await people.load(where: #Predicate { $0.lastKey == lovelace }).scanning().all() == [person])
      #expect(try await people.load(where: #Predicate { $0.lastKey == ada }).scanning().all().isEmpty)
    }
    let people = persistence.datastore(LastFormat.self)
    #expect(try await people.load("lovelace", from: \.last).all() == [person])
    #expect(try await people.load("ada", from: \.last).all().isEmpty)
    for (predicate, expected) in [
      (#Predicate<Person> { $0.names?.lastKey == lovelace }, [person]), (#Predicate { $0.names?.lastKey == ada }, []),
    ] {
      #expect(try await people.load(where: predicate).scanning().all() == expected)
    }
  }
}
