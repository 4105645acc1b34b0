import StoreBrowser

// The manual and the completions, as `make install` puts them in place.

extension VerbRun {
  func manual() throws {
    switch arguments.operand(0) ?? "strata.1" {
    case "strata.1": try output.bytes(ManualPage.program.utf8)
    case "strata.5": try output.bytes(ManualPage.configuration.utf8)
    case let page: throw UsageError("there is no page “\(page)”; there are strata.1 and strata.5", verb: arguments.verb)
    }
  }

  func completions() throws {
    let shell = try required(0)
    guard let script = Completions.script(for: shell) else {
      throw UsageError(
        "no completions for “\(shell)”; there are \(Completions.shells.joined(separator: ", "))", verb: arguments.verb)
    }
    try output.bytes(script.utf8)
  }
}
