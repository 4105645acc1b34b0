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
    var shown = picture.plainLines()
    show(shown)
    while status == nil, let line = readLine() {
      let steps: [Script.Step]
      do {
        steps = try Self.steps(line)
      } catch {
        print(error.message)
        continue
      }
      for step in steps where status == nil { picture = try play(step, after: picture) }
      guard status == nil else { break }
      let now = picture.plainLines()
      let known = Set(shown)
      show(steps.isEmpty ? now : now.filter { !known.contains($0) })
      shown = now
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
