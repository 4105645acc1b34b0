import Glibc

/// A program that is run to its end, with nothing of ours in its time but the start of it.
package struct ChildProgram {
  package let words: [String]
  /// What it reads from standard input.
  package var input: String?

  package init(_ words: [String], input: String? = nil) {
    self.words = words
    self.input = input
  }

  /// The seconds that it runs; what it prints is thrown away.
  package func seconds() throws -> Double { try time { try run(output: "/dev/null") } }

  /// How many lines it prints.
  package func lineCount(scratch: String) throws -> Int {
    let path = scratch + "/output"
    try run(output: path)
    defer { unlink(path) }
    guard let file = fopen(path, "r") else { throw BenchError(description: "\(path) cannot be read") }
    defer { fclose(file) }
    var count = 0
    var block = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let read = fread(&block, 1, block.count, file)
      if read == 0 { return count }
      count += block[..<read].count { $0 == UInt8(ascii: "\n") }
    }
  }

  package func run(output: String = "/dev/null") throws {
    let process = try start(output: output)
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 {}
    try check(status)
  }

  /// Runs it, and looks every few milliseconds for the most memory that it had at once, in bytes: `VmHWM` of proc(5). What `wait4(2)`
  /// tells is never less than what its starter had, whose memory it shares for a moment.
  package func mostMemory() throws -> UInt64 {
    let process = try start(output: "/dev/null")
    var most: UInt64 = 0
    var status: Int32 = 0
    while waitpid(process, &status, WNOHANG) == 0 {
      most = max(most, Self.highWater(process))
      usleep(2_000)
    }
    try check(status)
    return most
  }

  private static func highWater(_ process: pid_t) -> UInt64 {
    guard let file = fopen("/proc/\(process)/status", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while fgets(&line, Int32(line.count), file) != nil {
      let text = line.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
      if text.hasPrefix("VmHWM:") { return (UInt64(text.filter(\.isNumber)) ?? 0) * 1024 }
    }
    return 0
  }

  private func start(output: String) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input ?? "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var process = pid_t()
    let code = posix_spawnp(&process, words[0], &actions, nil, &arguments, environ)
    guard code == 0 else { throw BenchError(description: "\(words[0]): \(String(cString: strerror(code)))") }
    return process
  }

  private func check(_ status: Int32) throws {
    guard status == 0 else {
      throw BenchError(description: "\(words.joined(separator: " ")) ended with status \(status)")
    }
  }
}

package struct BenchError: Error, CustomStringConvertible {
  package var description: String

  package init(description: String) { self.description = description }
}
