import CodableDatastore
import Foundation

struct Book: Codable, Hashable, Identifiable, Sendable {
  var id: Int
  var title: String
  var authors: [String] = []
  var pages: Int = 100
  var isbn: String = ""
  var shelf: String?
}

struct BookFormat: DatastoreFormat {
  enum Version: Int, CaseIterable {
    case first = 1
    case second = 2
  }
  typealias Instance = Book
  static let defaultKey: DatastoreKey = "Books"
  static let currentVersion = Version.first

  let title = Index(\.title)
  let authors = ManyToManyIndex(\.authors)
  let shelf = Index(\.shelf)
  @Direct var pages = Index(\.pages)
  @Direct var isbn = OneToOneIndex(\.isbn)
}

extension BookFormat {
  static func datastore(_ persistence: some Persistence<ReadWrite>, key: DatastoreKey = defaultKey) -> Self.Datastore {
    .JSONStore(
      persistence: persistence, key: key,
      migrations: [
        .first: { decoder, data in try decoder.decode(Book.self, from: data) },
        .second: { decoder, data in try decoder.decode(Book.self, from: data) },
      ])
  }
}

/// Books without an index.
struct PlainBookFormat: DatastoreFormat {
  typealias Version = BookFormat.Version
  typealias Instance = Book
  static let defaultKey = BookFormat.defaultKey
  static let currentVersion = Version.first

  static func datastore(_ persistence: some Persistence<ReadWrite>) -> Self.Datastore {
    .JSONStore(
      persistence: persistence,
      migrations: [
        .first: { try $0.decode(Book.self, from: $1) }, .second: { try $0.decode(Book.self, from: $1) },
      ])
  }
}

extension Book {
  /// Books 1…n with titles "Book 001"….
  static func numbered(_ numbers: some Sequence<Int>) -> [Book] {
    numbers.map { number in
      let digits = String(1000 + number).dropFirst()
      return Book(
        id: number, title: "Book \(digits)", authors: ["Author \(number % 3)", "Everybody"], pages: number * 10,
        isbn: "isbn-\(number)", shelf: number % 4 == 0 ? nil : "Shelf \(number % 4)")
    }
  }
}

/// A place for one test's store, removed with its last reference.
final class TemporaryPlace: Sendable {
  let url: URL

  init() {
    url = FileManager.default.temporaryDirectory.appending(path: "strata-\(UUID().uuidString)/Test.strata")
  }

  deinit { try? FileManager.default.removeItem(at: url.deletingLastPathComponent()) }
}

extension AsyncSequence {
  /// Everything, for comparing.
  func all() async throws -> [Element] {
    var all: [Element] = []
    for try await element in self { all.append(element) }
    return all
  }
}
