package import StrataModel
import StrataFoundation
package import StrataTerminal
import StrataLocks
import StrataSystem

/// The browser as a program of the terminal's run loop: state, runtime and the files of external editors together.
package final class BrowserProgram: TerminalProgram {
  private var browser: Browser
  private let runtime: BrowserRuntime
  private let configuration: BrowserConfiguration
  private var editorFile: EditorFile?
  private var keyTime: ContinuousClock.Instant?
  private var hasDrawn = false

  package convenience init(_ opened: OpenedStore) { self.init(opened, nil) }

  init(_ opened: OpenedStore, _ parts: Browser.Parts?) {
    configuration = opened.configuration
    browser = Browser(configuration: configuration, store: opened.store, status: opened.status, parts: parts)
    runtime = opened.runtime
  }

  package func start(_ surroundings: TerminalSurroundings, wake: @escaping @Sendable () -> Void) -> [TerminalAction] {
    runtime.start(wake: wake)
    browser.session.theme = configuration.theme(in: surroundings)
    browser.session.clipboard = surroundings.clipboard
    browser.session.readsAsLines = surroundings.isReadAsLines
    let actions = actions(for: browser.start(size: surroundings.size))
    return configuration.settings.mouse ? actions : actions + [.mouse(false)]
  }

  package func respond(to event: TerminalEvent) -> [TerminalAction] {
    if case .key = event { keyTime = .now }
    if case .editorEnded(let end) = event {
      return actions(for: browser.update(with: .editorClosed(editorOutcome(end))))
    }
    return actions(for: browser.update(with: .event(event)))
  }

  package func respondToAnswers() -> [TerminalAction] {
    var result: [TerminalAction] = []
    for message in runtime.drainMessages() { result += actions(for: browser.update(with: message)) }
    return result
  }

  package func draw(size: Size) -> CellGrid {
    hasDrawn = true
    let grid = browser.picture(size: size)
    if let keyTime {
      browser.session.latency?.record(Int64((ContinuousClock.now - keyTime) / .nanoseconds(1)))
      self.keyTime = nil
    }
    return grid
  }

  package var isIdle: Bool { runtime.isIdle && browser.typeAhead.isEmpty }

  /// The reply to a key mostly arrives within a millisecond. The rows of the first picture take longer; until then the title is shown.
  package var picturePatience: Int { runtime.answersSoon ? hasDrawn ? 4 : 250 : 0 }

  package func finish() -> String? {
    runtime.stop(waits: !browser.leavesAtOnce)
    for message in runtime.drainMessages() {
      if case .work(let id, .failed) = message, id.slot == .staging { _ = browser.update(with: message) }
    }
    editorFile?.remove()
    return browser.farewell
  }

  private func actions(for effects: [Effect]) -> [TerminalAction] {
    var actions: [TerminalAction] = []
    for effect in effects {
      switch effect {
      case .start, .cancel, .clock: runtime.run(effect)
      case .edit(let request): edit(request, &actions)
      case .terminal(.copy(let text)): copy(text, &actions)
      case .terminal(let action): actions.append(action)
      }
    }
    return actions
  }

  private func copy(_ text: String, _ actions: inout [TerminalAction]) {
    guard text.utf8.count <= Clipboard.limit else {
      let (bytes, limit) = (NumberFormat.bytes(text.utf8.count), NumberFormat.bytes(Clipboard.limit))
      return browser.session.warn("\(bytes) are too much for the clipboard (\(limit)); s saves to a file")
    }
    actions.append(.copy(text))
  }

  private func edit(_ request: EditorRequest, _ actions: inout [TerminalAction]) {
    editorFile?.remove()
    guard let file = EditorFile(request) else {
      actions += self.actions(
        for: browser.update(
          with: .editorClosed(EditorOutcome(text: nil, problem: "no temporary file can be written for the editor"))))
      return
    }
    editorFile = file
    actions.append(.edit(path: file.path, line: request.line, column: request.column))
  }

  private func editorOutcome(_ end: EditorEnd) -> EditorOutcome {
    switch end {
    case .exited(status: 0):
      guard let text = editorFile?.text else { return kept("the edited file cannot be read as UTF-8") }
      editorFile?.remove()
      editorFile = nil
      return EditorOutcome(text: text)
    case .exited(let status): return kept("the editor ended with status \(status)")
    case .killed(let signal): return kept("the editor was ended by signal \(signal)")
    case .failed(let reason): return kept(reason)
    }
  }

  private func kept(_ reason: String) -> EditorOutcome {
    let path = editorFile?.path
    editorFile = nil
    return EditorOutcome(text: nil, problem: "\(reason); nothing was changed, the text lies at \(path ?? "?")")
  }
}

/// A store with what the browser must know of it at its first picture, and with the threads that follow it.
package struct OpenedStore: Sendable {
  let store: any ReadableStore
  let configuration: BrowserConfiguration
  let status: StoreStatus
  let runtime: BrowserRuntime

  /// Begins to follow the store, and reads its present writer. Blocks until its disk or its server answers.
  package init(
    _ store: any ReadableStore, configuration: BrowserConfiguration, files: BrowserFiles,
    warmUp: (any WarmUpDriver)? = nil
  ) {
    self.store = store
    var configuration = configuration
    configuration.canWarmUp = warmUp != nil
    runtime = BrowserRuntime(store: store, files: files, warmUp: warmUp)
    if let problem = runtime.follow() {
      configuration.isWatched = false
      configuration.greeting = "other programs' commits are not seen by themselves, F F looks: \(problem)"
    }
    self.configuration = configuration
    status = ReadPatience.$isNone.withValue(true) { StoreStatus(of: store) }
  }
}

/// A temporary file that only its owner can read.
private struct EditorFile {
  let path: String

  init?(_ request: EditorRequest) {
    var template = Array("\(FileOutput.temporaryFolder)/strata-XXXXXX.\(request.fileExtension)".utf8CString)
    let descriptor = mkstemps(&template, Int32(request.fileExtension.utf8.count + 1))
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    guard writeAll(Array(request.text.utf8), to: descriptor) else {
      remove()
      return nil
    }
  }

  var text: String? {
    (try? Data(contentsOf: URL(filePath: path))).flatMap { String(validating: $0, as: UTF8.self) }
  }

  func remove() { unlink(path) }
}

extension BrowserConfiguration {
  /// The theme that suits the terminal's abilities, unless the user chose one.
  func theme(in surroundings: TerminalSurroundings) -> Theme {
    var theme = self.theme
    if let chosen = settings.theme {
      theme.name = chosen
    } else {
      theme.name = surroundings.colors == 0 ? .plain : surroundings.colors >= 256 ? .refined : .standard
    }
    // Their colours have no counterparts among eight.
    if surroundings.colors < 16, [.dark, .light].contains(theme.name) { theme.name = .standard }
    if surroundings.colors == 0 { theme.name = .plain }
    theme.roles = settings.roles
    theme.isASCII = theme.isASCII || surroundings.isASCII
    theme.hasBraille = surroundings.hasBraille
    return theme
  }
}

extension Browser {
  /// Takes the theme for the terminal's background, unless the user chose one or the terminal has few colours.
  mutating func suit(isLight: Bool) {
    guard session.configuration.settings.theme == nil, [.refined, .dark, .light].contains(session.theme.name) else {
      return
    }
    session.theme.name = isLight ? .light : .dark
  }
}
