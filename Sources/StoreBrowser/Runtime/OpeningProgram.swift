package import StrataModel
import Dispatch
import StrataLocks
package import StrataTerminal

/// Shows a first picture at once, opens the store meanwhile, and is the browser from then on.
///
/// Keys typed ahead wait for the browser; `^c` and a signal end it while the store is still being opened, `^z` suspends it, and Esc drops
/// them.
package final class OpeningProgram: TerminalProgram {
  private let name: String
  private let configuration: BrowserConfiguration
  /// Opens a store, and reports how much of a file was read.
  package typealias Open = @Sendable (_ progress: @escaping WorkProgress) throws -> OpenedStore

  private let open: Open
  private let outcome = Outcome()
  private var program: BrowserProgram?
  private var parts: Browser.Parts?
  private var surroundings = TerminalSurroundings(size: Size(columns: 80, rows: 24))
  private var wake: @Sendable () -> Void = {}
  private var typedAhead: [TerminalEvent] = []
  /// Why the store could not be opened; the session then ended at once.
  package private(set) var problem: (any Error)?

  /// - Parameters:
  ///   - path: the path of the store, for the first picture.
  ///   - configuration: for the appearance of the first picture.
  ///   - open: opens the store; called once, on another thread.
  package init(path: String, configuration: BrowserConfiguration, open: @escaping Open) {
    name = DocumentFile.fileName(of: path)
    self.configuration = configuration
    self.open = open
  }

  package func start(_ surroundings: TerminalSurroundings, wake: @escaping @Sendable () -> Void) -> [TerminalAction] {
    self.surroundings = surroundings
    self.wake = wake
    DispatchQueue.global(qos: .userInteractive).async { [open, outcome] in
      let result = Result {
        try open { done, total in
          if outcome.report(done, of: total) { wake() }
          return true
        }
      }
      outcome.set(result)
      wake()
    }
    return configuration.settings.mouse ? [] : [.mouse(false)]
  }

  package func prepare() { parts = Browser.Parts(configuration) }

  package func respond(to event: TerminalEvent) -> [TerminalAction] {
    if let program { return program.respond(to: event) }
    switch event {
    case .resize(let size): surroundings.size = size
    case .interrupt, .key(KeyChord(.character("c"), .control)): return [.quit(status: 0)]
    case .key(KeyChord(.character("z"), .control)): return [.suspend]
    case .key(KeyChord(.escape)):
      // Reports of the terminal itself stay.
      typedAhead.removeAll(where: \.isInput)
    default: typedAhead.append(event)
    }
    return []
  }

  package func respondToAnswers() -> [TerminalAction] {
    if let program { return program.respondToAnswers() }
    switch outcome.collect() {
    case .success(let opened)?:
      let program = BrowserProgram(opened, parts)
      self.program = program
      defer { typedAhead = [] }
      return program.start(surroundings, wake: wake) + typedAhead.flatMap(program.respond(to:))
    case .failure(let error)?:
      problem = error
      return [.quit(status: 1)]
    case nil: return []
    }
  }

  package func draw(size: Size) -> CellGrid {
    program?.draw(size: size)
      ?? Browser.openingPicture(
        size: size, name: name, state: outcome.state, theme: configuration.theme(in: surroundings))
  }

  package var isIdle: Bool { program?.isIdle ?? false }

  package var picturePatience: Int { program?.picturePatience ?? 0 }

  package func finish() -> String? { program?.finish() }
}

/// The progress and the result of opening, passed from its thread to the loop's.
private final class Outcome: Sendable {
  private let result = Mutex<Result<OpenedStore, any Error>?>(nil)
  private let progress = Mutex<(done: Int, total: Int, next: ContinuousClock.Instant)>((0, 0, .now))

  /// Notes how much was read. Returns true, at most four times a second, if that should be shown.
  func report(_ done: Int, of total: Int) -> Bool {
    progress.withLock { progress in
      (progress.done, progress.total) = (done, total)
      guard ContinuousClock.now >= progress.next else { return false }
      progress.next = .now + .milliseconds(250)
      return true
    }
  }

  var state: String {
    let (done, total, _) = progress.withLock { $0 }
    guard done > 0 else { return "opening…" }
    guard total > 0 else { return "reading for types… \(NumberFormat.count(done))" }
    return
      "reading… \(NumberFormat.count(done)) of \(NumberFormat.count(total))  \(NumberFormat.percent(done, of: total))"
  }

  func set(_ value: Result<OpenedStore, any Error>) { result.withLock { $0 = value } }

  func collect() -> Result<OpenedStore, any Error>? { result.withLock { $0.take() } }
}

extension Browser {
  /// The title alone: the panes appear with their contents, so that none is drawn twice.
  static func openingPicture(size: Size, name: String, state: String = "opening…", theme: Theme) -> CellGrid {
    guard !Layout.isTooSmall(size) else { return Layout.demand(for: size, name: name, quitting: "^c") }
    var grid = CellGrid(size: size)
    let width = min(SafeText.width(state), size.columns / 2)
    grid.write(name, at: Point(column: 1, row: 0), width: size.columns - width - 3, style: theme.style(.title))
    grid.write(state, at: Point(column: size.columns - width - 1, row: 0), width: width)
    return grid
  }
}
