import CodableDatastore
import Foundation
import Testing

/// What history tells must be what a plain list of all states would tell.
@Suite("History says no more and no less than what was")
struct HistoryTruthTests {
  let persistence = MemoryPersistence()

  // MARK: Dates

  @Test("the date of a commit leads to that commit")
  func datesOfCommits() async throws {
    let books = BookFormat.datastore(persistence)
    for book in Book.numbered(1...60) { try await books.persist(book) }
    let commits = try await persistence.commits.all()
    for commit in commits {
      let expected = try #require(commits.first { $0.date <= commit.date })
      #expect(try await persistence.commit(notLaterThan: commit.date).id == expected.id)
      #expect(try await books.view(at: commit.date).count == Int(expected.id.rawValue))
    }
  }

  @Test("a date beyond all dates is not a trap", arguments: [Double.infinity, 1e300, 1e30])
  func extremeDates(interval: Double) async throws {
    let books = BookFormat.datastore(persistence)
    try await books.persist(Book(id: 1, title: "One"))
    let (late, early) = (
      Date(timeIntervalSinceReferenceDate: interval), Date(timeIntervalSinceReferenceDate: -interval)
    )
    #expect(try await books.view(at: late).count == 1)
    #expect(try await persistence.commit(notLaterThan: late).id == 1)
    await #expect(throws: StoreError.self) { try await books.view(at: early) }
    await #expect(throws: StoreError.self) { try await persistence.commit(notLaterThan: early) }
  }

  @Test("a date of NaN is refused: it is at no time, so no state is the one of it")
  func noDate() async throws {
    let books = BookFormat.datastore(persistence)
    try await books.persist(Book(id: 1, title: "One"))
    let none = Date(timeIntervalSince1970: .nan)
    let calls: [() async throws -> Any?] = [
      { try await persistence.commit(notLaterThan: none) }, { try await books.view(at: none) },
      { try await books.value(of: 1, \.title, at: none) },
      { try await books.history(of: 1, \.title, since: none).all() },
      { try await books.history(of: 1, \.title, until: none).all() },
    ]
    for call in calls {
      let error = await #expect(throws: StoreError.self) { _ = try await call() }
      #expect(error?.kind == .refused && error?.message.contains("NaN") == true)
    }
  }

  // MARK: Differences

  @Test(
    "differences come in the order of identifiers that only the app can order", .enabled(if: !TestedStore.isServed))
  func orderOfDifferences() async throws {
    let slips = SlipFormat.datastore(persistence)
    try await slips.persist("", to: Mark(text: ""))
    let first = try #require(try await persistence.head).id
    try await persistence.perform {
      try await slips.delete(Mark(text: ""))
      for text in ["zz", "b", "aa", "ccc"] { try await slips.persist("", to: Mark(text: text)) }
    }
    let second = try #require(try await persistence.head).id
    let forth = try await slips.changes(from: first, to: second).all()
    #expect(forth.map(\.id.text) == ["", "b", "aa", "zz", "ccc"])
    let back = try await slips.changes(from: second, to: first).all()
    #expect(back.map(\.id.text) == ["", "b", "aa", "zz", "ccc"])
  }

  @Test("what was changed and changed back is not a difference")
  func changedBack() async throws {
    let books = BookFormat.datastore(persistence)
    for title in ["One", "Two", "One"] { try await books.persist(Book(id: 1, title: title)) }
    #expect(try await books.changes(from: 1, to: 3).all().isEmpty)
    #expect(try await books.changes(from: 1, to: 2).all().count == 1)
  }

  // MARK: Versions

  @Test("a restore is not a version of an instance that it left as it was")
  func restoresWithoutEffect() async throws {
    let books = BookFormat.datastore(persistence)
    try await books.persist(Book(id: 1, title: "One"))
    for title in ["Two", "Three", "Two"] { try await books.persist(Book(id: 2, title: title)) }
    try await books.persist(Book(id: 3, title: "Three"))
    try await books.delete(3)
    // At #2 the second is as it is now, and the third was not there either.
    try await persistence.restore(2)
    #expect(try await books.history(of: 2).all().map(\.commit.id) == [4, 3, 2])
    #expect(try await books.history(of: 3).all().map(\.commit.id) == [6, 5])
  }

