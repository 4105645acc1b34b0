import StoreBrowser
import StrataExchange
import StrataModel
import StrataSystem

/// Opens the store behind ssh that a URL names: `strata` must be installed on the other side.
///
/// It connects before a browser takes the screen, so ssh may ask for a password on the terminal.
func openRemote(_ text: String, readOnly: Bool) throws(ModelError) -> RemoteStore {
  let location = try remoteLocation(text)
  let isWatched = isatty(2) != 0
  func show(_ text: String) { if isWatched { writeError(text) } }
  show("connecting to \(location.text)…")
  defer { show("\r\u{1B}[K") }
  return try RemoteStore(location, readOnly: readOnly, mayAsk: true)
}

/// The location that a URL names.
func remoteLocation(_ text: String) throws(ModelError) -> RemoteLocation {
  do throws(ExchangeError) {
    return try RemoteLocation(parsing: text)
  } catch {
    throw .invalid(text: text, column: nil, reason: error.description)
  }
}

extension VerbRun {
  private static let verbsOverLine: Set<String> = [
    "info", "records", "get", "history", "blame", "describe", "diff", "export", "references", "watch", "delete",
    "undo", "redo", "restore", "pin", "clone",
  ]

  /// Throws if the store is behind ssh and the verb must run where the store is, or is to make one there.
  func requireFileHere() throws(ModelError) {
    if ["copy", "clone", "convert", "salvage"].contains(arguments.verb.name), let made = arguments.operand(1),
      RemoteLocation.isSSH(made)
    {
      throw .refused(
        reason: "\(arguments.verb.name) makes a store on this computer, and \(shownLocation(made)) is on another one: "
          + "make it here, and bring it there")
    }
    guard let text = arguments.operand(0), RemoteLocation.isSSH(text),
      case .ssh(let user, let host, let port, let path) = try remoteLocation(text)
    else { return }
    let verb = arguments.verb.name
    let needsFile = ["--history", "--interchange", "--entities"].contains { verb == "export" && arguments.has($0) }
    guard Self.verbsOverLine.contains(verb), !needsFile, verb != "delete" || !arguments.has("--where") else {
      let shell = "ssh \(port.map { "-p \($0) " } ?? "")\(user.map { "\($0)@" } ?? "")\(host)"
      let there = path.hasPrefix("/~/") ? String(path.dropFirst()) : path
      throw .refused(
        reason:
          "\(verb) works on a store that lies on this computer: run it there (\(shell) strata \(verb) \(there)), or "
          + "strata clone '\(text)' PATH makes a copy here")
    }
  }
}
