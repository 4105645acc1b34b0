import DatastoreModel

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A program that runs with its standard input and output in our hands, and what it says on standard error kept.
final class ChildProcess {
  let input: Int32
  /// For a `LineReader`, which closes it.
  let output: Int32
  private let errors: Int32
  private let process: pid_t
  private var hasEnded = false
  private var isInputOpen = true

  /// - Parameters:
  ///   - words: the program, found along PATH, and its arguments.
  ///   - keepsTerminal: leaves it the terminal of this process, where it may ask; else it has none.
  init(_ words: [String], keepsTerminal: Bool = true) throws {
    guard Spawning.isAllowed else { throw ExchangeError.peer(name: words[0], reason: Spawning.refusal) }
    var toChild: [Int32] = [0, 0]
    var fromChild: [Int32] = [0, 0]
    var template = Array("\(TemporaryFile.folder)/strata-ssh-XXXXXX".utf8CString)
    let kept = mkstemp(&template)
    guard kept >= 0, pipe(&toChild) == 0, pipe(&fromChild) == 0 else {
      throw ExchangeError.peer(name: words[0], reason: String(cString: strerror(errno)))
    }
    unlink(template)
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
    input = toChild[1]
    output = fromChild[0]
    errors = kept
  }

  deinit {
    closeInput()
    if !hasEnded { _ = wait([(SIGTERM, 1), (SIGKILL, 1)]) }
    close(errors)
  }

  func closeInput() {
    if isInputOpen { close(input) }
    isInputOpen = false
  }

  /// Waits for its end; the status that it ended with.
  ///
  /// - Parameter steps: One that does not end gets these signals in turn, and then has so many seconds.
  func wait(_ steps: [(signal: Int32?, seconds: Int)] = [(nil, 5), (SIGTERM, 2), (SIGKILL, 2)]) -> Int32 {
    var status: Int32 = 0
    for (signal, seconds) in steps where !hasEnded {
      if let signal { kill(process, signal) }
      for _ in 0..<(seconds * 100) {
        let ended = waitpid(process, &status, WNOHANG)
        if ended == process || ended < 0 && errno != EINTR {
          hasEnded = true
          break
        }
        usleep(10_000)
      }
    }
    return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + (status & 0x7F)
  }

  /// The last of what it said on standard error, on one line.
  var words: String {
    var bytes = [UInt8](repeating: 0, count: 2_048)
    let size = lseek(errors, 0, SEEK_END)
    let count = pread(errors, &bytes, bytes.count, max(0, size - off_t(bytes.count)))
    let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    return text.split(whereSeparator: \.isNewline).suffix(4).joined(separator: "; ")
  }
}
