import CodableDatastore
import Foundation

// An app whose code belongs to the main actor unless it says otherwise; what is kept says so.

nonisolated struct Task1: Codable, Identifiable, Sendable {
  var id: UUID = UUID()
  var title: String
  var isDone = false
  var rank: Int { isDone ? 1 : 0 }
}

nonisolated struct TaskFormat: DatastoreFormat {
  enum Version: Int, CaseIterable, Sendable { case first = 1 }
  typealias Instance = Task1
  static let defaultKey: DatastoreKey = "Tasks"
  static let currentVersion = Version.first
  let title = Index(\.title)
  let rank = Index(\.rank)
}

final class TaskList {
  private(set) var tasks: [Task1] = []
  private var warmed = 0
  private let persistence: MemoryPersistence
  private let store: TaskFormat.Datastore

  init(_ persistence: MemoryPersistence) {
    self.persistence = persistence
    store = .JSONStore(persistence: persistence, migrations: [.first: { try $0.decode(Task1.self, from: $1) }])
  }

  func add(_ titles: [String]) async throws {
    try await persistence.perform(actionName: "Add") {
      for title in titles {
        try await store.persist(Task1(title: title))
        warmed += 1
      }
    }
    try await reload()
  }

  func finishAll() async throws {
    for try await task in store.load(0, from: \.rank) {
      var task = task
      task.isDone = true
      try await store.persist(task)
    }
    try await reload()
  }

  func reload() async throws {
    tasks = try await store.load(..., from: \.title).collectInstances(upTo: .infinity)
  }

  func watch() async throws -> some AsyncInstances<ObservedEvent<UUID, Task1>> { try await store.observe() }
}

@main
struct App {
  static func main() async throws {
    let list = TaskList(MemoryPersistence())
    try await list.add(["Write", "Read"])
    try await list.finishAll()
    guard list.tasks.map(\.title) == ["Read", "Write"], list.tasks.allSatisfy(\.isDone) else { fatalError("the list") }
    let changes = try await list.watch()
    try await list.add(["Rest"])
    for try await change in changes {
      guard case .created(_, let new) = change, new.title == "Rest" else { fatalError("a change") }
      break
    }
    print("ok")
  }
}
