/// The reason that a terminal cannot be used, in one sentence for a person.
package enum TerminalProblem: Error, Hashable, Sendable, CustomStringConvertible {
  /// Standard input or output is not a terminal.
  case notATerminal(input: Bool)
  /// `TERM` names a terminal without a description on this machine.
  case unknownTerminal(String)
  /// The terminal cannot move its cursor.
  case noCursor(String)
  /// A system call failed; its message.
  case system(String)
  /// A script cannot be read or played.
  case script(String)

  package var description: String {
    switch self {
    case .notATerminal(let input):
      "standard \(input ? "input" : "output") is not a terminal; for pipes and scripts there are the verbs "
        + "info, records, get, history, diff, export and watch (strata --help)"
    case .unknownTerminal(""):
      "TERM is not set, so nothing is known about this terminal; try TERM=xterm-256color"
    case .unknownTerminal(let name):
      "TERM is “\(name)”, a terminal that this machine has no description of; try TERM=xterm-256color"
    case .noCursor(let name):
      "TERM is “\(name)”, a terminal that cannot move its cursor; try TERM=xterm-256color"
    case .system(let words):
      "the terminal cannot be opened: \(words)"
    case .script(let words):
      words
    }
  }
}
