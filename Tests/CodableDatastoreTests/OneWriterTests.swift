@testable import CodableDatastore
@testable import StrataModel
import Foundation
import StrataEngine
import Testing

@Suite("The library's writes mend indexes as the tools' do")
struct OneWriterTests {
  let persistence = MemoryPersistence()

  /// Changes the entries of an index behind the library's back.
  private func change(
    _ index: String, _ body: (any WriteTransaction, TreeName, _ identifier: (Int) throws -> [UInt8]) throws -> Void
  ) throws {
    let engine = try persistence._store.connection.storeForWriting()
    let transaction = try engine.beginBlocking()
    try body(transaction, .index(index, of: "Books")) { try KeyEncoding.integer.encode(.integer(Int64($0))) }
    try transaction.commit()?.wait()
  }

  private func findings() throws -> [Finding] {
    let store = EngineStore(try persistence._store.connection.storeForWriting(), path: "", keepsLock: true)
    return try store.verifyModel(at: store.head.commit).allFindings.filter { $0.severity == .wrong }
  }

  private func title(_ number: Int) throws -> [UInt8] {
    try KeyEncoding.string.encode(.string("Book \(String(1000 + number).dropFirst())"))
  }

  @Test("an entry that is missing comes back with any change of its record, though its value stays")
  func missingEntry() async throws {
    let books = BookFormat.datastore(persistence)
    for book in Book.numbered(1...20) { try await books.persist(book) }
    try change("title") { transaction, tree, identifier in
      let key = EntryKey.make(value: try title(3), identifier: try identifier(3))
      #expect(try transaction.remove(key, in: tree))
    }
    #expect(try await books.load("Book 003", from: \.title).all().isEmpty)
    var book = try #require(try await books.load(3))
    book.pages = 7
    try await books.persist(book)
    #expect(try await books.load("Book 003", from: \.title).all() == [book])
    #expect(try findings().isEmpty)
  }

  @Test("an unchanged instance whose direct entry leads elsewhere is written, and the entry mended")
  func directPayload() async throws {
    let books = BookFormat.datastore(persistence)
    for book in Book.numbered(1...20) { try await books.persist(book) }
    try change("pages") { transaction, tree, identifier in
      let wrong = try #require(try transaction.currentReference(of: identifier(4), in: .records(of: "Books")))
      let key = EntryKey.make(value: try KeyEncoding.integer.encode(.integer(30)), identifier: try identifier(3))
      try transaction.insert(key, .record(wrong), in: tree)
    }
    #expect(try await books.load(30, from: \.pages).all().map(\.id) == [4])
    try await books.persist(Book.numbered(3...3)[0])
    #expect(try await books.load(30, from: \.pages).all().map(\.id) == [3])
  }

  @Test("an index whose entries all lie elsewhere is mended as its records change")
  func mendingMany() async throws {
    let books = BookFormat.datastore(persistence)
    let count = 400
    for book in Book.numbered(1...count) { try await books.persist(book) }
    try change("title") { transaction, tree, identifier in
      for number in 1...count {
        let key = try EntryKey.make(value: title(number), identifier: identifier(number))
        #expect(try transaction.remove(key, in: tree))
        let stray = EntryKey.make(
          value: try KeyEncoding.string.encode(.string("as it was computed once \(number)")),
          identifier: try identifier(number))
        try transaction.insert(stray, in: tree)
      }
    }
    try await persistence.perform {
      for var book in Book.numbered(1...count) {
        book.title += "!"
        try await books.persist(book)
      }
    }
    #expect(try await books.load(..., from: \.title).all().count == count)
    #expect(try findings().isEmpty)
  }

  @Test("an index of an order that only the app knows takes edits beside a record that was left out")
  func leftOutInComparatorOrder() async throws {
    let seats = OrderTests.SeatFormat.datastore(persistence)
    for seat in OrderTests().seats(30) { try await seats.persist(seat) }
    let tools = try EngineStore(
      persistence._store.connection.storeForWriting(), path: "", keepsLock: true, formats: [seats._browsable.format])
    let datastore = try #require(try tools.head.datastore("Seats"))
    let descriptor = datastore.descriptor
    let keys = try datastore.primary.entries(at: 0..<2).map(\.identifier)
    try await onThread {
      _ = try tools.transact(CommitInfo(action: "leave out")) { transaction throws(ModelError) in
        try onStorage {
          let writer = DatastoreWriter(descriptor, in: transaction, format: tools.formats["Seats"])
          for key in keys { try writer.leaveOut(key.bytes, "for a test") }
        }
      }
    }
    #expect(try tools.head.datastore("Seats")?.leftOutCount == 2)
    let old = try #require(try datastore.record(keys[0])?.stored)
    let edit = RecordEdit(datastore: "Seats", identifier: keys[0], old: old, new: nil)
    _ = try await onThread { try tools.commit(ChangeSet(changes: [edit]), named: "edit", options: EditOptions()) }
    #expect(try tools.head.datastore("Seats")?.leftOutCount == 1)
    // The library takes records from the list too, with a delete and with an insertion.
    try await seats.delete(id: OrderTests().seats(2)[1].id)
    #expect(try tools.refresh().datastore("Seats")?.leftOutCount == 0)
  }

  @Test("verification takes entries of identifiers that only the app can order for what they are")
  func verifiedComparatorIdentifiers() async throws {
    let persistence = MemoryPersistence()
    let items = Datastore<RandomScriptTests.Full<RandomScriptTests.Depth>, ReadWrite>.JSONStore(
      persistence: persistence, version: .first,
      migrations: [.first: { try $0.decode(RandomScriptTests.Item<RandomScriptTests.Depth>.self, from: $1) }])
    for number in 0..<40 {
      try await items.persist(
        RandomScriptTests.Item(
          id: RandomScriptTests.Depth(number: number), name: "\(number)", tags: ["a"], pages: 1,
          depth: .init(text: "d"), level: .init(text: "d")))
    }
    let store = EngineStore(try persistence._store.connection.storeForWriting(), path: "", keepsLock: true)
    #expect(try store.verifyModel(at: store.head.commit).isClean)
  }

  @Test("entries beyond the sorter's memory come out sorted, each key once as it was added last")
  func spilled() throws {
    let engine = try persistence._store.connection.storeForWriting()
    let transaction = try engine.beginBlocking()
    defer { transaction.cancel() }
    var sorter = EntrySorter(memory: 4096)
    var expected: [[UInt8]: UInt64] = [:]
    for step in 0..<5_000 {
      let value = Array("value \(step * 7919 % 1_009)".utf8)
      let identifier = [UInt8(step % 3)]
      let reference = RecordReference(place: UInt64(step), length: 1, check: 2)
      let isRemoval = step % 5 == 4
      try sorter.add(value: value, identifier: identifier, reference, isRemoval: isRemoval, in: transaction)
      expected[EntryKey.make(value: value, identifier: identifier)] = isRemoval ? nil : UInt64(step)
    }
    var found: [([UInt8], UInt64)] = []
    try sorter.forEach { found.append((Array($0.key), $0.reference.place)) }
    let sorted = expected.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    #expect(found.map(\.0) == sorted.map(\.key))
    #expect(found.map(\.1) == sorted.map(\.value))
  }
}
