import CodableDatastore
import Foundation

// A job queue with several workers, written from the guides alone: jobs are taken in the order of their priority, each by one
// worker, tried again when they fail, and deleted when they are old.

struct Job: Codable, Hashable, Identifiable, Sendable {
  enum State: String, Codable, Comparable, OrderedKey, DiscreteIndexable, Sendable {
    case done, failed, queued, running
    static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
  }

  var id: UUID = UUID()
  var state = State.queued
  var priority: Int
  var payload: String
  var attempts = 0
  var finished: Date?
}

struct JobFormat: DatastoreFormat {
  enum Version: Int, CaseIterable, Sendable { case first = 1 }
  typealias Instance = Job
  static let defaultKey: DatastoreKey = "Jobs"
  static let currentVersion = Version.first

  let next = Index(\.state, \.priority.descending)
  let finished = Index(\.finished)

  static func datastore(in persistence: some Persistence<ReadWrite>) -> Self.Datastore {
    .JSONStore(persistence: persistence, migrations: [.first: { try $0.decode(Job.self, from: $1) }])
  }
}

struct Queue<Place: Persistence<ReadWrite>>: Sendable {
  let persistence: Place
  let jobs: JobFormat.Datastore

  init(_ persistence: Place) {
    self.persistence = persistence
    jobs = JobFormat.datastore(in: persistence)
  }

  /// Takes the job of the highest priority; nobody else gets it.
  func take() async throws -> Job? {
    try await persistence.perform(actionName: "Take") {
      guard var job = try await jobs.load(prefix: .queued, from: \.next).firstInstance else { return nil }
      job.state = .running
      job.attempts += 1
      try await jobs.persist(job)
      return job
    }
  }

  func finish(_ job: Job, succeeded: Bool) async throws {
    var job = job
    job.state = succeeded ? .done : job.attempts < 3 ? .queued : .failed
    if job.state != .queued { job.finished = Date() }
    try await jobs.persist(job)
  }

  /// What a worker took that is gone goes back into the queue.
  func recover() async throws -> Int {
    var count = 0
    try await persistence.perform(actionName: "Recover") {
      for try await job in jobs.load(prefix: .running, from: \.next) {
        var job = job
        job.state = .queued
        try await jobs.persist(job)
        count += 1
      }
    }
    return count
  }
}

func require(_ condition: Bool, _ what: String, line: Int = #line) {
  if !condition { fatalError("line \(line): \(what)") }
}

let url = FileManager.default.temporaryDirectory.appendingPathComponent("jobs-\(UUID().uuidString).strata")
defer { try? FileManager.default.removeItem(at: url) }

var configuration = StoreConfiguration()
configuration.retention = .last(100)
let persistence = try DiskPersistence(readWriteURL: url, configuration: configuration)
let queue = Queue(persistence)

try await persistence.perform(actionName: "Enqueue") {
  for number in 0..<200 { try await queue.jobs.persist(Job(priority: number % 10, payload: "\(number)")) }
}

// A worker that is gone.
let lost = try await queue.take()
require(lost?.priority == 9, "the highest priority first")
require(try await queue.recover() == 1, "one was running")

// What changes is heard by a board.
let changes = try await queue.jobs.observe()
let board = Task { () -> Int in
  var done = 0
  for try await case .updated(_, _, let job) in changes where job.state == .done || job.state == .failed {
    done += 1
    if done == 200 { break }
  }
  return done
}

// Eight workers; each job whose number ends in 7 fails every time.
try await withThrowingTaskGroup(of: [UUID].self) { group in
  for _ in 0..<8 {
    group.addTask {
      var taken: [UUID] = []
      while let job = try await queue.take() {
        taken.append(job.id)
        try await queue.finish(job, succeeded: !job.payload.hasSuffix("7"))
      }
      return taken
    }
  }
  var all: [UUID] = []
  for try await taken in group { all += taken }
  require(Set(all).count == 200, "each was taken")
  require(all.count == 180 + 20 * 3, "those that fail three times: \(all.count)")
}
require(try await board.value == 200, "the board")
require(
  try await queue.jobs.load(prefix: .failed, from: \.next).collectInstances(upTo: .infinity).count == 20, "failed")
require(
  try await queue.jobs.load(prefix: .done, range: ..<5, from: \.next).delete() == 100, "what is done and did not matter"
)
require(try await queue.jobs.delete(...Optional(Date()), from: \.finished) == 100, "what is old")
require(try await queue.jobs.count == 0, "nothing is left")
try await persistence.close()
let again = try DiskPersistence(readWriteURL: url)
require(try await again.commits.collectInstances(upTo: .infinity).count < 700, "the history is kept short")
print("ok")
