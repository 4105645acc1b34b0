import Foundation

#if canImport(Glibc)
  import PseudoTerminal
#endif

/// A program that is started with nothing open but its three streams.
///
/// `Process` waits for an end of a pipe that its child's children inherit, and a server that a child leaves behind never closes it.
enum ChildProgram {
  /// Starts a program; nil where it cannot be.
  static func start(_ program: String, _ arguments: [String], input: Int32? = nil, output: String? = nil) -> pid_t? {
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
      var attributes: posix_spawnattr_t?
    #else
      var actions = posix_spawn_file_actions_t()
      var attributes = posix_spawnattr_t()
    #endif
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    if let input {
      posix_spawn_file_actions_adddup2(&actions, input, 0)
    } else {
      posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    }
    posix_spawn_file_actions_addopen(&actions, 1, output ?? "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    #if canImport(Darwin)
      posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_CLOEXEC_DEFAULT))
    #else
      // All of them: a connection that a server inherits never ends for its other side.
      pseudo_terminal_close_from(&actions, 3)
    #endif
    var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var pid: pid_t = 0
    return posix_spawn(&pid, program, &actions, &attributes, &words, environ) == 0 ? pid : nil
  }

  /// Runs a program to its end; its exit status, or a negative number.
  static func run(_ program: String, _ arguments: [String], input: Int32? = nil, output: String? = nil) -> Int32 {
    guard let pid = start(program, arguments, input: input, output: output) else { return -1 }
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0 { guard errno == EINTR else { return -1 } }
    return status & 0x7F == 0 ? status >> 8 & 0xFF : -1
  }
}
