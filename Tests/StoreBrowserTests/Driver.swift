import StrataModel
import StrataEngine
import StrataTerminal
import Testing

@testable import StoreBrowser

/// Drives a browser as a person would, all its work done at once on the spot: no threads, no waiting.
final class Driver {
  var browser: Browser
  let store: any ReadableStore
  let files: BrowserFiles
  let warmUp: (any WarmUpDriver)?
  /// Effects that are the terminal's.
  private(set) var outward: [Effect] = []
  /// Work in the order in which it was started.
  private(set) var works: [any Question] = []
  /// Keeps work from running, so that a test can look in between.
  var isHolding = false
  private(set) var held: [(WorkID, any Question)] = []
  var size: Size

  init(
    _ store: any ReadableStore, size: Size = Size(columns: 80, rows: 24), start: BrowserConfiguration.Start = .init(),
    files: BrowserFiles = .none, warmUp: (any WarmUpDriver)? = nil, isHolding: Bool = false,
    configure: (inout BrowserConfiguration) -> Void = { _ in }
  ) {
    var configuration = BrowserConfiguration()
    configuration.start = start
    configuration.time = .utc
    configuration.clock = { Sample.now }
    configuration.canWarmUp = warmUp != nil
    configure(&configuration)
    self.store = store
    self.files = files
    self.warmUp = warmUp
    self.isHolding = isHolding
    self.size = size
    browser = Browser(configuration: configuration, store: store)
    run(browser.start(size: size))
  }

  /// Presses keys written as the command table writes them: `j j Enter`, `g g`.
  func press(_ keys: String) {
    for chord in KeyChord.sequence(keys) ?? [] { tell(.event(.key(chord))) }
  }

  /// Types text as it stands.
  func type(_ text: String) {
    for character in text { tell(.event(.key(KeyChord(writing: character)))) }
  }

  func tell(_ message: Message) { run(browser.update(with: message)) }

  func resize(_ size: Size) {
    self.size = size
    tell(.event(.resize(size)))
  }

  /// Does what was held back.
  func release() {
    isHolding = false
    let waiting = held
    held = []
    for (id, work) in waiting { answer(work, id) }
  }

  /// Does the oldest of what is held back; what follows from it is held back again.
  func releaseOne() {
    guard !held.isEmpty else { return }
    let (id, work) = held.removeFirst()
    answer(work, id)
  }

  /// Does the first of what is held back that is of a kind.
  func releaseFirst(_ isMeant: (WorkID) -> Bool) {
    guard let place = held.firstIndex(where: { isMeant($0.0) }) else { return }
    let (id, work) = held.remove(at: place)
    answer(work, id)
  }

  /// Does all that is held back of a kind, and what follows from it of that kind.
  func releaseAll(where isMeant: (WorkID) -> Bool) {
    while held.contains(where: { isMeant($0.0) }) { releaseFirst(isMeant) }
  }

  private func run(_ effects: [Effect]) {
    for effect in effects {
      switch effect {
      case .start(let id, let work):
        works.append(work)
        if isHolding { held.append((id, work)) } else { answer(work, id) }
      case .cancel(let id): held.removeAll { $0.0 == id }
      default: outward.append(effect)
      }
    }
  }

  private func answer(_ work: any Question, _ id: WorkID) {
    let progress = Collected()
    let context = WorkContext(store: store, files: files, warmUp: warmUp, report: { progress.add($0) })
    let report = work.report(in: context)
    for found in progress.all { tell(.work(id, .progress(found))) }
    tell(.work(id, report))
  }

  // MARK: Looking

  /// The screen, as the program draws it. Every picture of every test is compared with one that is drawn anew.
  var grid: CellGrid {
    let picture = browser.picture(size: size)
    let anew = browser.draw(size: size)
    if picture != anew {
      Issue.record("a pane changed and was not drawn again:\n\(picture.text())\nis\n\(anew.text())")
    }
    return picture
  }
  var lines: [String] { grid.lines() }
  var screen: String { grid.text() }
  var title: String { lines.first ?? "" }
  /// The foot, with all lines of a long message; while a prompt is open, its line, which is above the foot.
  var status: String {
    if browser.overlays.last is Prompt { return lines[lines.count - 2] }
    let foot = lines.suffix(browser.messageRows)
    return foot.count == 1 ? lines[lines.count - 1] : foot.map(\.trimmed).joined(separator: " ")
  }
  var keys: String { lines.last ?? "" }

  func shows(_ text: String) -> Bool { screen.contains(text) }

  var selectedIdentifier: String? { browser.table.selectedIdentifier(browser.session)?.description }

  var farewell: String? { hasQuit ? browser.farewell : nil }

  var hasQuit: Bool { hasAsked(for: .quit()) }

  func hasAsked(for action: TerminalAction) -> Bool {
    outward.contains { if case .terminal(action) = $0 { true } else { false } }
  }

  var copied: String? {
    for effect in outward.reversed() { if case .terminal(.copy(let text)) = effect { return text } }
    return nil
  }

  var editorRequest: EditorRequest? {
    for effect in outward.reversed() { if case .edit(let request) = effect { return request } }
    return nil
  }
}

/// Progress as it comes from working code.
private final class Collected: Sendable {
  private let list = Locked<[Progress]>([])
  func add(_ progress: Progress) { list.with { $0.append(progress) } }
  var all: [Progress] { list.with { $0 } }
}
