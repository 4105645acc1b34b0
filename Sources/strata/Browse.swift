import Dispatch
import StrataCurses
import StrataExchange
import StrataModel
import StoreBrowser
import StrataTerminal

extension Program {
  nonisolated(nonsending) static func browse(_ words: [String]) async throws -> Int32 {
    let arguments = try VerbArguments(words, for: .browse)
    if arguments.has("--print-config") { return try printConfiguration() }
    guard let path = arguments.operand(0) else { return try await chooseStore() }
    let isReadOnly = arguments.has("--read-only")
    var configuration = BrowserConfiguration(
      storePath: shownLocation(path), environment: ["HOME", "XDG_CONFIG_HOME"].environment)
    configuration.start = .init(
      datastore: arguments.operand(1), identifier: arguments.operand(2), commit: arguments.value("--at"))
    configuration.isReadOnly = configuration.isReadOnly || isReadOnly
    return try await show(path, configuration, arguments) { [configuration] progress in
      if isDocumentFile(path) { return try openFile(path, configuration, VerbRun(arguments), progress) }
      let store = try openStore(path, readOnly: isReadOnly, waits: false)
      let files = stateFiles(shownLocation(path), of: store)
      let opened = OpenedStore(store, configuration: configuration, files: files)
      if !arguments.has("--script"), !isServer(path), !RemoteLocation.isSSH(path) {
        // The first rows do not wait for the list of recent stores.
        DispatchQueue.global(qos: .utility).async { recentStores?.add(path) }
      }
      return opened
    }
  }

  /// Opens a file of documents as a store in memory. The first line on the screen says what could not be read.
  private static func openFile(
    _ path: String, _ configuration: BrowserConfiguration, _ run: VerbRun, _ progress: @escaping WorkProgress
  ) throws -> OpenedStore {
    let (store, file) = try DocumentFile.open(
      path, identifier: run.arguments.value("--id"), encoding: run.encoding(), author: currentUser(),
      progress: progress)
    var configuration = configuration
    configuration.documentFile = file
    let folder = BrowserFiles.folder(forStoreAt: path, environment: ["HOME", "XDG_STATE_HOME"].environment)
    let files: BrowserFiles
    (files, configuration.greeting) = try BrowserFiles.files(in: folder, of: file, in: store)
    return OpenedStore(store, configuration: configuration, files: files)
  }

  /// Shows a store until the user leaves. On a terminal the first picture appears before the store is open.
  @MainActor static func show(
    _ path: String, _ configuration: BrowserConfiguration, _ arguments: VerbArguments,
    open: @escaping OpeningProgram.Open
  ) async throws -> Int32 {
    var session = TerminalSession()
    session.isASCII = arguments.has("--ascii")
    if arguments.has("--plain") { session.place = .lines(size: try screenSize(arguments)) }
    if let script = arguments.value("--script") {
      session.place = .script(
        path: script, size: try screenSize(arguments), dump: arguments.value("--dump-screen"))
    }
    // If the path is not a store, or without a terminal, errors are reported before the screen is taken.
    guard session.place == .terminal, TerminalSession.hasTerminal, isStore(path) || isDocumentFile(path) else {
      let opened = try open { _, _ in true }
      return try session.run { BrowserProgram(opened) }
    }
    let program = OpeningProgram(path: path, configuration: configuration, open: open)
    let status = try session.run { program }
    if let problem = program.problem { throw problem }
    return status
  }

  /// The files in which the browser keeps its state for a store.
  static func stateFiles(_ path: String, of store: any ReadableStore) -> BrowserFiles {
    BrowserFiles(forStoreAt: path, of: store, environment: ["HOME", "XDG_STATE_HOME"].environment)
  }

  /// Prints the settings and their origins. Reports invalid lines, and then returns status 2.
  private static func printConfiguration() throws -> Int32 {
    let file = SettingsFile(path: SettingsFile.path(environment: ["HOME", "XDG_CONFIG_HOME"].environment) ?? "config")
    try Output.print(file.printed)
    for problem in file.problems { complain(problem.description) }
    return file.problems.isEmpty ? 0 : 2
  }

  private static func screenSize(_ arguments: VerbArguments) throws(UsageError) -> Size {
    guard let text = arguments.value("--size") else { return Size(columns: 80, rows: 24) }
    let numbers = text.split(separator: "x").map { Int($0) }
    guard numbers.count == 2, let columns = numbers[0], let rows = numbers[1], columns > 0, rows > 0,
      columns <= 1_000, rows <= 1_000
    else { throw UsageError("--size is columns x rows, as 80x24, not “\(text)”", verb: arguments.verb) }
    return Size(columns: columns, rows: rows)
  }
}

extension [String] {
  /// The variables of these names that are set.
  var environment: [String: String] {
    reduce(into: [:]) { values, name in values[name] = strata.environment(name) }
  }
}
