@testable import CodableDatastore
import Foundation
import Testing

@Suite("Formats")
struct FormatTests {
  @Test("the stored properties of a format are its indexes, by their labels")
  func reflection() {
    let indexes = BookFormat().generateIndexRepresentations()
    let names = indexes.values.map(\.indexName).sorted()
    #expect(names == ["authors", "isbn", "pages", "shelf", "title"])
    let direct = indexes.values.filter { $0.storage == .direct }.map(\.indexName).sorted()
    #expect(direct == ["isbn", "pages"])
  }

  @Test("an index type names kind and value type")
  func indexTypes() {
    let format = BookFormat()
    #expect(format.title.indexType == "OneToManyIndex(String)")
    #expect(format.authors.indexType == "ManyToManyIndex(String)")
    #expect(format.isbn.indexType == "OneToOneIndex(String)")
    #expect(format.shelf.indexType == "OneToManyIndex(Optional<String>)")
    let manyToOne = BookFormat.ManyToOneIndex(\.authors)
    #expect(manyToOne.indexType == "ManyToOneIndex(String)")
    #expect(IndexType(Int.self) == "Int")
  }

  @Test("indexes are equal when kind and key path are")
  func equality() {
    #expect(BookFormat.Index(\.title) == BookFormat.Index(\.title))
    #expect(BookFormat.Index(\.title) != BookFormat.Index(\.isbn))
    #expect(BookFormat.Index(\.isbn).key != BookFormat.OneToOneIndex(\.isbn).key)
    #expect(BookFormat.Index(\.isbn).key == BookFormat.Index(\.isbn).key)
  }

  @Test("repeated values of a sequence count once, an empty one not at all")
  func distinctValues() {
    let index = BookFormat.ManyToManyIndex(\.authors)
    let values: Set<String> = index.valuesToIndex(for: Book(id: 1, title: "", authors: ["a", "b", "a"]))
    #expect(values == ["a", "b"])
    let untyped: [AnyIndexable] = index.valuesToIndex(for: Book(id: 1, title: ""))
    #expect(untyped.isEmpty)
  }

  @Test("an index matches its own type of instance only")
  func matching() {
    let index = BookFormat.Index(\.title)
    #expect(index.matches(Book.self) != nil)
    #expect(index.matches(Shelf.self) == nil)
  }

  struct Shelf: Codable, Sendable { var name: String }

  struct TwiceFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case only }
    typealias Instance = Book
    static let defaultKey: DatastoreKey = "Twice"
    static let currentVersion = Version.only
    let zebra = Index(\.title)
    let apple = Index(\.title)
    let id = Index(\.id)
    let somethingElse = 12
    var computed: Index<String> { Index(\.isbn) }
  }

  @Test("of two indexes on one key path the first name wins; an index called id is dropped; computed ones are not seen")
  func clashes() {
    let names = TwiceFormat().generateIndexRepresentations().values.map(\.indexName)
    #expect(names == ["apple"])
  }

  @Test("names of stored key paths are kept, addresses of computed ones are not")
  func keyPathNames() {
    #expect(KeyPathName.path(of: \Book.title, from: Book.self) == ".title")
    #expect(KeyPathName.path(of: \Book.title.count, from: Book.self) == nil)
    #expect(KeyPathName.path(of: \Book.self, from: Book.self) == nil)
    #expect(KeyPathName.path(of: \Nested.inner.depth, from: Nested.self) == ".inner.depth")
  }

  struct Nested: Sendable {
    struct Inner: Sendable { var depth = 1 }
    var inner = Inner()
  }

  @Test("keys, names and types are bare strings")
  func smallTypes() throws {
    let encoded = try JSONEncoder().encode([DatastoreKey("a"), "b"])
    #expect(String(decoding: encoded, as: UTF8.self) == #"["a","b"]"#)
    #expect(try JSONDecoder().decode([IndexName].self, from: encoded) == ["a", "b"])
    #expect(try JSONDecoder().decode([IndexType].self, from: encoded) == ["a", "b"])
    #expect("\(DatastoreKey(rawValue: "x"))" == "x")
    #expect(IndexName("a") < IndexName("b"))
  }
}
