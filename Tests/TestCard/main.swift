import StrataCurses
import Glibc
import StrataTerminal

// terminal-card [FILE]                     on the terminal; E edits FILE
// terminal-card --plain                    as lines
// terminal-card --script FILE SIZE DUMP    without one
let words = CommandLine.arguments.dropFirst()
var session = TerminalSession()
if words.first == "--script", words.count == 4, let size = Size(CommandLine.arguments[3]) {
  session.place = .script(path: CommandLine.arguments[2], size: size, dump: CommandLine.arguments[4])
}
if words.first == "--plain" { session.place = .lines(size: Size(columns: 80, rows: 24)) }
do {
  exit(try session.run { TestCard(editedPath: words.first) })
} catch {
  print("terminal-card: \(error)")
  exit(1)
}
