/// The location of another copy of a store, as people write it.
package enum RemoteLocation: Hashable, Sendable {
  /// On this machine.
  case path(String)
  /// If `user` or `port` is nil, ssh decides.
  case ssh(user: String?, host: String, port: Int?, path: String)
  /// A folder that another program or a person carries to other machines.
  case folder(String)
  /// A store on a database server, by a URL without a password.
  case server(String)

  /// Reads a path, `ssh://[user@]host[:port]/path`, `[user@]host:path`, `folder:PATH`, or `postgres://…`.
  package init(parsing text: String) throws(ExchangeError) {
    func refuse(_ reason: String) -> ExchangeError { .invalidRemote(text, reason: reason) }
    guard !text.isEmpty, !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) else {
      throw refuse("a location is a path, ssh://host/path, host:path, folder:PATH or postgres://…")
    }
    if Self.isServer(text) {
      self = try Self.withoutPassword(text)
    } else if text.hasPrefix("folder:") {
      guard text.count > 7 else { throw refuse("folder: needs a PATH") }
      self = .folder(String(text.dropFirst(7)))
    } else if Self.isSSH(text) {
      let rest = text.dropFirst(6)
      guard let slash = rest.firstIndex(of: "/") else { throw refuse("ssh://host/path needs a path") }
      self = try Self.ssh(String(rest[..<slash]), path: String(rest[slash...]), hasPort: true, refuse)
    } else if let mark = text.firstRange(of: "://") {
      throw refuse("\(text[..<mark.lowerBound]):// is not a kind of remote that this program knows")
    } else if let colon = text.firstIndex(of: ":"), !text[..<colon].contains("/") {
      let path = String(text[text.index(after: colon)...])
      guard !path.isEmpty else { throw refuse("host:path needs a path") }
      self = try Self.ssh(String(text[..<colon]), path: path, hasPort: false, refuse)
    } else {
      self = .path(text)
    }
  }

  /// Whether a text is meant as the URL of a store behind ssh.
  package static func isSSH(_ text: String) -> Bool { text.hasPrefix("ssh://") }

  /// The location in one way of writing, for messages and for what is kept beside it.
  package var text: String {
    switch self {
    case .path(let path): path
    case .ssh(let user, let host, let port, let path):
      "ssh://\(user.map { "\($0)@" } ?? "")\(host)\(port.map { ":\($0)" } ?? "")\(path.hasPrefix("/") ? "" : "/")\(path)"
    case .folder(let path): "folder:\(path)"
    case .server(let url): url
    }
  }

  /// Whether a text is meant as the URL of a store on a server.
  package static func isServer(_ text: String) -> Bool {
    ["postgres://", "postgresql://"].contains { text.hasPrefix($0) }
  }

  /// A remote is stored and shown, so it has no password; an error quotes nothing of a location with one.
  private static func withoutPassword(_ text: String) throws(ExchangeError) -> Self {
    let mark = text.firstRange(of: "://")?.upperBound ?? text.startIndex
    let query = text[mark...].firstIndex(of: "?").map { text[text.index(after: $0)...] } ?? ""
    let user = text[mark...].lastIndex(of: "@").map { text[mark..<$0] } ?? ""
    let hasPassword = query.split(separator: "&").contains { parameter in
      let name = parameter.prefix { $0 != "=" }
      return name.contains("%") || name.lowercased().hasSuffix("password")
    }
    guard !hasPassword, !user.contains(":") else {
      throw .invalidRemote(
        "postgres://…",
        reason:
          "a remote is kept without a password: leave it out, and give it by PGPASSWORD, ~/.pgpass or a service file")
    }
    try ServerRemotes.installed?.check(text)
    return .server(text)
  }

  private static func ssh(
    _ authority: String, path: String, hasPort: Bool, _ refuse: (String) -> ExchangeError
  ) throws(ExchangeError) -> Self {
    var host = authority[...]
    var user: String?
    var port: Int?
    if let at = host.lastIndex(of: "@") {
      user = String(host[..<at])
      guard user?.contains(":") == false else {
        throw .invalidRemote("ssh://…", reason: "a remote is kept without a password: leave it out, ssh has keys")
      }
      host = host[host.index(after: at)...]
    }
    if hasPort, let colon = host.lastIndex(of: ":"), !host.hasSuffix("]") {
      guard let number = Int(host[host.index(after: colon)...]), 1...65535 ~= number else {
        throw refuse("the port is a number from 1 to 65535")
      }
      port = number
      host = host[..<colon]
    }
    // ssh would take a host or user that begins with a dash for an option.
    guard !host.isEmpty, !host.hasPrefix("-"), user.map({ !$0.isEmpty && !$0.hasPrefix("-") }) ?? true,
      !(String(host) + (user ?? "")).contains(where: \.isWhitespace)
    else { throw refuse("“\(authority)” is not a host") }
    return .ssh(user: user, host: String(host), port: port, path: path)
  }
}
