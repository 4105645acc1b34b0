import CStrataCurses
import StrataTerminal

/// A session on standard input and output, for braille displays, screen readers, speech and pipes.
///
/// It prints every pane as lines, without borders and never two side by side; then it reads a line, which is keys
/// (`j j Enter`, `gg`) or any step of a script (`: go 12`, `type Zürich`), and prints what has changed since, each line
/// once. An empty line prints everything again. It ends with the input.
extension ScriptPlayer {
  mutating func playLines() throws(TerminalProblem) -> Int32 {
    var picture = try start(isReadAsLines: true)
    var shown = picture.plainLines(isASCII: isASCII)
    show(shown)
    while status == nil, let line = readLine() {
      let known = line.isEmpty ? [] : Set(shown)
      do {
        for step in try Self.steps(line) where status == nil { picture = try play(step, after: picture) }
      } catch {
        // The session goes on behind a mistake, and behind a picture that cannot be saved.
        print((error as? Script.Problem)?.message ?? "\(error)")
      }
      guard status == nil else { break }
      shown = picture.plainLines(isASCII: isASCII)
      show(shown.filter { !known.contains($0) })
    }
    if let farewell = program.finish() { print(farewell) }
    return status ?? 0
  }

  /// A step of a script, or else keys.
  private static func steps(_ line: String) throws(Script.Problem) -> [Script.Step] {
    guard !Script.isStep(line), let chords = KeyChord.sequence(line) else { return try Script(parsing: line).steps }
    return chords.map { .event(.key($0)) }
  }

  private func show(_ lines: [String]) {
    _ = PlainFile.save(lines.map { $0 + "\n" }.joined(), to: "-")
  }
}
