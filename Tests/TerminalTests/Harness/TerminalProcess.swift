import Glibc
import PseudoTerminal
import Testing
import StrataTerminal

/// A real program on a real pseudo-terminal.
///
/// Nothing here waits for time to pass: it waits for the program to say that it is idle, for text to appear or for the
/// process to end, and fails, showing the screen, when that does not happen within `patience`.
final class TerminalProcess {
  private(set) var screen: TerminalScreen
  let process: pid_t
  let termiosBefore: termios
  private let master: Int32
  private let slave: Int32
  private var sentBytes = 0
  private let answersQuestions: Bool
  private let synchronizes: Bool
  private var end: Int32?

  /// Seconds after which something is taken never to happen.
  static let patience = 60

  /// Starts a program that was built beside the tests.
  ///
  /// - Parameters:
  ///   - program: its name beside the tests, or a path.
  ///   - arguments: without the program's name.
  ///   - environment: what differs from a plain UTF-8 xterm.
  ///   - size: of the terminal.
  ///   - directory: the working directory.
  ///   - answersQuestions: whether it answers where its cursor is, as terminals do.
  ///   - synchronizes: whether it answers that it knows synchronized updates.
  init(
    _ program: String, _ arguments: [String] = [], environment: [String: String?] = [:],
    size: Size = Size(columns: 80, rows: 24), directory: String? = nil, answersQuestions: Bool = false,
    synchronizes: Bool = false
  ) throws {
    self.answersQuestions = answersQuestions
    self.synchronizes = synchronizes
    screen = TerminalScreen(size: size)
    var name = [CChar](repeating: 0, count: 128)
    master = pseudo_terminal_open(&name, name.count)
    guard master >= 0 else { throw Failure("no pseudo-terminal") }
    slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)
    guard slave >= 0 else { throw Failure("the pseudo-terminal does not open") }
    Self.setSize(size, of: master)
    var before = termios()
    tcgetattr(slave, &before)
    termiosBefore = before
    process = try Spawning.spawn(
      Built.path(program), arguments, environment: Spawning.environment(environment), terminal: name,
      directory: directory)
    _ = fcntl(master, F_SETFL, O_NONBLOCK)
  }

  deinit {
    if end == nil {
      kill(process, SIGKILL)
      var status: Int32 = 0
      waitpid(process, &status, 0)
    }
    close(slave)
    if isMasterOpen { close(master) }
  }

  struct Failure: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
  }

  // MARK: Talking

  /// Presses keys as written in key tables, each after the program has dealt with the one before.
  func press(_ keys: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    for key in KeyBytes.keys(keys) {
      try send(key)
      try waitUntilIdle(sourceLocation: sourceLocation)
    }
  }

  /// Sends keys as written in key tables all at once, as somebody who types ahead, and waits for the end of all.
  func pressAhead(_ keys: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    try send(KeyBytes.keys(keys).flatMap { $0 })
    try waitUntilIdle(sourceLocation: sourceLocation)
  }

  /// Sends characters as keys, and waits until the program has dealt with them.
  func type(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    try send(Array(text.utf8))
    try waitUntilIdle(sourceLocation: sourceLocation)
  }

  /// Sends bytes, reading meanwhile what comes back.
  func send(_ bytes: [UInt8]) throws {
    var done = 0
    while done < bytes.count {
      let events = try poll(for: POLLIN | POLLOUT, "the terminal takes no more input")
      if events & POLLIN != 0 { readOutput() }
      if events & POLLOUT != 0 {
        let count = bytes[done...].withUnsafeBytes { write(master, $0.baseAddress, min($0.count, 512)) }
        if count > 0 { done += count }
      }
    }
    sentBytes += bytes.count
  }

  /// Sends bytes as far as they are taken at once, reading nothing. Returns how many were.
  func sendWithoutReading(_ bytes: [UInt8]) -> Int {
    let count = bytes.withUnsafeBytes { write(master, $0.baseAddress, $0.count) }
    sentBytes += max(0, count)
    return max(0, count)
  }

  /// Gives the terminal another size, as a window manager does.
  func resize(_ size: Size) {
    readOutput()
    screen.resize(size)
    Self.setSize(size, of: master)
  }

  /// Keys went to another program: what was sent so far counts as read.
  func countKeysAnew() {
    readOutput()
    sentBytes = screen.idle.last?.inputBytes ?? 0
  }

  /// Something else writes on the screen.
  func screenIsSpoilt() { screen.feed("\u{1B}[5;5Hspoilt by another program\u{1B}[10;1H\u{1B}[2K".utf8) }

  /// Sends a signal to the program.
  func signal(_ number: Int32) { kill(process, number) }

  private(set) var isMasterOpen = true

  /// Closes the terminal, as when its window is closed.
  func hangUp() {
    close(master)
    isMasterOpen = false
  }

  // MARK: Waiting

  /// Waits until the program says that it has dealt with everything sent so far, at this size.
  func waitUntilIdle(sourceLocation: SourceLocation = #_sourceLocation) throws {
    try wait("the program does not become idle", sourceLocation) { process in
      process.screen.idle.last.map {
        $0.inputBytes >= process.sentBytes && $0.size == process.screen.size.description
      } ?? false
    }
  }

  /// Waits for idleness as `waitUntilIdle` does, but takes the end of the process for an answer, which it throws.
  func settle() throws {
    let watch = pseudo_terminal_watch(process)
    defer { close(watch) }
    readOutput()
    while !(screen.idle.last.map { $0.inputBytes >= sentBytes && $0.size == screen.size.description } ?? false) {
      var waited = [
        pollfd(fd: watch, events: Int16(POLLIN), revents: 0), pollfd(fd: master, events: Int16(POLLIN), revents: 0),
      ]
      guard Glibc.poll(&waited, 2, Int32(Self.patience) * 1000) > 0 else {
        throw Failure("the program does not become idle")
      }
      readOutput()
      if waited[0].revents != 0 { throw Failure("the program has ended") }
    }
  }

  /// Whether the process has ended.
  var hasEnded: Bool {
    if end != nil { return true }
    let watch = pseudo_terminal_watch(process)
    defer { close(watch) }
    var waited = pollfd(fd: watch, events: Int16(POLLIN), revents: 0)
    return Glibc.poll(&waited, 1, 0) > 0
  }

  /// Waits until the screen shows `text`.
  func waitFor(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    try wait("“\(text)” does not appear", sourceLocation) { $0.screen.text.contains(text) }
  }

  /// Waits until the screen is as `condition` says.
  func wait(
    _ complaint: String, _ sourceLocation: SourceLocation = #_sourceLocation,
    until condition: (TerminalProcess) -> Bool
  ) throws {
    readOutput()
    while !condition(self) {
      do {
        _ = try poll(for: POLLIN, complaint)
      } catch {
        Issue.record("\(complaint):\n\(picture)", sourceLocation: sourceLocation)
        throw error
      }
      readOutput()
    }
  }

  /// Waits until the process has ended.
  ///
  /// - Returns: its exit status, or -1 minus the signal that killed it.
  @discardableResult
  func waitForEnd(sourceLocation: SourceLocation = #_sourceLocation) throws -> Int32 {
    if let end { return end }
    let watch = pseudo_terminal_watch(process)
    defer { close(watch) }
    var status: Int32 = 0
    while waitpid(process, &status, WNOHANG) == 0 {
      var waited = [
        pollfd(fd: watch, events: Int16(POLLIN), revents: 0),
        pollfd(fd: isMasterOpen ? master : -1, events: Int16(POLLIN), revents: 0),
      ]
      guard Glibc.poll(&waited, 2, Int32(Self.patience) * 1000) > 0 else {
        Issue.record("the process does not end:\n\(picture)", sourceLocation: sourceLocation)
        throw Failure("the process does not end")
      }
      readOutput()
    }
    readOutput()
    let ended = status & 0x7F == 0 ? status >> 8 & 0xFF : -1 - (status & 0x7F)
    end = ended
    return ended
  }

  /// Whether the terminal is set as before the program started.
  var isTermiosAsBefore: Bool {
    var now = termios()
    tcgetattr(slave, &now)
    return withUnsafeBytes(of: now) { now in
      withUnsafeBytes(of: termiosBefore) { before in now.elementsEqual(before) }
    }
  }

  /// Bytes sent that the program has not read yet.
  var unreadBytes: Int {
    var count: Int32 = 0
    _ = ioctl(slave, UInt(FIONREAD), &count)
    return Int(count)
  }

  /// The screen between lines, for a failure.
  var picture: String {
    let bar = String(repeating: "·", count: screen.size.columns)
    return "\(bar)\n\(screen.lines.joined(separator: "\n"))\n\(bar)"
  }

  private func poll(for events: Int32, _ complaint: String) throws -> Int32 {
    var waited = pollfd(fd: master, events: Int16(events), revents: 0)
    guard Glibc.poll(&waited, 1, Int32(Self.patience) * 1000) > 0 else { throw Failure(complaint) }
    if waited.revents & Int16(POLLHUP | POLLERR) != 0, waited.revents & Int16(POLLIN) == 0 {
      throw Failure("\(complaint); the terminal is closed")
    }
    return Int32(waited.revents)
  }

  private func readOutput() {
    guard isMasterOpen else { return }
    var bytes = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(master, &bytes, bytes.count)
      guard count > 0 else { return }
      screen.feed(bytes[..<count])
      if answersQuestions { answer(screen.answers) }
      if synchronizes { answer(screen.updateAnswers) }
      (screen.answers, screen.updateAnswers) = ([], [])
    }
  }

  private func answer(_ bytes: [UInt8]) {
    guard !bytes.isEmpty else { return }
    sentBytes += max(0, bytes.withUnsafeBytes { write(master, $0.baseAddress, $0.count) })
  }

  private static func setSize(_ size: Size, of file: Int32) {
    var window = winsize(
      ws_row: UInt16(size.rows), ws_col: UInt16(size.columns), ws_xpixel: 0, ws_ypixel: 0)
    _ = ioctl(file, UInt(TIOCSWINSZ), &window)
  }
}
