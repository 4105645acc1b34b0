import StrataTerminal

/// Writes the user's input to a script file, event by event, so that the file is whole even after a crash.
struct SessionRecorder {
  private let path: String
  private var recorder = ScriptRecorder()

  init(path: String, size: Size) {
    self.path = path
    _ = PlainFile.save(recorder.beginning(size: size), to: path)
  }

  mutating func add(_ event: TerminalEvent) {
    let piece = recorder.piece(for: event)
    if !piece.isEmpty { _ = PlainFile.save(piece, to: path, appending: true) }
  }

  func finish() { _ = PlainFile.save(recorder.ending(), to: path, appending: true) }
}
