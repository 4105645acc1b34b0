/// A session as a file: the user's actions, one step per line. `:record` writes it, `--script` plays it.
///
///     # the first line that is not a comment may give the size
///     resize 80x24
///     keys j gg Enter           keys between spaces, as in the key table; two letters are two keys
///     type San Francisco        each character is a key; in quotes where spaces at the ends matter
///     : population > 1000000    the same as `keys :`, the text, `keys Enter`
///     paste "two\nlines"
///     click 12,5   wheel-up 12,5   wheel-down 12,5    column and row from 1
///     screen books.txt          saves the picture: text, or SVG if the name ends with .svg
///
/// After every event the player waits until the program is idle, so that a script needs no pauses.
package struct Script: Hashable, Sendable {
  package enum Step: Hashable, Sendable {
    case event(TerminalEvent)
    /// Save the present picture under this name.
    case saveScreen(path: String)
  }

  /// Why a file is not a valid script.
  package struct Problem: Error, Hashable, Sendable, CustomStringConvertible {
    /// The line, from 1.
    package var line: Int
    package var message: String
    /// `line 3: no key is called “Entr”`.
    package var description: String { "line \(line): \(message)" }
  }

  package var steps: [Step]

  /// Reads a script.
  package init(parsing text: String) throws(Problem) {
    steps = []
    let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
    for (number, line) in lines.enumerated() {
      let words = line.drop { $0 == " " }
      guard let first = words.first, first != "#" else { continue }
      do {
        steps += try Self.steps(words)
      } catch {
        throw Problem(line: number + 1, message: error.message)
      }
    }
  }

  /// Whether a line begins with the name of a step, or is a comment, which distinguishes it from bare keys. `#` alone is a key.
  package static func isStep(_ line: String) -> Bool {
    let words = line.drop { $0 == " " }
    guard let first = words.first else { return true }
    return first == "#" && words.count > 1 || first == ":" || verbs.contains(String(words.prefix { $0 != " " }))
  }

  private static let verbs: Set<String> = [
    "keys", "type", "paste", "screen", "resize", "click", "wheel-up", "wheel-down",
  ]

  private struct Mistake: Error {
    var message: String
  }

  private static func steps(_ line: Substring) throws(Mistake) -> [Step] {
    if line.first == ":" {
      let command = line.dropFirst().drop { $0 == " " }
      return typed(":" + command) + [.event(.key(KeyChord(.enter)))]
    }
    let verb = line.prefix { $0 != " " }
    let rest = line.dropFirst(verb.count).drop { $0 == " " }
    switch verb {
    case "keys":
      return try rest.split(separator: " ").map { word throws(Mistake) in try keys(word) }.flatMap { $0 }
    case "type": return typed(try unquoted(rest))
    case "paste": return [.event(.paste(String(try unquoted(rest))))]
    case "screen" where !rest.isEmpty: return [.saveScreen(path: String(rest))]
    case "resize":
      guard let size = Size(String(rest)) else { throw Mistake(message: "“\(rest)” is not a size like 80x24") }
      return [.event(.resize(size))]
    case "click":
      let point = try point(rest)
      return [.press(button: 1), .release(button: 1)].map { .event(.mouse(MouseEvent(kind: $0, point: point))) }
    case "wheel-up": return [.event(.mouse(MouseEvent(kind: .wheelUp, point: try point(rest))))]
    case "wheel-down": return [.event(.mouse(MouseEvent(kind: .wheelDown, point: try point(rest))))]
    default:
      let known = (verbs.sorted() + [":"]).joined(separator: ", ")
      throw Mistake(message: "no step is called “\(verb)”; steps are \(known)")
    }
  }

  /// A chord, or two letters that are one sequence, such as `gg`. A longer word that is not a key is an error.
  private static func keys(_ word: Substring) throws(Mistake) -> [Step] {
    if let chord = KeyChord(String(word)) { return [.event(.key(chord))] }
    guard word.count == 2 else { throw Mistake(message: "no key is called “\(word)”") }
    return typed(word)
  }

  private static func typed(_ text: some StringProtocol) -> [Step] {
    text.map { .event(.key(KeyChord(writing: $0))) }
  }

  private static func point(_ text: Substring) throws(Mistake) -> Point {
    let parts = text.split(separator: ",")
    guard parts.count == 2, let column = Int(parts[0]), let row = Int(parts[1]), column > 0, row > 0 else {
      throw Mistake(message: "“\(text)” is not a place like 12,5")
    }
    return Point(column: column - 1, row: row - 1)
  }

  private static func unquoted(_ text: Substring) throws(Mistake) -> Substring {
    guard text.first == "\"" else { return text }
    var result = ""
    var rest = text.dropFirst()
    while let character = rest.popFirst() {
      switch character {
      case "\"": return Substring(result)
      case "\\":
        switch rest.popFirst() {
        case "n": result += "\n"
        case "r": result += "\r"
        case "t": result += "\t"
        case "e": result += "\u{1B}"
        case let escaped?: result.append(escaped)
        case nil: break
        }
      default: result.append(character)
      }
    }
    throw Mistake(message: "the quotes are not closed")
  }
}