  @Test("a restore of what is there makes no commit, so an undo after it takes back the edit before")
  func restoresOfNothing() async throws {
    let books = BookFormat.datastore(persistence)
    for title in ["One", "Two"] { try await books.persist(Book(id: 1, title: title)) }
    for key in [nil, "Books"] as [DatastoreKey?] {
      #expect(try await persistence.restore(2, datastore: key) == 2)
      #expect(try await persistence.head?.id == 2)
    }
    try await persistence.name("here")
    #expect(try await persistence.restore(2) == 3)
    #expect(try await persistence.undo() == 4)
    #expect(try await books.load(1)?.title == "One")
    #expect(try await persistence.restore(2) == 5)
    #expect(try await books.load(1)?.title == "Two")
  }

  @Test("the past of an instance is there after its whole datastore is gone")
  func datastoreGone() async throws {
    let books = BookFormat.datastore(persistence)
    try await books.persist(Book(id: 1, title: "One"))
    try await BookFormat.datastore(persistence, key: "Others").persist(Book(id: 1, title: "Other"))
    try await persistence.undo(2)
    let history = try await BookFormat.datastore(persistence, key: "Others").history(of: 1).all()
    #expect(history.map(\.instance?.title) == [nil, "Other"])
  }

  @Test("a shortened history has one version for each commit, also where restores were")
  func restoresInShortenedHistory() async throws {
    let place = TemporaryPlace()
    let persistence = try DiskPersistence(readWriteURL: place.url)
    let books = BookFormat.datastore(persistence)
    let others = BookFormat.datastore(persistence, key: "Others")
    try await others.persist(Book(id: 1, title: "Other"))
    try await books.persist(Book(id: 1, title: "One"))
    try await books.persist(Book(id: 2, title: "Two"))
    try await persistence.restore(1)
    try await books.persist(Book(id: 1, title: "Made again"))
    try await persistence.restore(3)
    try await others.persist(Book(id: 1, title: "Later"))
    try await persistence.shortenHistory(keeping: .last(4))
    let versions = try await books.history(of: 1).all()
    #expect(versions.map(\.commit.id) == [6, 5])
    #expect(versions.map(\.instance?.title) == ["One", "Made again"])
  }

  @Test("a restore of a commit that is pruned since is not a version of an instance that it left as it was")
  func restoreOfPrunedCommit() async throws {
    let place = TemporaryPlace()
    let persistence = try DiskPersistence(readWriteURL: place.url)
    let books = BookFormat.datastore(persistence)
    for title in ["One", "Two", "One"] { try await books.persist(Book(id: 1, title: title)) }
    try await books.persist(Book(id: 2, title: "Other"))
    try await persistence.restore(1)
    try await books.persist(Book(id: 1, title: "Three"))
    #expect(try await books.history(of: 1).all().map(\.commit.id) == [6, 3, 2, 1])
    try await persistence.shortenHistory(keeping: .last(4))
    #expect(try await books.history(of: 1).all().map(\.commit.id) == [6, 3])
    #expect(try await books.history(of: 2).all().map(\.commit.id) == [5, 4])
  }

  @Test("a restore that brings back the delete of a commit that is pruned since deletes nothing that was not there")
  func restoreOfPrunedDelete() async throws {
    let place = TemporaryPlace()
    let persistence = try DiskPersistence(readWriteURL: place.url)
    let books = BookFormat.datastore(persistence)
    try await books.persist(Book(id: 2, title: "Other"))
    try await books.persist(Book(id: 1, title: "One"))
    try await persistence.perform {
      try await books.delete(id: 1)
      try await books.persist(Book(id: 3, title: "Three"))
    }
    try await persistence.restore(1)
    try await books.persist(Book(id: 2, title: "New"))
    try await persistence.restore(3)
    #expect(try await books.history(of: 1).all().map(\.commit.id) == [3, 2])
    try await persistence.name("kept", commit: 2)
    try await persistence.shortenHistory(keeping: .last(3))
    let versions = try await books.history(of: 1).all()
    #expect(versions.map(\.commit.id) == [4, 2])
    #expect(versions.map(\.instance?.title) == [nil, "One"])
    #expect(try await books.history(of: 2).all().map(\.commit.id) == [6, 5, 2])
  }

