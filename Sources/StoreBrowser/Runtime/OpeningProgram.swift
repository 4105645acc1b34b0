package import DatastoreModel
import Dispatch
import Locks
package import TerminalKit

/// Shows a first picture at once, opens the store meanwhile, and is the browser from then on.
///
/// Keys typed ahead wait for the browser; `^c` and a signal end it while the store is still being opened.
package final class OpeningProgram: TerminalProgram {
  /// What a browser is made of.
  package struct Opened: Sendable {
    package var store: any ReadableStore
    package var configuration: BrowserConfiguration
    package var files: BrowserFiles
    package var warmUp: (any WarmUpDriver)?

    package init(
      store: any ReadableStore, configuration: BrowserConfiguration, files: BrowserFiles,
      warmUp: (any WarmUpDriver)? = nil
    ) {
      self.store = store
      self.configuration = configuration
      self.files = files
      self.warmUp = warmUp
    }

    package var program: BrowserProgram {
      BrowserProgram(store: store, configuration: configuration, files: files, warmUp: warmUp)
    }
  }

  private let name: String
  private let configuration: BrowserConfiguration
  private let open: @Sendable () throws -> Opened
  private let outcome = Outcome()
  private var program: BrowserProgram?
  private var surroundings = TerminalSurroundings(size: Size(columns: 80, rows: 24))
  private var wake: @Sendable () -> Void = {}
  /// Why the store could not be opened; the session then ended at once.
  package private(set) var problem: (any Error)?

  /// - Parameters:
  ///   - path: the store's, for the first picture.
  ///   - configuration: for the looks of the first picture.
  ///   - open: opens the store; called once, on another thread.
  package init(
    path: String, configuration: BrowserConfiguration, open: @escaping @Sendable () throws -> Opened
  ) {
    name = path.split(separator: "/").last.map(String.init) ?? path
    self.configuration = configuration
    self.open = open
  }

  package func start(_ surroundings: TerminalSurroundings, wake: @escaping @Sendable () -> Void) -> [TerminalAction] {
    self.surroundings = surroundings
    self.wake = wake
    DispatchQueue.global(qos: .userInteractive).async { [open, outcome] in
      outcome.set(Result(catching: open))
      wake()
    }
    return configuration.settings.mouse ? [] : [.mouse(false)]
  }

  package func respond(to event: TerminalEvent) -> [TerminalAction] {
    if let program { return program.respond(to: event) }
    switch event {
    case .resize(let size):
      surroundings.size = size
      return []
    case .interrupt, .key(KeyChord(.character("c"), .control)): return [.quit(status: 0)]
    default: return []
    }
  }

  package func respondToAnswers() -> [TerminalAction] {
    if let program { return program.respondToAnswers() }
    switch outcome.collect() {
    case .success(let opened)?:
      let program = opened.program
      self.program = program
      return program.start(surroundings, wake: wake)
    case .failure(let error)?:
      problem = error
      return [.quit(status: 1)]
    case nil: return []
    }
  }

  package func draw(size: Size) -> CellGrid {
    program?.draw(size: size)
      ?? Browser.openingPicture(size: size, name: name, theme: configuration.theme(in: surroundings))
  }

  package var isIdle: Bool { program?.isIdle ?? false }

  package var awaitsAnswer: Bool { program == nil }

  package var answersSoon: Bool { program?.answersSoon ?? false }

  package func finish() -> String? { program?.finish() }
}

/// What opening came to, handed from its thread to the loop's.
private final class Outcome: Sendable {
  private let result = Mutex<Result<OpeningProgram.Opened, any Error>?>(nil)

  func set(_ value: Result<OpeningProgram.Opened, any Error>) { result.withLock { $0 = value } }

  func collect() -> Result<OpeningProgram.Opened, any Error>? {
    result.withLock { result in
      defer { result = nil }
      return result
    }
  }
}

extension Browser {
  /// The title alone: the panes come with what they show, so that none is drawn twice.
  static func openingPicture(size: Size, name: String, theme: Theme) -> CellGrid {
    var grid = CellGrid(size: size)
    guard size.columns >= Layout.smallest.columns, size.rows >= Layout.smallest.rows else { return grid }
    let state = "opening…"
    let width = min(SafeText.width(state), size.columns / 2)
    grid.write(name, at: Point(column: 1, row: 0), width: size.columns - width - 3, style: theme.style(.title))
    grid.write(state, at: Point(column: size.columns - width - 1, row: 0), width: width)
    return grid
  }
}
