import CodableDatastore

/// A book on a shelf.
public struct Book: Codable, Hashable, Identifiable, Sendable {
  /// A number of its own, or the text of a UUID for a book that was shared.
  public var id: String
  /// The title.
  public var title: String
  /// The author's identifier.
  public var author: Int?
  /// The shelf's identifier; nil if it stands on none.
  public var shelf: Int?

  /// Makes a book.
  public init(id: String, title: String, author: Int? = nil, shelf: Int? = nil) {
    self.id = id
    self.title = title
    self.author = author
    self.shelf = shelf
  }
}

/// An author of books.
public struct Author: Codable, Hashable, Identifiable, Sendable {
  /// The identifier.
  public var id: Int
  /// The name.
  public var name: String

  /// Makes one.
  public init(id: Int, name: String) {
    self.id = id
    self.name = name
  }
}

/// A shelf with books.
public struct Shelf: Codable, Hashable, Identifiable, Sendable {
  /// The identifier.
  public var id: Int
  /// The name.
  public var name: String

  /// Makes one.
  public init(id: Int, name: String) {
    self.id = id
    self.name = name
  }
}

/// The datastore of books.
public struct BookFormat: DatastoreFormat {
  /// The versions of the instances.
  public enum Version: Int, CaseIterable, Sendable { case first }
  /// The type of the instances.
  public typealias Instance = Book
  /// The name in the store.
  public static let defaultKey: DatastoreKey = "Books"
  /// The version that is written.
  public static let currentVersion = Version.first
  /// Finds books by title.
  public let title = Index(\.title)
  /// Finds the books of an author.
  public let author = Reference(\.author, to: AuthorFormat.self)
  /// Finds the books of a shelf.
  public let shelf = Reference(\.shelf, to: ShelfFormat.self)
  /// Declares it.
  public init() {}
}

/// The datastore of authors.
public struct AuthorFormat: DatastoreFormat {
  /// The versions of the instances.
  public enum Version: Int, CaseIterable, Sendable { case first }
  /// The type of the instances.
  public typealias Instance = Author
  /// The name in the store.
  public static let defaultKey: DatastoreKey = "Authors"
  /// The version that is written.
  public static let currentVersion = Version.first
  /// Finds authors by name.
  public let name = Index(\.name)
  /// Declares it.
  public init() {}
}

/// The datastore of shelves.
public struct ShelfFormat: DatastoreFormat {
  /// The versions of the instances.
  public enum Version: Int, CaseIterable, Sendable { case first }
  /// The type of the instances.
  public typealias Instance = Shelf
  /// The name in the store.
  public static let defaultKey: DatastoreKey = "Shelves"
  /// The version that is written.
  public static let currentVersion = Version.first
  /// Declares it.
  public init() {}
}
