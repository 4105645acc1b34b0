import Foundation
import StrataEngine
import StrataLocks
import StrataModel
import Testing

@testable import CodableDatastore

@Suite struct NotedChangesTests {
  @Test("changes come in the order in which they were noted, those of nested transactions where these ended")
  func order() {
    func change(_ number: Int) -> StoredChange {
      StoredChange(datastore: "numbers", key: withUnsafeBytes(of: number.bigEndian) { Array($0) })
    }
    var outer = RecordedChanges()
    #expect(outer.all.isEmpty)
    for number in 0..<1_500 { outer.append(change(number)) }
    for piece in [1_500..<1_501, 1_501..<3_700] {
      var inner = RecordedChanges()
      for number in piece { inner.append(change(number)) }
      outer += inner
    }
    for number in 3_700..<6_000 { outer.append(change(number)) }
    #expect(outer.all.map(\.key) == (0..<6_000).map { change($0).key })
  }

  @Test("changes that were read do not count as waiting, even if the reader is always one commit behind")
  func alwaysBehind() async throws {
    let buffer = ChangeBuffer(limit: 4 * StoredChange.bytesBesideRecords)
    for number in 1...100 as ClosedRange<UInt64> {
      buffer.append([StoredChange(datastore: "numbers", key: [1], commit: number, new: Bytes([1]))])
      if number > 1 { #expect(try await buffer.next()?.commit == number - 1) }
    }
    for number in 101...110 as ClosedRange<UInt64> {
      buffer.append([StoredChange(datastore: "numbers", key: [1], commit: number)])
    }
    await #expect(throws: ChangesMissed.self) { try await buffer.next() }
  }

  @Test("several tasks may wait for one observer's changes: each gets one, and a cancelled one leaves the others")
  func severalReaders() async throws {
    let buffer = ChangeBuffer()
    let readers = (0..<3).map { _ in Task { try await buffer.next()?.commit } }
    while buffer.readers < 3 { await Task.yield() }
    readers[1].cancel()
    #expect(try await readers[1].value == nil)
    for number in 1...2 as ClosedRange<UInt64> {
      buffer.append([StoredChange(datastore: "numbers", key: [1], commit: number)])
    }
    #expect(Set([try await readers[0].value, try await readers[2].value]) == [1, 2])
    let last = Task { try await buffer.next()?.commit }
    while buffer.readers < 1 { await Task.yield() }
    buffer.end()
    #expect(try await last.value == nil)
  }

  private final class Watch: DiskWatch {}

  @Test(
    "an undo is reported once, whether it is found before it is noted or not, and after the commits of others that it was made on",
    arguments: [true, false])
  func undoBesideOthers(isFound: Bool) async throws {
    let place = TemporaryPlace()
    let books = BookFormat.datastore(try DiskPersistence(readWriteURL: place.url))
    try await books.persist(Book(id: 1, title: "first"))
    let engine = try books.core.store.connection.storeForWriting()
    let publication = ChangeReporter()
    let (all, own) = (ChangeBuffer(hearsOtherProcesses: true), ChangeBuffer())
    for buffer in [all, own] { publication.add(buffer, for: "Books") }
    try publication.beginFollowing(at: engine.refresh()) { Watch() }
    // This reporter knows of none of these commits, as of those of another process.
    try await books.persist(Book(id: 2, title: "theirs"))
    let parent = try engine.refresh()
    try await books.persist(Book(id: 3, title: "ours"))
    let new = try engine.refresh()
    if isFound { publication.notice { new } }
    publication.publish(new, madeOn: parent)
    publication.notice { new }
    let (theirs, ours) = (all.popAll().map(\.key), own.popAll().map(\.key))
    #expect(theirs.count == 2 && ours == theirs.suffix(1))
  }

  @Test("a commit of another process is reported after that of this process on which it was made")
  func othersAfterOwn() async throws {
    let place = TemporaryPlace()
    let books = BookFormat.datastore(try DiskPersistence(readWriteURL: place.url))
    try await books.persist(Book(id: 1, title: "first"))
    let engine = try books.core.store.connection.storeForWriting()
    let publication = ChangeReporter()
    let buffer = ChangeBuffer(hearsOtherProcesses: true)
    publication.add(buffer, for: "Books")
    try publication.beginFollowing(at: engine.refresh()) { Watch() }
    let transaction = try engine.beginBlocking()
    _ = try transaction.put([9], [9], in: .records(of: "Books"))
    let pending = try #require(try transaction.commit(CommitInfo(action: "ours")))
    let ours = publication.append([StoredChange(datastore: "Books", key: [9])], pending: pending, base: 1)
    try pending.wait()
    // The lock is free from here on, before the caller of the commit has reported it.
    try await books.persist(Book(id: 2, title: "theirs"))
    publication.notice { try engine.refresh() }
    #expect(buffer.popAll().map(\.commit) == [2, 3])
    _ = try await ours.finish(isDurable: true)
    #expect(buffer.popAll().isEmpty)
  }

  @Test("what begins to listen while a commit is on its way to the disk hears all of it")
  func lateListener() async throws {
    let place = TemporaryPlace()
    let books = BookFormat.datastore(try DiskPersistence(readWriteURL: place.url))
    try await books.persist(Book(id: 1, title: "first"))
    let engine = try books.core.store.connection.storeForWriting()
    let publication = ChangeReporter()
    let transaction = try engine.beginBlocking()
    for key: UInt8 in 7...9 { _ = try transaction.put([key], [key], in: .records(of: "Books")) }
    let (early, late) = (ChangeBuffer(), ChangeBuffer())
    publication.add(early, for: "Books")
    let pending = try #require(try transaction.commit(CommitInfo(action: "ours")))
    let ours = publication.append(
      [StoredChange(datastore: "Books", key: [9])], unheard: ["Books", "Films"], pending: pending, base: 1)
    publication.add(late, for: "Books")
    _ = try await ours.finish(isDurable: true)
    for buffer in [early, late] {
      let changes = buffer.popAll()
      #expect(changes.map(\.key) == [[7], [8], [9]])
      #expect(changes.allSatisfy { $0.commit == 2 && $0.old == nil && $0.new != nil })
    }
  }

  @Test(
    "after a commit that failed on a full disk, observers hear what others commit, and each other change once",
    arguments: [true, false])
  func fullDisk(isNoticed: Bool) async throws {
    let place = TemporaryPlace()
    let books = BookFormat.datastore(try DiskPersistence(readWriteURL: place.url))
    try await books.persist(Book(id: 1, title: "first"))
    try books.core.store.connection.storeForWriting().releaseLock()
    let isFull = Atomic(false)
    let disk = SystemDisk(interference: { operation in
      isFull.load(ordering: .relaxed) && operation.contains("sync") ? .failure(ENOSPC) : .usual
    })
    let engine = try FileStore.open(at: place.url.path, options: StoreOptions(), disk: disk)
    let publication = ChangeReporter()
    let (all, own) = (ChangeBuffer(hearsOtherProcesses: true), ChangeBuffer())
    for buffer in [all, own] { publication.add(buffer, for: "Books") }
    try publication.beginFollowing(at: engine.refresh()) { Watch() }
    func commit(_ key: UInt8) throws -> AppendedCommit {
      let transaction = try engine.beginBlocking()
      _ = try transaction.put([key], [key], in: .records(of: "Books"))
      let pending = try #require(try transaction.commit(CommitInfo(action: "ours")))
      return publication.append([StoredChange(datastore: "Books", key: [key])], pending: pending, base: 1)
    }
    for key: UInt8 in 7...9 { _ = try await commit(key).finish(isDurable: true) }
    isFull.store(true, ordering: .relaxed)
    let failed = try commit(10)
    if isNoticed { publication.notice { try engine.refresh() } }
    await #expect(throws: StoreError.self) { _ = try await failed.finish(isDurable: true) }
    #expect(all.popAll().map(\.key) == [[7], [8], [9]] && own.popAll().map(\.key) == [[7], [8], [9]])
    let told = try engine.refresh()
    // Whoever writes next finds the bytes of that commit, or not.
    engine.releaseLock()
    try await books.persist(Book(id: 2, title: "theirs"))
    let expected = try ChangeWalk(from: told, to: engine.refresh(), datastore: "Books").all().map(\.key)
    #expect(!expected.isEmpty)
    for _ in 0..<2 { publication.notice { try engine.refresh() } }
    #expect(all.popAll().map(\.key) == expected && own.popAll().isEmpty)
  }

  @Test("if another process puts the head back, observers hear once which records are gone, and then the next commits")
  func headPutBack() async throws {
    let place = TemporaryPlace()
    let books = BookFormat.datastore(try DiskPersistence(readWriteURL: place.url))
    try await books.persist(Book(id: 1, title: "first"))
    let engine = try books.core.store.connection.storeForWriting()
    let before = try engine.refresh()
    try await books.persist(Book(id: 2, title: "merged"))
    let merged = try engine.refresh()
    let publication = ChangeReporter()
    let buffer = ChangeBuffer(hearsOtherProcesses: true)
    publication.add(buffer, for: "Books")
    try publication.beginFollowing(at: before) { Watch() }
    // This process made the merge, and has or has not found it in the file.
    for isFound in [true, false] {
      publication.publish(merged, madeOn: before)
      if isFound { publication.notice { merged } }
      #expect(buffer.popAll().map { $0.new != nil } == [true])
      for _ in 0..<2 { publication.notice { before } }
      #expect(buffer.popAll().map { $0.new != nil } == [false])
    }
  }
}