  @Test("a commit that a restore was squashed into is not a restore")
  func squashedRestore() async throws {
    let place = TemporaryPlace()
    let persistence = try DiskPersistence(readWriteURL: place.url)
    let books = BookFormat.datastore(persistence)
    for book in Book.numbered(1...3) { try await books.persist(book) }
    try await persistence.restore(1)
    try await books.persist(Book(id: 4, title: "Four"))
    try await persistence.shortenHistory(keeping: .last(1))
    let head = try #require(try await persistence.head)
    #expect(head.isSquashed)
    #expect(head.restores == nil)
  }

  // MARK: Undoing

  @Test("an older commit is undone also where an instance lies under another identifier than its own")
  func undoUnderOtherIdentifier() async throws {
    let books = BookFormat.datastore(persistence)
    let loan = Book(id: 1, title: "One")
    try await books.persist(loan, to: 7)
    try await books.persist(Book(id: 1, title: "Changed"), to: 7)
    try await books.persist(Book(id: 3, title: "Three"))
    try await persistence.undo(2)
    #expect(try await books.load(7) == loan)
    try await books.delete(7)
    try await books.persist(Book(id: 4, title: "Four"))
    try await persistence.undo(5)
    #expect(try await books.load(7) == loan)
    #expect(try await books.load("One", from: \.title).all() == [loan])
  }

  @Test("a merge that took nothing over is not what an undo takes back")
  func undoAfterEmptyMerge() async throws {
    let (here, there) = (TemporaryPlace(), TemporaryPlace())
    let ours = try DiskPersistence(readWriteURL: here.url)
    let theirs = try DiskPersistence(readWriteURL: there.url)
    let (books, others) = (BookFormat.datastore(ours), BookFormat.datastore(theirs))
    try await books.persist(Book(id: 1, title: "One"))
    try await theirs.addRemote(RemoteStore(name: "ours", location: here.url.path))
    try await theirs.exchange(with: "ours")
    // Both make the same edit; ours has one more.
    try await books.persist(Book(id: 1, title: "Two"))
    try await others.persist(Book(id: 1, title: "Two"))
    try await books.persist(Book(id: 2, title: "More"))
    try await ours.addRemote(RemoteStore(name: "theirs", location: there.url.path))
    try await theirs.releaseWriter()
    try await ours.exchange(with: "theirs")
    let merge = try #require(try await ours.head)
    #expect(merge.parents.count == 2 && merge.changes.isEmpty)
    try await ours.undo()
    #expect(try await books.load(2) == nil)
    try await ours.redo()
    #expect(try await books.load(2)?.title == "More")
    try await books.persist(Book(id: 3, title: "Last"))
    try await ours.undo()
    try await ours.undo()
    #expect(try await books.load(...).all().map(\.id) == [1])
  }

  @Test("an instance of a datastore whose creation was undone has the versions from before", arguments: [false, true])
  func datastoreCreatedAgain(isFirst: Bool) async throws {
    let books = BookFormat.datastore(persistence)
    try await BookFormat.datastore(persistence, key: "Others").persist(Book(id: 1, title: "Other"))
    try await books.persist(Book(id: 1, title: "One"))
    try await persistence.undo()
    if !isFirst { try await books.persist(Book(id: 2, title: "Two")) }
    try await books.persist(Book(id: 1, title: "New"))
    let versions = try await books.history(of: 1).all()
    #expect(versions.map(\.instance?.title) == ["New", nil, "One"])
    #expect(versions.map(\.commit.id) == [isFirst ? 4 : 5, 3, 2])
  }

