import CodableDatastore
import Foundation
import Testing

@Suite("Queries that no index serves")
struct IndexAdviceTests {
  @Test("a query that no index serves names the declarations that would serve it, and no other")
  func advice() async throws {
    struct Post: Codable, Identifiable, Sendable {
      var id: Int
      var title: String
      var tags: [String]
      var counts: [String: Int]
      var home: URL?
      var body: String?
      var isPinned: Bool
      var stars: Int
      var length: Int { title.count }
    }
    struct PostFormat: DatastoreFormat {
      enum Version: Int, CaseIterable { case one = 1 }
      typealias Instance = Post
      static let defaultKey: DatastoreKey = "Posts"
      static let currentVersion = Version.one
      let title = Index(\.title)
    }
    let posts = MemoryPersistence().datastore(PostFormat.self)
    func expect(_ text: String, _ query: Selection<PostFormat, ReadWrite>) async {
      let error = await #expect(throws: UnindexedQueryError.self) { try await query.all() }
      let end = "; scanning() allows reading everything."
      #expect(error?.errorDescription == "No index of Posts can serve \(text)\(end)")
    }
    let none = URL?.none
    await expect(
      "“tags contains \"a\"”: declare let tags = ManyToManyIndex(\\.tags) in its format",
      posts.load(where: #Predicate { $0.tags.contains("a") }))
    await expect("“predicate”", posts.load(where: #Predicate { $0.title.contains("x") }))
    await expect("“home == nil”", posts.load(where: #Predicate { $0.home == none }))
    await expect("“predicate == 0”", posts.load(where: #Predicate { $0.id % 2 == 0 }))
    let computed = "an index serves a stored property that is named by its own type, not by a protocol"
    await expect("“predicate”: \(computed)", posts.load(where: #Predicate { $0.stars == $0.title.count }))
    await expect("“a computed property”: \(computed)", posts.load(where: #Predicate { $0.tags.isEmpty }))
    await expect(
      "“stars == 3 and predicate”: declare let stars = Index(\\.stars) in its format",
      posts.load(where: #Predicate { $0.stars == 3 && ($0.body ?? "").contains("x") }))
    await expect(
      "“stars > 3 or isPinned”: declare let stars = Index(\\.stars) and let isPinned = Index(\\.isPinned) in its format",
      posts.load(where: #Predicate { $0.stars > 3 || $0.isPinned }))
    await expect(
      "“title == \"a\" or stars == 3”: declare let stars = Index(\\.stars) in its format",
      posts.load(where: #Predicate { $0.title == "a" || $0.stars == 3 }))
    await expect(
      "“stars == 3 or predicate”", posts.load(where: #Predicate { $0.stars == 3 || $0.title.contains("x") }))
    await expect(
      "“not (stars > 3 and isPinned)”: declare let stars = Index(\\.stars) and let isPinned = Index(\\.isPinned) in its format",
      posts.load(where: #Predicate { !($0.stars > 3 && $0.isPinned) }))
    await expect(
      "“not (stars > 3 or isPinned)”: declare let stars = Index(\\.stars) or let isPinned = Index(\\.isPinned) in its format",
      posts.load(where: #Predicate { !($0.stars > 3 || $0.isPinned) }))
    await expect(
      "“stars > 3 and body == \"x\" and body != nil”: declare let stars = Index(\\.stars) or let body = Index(\\.body) in its format",
      posts.load(where: #Predicate { post in if let body = post.body { post.stars > 3 && body == "x" } else { false } })
    )
    await expect(
      "“body starts with \"x\"”: declare let body = Index(\\.body) in its format",
      posts.load(where: #Predicate { ($0.body ?? "").starts(with: "x") }))
    await expect(
      "“sorted by stars descending, body”: declare let order = Index(\\.stars, \\.body.descending) in its format",
      posts.load(...).sorted(by: \.stars, .descending).sorted(by: \.body))
    await expect(
      "“sorted by stars”: declare let stars = Index(\\.stars) in its format", posts.load(...).sorted(by: \.stars))
  }

  @Test("the error names an index on an id of a part, or on identifiers that instances do not lie under, not id")
  func identifiers() async throws {
    struct Author: Codable { var id: Int }
    struct Post: Codable, Identifiable {
      var id: Int
      var author: Author
    }
    struct PostFormat: DatastoreFormat {
      enum Version: Int, CaseIterable { case one = 1 }
      typealias Instance = Post
      static let defaultKey: DatastoreKey = "Posts"
      static let currentVersion = Version.one
    }
    struct AdvisedFormat: DatastoreFormat {
      typealias Version = PostFormat.Version
      typealias Instance = Post
      static let defaultKey: DatastoreKey = "Posts"
      static let currentVersion = Version.one
      let author = Index(\.author.id)
      let identifier = Index(\.id)
    }
    let persistence = MemoryPersistence()
    let (byAuthor, byIdentifier) = (#Predicate<Post> { $0.author.id == 3 }, #Predicate<Post> { $0.id == 1 })
    do {
      let posts = persistence.datastore(PostFormat.self)
      try await posts.persist(Post(id: 1, author: Author(id: 3)), to: 7)
      for (predicate, advice) in [
        (byAuthor, "declare let author = Index(\\.author.id) in"),
        (byIdentifier, "declare let identifier = Index(\\.id) in"),
      ] {
        let error = await #expect(throws: UnindexedQueryError.self) { try await posts.load(where: predicate).all() }
        #expect(error?.errorDescription?.contains(advice) == true)
      }
    }
    let advised = persistence.datastore(AdvisedFormat.self)
    for predicate in [byAuthor, byIdentifier] {
      #expect(try await advised.load(where: predicate).all().map(\.author.id) == [3])
    }
  }
}
