public import CodableDatastore
public import Foundation

/// The store as the app uses it: the one process that writes.
public struct Library: Sendable {
  /// The open store.
  public let persistence: DiskPersistence<ReadWrite>
  /// The books.
  public let books: BookFormat.Datastore
  /// The authors.
  public let authors: AuthorFormat.Datastore
  /// The shelves.
  public let shelves: ShelfFormat.Datastore

  /// Opens the store, and applies the letters that wait and that arrive.
  ///
  /// - Throws: ``StoreError`` if another kind of file lies there.
  public init(at url: URL) throws {
    var configuration = StoreConfiguration()
    configuration.appliesInbox = true
    persistence = try DiskPersistence(readWriteURL: url, configuration: configuration)
    books = persistence.datastore(BookFormat.self)
    authors = persistence.datastore(AuthorFormat.self)
    shelves = persistence.datastore(ShelfFormat.self)
  }
}

/// What an extension sends to the app.
public enum SharedBook {
  /// Sends a book. It is durable when the call returns; the app need not run.
  ///
  /// - Throws: ``StoreError`` if the letter cannot be written, or if too many wait.
  public static func send(_ book: Book, toStoreAt url: URL) async throws {
    let outbox = try Outbox(storeAt: url)
    try await outbox.send("Share “\(book.title)”") { letter in try letter.persist(book, in: BookFormat.self) }
  }
}

/// What a widget shows.
public struct Summary: Sendable, Hashable {
  /// How many books there are.
  public var bookCount: Int
  /// The title of the book with the last identifier.
  public var newestTitle: String?

  /// Makes a summary.
  public init(bookCount: Int, newestTitle: String? = nil) {
    self.bookCount = bookCount
    self.newestTitle = newestTitle
  }

  /// Reads the newest state. Takes no lock. Reads by calls and not through a mapping: a widget may run while the device is locked.
  ///
  /// - Throws: ``StoreError``.
  public static func read(fromStoreAt url: URL) async throws -> Summary {
    let persistence = DiskPersistence(readOnlyURL: url, readsThroughMapping: false)
    let books = persistence.datastore(BookFormat.self)
    let last = try await books.load(..., order: .descending).firstInstance
    let summary = Summary(bookCount: try await books.count, newestTitle: last?.title)
    try await persistence.close()
    return summary
  }
}

/// The place that app, extension and widget share.
public enum LibraryLocation {
  /// The identifier of the app group.
  public static let group = "group.com.example.library"

  #if canImport(Darwin)
    /// The store in the container of the app group. Returns nil if the program has no right to it.
    public static var url: URL? {
      FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: group)?
        .appending(path: "Library.persistencestore")
    }
  #endif
}