  @Test("a restore of a datastore that was created again since has the versions from before both")
  func restoreOfDatastoreCreatedAgain() async throws {
    let books = BookFormat.datastore(persistence)
    try await BookFormat.datastore(persistence, key: "Others").persist(Book(id: 1, title: "Other"))
    try await books.persist(Book(id: 1, title: "One"))
    try await persistence.restore(1)
    try await books.persist(Book(id: 2, title: "Two"))
    try await persistence.restore(2, datastore: BookFormat.defaultKey)
    let versions = try await books.history(of: 1).all()
    #expect(versions.map(\.instance?.title) == ["One", nil, "One"])
    #expect(versions.map(\.commit.id) == [5, 3, 2])
  }

  @Test("a restore of a state in which an instance had the same value is none of its versions")
  func restoreOfEqualValue() async throws {
    let books = BookFormat.datastore(persistence)
    try await BookFormat.datastore(persistence, key: "Others").persist(Book(id: 1, title: "Other"))
    try await books.persist(Book(id: 1, title: "One"))
    try await persistence.restore(1)
    try await books.persist(Book(id: 1, title: "One"))
    try await books.persist(Book(id: 2, title: "Two"))
    try await persistence.restore(2, datastore: BookFormat.defaultKey)
    #expect(try await books.history(of: 1).all().map(\.commit.id) == [4, 3, 2])
    #expect(try await books.history(of: 2).all().map(\.commit.id) == [6, 5])
    #expect(try await books.blame(of: 1, \.title)?.id == 4)
  }

  @Test("an instance of a datastore that was never written has no past, also beside another datastore")
  func neverWritten() async throws {
    try await BookFormat.datastore(persistence).persist(Book(id: 1, title: "One"))
    let others = BookFormat.datastore(persistence, key: "Others")
    #expect(try await others.blame(of: 1).isEmpty)
    #expect(try await others.blame(of: 1, \.title) == nil)
    #expect(try await others.history(of: 1).all().isEmpty)
  }

  @Test("undoing a commit that changed nothing says so")
  func undoOfName() async throws {
    let books = BookFormat.datastore(persistence)
    try await books.persist(Book(id: 1, title: "One"))
    try await persistence.name("release")
    try await books.persist(Book(id: 2, title: "Two"))
    let error = await #expect(throws: StoreError.self) { try await persistence.undo(2) }
    #expect(error?.message == "#2 changed no record.")
  }

  @Test("so does undoing the newest commit, if it only gave a name")
  func undoOfNewestName() async throws {
    let books = BookFormat.datastore(persistence)
    try await books.persist(Book(id: 1, title: "One"))
    try await persistence.name("release")
    let error = await #expect(throws: StoreError.self) { try await persistence.undo(2) }
    #expect(error?.message == "#2 changed no record.")
    #expect(try await persistence.head?.id == 2)
    #expect(try await persistence.undo() == 3)
    #expect(try await books.count == 0)
    #expect(try await persistence.namedCommits == ["release": 1])
  }
}

/// A key whose order only its type knows: shorter ones first.
private struct Mark: Codable, Hashable, Comparable, DiscreteIndexable {
  var text: String
  static func < (left: Self, right: Self) -> Bool {
    (left.text.utf8.count, left.text) < (right.text.utf8.count, right.text)
  }
}

private struct SlipFormat: DatastoreFormat {
  enum Version: Int, CaseIterable { case first = 1 }
  typealias Instance = String
  typealias Identifier = Mark
  static let defaultKey: DatastoreKey = "Slips"
  static let currentVersion = Version.first

  static func datastore(_ persistence: some Persistence<ReadWrite>) -> Self.Datastore {
    .JSONStore(
      persistence: persistence,
      migrations: [.first: { decoder, data in (Mark(text: ""), try decoder.decode(String.self, from: data)) }])
  }
}
