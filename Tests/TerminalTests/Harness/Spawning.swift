import Glibc
import PseudoTerminal

/// Starting processes as a shell would.
enum Spawning {
  /// The environment of a plain UTF-8 xterm with `changes`; nil takes a variable away.
  static func environment(_ changes: [String: String?] = [:]) -> [String: String] {
    var all: [String: String] = [
      "TERM": "xterm-256color", "LANG": "C.UTF-8", "TZ": "UTC", "PATH": "/usr/local/bin:/usr/bin:/bin",
      "HOME": Scratch.home, "XDG_STATE_HOME": Scratch.home + "/state", "XDG_DATA_HOME": Scratch.home + "/data",
      "XDG_CONFIG_HOME": Scratch.home + "/config", "STRATA_IDLE_FD": "1",
    ]
    // The sanitizer's: where its reports go to, which would be lost on the program's screen.
    for name in ["LD_LIBRARY_PATH", "TSAN_OPTIONS"] {
      if let value = getenv(name) { all[name] = String(cString: value) }
    }
    for (name, value) in changes { all[name] = value }
    return all
  }

  /// Starts a program with all signals as they are by default: on a terminal as the leader of a session, or with the
  /// three standard descriptors given.
  static func spawn(
    _ path: String, _ arguments: [String], environment: [String: String], terminal: [CChar]? = nil,
    files: [Int32] = [], directory: String? = nil
  ) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let terminal {
      posix_spawn_file_actions_addopen(&actions, 0, terminal, O_RDWR, 0)
      posix_spawn_file_actions_adddup2(&actions, 0, 1)
      posix_spawn_file_actions_adddup2(&actions, 0, 2)
    }
    for (target, file) in files.enumerated() { posix_spawn_file_actions_adddup2(&actions, file, Int32(target)) }
    if let directory { _ = pseudo_terminal_start_in(&actions, directory) }

    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var all = sigset_t()
    var none = sigset_t()
    sigfillset(&all)
    sigemptyset(&none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setsigmask(&attributes, &none)
    let setsid = terminal == nil ? 0 : 0x80
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK) | Int16(setsid))

    var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
    var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0)=\($1)") } + [nil]
    defer { for text in words + variables { free(text) } }
    var process: pid_t = 0
    let problem = posix_spawnp(&process, path, &actions, &attributes, &words, &variables)
    guard problem == 0 else { throw TerminalProcess.Failure("\(path): \(String(cString: strerror(problem)))") }
    return process
  }

  /// Runs a program without a terminal and returns its status and everything it printed, errors included.
  static func run(
    _ program: String, _ arguments: [String] = [], environment changes: [String: String?] = [:], input: String = "",
    directory: String? = nil
  ) throws -> (status: Int32, output: String) {
    let inputPath = Scratch.file(named: "input", input)
    let outputPath = Scratch.file(named: "output", "")
    let input = open(inputPath, O_RDONLY | O_CLOEXEC)
    let output = open(outputPath, O_WRONLY | O_APPEND | O_CLOEXEC)
    defer {
      close(input)
      close(output)
    }
    let process = try spawn(
      Built.path(program), arguments, environment: environment(changes), files: [input, output, output],
      directory: directory)
    var status: Int32 = 0
    waitpid(process, &status, 0)
    let ended = status & 0x7F == 0 ? status >> 8 & 0xFF : -1 - (status & 0x7F)
    return (ended, Scratch.text(of: outputPath))
  }
}

/// Programs that were built together with the tests.
enum Built {
  /// The path of a program beside the test bundle; anything with a slash, or that is not there, stays as it is.
  static func path(_ name: String) -> String {
    guard !name.contains("/") else { return name }
    for start in ["/proc/self/exe", CommandLine.arguments.first ?? ""] {
      var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
      guard realpath(start, &buffer) != nil else { continue }
      let bytes = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
      var directory = String(decoding: bytes, as: UTF8.self)[...]
      while let slash = directory.lastIndex(of: "/") {
        directory = directory[..<slash]
        let path = directory + "/" + name
        if access(String(path), X_OK) == 0, !isDirectory(String(path)) { return String(path) }
        guard directory.hasSuffix("/debug") || directory.hasSuffix("/release") || directory.contains(".xctest") else {
          break
        }
      }
    }
    return name
  }

  private static func isDirectory(_ path: String) -> Bool {
    var info = stat()
    return stat(path, &info) == 0 && info.st_mode & S_IFMT == S_IFDIR
  }
}

/// Files of one run of the tests, in one folder that goes with it.
enum Scratch {
  /// A folder for this run.
  static let home: String = {
    var template = Array("/tmp/strata-terminal-tests-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { return "/tmp" }
    let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    atexit { pseudo_terminal_remove_folder(Scratch.home) }
    return path
  }()

  /// A path in it that no other test uses.
  static func path(_ name: String) -> String { "\(home)/\(counter.next())-\(name)" }

  /// A file with this text.
  static func file(named name: String, _ text: String, mode: mode_t = 0o644) -> String {
    let path = path(name)
    write(text, to: path, mode: mode)
    return path
  }

  /// Writes a file.
  static func write(_ text: String, to path: String, mode: mode_t = 0o644) {
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
    let bytes = Array(text.utf8)
    _ = bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
    close(file)
  }

  /// A fresh folder.
  static func folder(named name: String) -> String {
    let path = path(name)
    mkdir(path, 0o755)
    return path
  }

  /// The text of a file; empty where there is none.
  static func text(of path: String) -> String {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return "" }
    defer { close(file) }
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 65_536)
    while case let count = read(file, &part, part.count), count > 0 { bytes += part[..<count] }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The paths of what lies in a folder.
  static func files(in folder: String) -> [String] {
    guard let directory = opendir(folder) else { return [] }
    defer { closedir(directory) }
    var found: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if name != ".", name != ".." { found.append("\(folder)/\(name)") }
    }
    return found.sorted()
  }

  private static let counter = Counter()
}
