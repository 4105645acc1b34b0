import CodableDatastore
import Foundation

// A book shop as the original library's introduction has one: books and authors, in several versions.

struct ISBN: RawRepresentable, Codable, Hashable, Comparable, Sendable, DiscreteIndexable {
  var rawValue: String
  static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension UUID: @retroactive Identifiable {
  /// A value whose identifier is all that there is to it.
  public var id: Self { self }
}

struct Book: Codable, Identifiable, Hashable, Sendable {
  var id: UUID = UUID()
  var title: String
  var authors: [UUID] = []
  var isbn: ISBN
  var publicationDate: Date = .distantPast
  var price: Decimal = 10
  var pages: Int?
}

struct AncientBook: Codable, Sendable {
  var id: UUID
  var name: String
  var isbn: String
}

extension Book {
  init(ancient book: AncientBook) {
    self.init(id: book.id, title: book.name, isbn: ISBN(rawValue: book.isbn))
  }
}

struct BookStore: DatastoreFormat {
  enum Version: String, CaseIterable {
    case y2023 = "2023-01-01"
    case current = "2024-04-09"
  }

  typealias Instance = Book

  static let defaultKey: DatastoreKey = "BookStore"
  static let currentVersion: Version = .current

  let title = Index(\.title)
  let author = ManyToManyIndex(\.authors)
  let price = Index(\.price)
  let pages = Index(\.pages)
  @Direct var publicationDate = Index(\.publicationDate)
  @Direct var isbn = OneToOneIndex(\.isbn)

  static func datastore(for persistence: DiskPersistence<ReadWrite>) -> Self.Datastore {
    .JSONStore(
      persistence: persistence,
      migrations: [
        .y2023: {
          let ancient = try $0.decode(AncientBook.self, from: $1)
          return Book(ancient: ancient)
        },
        .current: { try $0.decode(Book.self, from: $1) },
      ])
  }

  static func reader(for persistence: some Persistence) -> Self.ReadOnlyDatastore {
    .readOnlyJSONStore(
      persistence: persistence,
      migrations: [
        .y2023: { decoder, data in Book(ancient: try decoder.decode(AncientBook.self, from: data)) },
        .current: { decoder, data in try decoder.decode(Book.self, from: data) },
      ])
  }
}

/// As an older release of the program declared it.
struct AncientBookStore: DatastoreFormat {
  typealias Version = BookStore.Version
  typealias Instance = AncientBook
  typealias Identifier = UUID
  static let defaultKey: DatastoreKey = "BookStore"
  static let currentVersion = Version.y2023

  let name = Index(\.name)

  static func datastore(for persistence: some Persistence<ReadWrite>) -> Self.Datastore {
    Self.Datastore(
      persistence: persistence,
      encoder: { try JSONEncoder().encode($0) },
      decoders: [
        .y2023: {
          let book = try JSONDecoder().decode(AncientBook.self, from: $0)
          return (id: book.id, instance: book)
        }
      ])
  }
}

struct Author: Codable, Identifiable, Sendable {
  var id: UUID = UUID()
  var names: Set<String>
}

struct AuthorStore: DatastoreFormat {
  enum Version: Int, CaseIterable { case zero, one }
  typealias Instance = Author
  static let defaultKey = DatastoreKey("AuthorStore")
  static let currentVersion = Version.one
  var name = ManyToOneIndex(\.names)
}

struct Descending: IndexRangeExpression {
  var lowerBoundExpression: RangeBoundExpression<Decimal> { .including(1) }
  var upperBoundExpression: RangeBoundExpression<Decimal> { .extent }
  var order: RangeOrder { .descending }
}
