import CStrataLibPQ
import StrataSystem

/// A text that is not a URL of a server.
package struct InvalidServerURL: Error, Hashable, Sendable, CustomStringConvertible {
  package var reason: String

  package var description: String { "this is not a URL of a server: \(reason)" }
}

/// The place of a store on a server: `postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE?schema=NAME&PARAMETER=VALUE`.
///
/// Every part may be left out; libpq takes a missing part from its environment, its service file and its password file. `schema` is ours
/// (“strata” by default). So is `prepared=no`, for poolers that keep no prepared statements, and `wait=SECONDS`, the time to wait for a
/// server that is gone. Every other parameter is one of libpq's.
package struct ServerURL: Hashable, Sendable, CustomStringConvertible {
  /// The schema whose tables are the store's.
  package private(set) var schema = "strata"
  /// Whether statements are prepared once for each connection.
  private(set) var prepares = true
  /// The time to wait for a server that is gone, in seconds; nil if the URL does not set it.
  private(set) var patience: Double?
  /// Words and values as libpq takes them, in the order given.
  private var parameters: [Parameter] = []

  private struct Parameter: Hashable, Sendable {
    var name: String
    var value: String
  }

  private static let schemes = ["postgres://", "postgresql://"]

  /// - Throws: An error that says which part is wrong and quotes neither user nor password.
  package init(parsing text: String) throws(InvalidServerURL) {
    guard let scheme = Self.schemes.first(where: { text.hasPrefix($0) }) else {
      throw InvalidServerURL(reason: "it begins with postgres://")
    }
    guard !text.utf8.contains(0) else { throw InvalidServerURL(reason: "it holds a zero character") }
    var rest = text.dropFirst(scheme.count)
    let query = Self.cut(&rest, at: "?")
    if rest.contains("#") || query.contains("#") {
      throw InvalidServerURL(reason: "a “#” in it must be written %23")
    }
    let database = Self.cut(&rest, at: "/")
    if database.contains("@") || database.contains("/") {
      throw InvalidServerURL(
        reason: "an “@” or “/” in the user, the password or the database must be written %40 or %2F")
    }
    if let at = rest.lastIndex(of: "@") {
      let user = rest[..<at]
      rest = rest[rest.index(after: at)...]
      if user.contains("@") { throw InvalidServerURL(reason: "an “@” in the user or the password must be written %40") }
      let parts = user.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      if !parts[0].isEmpty { parameters.append(Parameter(name: "user", value: try Self.decode(parts[0], "user"))) }
      if parts.count > 1 {
        parameters.append(Parameter(name: "password", value: try Self.decode(parts[1], "password")))
      }
    }
    try parseHosts(rest)
    if !database.isEmpty {
      parameters.append(Parameter(name: "dbname", value: try Self.decode(database, "database")))
    }
    for pair in query.split(separator: "&") { try parseParameter(pair) }
  }

  /// Cuts a text off at a character, and returns the rest behind it.
  private static func cut(_ text: inout Substring, at mark: Character) -> Substring {
    guard let place = text.firstIndex(of: mark) else { return "" }
    defer { text = text[..<place] }
    return text[text.index(after: place)...]
  }

  private mutating func parseHosts(_ text: Substring) throws(InvalidServerURL) {
    guard !text.isEmpty else { return }
    var hosts: [String] = []
    var ports: [String] = []
    for host in text.split(separator: ",", omittingEmptySubsequences: false) {
      var name = host
      var port: Substring = ""
      if host.hasPrefix("[") {
        guard let end = host.firstIndex(of: "]") else {
          throw InvalidServerURL(reason: "an address in brackets has no end")
        }
        name = host[host.index(after: host.startIndex)..<end]
        let behind = host[host.index(after: end)...]
        guard behind.isEmpty || behind.hasPrefix(":") else {
          throw InvalidServerURL(reason: "behind an address in brackets comes “:” and the port")
        }
        port = behind.dropFirst()
      } else {
        port = Self.cut(&name, at: ":")
      }
      guard port.isEmpty || (1...65_535).contains(Int(port) ?? 0) else {
        throw InvalidServerURL(reason: "a port is a number from 1 to 65535")
      }
      hosts.append(try Self.decode(name, "host"))
      ports.append(String(port))
    }
    parameters.append(Parameter(name: "host", value: hosts.joined(separator: ",")))
    if ports.contains(where: { !$0.isEmpty }) {
      parameters.append(Parameter(name: "port", value: ports.joined(separator: ",")))
    }
  }

  private mutating func parseParameter(_ pair: Substring) throws(InvalidServerURL) {
    let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = try Self.decode(parts[0], "name of a parameter")
    guard parts.count == 2 else { throw InvalidServerURL(reason: "the parameter “\(name)” has no value") }
    let value = try Self.decode(parts[1], "parameter “\(name)”")
    switch name {
    case "schema":
      guard !value.isEmpty, value.utf8.count <= 63 else {
        throw InvalidServerURL(reason: "a schema's name has 1 to 63 bytes")
      }
      schema = value
    case "prepared":
      guard value == "yes" || value == "no" else { throw InvalidServerURL(reason: "prepared is yes or no") }
      prepares = value == "yes"
    case "wait":
      guard let seconds = Double(value), (0...86_400).contains(seconds) else {
        throw InvalidServerURL(reason: "wait is a number of seconds")
      }
      patience = seconds
    default:
      // If libpq cannot be loaded, connecting reports it.
      guard Self.words.isEmpty || Self.words.contains(name) else {
        throw InvalidServerURL(reason: "there is no parameter “\(name)”")
      }
      parameters.removeAll { $0.name == name }
      parameters.append(Parameter(name: name, value: value))
    }
  }

  private static func decode(_ text: Substring, _ what: String) throws(InvalidServerURL) -> String {
    var bytes: [UInt8] = []
    var rest = text.utf8
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16), value > 0
      else {
        throw InvalidServerURL(reason: "in the \(what), “%” is not followed by two hexadecimal digits; a “%” is %25")
      }
      rest = rest.dropFirst(2)
      bytes.append(value)
    }
    guard let decoded = String(validating: bytes, as: UTF8.self) else {
      throw InvalidServerURL(reason: "the \(what) is not UTF-8")
    }
    return decoded
  }

  // MARK: For libpq

  /// Every parameter that this libpq knows.
  private static let words: Set<String> = {
    var words: Set<String> = []
    guard let options = PQconndefaults() else { return words }
    defer { PQconninfoFree(options) }
    var option = options
    while let keyword = option.pointee.keyword {
      words.insert(String(cString: keyword))
      option += 1
    }
    return words
  }()

  /// The parameters of a connection: those of the URL, and our defaults for those that it does not set.
  func words(program: String) -> [(name: String, value: String)] {
    var words = parameters.map { (name: $0.name, value: $0.value) }
    // Every text of a store is UTF-8, whatever the settings of the role, of the database or of this process's environment.
    words.removeAll { $0.name == "client_encoding" }
    words.append(("client_encoding", "UTF8"))
    // A firewall forgets idle connections, and a server that is gone sends nothing: both are found out in half a minute.
    for (name, value) in [
      ("fallback_application_name", program), ("connect_timeout", "10"), ("keepalives_idle", "30"),
      ("keepalives_interval", "5"), ("keepalives_count", "3"), ("tcp_user_timeout", "20000"),
    ] where !parameters.contains(where: { $0.name == name }) {
      words.append((name, value))
    }
    // libpq reports on the program's error output that it does not read such a file. If the file does not exist, it reports nothing.
    if let file = openPasswordFile {
      words.removeAll { $0.name == "passfile" }
      words.append(("passfile", file + "/"))
    }
    return words
  }

  /// The password file, if libpq does not read it because others may read it, or because it is not a regular file.
  var openPasswordFile: String? {
    func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
    let path =
      parameters.first { $0.name == "passfile" }?.value ?? variable("PGPASSFILE")
      ?? variable("HOME").map { $0 + "/.pgpass" }
    var status = stat()
    guard let path, stat(path, &status) == 0 else { return nil }
    return status.st_mode & S_IFMT == S_IFREG && status.st_mode & 0o077 == 0 ? nil : path
  }

  /// Removes the passwords from a text.
  func redact(_ text: String) -> String {
    var text = text
    for secret in parameters where Self.isSecret(secret.name) && !secret.value.isEmpty {
      text = text.split(separator: secret.value, omittingEmptySubsequences: false).joined(separator: "…")
    }
    return text
  }

  private static func isSecret(_ name: String) -> Bool { name.hasSuffix("password") }

  /// The URL as it may be shown: without a password.
  package var description: String {
    func value(_ name: String) -> String? { parameters.first { $0.name == name }?.value }
    var text = "postgres://"
    if let user = value("user") { text += Self.encode(user) + "@" }
    let host = value("host") ?? ""
    let isSocket = host.hasPrefix("/")
    let ports = (value("port") ?? "").split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    let hosts = host.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    // One port may be that of all hosts.
    let hasPortEach = !isSocket && ports.count == hosts.count
    if !isSocket {
      text += hosts.enumerated().map { place, host in
        let port = hasPortEach ? ports[place] : ""
        return (host.contains(":") ? "[\(host)]" : Self.encode(host)) + (port.isEmpty ? "" : ":\(port)")
      }.joined(separator: ",")
    }
    if let database = value("dbname") { text += "/" + Self.encode(database) }
    var rest: [String] = []
    if isSocket { rest.append("host=\(Self.encode(host, keeping: "/"))") }
    if !hasPortEach, let port = value("port") { rest.append("port=\(port)") }
    for parameter in parameters where !["user", "host", "port", "dbname"].contains(parameter.name) {
      if !Self.isSecret(parameter.name) { rest.append("\(parameter.name)=\(Self.encode(parameter.value))") }
    }
    if !prepares { rest.append("prepared=no") }
    if let patience { rest.append("wait=\(patience == patience.rounded() ? "\(Int(patience))" : "\(patience)")") }
    if schema != "strata" { rest.append("schema=\(Self.encode(schema))") }
    return text + (rest.isEmpty ? "" : "?" + rest.joined(separator: "&"))
  }

  private static func encode(_ text: String, keeping kept: String = "") -> String {
    var encoded = ""
    for scalar in text.unicodeScalars {
      let isPlain =
        scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || "-._~".unicodeScalars.contains(scalar)
      if isPlain || kept.unicodeScalars.contains(scalar) {
        encoded.unicodeScalars.append(scalar)
      } else {
        for byte in String(scalar).utf8 {
          encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }
      }
    }
    return encoded
  }
}
