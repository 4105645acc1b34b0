import Glibc
import StrataTerminal
import Testing

/// A store of 300 cities and all countries, made by the program itself: five commits, the last three of them counting
/// Mogadishu (53654, row 6) again.
struct SampleStore {
  /// Where it lies: a path, or the URL of a server.
  let path: String

  /// Where a store may lie.
  enum Place: CaseIterable {
    case file, server

    /// Where one can be made here.
    static var there: [Place] { TestServer.isThere ? allCases : [.file] }
  }

  init(on place: Place) throws {
    switch place {
    case .file: try self.init()
    case .server: try self.init(on: try #require(TestServer.shared))
    }
  }

  /// A copy with all of its history on a server, in a schema of its own.
  init(on server: TestServer) throws {
    path = server.location()
    try Self.strata(["copy", try Self.template.get(), path])
  }

  /// A copy of its own for a test.
  init() throws {
    let template = try Self.template.get()
    path = Scratch.folder(named: "store") + "/Atlas.strata"
    let (status, output) = try Spawning.run("/bin/cp", ["-r", template, path])
    guard status == 0 else { throw TerminalProcess.Failure(output) }
  }

  /// The browser on it, idle.
  func browse(
    _ arguments: [String] = [], environment: [String: String?] = [:], size: Size = Size(columns: 80, rows: 24)
  ) throws -> TerminalProcess {
    let process = try TerminalProcess("strata", [path] + arguments, environment: environment, size: size)
    try process.waitUntilIdle()
    return process
  }

  /// The browser with the cursor on the population of Mogadishu.
  func browseToPopulation(
    environment: [String: String?] = [:], size: Size = Size(columns: 80, rows: 24)
  ) throws -> TerminalProcess {
    let browser = try browse(environment: environment, size: size)
    try browser.run("6")
    try browser.press("3 j j j j j")
    return browser
  }

  /// Another program commits a new population of a city; answers what it printed.
  @discardableResult
  func count(_ identifier: Int, _ population: Int) throws -> String {
    let line = try #require(Self.cities.first { $0.contains("\"geonameid\":\(identifier),") })
    let start = try #require(line.firstRange(of: "\"population\":"))
    let rest = line[start.upperBound...].drop { $0.isNumber }
    return try Self.strata(
      ["put", path, "City", "--name", "count \(identifier): \(population)"],
      input: String(line[..<start.upperBound]) + "\(population)" + rest)
  }

  /// Runs a verb on it.
  @discardableResult
  func run(_ verb: String, _ arguments: String..., input: String = "") throws -> String {
    try Self.strata([verb, path] + arguments, input: input)
  }

  private static let template = Result { try make() }

  private static func make() throws -> String {
    let folder = Scratch.folder(named: "template")
    let store = SampleStore(at: folder + "/Atlas.strata")
    let some = Scratch.file(named: "cities.jsonl", cities.joined(separator: "\n") + "\n")
    try strata([
      "import", store.path, "City", some, "--id", "geonameid", "--index", "name=name", "--index",
      "country=countrycode", "--index", "population=population", "--index", "alternate=alternatenames:many-to-many",
    ])
    try strata([
      "import", store.path, "Country", resources + "/countries.jsonl", "--id", "iso", "--index", "name=name",
    ])
    for population in [2_600_000, 2_700_000, 2_800_000] { try store.count(53654, population) }
    return store.path
  }

  private init(at path: String) { self.path = path }

  static let cities = Scratch.text(of: resources + "/cities.jsonl").split(separator: "\n").prefix(300).map(String.init)

  private static let resources: String = {
    let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(4).joined(separator: "/")
    return root + "/Sources/StrataAtlas/Resources"
  }()

  @discardableResult
  private static func strata(_ words: [String], input: String = "") throws -> String {
    let (status, output) = try Spawning.run("strata", words, input: input)
    guard status == 0 else { throw TerminalProcess.Failure("strata \(words.joined(separator: " ")): \(output)") }
    return output
  }
}

extension TerminalProcess {
  /// Fails, showing the screen, unless it shows all of `texts`.
  func expect(_ texts: String..., sourceLocation: SourceLocation = #_sourceLocation) {
    for text in texts where !screen.text.contains(text) {
      Issue.record("the screen does not show “\(text)”:\n\(picture)", sourceLocation: sourceLocation)
    }
  }

  /// Fails, showing the screen, if it shows `text`.
  func expectNot(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) {
    if screen.text.contains(text) {
      Issue.record("the screen shows “\(text)”:\n\(picture)", sourceLocation: sourceLocation)
    }
  }

  /// Types a command after `:`.
  func run(_ command: String) throws {
    try press(":")
    try type(command)
    try press("Enter")
  }

  /// Puts a text in the place of the value under the cursor, staged.
  func stage(_ text: String) throws {
    try press("e ^u")
    try type(text)
    try press("Enter")
  }

  /// Waits until the terminal's own cursor is on a line with a text: what comes without a key comes in pieces.
  func waitForCursor(on text: String) throws {
    try wait("the cursor is not on “\(text)”") { $0.cursorLine.contains(text) }
  }

  /// The line that the terminal's own cursor is on.
  var cursorLine: String { screen.lines[screen.cursor.row] }
}
