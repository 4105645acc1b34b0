import StrataModel
import Foundation
import StrataEngine
import Testing

@testable import CodableDatastore

@Suite("Letters to the owner of a store")
struct InboxTests {
  struct Task: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    var title: String
  }

  struct TaskFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case first }
    typealias Instance = Task
    static let defaultKey: DatastoreKey = "Tasks"
    static let currentVersion = Version.first
    @Unique var title = OneToOneIndex(\.title)
  }

  struct OtherFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case first }
    typealias Instance = Task
    static let defaultKey: DatastoreKey = "Others"
    static let currentVersion = Version.first
  }

  private let place = TemporaryPlace()

  private func owner(applies: Bool = true) throws -> DiskPersistence<ReadWrite> {
    var configuration = StoreConfiguration()
    configuration.appliesInbox = applies
    return try DiskPersistence(readWriteURL: place.url, configuration: configuration)
  }

  @Test("what was sent before the store existed, and what arrives later, is applied, and observers hear of it")
  func arrival() async throws {
    let outbox = try Outbox(storeAt: place.url, program: "Share", author: "anna")
    try await outbox.persist(Task(id: 1, title: "a"), in: TaskFormat.self)
    let persistence = try owner()
    let tasks = persistence.datastore(TaskFormat.self)
    var events = persistence.inbox.events.makeAsyncIterator()
    _ = try await tasks.count
    guard case .applied(let commit, _)? = await events.next() else {
      Issue.record("the first letter was refused")
      return
    }
    #expect(try await persistence.commits.all().first { $0.id == commit }?.author == "anna")
    #expect(try await tasks.load(1)?.title == "a")
    var observed = try await tasks.observe().makeAsyncIterator()
    try await outbox.send("Two") { letter in
      try letter.persist(Task(id: 1, title: "b"), in: TaskFormat.self)
      try letter.persist(Task(id: 2, title: "a"), in: TaskFormat.self)
    }
    guard case .applied? = await events.next() else {
      Issue.record("the second letter was refused")
      return
    }
    #expect(try await tasks.load(...).all() == [Task(id: 1, title: "b"), Task(id: 2, title: "a")])
    var heard: [Int] = []
    while heard.count < 2, let event = try await observed.next() { heard.append(event.id) }
    #expect(heard.sorted() == [1, 2])
  }

  @Test("a letter that hurts a unique index is refused with the reason, and its sender's next one is applied")
  func refusal() async throws {
    let persistence = try owner(applies: false)
    let tasks = persistence.datastore(TaskFormat.self)
    try await tasks.persist(Task(id: 1, title: "a"))
    let outbox = try Outbox(storeAt: place.url)
    try await outbox.persist(Task(id: 2, title: "a"), in: TaskFormat.self)
    try outbox.sendBlocking("Next") { try $0.persist(Task(id: 3, title: "c"), in: TaskFormat.self) }
    #expect(try await persistence.inbox.waiting().count == 2)
    let events = try await persistence.inbox.apply()
    guard events.count == 2, case .refused(_, let reason) = events[0], case .applied = events[1] else {
      Issue.record("\(events)")
      return
    }
    #expect(reason.contains("title"))
    #expect(try await tasks.load(...).all().map(\.id) == [1, 3])
  }

  @Test("a letter for a datastore that is not declared waits until it is")
  func undeclared() async throws {
    let outbox = try Outbox(storeAt: place.url)
    try await outbox.send("Both") { letter in
      try letter.persist(Task(id: 1, title: "a"), in: TaskFormat.self)
      try letter.persist(Task(id: 1, title: "a"), in: OtherFormat.self)
    }
    let persistence = try owner(applies: false)
    let tasks = persistence.datastore(TaskFormat.self)
    #expect(try await persistence.inbox.apply().isEmpty)
    #expect(try await tasks.count == 0)
    let others = persistence.datastore(OtherFormat.self)
    #expect(try await persistence.inbox.apply().count == 1)
    #expect(try await others.count == 1)
    #expect(try await tasks.count == 1)
  }

  @Test("a letter for a datastore that is not declared holds back only the later ones that change that datastore")
  func overtaking() async throws {
    let outbox = try Outbox(storeAt: place.url)
    try await outbox.persist(Task(id: 1, title: "a"), in: OtherFormat.self)
    try await outbox.persist(Task(id: 1, title: "a"), in: TaskFormat.self)
    try await outbox.send("Both") { letter in
      try letter.persist(Task(id: 1, title: "b"), in: TaskFormat.self)
      try letter.persist(Task(id: 1, title: "b"), in: OtherFormat.self)
    }
    try await outbox.persist(Task(id: 1, title: "c"), in: TaskFormat.self)
    try await outbox.persist(Task(id: 2, title: "d"), in: OtherFormat.self)
    do {
      let persistence = try owner(applies: false)
      let tasks = persistence.datastore(TaskFormat.self)
      #expect(try await persistence.inbox.apply().count == 1)
      #expect(try await tasks.load(...).all().map(\.title) == ["a"])
      #expect(try await persistence.inbox.waiting().count == 4)
      #expect(try await persistence.inbox.apply().isEmpty)
      try await persistence.close()
    }
    let persistence = try owner(applies: false)
    let (tasks, others) = (persistence.datastore(TaskFormat.self), persistence.datastore(OtherFormat.self))
    #expect(try await persistence.inbox.apply().count == 4)
    #expect(try await tasks.load(...).all().map(\.title) == ["c"])
    #expect(try await others.load(...).all().map(\.title) == ["b", "d"])
    #expect(try await persistence.inbox.waiting().isEmpty)
    // The sender's next letter comes behind all of them.
    try await outbox.persist(Task(id: 1, title: "e"), in: TaskFormat.self)
    #expect(try await persistence.inbox.apply().count == 1)
    #expect(try await persistence.inbox.apply().isEmpty)
    #expect(try await tasks.load(...).all().map(\.title) == ["e"])
  }

  @Test("64 tasks that send in one process lose no letter, and none is applied twice")
  func manySenders() async throws {
    let outbox = try Outbox(storeAt: place.url)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for id in 0..<64 {
        group.addTask { try await outbox.persist(Task(id: id, title: "\(id)"), in: TaskFormat.self) }
      }
      try await group.waitForAll()
    }
    let persistence = try owner(applies: false)
    let tasks = persistence.datastore(TaskFormat.self)
    #expect(try await persistence.inbox.apply().count == 64)
    #expect(try await tasks.count == 64)
    #expect(try await persistence.commits.all().count == 64)
  }

  @Test("observers hear of the letters that were applied before an error")
  func error() async throws {
    let persistence = try owner(applies: false)
    let tasks = persistence.datastore(TaskFormat.self)
    try await tasks.persist(Task(id: 1, title: "a"))
    var observed = try await tasks.observe().makeAsyncIterator()
    let outbox = try Outbox(storeAt: place.url)
    try await outbox.persist(Task(id: 2, title: "b"), in: TaskFormat.self)
    try await outbox.persist(Task(id: 4, title: "b"), in: TaskFormat.self)
    // The second is to be refused, and a file is in the place of the folder of refused letters.
    let refused = place.url.appending(path: "inbox/refused")
    try? FileManager.default.removeItem(at: refused)
    try Data().write(to: refused)
    await #expect(throws: StoreError.self) { try await persistence.inbox.apply() }
    #expect(try await tasks.count == 2)
    try await tasks.persist(Task(id: 3, title: "c"))
    #expect(try await observed.next()?.id == 2)
  }
}
