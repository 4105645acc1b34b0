import StrataAtlas
import CodableDatastore
import StrataModel
import Dispatch
import Foundation
import StoreBrowser
import StrataTerminal
import Testing

@Suite("A warm-up of 148,896 cities")
struct LargeWarmUpTests {
  /// The sample 24 times with shifted identifiers, in a store of version 1.
  private static func writeStore(at url: URL) async throws {
    let resources = URL(filePath: #filePath).appending(path: "../../../Sources/StrataAtlas/Resources")
      .standardizedFileURL
    let sample = try Sample(folder: resources.path)
    #expect(sample.cities.count == 6_204)
    let persistence = try DiskPersistence(readWriteURL: url)
    let cities = FirstCityFormat.datastore(in: persistence)
    try await persistence.perform(actionName: "import the sample 24 times") {
      for copy in 0..<24 {
        for city in sample.cities {
          var shifted = city
          shifted.geonameid += copy * 100_000_000
          try await cities.persist(shifted)
        }
      }
    }
    try await persistence.close()
  }

  @Test("percentages go by while the table is paged; cancelled, the commit before is head")
  @MainActor
  func cancelled() async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appending(path: "Atlas.strata")
    try await Self.writeStore(at: url)
    let persistence = try DiskPersistence(readWriteURL: url)
    let cities = CityFormat.datastore(in: persistence)
    let store = try persistence.browsable(with: cities)
    let before = store.store.head.commit
    var configuration = BrowserConfiguration()
    configuration.start.datastore = "City"
    configuration.warmsUpAtStart = true

    let session = ProgramSession(
      BrowserProgram(OpenedStore(store.store, configuration: configuration, files: .none, warmUp: store.warmUp)))
    var percentages: Set<String> = []
    var rows: Set<String> = []
    session.press("2")
    while percentages.count < 5, session.waitForNews() {
      let screen = session.screen()
      if let percentage = screen.firstMatch(of: /· (\d+) % ·/)?.1 {
        if percentages.insert(String(percentage)).inserted { session.press("PageDown") }
      }
      if let row = screen.firstMatch(of: /row ([\d ]+) of 148 896/)?.1 { rows.insert(String(row)) }
    }
    #expect(percentages.count >= 4, "\(percentages)")
    #expect(rows.count >= 3, "the table is paged meanwhile: \(rows)")

    session.press("^c")
    session.press("^c")
    while !session.program.isIdle, session.waitForNews() {}
    #expect(try store.store.refresh().commit == before)
    #expect(session.screen().contains("148 896"))
    #expect(!session.hasQuit, "^c asks and then cancels what runs, and does not quit")
  }
}

/// Drives a terminal program without a terminal, waiting on what it says and never on a clock.
@MainActor
final class ProgramSession {
  let program: any TerminalProgram
  private let news = DispatchSemaphore(value: 0)
  private(set) var hasQuit = false
  private let size = Size(columns: 120, rows: 40)

  init(_ program: any TerminalProgram) {
    self.program = program
    perform(program.start(TerminalSurroundings(size: size)) { [news] in news.signal() })
  }

  /// Presses a key by its name: `j`, `^c`, `PageDown`.
  func press(_ name: String) {
    guard let key = KeyChord(name) else { return }
    perform(program.respond(to: .key(key)))
  }

  /// Waits until background work has something to say and hears it; false where nothing came for half a minute.
  func waitForNews() -> Bool {
    guard news.wait(timeout: .now() + 30) == .success else { return false }
    perform(program.respondToAnswers())
    return true
  }

  func screen() -> String { program.draw(size: size).lines().joined(separator: "\n") }

  private func perform(_ actions: [TerminalAction]) {
    for case .quit in actions { hasQuit = true }
  }
}
