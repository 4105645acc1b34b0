import FoundationEssentials
import Glibc
import Measuring
import StrataEngine

/// What this program does when it runs as a process of its own for one measurement.
enum ChildTask {
  /// Opens a store and reads one record; prints the seconds and the bytes of memory that it took.
  case open(path: String)
  /// Commits for ever, printing a line for each promise.
  case write(path: String)
  /// Writes records with keys of some length in one transaction; prints the seconds and the bytes of memory that it took.
  case fill(path: String, keyLength: Int)

  init?(_ arguments: [String]) {
    switch (arguments.first, arguments.count) {
    case ("open-one", 2): self = .open(path: arguments[1])
    case ("write-on", 2): self = .write(path: arguments[1])
    case ("fill", 3): self = .fill(path: arguments[1], keyLength: Int(arguments[2]) ?? 0)
    default: return nil
    }
  }

  private var arguments: [String] {
    switch self {
    case .open(let path): ["open-one", path]
    case .write(let path): ["write-on", path]
    case .fill(let path, let keyLength): ["fill", path, "\(keyLength)"]
    }
  }

  func run() throws {
    switch self {
    case .open(let path): try Self.openOne(path)
    case .write(let path): try Self.writeOn(path)
    case .fill(let path, let keyLength): try Self.fill(path, keyLength)
    }
  }

  private static func openOne(_ path: String) throws {
    let took = try time {
      let contender = try StrataContender(opening: path)
      sink &+= try contender.read(UInt64(contender.store.head.tree(StrataContender.records)?.count ?? 0) / 2 * 2)
    }
    tell("\(took) \(residentBytes())")
  }

  private static func writeOn(_ path: String) throws {
    var work = Work(count: 1_000, seed: UInt64(getpid()))
    let contender = try StrataContender(opening: path)
    while true {
      try contender.insert(work.nextInsert())
      tell("written")
    }
  }

  private static func fill(_ path: String, _ keyLength: Int) throws {
    let records = TreeName(Array("records".utf8))
    let took = try time {
      let store = try FileStore.create(at: path, options: StoreOptions())
      try store.write { transaction throws(StorageError) in
        try transaction.createTree(records, kind: .records)
        for number in 0..<min(200_000, 200_000_000 / keyLength) {
          let text = Array(String(1_000_000 + number).utf8)
          _ = try transaction.put(
            text + [UInt8](repeating: 97, count: max(0, keyLength - text.count)), text, in: records)
        }
      }.get()
      try store.close()
    }
    tell("\(took) \(residentBytes())")
  }

  private static func tell(_ line: String) {
    let bytes = Array("\(line)\n".utf8)
    _ = Glibc.write(1, bytes, bytes.count)
  }

  /// The most memory that the process had at once. Not by `getrusage`, which counts what its parent had when it was forked.
  private static func residentBytes() -> Int {
    guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
      let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM") }),
      let kilobytes = line.split(whereSeparator: \.isWhitespace).compactMap({ Int($0) }).first
    else { return 0 }
    return kilobytes * 1024
  }

  // MARK: From outside

  /// The numbers that the process printed.
  func answer() throws -> [Double] {
    let child = try spawn()
    var text = ""
    while let line = child.line() { text += line }
    child.wait()
    let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
    guard numbers.count == 2 else { throw ContenderError(description: "a process of the bench answered “\(text)”") }
    return numbers
  }

  /// Kills the process after some of its commits.
  func runUntilKilled() throws {
    let child = try spawn()
    for _ in 0..<100 where child.line() == nil {
      throw ContenderError(description: "a writer of the bench ended by itself")
    }
    kill(child.process, SIGKILL)
    child.wait()
  }

  private func spawn() throws -> Child {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw ContenderError(description: "no pipe") }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
    posix_spawn_file_actions_addclose(&actions, ends[0])
    let program = "/proc/self/exe"
    var words: [UnsafeMutablePointer<CChar>?] = ([CommandLine.arguments[0]] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var process = pid_t()
    let code = posix_spawn(&process, program, &actions, nil, &words, environ)
    close(ends[1])
    guard code == 0 else { throw ContenderError(description: "a process of the bench cannot be started") }
    return Child(process: process, descriptor: ends[0])
  }

  private final class Child {
    let process: pid_t
    private let stream: UnsafeMutablePointer<FILE>?

    init(process: pid_t, descriptor: Int32) {
      self.process = process
      stream = fdopen(descriptor, "r")
    }

    deinit { if let stream { fclose(stream) } }

    func line() -> String? {
      var buffer = [CChar](repeating: 0, count: 256)
      guard let stream, fgets(&buffer, Int32(buffer.count), stream) != nil else { return nil }
      return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func wait() {
      var status: Int32 = 0
      waitpid(process, &status, 0)
    }
  }
}
