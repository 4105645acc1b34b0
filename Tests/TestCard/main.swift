import CursesTerminal
import Glibc

do {
  let file = CommandLine.arguments.dropFirst().first
  exit(try TerminalSession().run { TestCard(editedPath: file) })
} catch {
  print("terminal-card: \(error)")
  exit(1)
}
