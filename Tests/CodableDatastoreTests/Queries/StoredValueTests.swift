import CodableDatastore
import Foundation
import Testing

/// What a coder changes, as an index, a condition and a sort see it.
@Suite("Values as they are stored")
struct StoredValueTests {
  struct Visit: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    var at: Date
    var guest: String

    init(id: Int, at: Date, guest: String) { (self.id, self.at, self.guest) = (id, at, guest) }

    init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: CodingKeys.self)
      id = try members.decode(Int.self, forKey: .id)
      at = try members.decode(Date.self, forKey: .at)
      guest = try members.decode(String.self, forKey: .guest).lowercased()
    }
  }

  struct VisitFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case one = 1 }
    typealias Instance = Visit
    static let defaultKey: DatastoreKey = "Visits"
    static let currentVersion = Version.one
    let at = Index(\.at)
    let guest = Index(\.guest)
  }

  private let persistence = MemoryPersistence()

  private func visits() async throws -> VisitFormat.Datastore {
    let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
    encoder.dateEncodingStrategy = .iso8601
    decoder.dateDecodingStrategy = .iso8601
    let visits: VisitFormat.Datastore = .JSONStore(
      persistence: persistence, encoder: encoder, decoder: decoder,
      migrations: [.one: { try $0.decode(Visit.self, from: $1) }])
    for number in 0..<20 {
      try await visits.persist(
        Visit(id: number, at: Date(timeIntervalSinceReferenceDate: Double(number) * 0.7), guest: "Guest \(number % 3)"))
    }
    return visits
  }

  @Test("a loaded value is found by the index, as by a scan")
  func found() async throws {
    let visits = try await visits()
    let all = try await visits.load(...).all()
    for visit in all {
      let (at, guest) = (visit.at, visit.guest)
      #expect(try await visits.load(at...at, from: \.at).all() == all.filter { $0.at == at })
      #expect(try await visits.load(guest, from: \.guest).all() == all.filter { $0.guest == guest })
      let query = visits.load(where: #Predicate { $0.at == at && $0.guest == guest })
      #expect(try await query.all() == all.filter { $0.at == at && $0.guest == guest })
    }
    let sorted = try await visits.load(where: #Predicate { _ in true }).sorted(by: \.at, .descending).all()
    #expect(sorted == all.sorted { $0.at != $1.at ? $0.at > $1.at : $0.id < $1.id })
  }

  @Test("what is replaced or deleted leaves no entry behind")
  func left() async throws {
    let visits = try await visits()
    for number in 0..<20 where number % 2 == 0 { try await visits.delete(number) }
    for number in 0..<20 where number % 2 == 1 {
      try await visits.persist(Visit(id: number, at: Date(timeIntervalSinceReferenceDate: 1_000.4), guest: "LAST"))
    }
    let rest = try await visits.load(...).all()
    #expect(rest.map(\.guest) == Array(repeating: "last", count: 10))
    #expect(try await visits.load(..., from: \.at).all() == rest)
    #expect(try await visits.load(..., from: \.guest).all() == rest)
  }

  @Test("what is written and cannot be read back is indexed by what was written")
  func unreadable() async throws {
    let visits: VisitFormat.Datastore = .JSONStore(
      persistence: persistence, migrations: [.one: { (_: JSONDecoder, _: Data) -> Visit in throw CancellationError() }])
    try await visits.persist(Visit(id: 1, at: Date(timeIntervalSinceReferenceDate: 1), guest: "A"))
    #expect(try await visits.load(where: #Predicate { $0.guest == "A" }).count == 1)
  }

  /// A text without spaces at its ends, once it was read.
  @propertyWrapper
  struct Trimmed: Codable, Hashable, Sendable {
    var wrappedValue: String

    init(wrappedValue: String) { self.wrappedValue = wrappedValue }

    init(from decoder: any Decoder) throws {
      wrappedValue = try decoder.singleValueContainer().decode(String.self).trimmingCharacters(in: .whitespaces)
    }

    func encode(to encoder: any Encoder) throws {
      var value = encoder.singleValueContainer()
      try value.encode(wrappedValue)
    }
  }

  /// Writes no more than ten stars, and one of the words that it knows by another.
  struct Review: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    @Trimmed var title: String
    var stars: Int
    var words: [String]
    var readers: Set<String>

    enum CodingKeys: String, CodingKey { case id, title, stars, words, readers }

    func encode(to encoder: any Encoder) throws {
      var members = encoder.container(keyedBy: CodingKeys.self)
      try members.encode(id, forKey: .id)
      try members.encode(_title, forKey: .title)
      try members.encode(min(stars, 10), forKey: .stars)
      try members.encode(words.map { $0 == "nice" ? "good" : $0 }, forKey: .words)
      if !readers.isEmpty { try members.encode(readers, forKey: .readers) }
    }

    init(id: Int, title: String, stars: Int, words: [String], readers: Set<String>) {
      (self.id, self.stars, self.words, self.readers) = (id, stars, words, readers)
      self.title = title
    }

    init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: CodingKeys.self)
      id = try members.decode(Int.self, forKey: .id)
      _title = try members.decode(Trimmed.self, forKey: .title)
      stars = try members.decode(Int.self, forKey: .stars)
      words = try members.decode([String].self, forKey: .words)
      readers = try members.decodeIfPresent(Set<String>.self, forKey: .readers) ?? ["nobody"]
    }
  }

  struct ReviewFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case one = 1 }
    typealias Instance = Review
    static let defaultKey: DatastoreKey = "Reviews"
    static let currentVersion = Version.one
    let title = Index(\.title)
    let stars = Index(\.stars)
    let words = ManyToManyIndex(\.words)
    let readers = ManyToManyIndex(\.readers)
  }

  @Test("indexes hold what an encoder, a property wrapper and a decoder of an app's type make of values")
  func changedByTheType() async throws {
    let reviews = persistence.datastore(ReviewFormat.self)
    for number in 0..<40 {
      try await reviews.persist(
        Review(
          id: number, title: " title \(number % 4) ", stars: number, words: ["nice", "w\(number % 3)"],
          readers: number % 2 == 0 ? [] : ["r\(number % 5)", "all"]))
    }
    let all = try await reviews.load(...).all()
    #expect(all.map(\.title) == (0..<40).map { "title \($0 % 4)" } && all.map(\.stars) == (0..<40).map { min($0, 10) })
    for title in Set(all.map(\.title)).union([" title 1 "]) {
      #expect(try await reviews.load(title, from: \.title).all() == all.filter { $0.title == title })
    }
    for stars in 0..<40 {
      #expect(try await reviews.load(stars, from: \.stars).all() == all.filter { $0.stars == stars })
    }
    for word in ["nice", "good", "w0"] {
      #expect(try await reviews.load(word, from: \.words).all() == all.filter { $0.words.contains(word) })
    }
    for reader in ["nobody", "all", "r1"] {
      #expect(try await reviews.load(reader, from: \.readers).all() == all.filter { $0.readers.contains(reader) })
    }
  }
}
