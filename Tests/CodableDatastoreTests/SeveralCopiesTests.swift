import CodableDatastore
import Foundation
import Testing

@Suite("Several copies of a store")
struct SeveralCopiesTests {
  private let ours = TemporaryPlace()
  private let theirs = TemporaryPlace()

  @Test("an app clones a store, both edit a record, and after an exchange both have both edits")
  func exchange() async throws {
    let here = try DiskPersistence(readWriteURL: ours.url)
    let books = BookFormat.datastore(here)
    try await books.persist(Book(id: 1, title: "Invisible Cities", pages: 165))
    let there = try DiskPersistence(readWriteURL: theirs.url)
    try await there.addRemote(RemoteStore(name: "desk", location: ours.url.path(percentEncoded: false)))
    #expect(try await there.remotes.map(\.name) == ["desk"])
    try await there.exchange(with: "desk")
    let copies = BookFormat.datastore(there)
    #expect(try await copies.load(1)?.title == "Invisible Cities")
    try await books.persist(Book(id: 1, title: "Le città invisibili", pages: 165))
    try await copies.persist(Book(id: 1, title: "Invisible Cities", pages: 170))
    #expect(try await there.fetch(from: "desk") == 1)
    let plan = try await there.planMerge(with: "desk")
    #expect((plan.mergedRecords, plan.conflicts.count, plan.commit) == (1, 0, nil))
    let report = try await there.exchange(with: "desk")
    #expect(report.commit != nil && !report.isOpen)
    for datastore in [books, copies] {
      #expect(try await datastore.load(1) == Book(id: 1, title: "Le città invisibili", pages: 170))
    }
    #expect(try await there.push(to: "desk") == 0)
  }

  @Test("what conflicts is told and not written, until a settlement is named")
  func conflict() async throws {
    let here = try DiskPersistence(readWriteURL: ours.url)
    let books = BookFormat.datastore(here)
    try await books.persist(Book(id: 1, title: "a"))
    let there = try DiskPersistence(readWriteURL: theirs.url)
    try await there.addRemote(RemoteStore(name: "desk", location: ours.url.path(percentEncoded: false)))
    try await there.exchange(with: "desk")
    let copies = BookFormat.datastore(there)
    try await books.persist(Book(id: 1, title: "b"))
    try await copies.persist(Book(id: 1, title: "c"))
    let open = try await there.exchange(with: "desk")
    #expect(open.isOpen && open.commit == nil)
    #expect(open.conflicts.map(\.fields) == [[".title"]])
    #expect(try await copies.load(1)?.title == "c")
    try await there.exchange(with: "desk", settling: .theirs)
    #expect(try await copies.load(1)?.title == "b")
    #expect(try await books.load(1)?.title == "b")
  }

  @Test("a name that is none, a remote that is there, and a push to a head that moved are errors with a sentence")
  func errors() async throws {
    let here = try DiskPersistence(readWriteURL: ours.url)
    try await here.addRemote(RemoteStore(name: "desk", location: theirs.url.path(percentEncoded: false)))
    for bad in ["desk", "a b", ""] {
      await #expect(throws: StoreError.self) { try await here.addRemote(RemoteStore(name: bad, location: "/x")) }
    }
    await #expect(throws: StoreError.self) { try await here.fetch(from: "nobody") }
    await #expect(throws: StoreError.self) { try await here.fetch(from: "desk") }
    await #expect(throws: StoreError.self) { try await here.merge(with: "desk") }
    try await here.removeRemote(named: "desk")
    #expect(try await here.remotes.isEmpty)
  }
}
