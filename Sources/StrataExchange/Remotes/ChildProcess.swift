import StrataEngine
import StrataLocks
import StrataSystem

/// A program whose standard input and output this process holds, and whose standard error is kept.
final class ChildProcess: LineEnds {
  private struct State {
    var hasEnded = false
    var isInputOpen = true
  }

  let input: Int32
  let output: Int32
  private let errors: Int32
  private let process: pid_t
  private let keepsTerminal: Bool
  /// The options of ssh, and the host, among the words.
  private let way: [String]
  private let state = Mutex(State())

  /// - Parameters:
  ///   - words: The program, found along PATH, and its arguments.
  ///   - keepsTerminal: Leaves it the terminal of this process, so that it may ask; otherwise it has none.
  init(_ words: [String], keepsTerminal: Bool) throws {
    guard Spawning.isAllowed else { throw ExchangeError.peer(name: words[0], reason: Spawning.refusal) }
    var toChild: [Int32] = [0, 0]
    var fromChild: [Int32] = [0, 0]
    var template = Array("\(ScratchFile.temporaryFolder)/strata-ssh-XXXXXX".utf8CString)
    let kept = mkstemp(&template)
    var opened = [kept]
    if kept >= 0 { unlink(template) }
    if kept >= 0, pipe(&toChild) == 0 { opened += toChild }
    guard opened.count == 3, pipe(&fromChild) == 0 else {
      let reason = String(cString: strerror(errno))
      for descriptor in opened where descriptor >= 0 { close(descriptor) }
      throw ExchangeError.peer(name: words[0], reason: reason)
    }
    for descriptor in toChild + fromChild + [kept] { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    var child: pid_t = 0
    let code = Spawning.start(
      words, &child, input: toChild[0], output: fromChild[1], errors: kept, keepsTerminal: keepsTerminal)
    close(toChild[0])
    close(fromChild[1])
    guard code == 0 else {
      for descriptor in [toChild[1], fromChild[0], kept] { close(descriptor) }
      throw ExchangeError.peer(name: words[0], reason: "it cannot be started: \(String(cString: strerror(code)))")
    }
    process = child
    self.keepsTerminal = keepsTerminal
    let end = words.firstIndex(of: "--") ?? 0
    way = Array(words[..<end].drop { $0 != "-p" } + words[end...].dropFirst().prefix(1))
    input = toChild[1]
    output = fromChild[0]
    errors = kept
  }

  deinit {
    _ = closeInputAndWait([(SIGTERM, 1), (SIGKILL, 1)])
    close(errors)
  }

  private func closeInput(_ state: inout State) {
    if state.isInputOpen { close(input) }
    state.isInputOpen = false
  }

  /// Asks it to end, so that whoever reads its output sees the end.
  func end() {
    state.withLock { state in
      closeInput(&state)
      if !state.hasEnded { kill(process, SIGTERM) }
    }
  }

  /// Why it went away, by its exit status and its words.
  func reason() -> String {
    let status = closeInputAndWait([(nil, 5), (SIGTERM, 2), (SIGKILL, 2)])
    let words = words
    // The exit statuses of a shell that finds no such program, and of ssh's own errors.
    switch status {
    case 127:
      return "there is no strata on the other side's PATH. Copy this program there, for example: "
        + "scp \(way.dropLast().map { $0 == "-p" ? "-P " : "\($0) " }.joined())\"$(command -v strata)\" "
        + "\(way.last ?? "HOST"):/usr/local/bin/"
    case 255
    where !keepsTerminal && ["denied", "verification failed", "authentication"].contains(where: words.contains):
      return
        "\(words). ssh cannot ask from here (BatchMode): give it a key or an agent, or run strata fetch in a terminal"
    case 255:
      return "\(words.isEmpty ? "ssh failed" : words); “ssh \(way.joined(separator: " "))” in a shell must work first"
    default: return words.isEmpty ? "it went away without a word (status \(status))" : words
    }
  }

  /// Waits for its end and returns its exit status.
  ///
  /// - Parameter steps: A program that does not end gets these signals in turn, and after each has the given seconds.
  private func closeInputAndWait(_ steps: [(signal: Int32?, seconds: Int)]) -> Int32 {
    state.withLock { state in
      closeInput(&state)
      var status: Int32 = 0
      for (signal, seconds) in steps where !state.hasEnded {
        if let signal { kill(process, signal) }
        for _ in 0..<(seconds * 100) {
          let ended = waitpid(process, &status, WNOHANG)
          if ended == process || ended < 0 && errno != EINTR {
            state.hasEnded = true
            break
          }
          usleep(10_000)
        }
      }
      return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + (status & 0x7F)
    }
  }

  /// The end of its standard error, on one line.
  private var words: String {
    var bytes = [UInt8](repeating: 0, count: 2_048)
    let size = lseek(errors, 0, SEEK_END)
    let count = pread(errors, &bytes, bytes.count, max(0, size - off_t(bytes.count)))
    let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    return text.split(whereSeparator: \.isNewline).suffix(4)
      .map { $0.hasPrefix("strata: ") ? $0.dropFirst(8) : $0 }.joined(separator: "; ")
  }
}

/// The way to start a program, if a process may start one.
enum Spawning {
  static let refusal =
    "this system lets no app start another program, so a store behind ssh cannot be reached from it; exchange through a folder"

  #if os(macOS) || os(Linux)
    static let isAllowed = true

    /// `POSIX_SPAWN_SETSID`; Glibc's header shows it only to programs that ask for GNU's extensions.
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
    // The calls do not exist on tvOS and watchOS, and fail in the sandbox of iOS and visionOS.
    static let isAllowed = false

    static func start(
      _ words: [String], _ process: inout pid_t, input: Int32, output: Int32, errors: Int32, keepsTerminal: Bool
    ) -> Int32 { ENOTSUP }
  #endif
}
