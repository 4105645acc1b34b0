import StrataModel
import StoreBrowser
import StrataTerminal

// How the program is used, from the table of verbs.

extension VerbRun {
  func help() throws {
    guard let name = arguments.operand(0) else {
      try output.line("usage: \(Verb.browse.synopsis)")
      try output.line("       strata VERB …\n")
      for verb in Verb.all { try output.line("  \(SafeText.padded(verb.name, 12)) \(verb.summary)") }
      try output.line("\nstrata help VERB says more; man strata says all.")
      try output.line("Status: 0 fine, 1 failed or not found, 2 usage, 3 damaged or newer format, 4 locked.")
      return
    }
    guard let verb = Verb.named(name) else {
      let near = UnknownName.nearest(to: name, among: Verb.all.map(\.name))
      throw UsageError("“\(name)” is not a verb\(UnknownName.question(near)); strata help lists them")
    }
    try output.line("usage: \(verb.synopsis)\n\n\(verb.summary)")
    if !verb.details.isEmpty { try output.line(verb.details) }
    if !verb.options.isEmpty { try output.line("") }
    for option in verb.options {
      let name = option.value.map { "\(option.name) \($0)" } ?? option.name
      try output.line("  \(SafeText.padded(name, 26)) \(option.summary)")
    }
  }
}
