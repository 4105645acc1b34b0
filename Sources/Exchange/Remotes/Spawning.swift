#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// How a program is started, where a process may start one.
enum Spawning {
  /// The message for a system that does not allow it.
  static let refusal =
    "this system lets no app start another program, so a store behind ssh cannot be reached from it; exchange through a folder"

  #if os(macOS) || os(Linux)
    static let isAllowed = true

    /// `POSIX_SPAWN_SETSID`; Glibc's header shows it to programs alone that ask for GNU's extensions.
    #if canImport(Darwin)
      private static let ownSession = Int16(POSIX_SPAWN_SETSID)
    #else
      private static let ownSession: Int16 = 0x80
    #endif

    /// Starts a program with these descriptors as its standard input, output and error. Returns 0 or an error number.
    static func start(
      _ words: [String], _ process: inout pid_t, input: Int32, output: Int32, errors: Int32, keepsTerminal: Bool
    ) -> Int32 {
      #if canImport(Darwin)
        var actions: posix_spawn_file_actions_t?
        var attributes: posix_spawnattr_t?
      #else
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
      #endif
      posix_spawnattr_init(&attributes)
      if !keepsTerminal { posix_spawnattr_setflags(&attributes, ownSession) }
      defer { posix_spawnattr_destroy(&attributes) }
      posix_spawn_file_actions_init(&actions)
      posix_spawn_file_actions_adddup2(&actions, input, 0)
      posix_spawn_file_actions_adddup2(&actions, output, 1)
      posix_spawn_file_actions_adddup2(&actions, errors, 2)
      defer { posix_spawn_file_actions_destroy(&actions) }
      var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
      arguments.append(nil)
      defer { for argument in arguments { free(argument) } }
      return posix_spawnp(&process, words[0], &actions, &attributes, arguments, environ)
    }
  #else
    // The calls are not there on tvOS and watchOS, and fail in the sandbox of iOS and visionOS.
    static let isAllowed = false

    static func start(
      _ words: [String], _ process: inout pid_t, input: Int32, output: Int32, errors: Int32, keepsTerminal: Bool
    ) -> Int32 { ENOTSUP }
  #endif
}
