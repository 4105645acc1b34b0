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

  /// - Returns: The most memory that it had at once, in bytes: `ru_maxrss` of `wait4(2)`.
  @discardableResult
  package func run(output: String = "/dev/null") throws -> UInt64 {
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
    var status: Int32 = 0
    var usage = rusage()
    while wait4(process, &status, 0, &usage) < 0 {}
    guard status == 0 else {
      throw BenchError(description: "\(words.joined(separator: " ")) ended with status \(status)")
    }
    return UInt64(usage.ru_maxrss) * 1024
  }
}

package struct BenchError: Error, CustomStringConvertible {
  package var description: String

  package init(description: String) { self.description = description }
}
