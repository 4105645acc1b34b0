import Glibc
import StrataLocks
import StrataEngine
import Testing

/// A writer whose every commit can be foretold from its number: commit *n* puts *n* under the key *n* mod 50.
enum CountingWriter {
  static let tree = TreeName(Array("counted".utf8))
  static let keys: UInt64 = 50

  /// Commits for ever, telling each promise through `told`: single commits and small batches in turn. `compacts`: all the while
  /// another thread prunes the history; `told` also hears how often it came to its end.
  static func run(_ path: String, compacts: Bool = false, told: (UInt64, Int) -> Void) throws {
    let disk = SystemDisk()
    let store =
      FileStore.exists(at: path, disk: disk)
      ? try FileStore.open(at: path, options: StoreOptions(program: "counting"), disk: disk)
      : try FileStore.create(at: path, options: StoreOptions(program: "counting"), disk: disk)
    let compaction = Compacting(store)
    if compacts { compaction.start() }
    while true {
      for size in 1...3 {
        let pending = try (0..<size).compactMap { _ in try append(store) }
        for commit in pending {
          try commit.wait()
          told(commit.number, compaction.ended.load(ordering: .relaxed))
        }
      }
    }
  }

  private static func append(_ store: FileStore) throws -> PendingCommit? {
    let transaction = try store.beginBlocking()
    let number = transaction.base.number + 1
    if try transaction.tree(tree) == nil { try transaction.createTree(tree, kind: .records, attributes: []) }
    try transaction.put(bytes(number % keys), bytes(number), in: tree)
    return try transaction.commit(CommitInfo(action: "count to \(number)"))
  }

  static func bytes(_ number: UInt64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

  /// The store holds exactly what its newest commit's number says.
  static func check(_ store: FileStore) throws -> UInt64 {
    let newest = store.head.commit.number
    guard newest > 0, let tree = try store.head.tree(tree) else { return newest }
    for key in 0..<keys {
      let due = key == 0 ? newest / keys * keys : newest >= key ? (newest - key) / keys * keys + key : 0
      let entry = try tree.find(.bytes(bytes(key)))
      let found = try entry.map { try StoreComparison.value(of: $0, in: tree) }
      guard found == (due > 0 ? bytes(due) : nil) else {
        throw Disagreement(description: "at commit \(newest) key \(key) holds \(found ?? []), not \(due)")
      }
    }
    return newest
  }
}

@Suite("Killed writers")
struct KillTests {
  @Test("a writer killed at any moment has kept every promise it had told of, fifty times over on one store")
  func kills() async throws {
    try await Self.run(rounds: 50, compacts: false)
  }

  @Test("a writer killed while it compacts has kept every promise, and the next one compacts again")
  func killsOfCompactions() async throws {
    try await Self.run(rounds: 15, compacts: true)
  }

  static func run(rounds: Int, compacts: Bool) async throws {
    let disk = SystemDisk()
    let directory = "/tmp/strata-killed-\(disk.randomNumber())"
    try disk.makeDirectory(directory)
    defer { removeStore(directory) }
    let path = "\(directory)/counted.strata"
    let told = "\(directory)/told"
    var before: UInt64 = 0
    var generations: Set<UInt64> = []
    for round in 0..<rounds {
      // Every third writer lives until a compaction of its own has ended. Else, on a busy machine, none might: the history would
      // grow from round to round, and each next compaction need longer.
      let compactions = compacts && round % 3 == 2 ? 1 : 0
      let limit = UInt32(compacts ? 120_000 : 20_000)
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [
          path = path as String, told = told as String, compacts = compacts as Bool, limit = limit as UInt32,
          compactions = compactions as Int
        ] in
        // What was told goes through a file, which survives the process as the store does.
        let log = open(told, O_WRONLY | O_CREAT, 0o644)
        var isStarted = false
        try CountingWriter.run(path, compacts: compacts) { number, ended in
          var number = number
          pwrite(log, &number, 8, 0)
          guard !isStarted, ended >= compactions else { return }
          isStarted = true
          killSelf(afterMicroseconds: UInt32.random(in: 0..<limit))
        }
      }
      let promised = try lastTold(told, disk)
      let store = try FileStore.open(at: path, options: StoreOptions(isReadOnly: round % 2 == 0), disk: disk)
      let newest = try CountingWriter.check(store)
      #expect(newest >= promised, "\(promised) was told, \(newest) is there")
      #expect(promised > before, "the writer of round \(round) got nowhere")
      #expect(store.openingReport.damage == nil)
      if compacts {
        let report = try FileStore.verify(at: path, disk: disk)
        #expect(report.isClean, "\(report.findings.prefix(2))")
      }
      generations.insert(store.identity.generation)
      before = newest
    }
    #expect(generations.count > (compacts ? 3 : 0))
  }

  private static func lastTold(_ path: String, _ disk: SystemDisk) throws -> UInt64 {
    var number: UInt64 = 0
    _ = try withUnsafeMutableBytes(of: &number) { try disk.open(path, .read).read(into: $0, at: 0) }
    return number
  }
}

/// Prunes the history of a store again and again, on a thread of its own.
private final class Compacting: Sendable {
  private let store: FileStore
  /// How many of its compactions came to their end.
  let ended = Atomic(0)

  init(_ store: FileStore) { self.store = store }

  func start() {
    var thread = pthread_t()
    pthread_create(
      &thread, nil,
      { context in
        if let context { Unmanaged<Compacting>.fromOpaque(context).takeRetainedValue().run() }
        return nil
      }, Unmanaged.passRetained(self).toOpaque())
  }

  private func run() {
    while (try? store.compact(.last(20))) != nil { ended.add(1, ordering: .relaxed) }
    // A compaction that fails ends the process otherwise than by the kill, which the test notices.
    exit(3)
  }
}

/// Ends this process as `kill -9` does, from a thread of its own.
private func killSelf(afterMicroseconds delay: UInt32) {
  var thread = pthread_t()
  pthread_create(
    &thread, nil,
    { delay in
      usleep(UInt32(UInt(bitPattern: delay)))
      kill(getpid(), SIGKILL)
      return nil
    }, UnsafeMutableRawPointer(bitPattern: UInt(delay) + 1))
}
