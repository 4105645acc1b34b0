import StrataModel
import StrataDocuments
import StrataEngine

/// Another copy of a store, by its name here.
package struct Remote: Hashable, Sendable {
  package var name: String
  /// As the user wrote it.
  package var location: String
  /// The time when an exchange with it last succeeded, in nanoseconds since 1970.
  package var exchangedAt: Int64?

  package init(name: String, location: String, exchangedAt: Int64? = nil) {
    self.name = name
    self.location = location
    self.exchangedAt = exchangedAt
  }
}

/// The file `remotes` in a store's folder: names and locations of other copies. It is not part of the history.
///
///     strata remotes 1 1f3a0c77
///     {"name":"laptop","location":"../laptop.strata","exchanged":"2026-11-20T13:55:35.544123456Z"}
///
/// The first line has the CRC-32C of all that follows. The file is written under another name and renamed.
package struct RemotesFile {
  private let path: String
  private static let head = "strata remotes 1 "

  package init(storeAt folder: String) { path = folder + "/remotes" }

  /// The reason a store on a server has no remotes.
  package static let refusalOfServer =
    "A store on a server keeps no remotes, for it is one itself: strata clone URL PATH makes a store file that exchanges with it"

  package func read() throws -> [Remote] {
    guard (try? SystemDisk().status(path) != nil) ?? true else { return [] }
    let reader = try LineReader(path: path)
    // One that is being made for the first remote is empty.
    guard let first = try reader.next() else { return [] }
    guard String(decoding: first, as: UTF8.self).hasPrefix(Self.head) else {
      throw ModelError.unreadable(what: path, where: "it is not a list of remotes")
    }
    var remotes: [Remote] = []
    var check: UInt32 = 0
    while let line = try reader.next() {
      check = crc32c(check, line + [UInt8(ascii: "\n")])
      guard let parsed = StreamLine(line), let name = parsed.text("name"), let location = parsed.text("location") else {
        throw ModelError.unreadable(what: path, where: "line \(remotes.count + 2) is not a remote")
      }
      remotes.append(
        Remote(name: name, location: location, exchangedAt: parsed.text("exchanged").flatMap(MomentText.nanoseconds)))
    }
    guard String(decoding: first, as: UTF8.self) == Self.head + Self.text(check) else {
      throw ModelError.unreadable(
        what: path, where: "its check is another one; take the file away and add the remotes again")
    }
    return remotes
  }

  /// Changes the list under the lock of its file, which keeps a change by another process from being lost.
  private func change(_ body: (inout [Remote]) throws -> Void) throws {
    let locked = try SystemDisk().createLocked(path, patience: 10) { _ in
      .busy(what: "another program changes \(path)")
    }
    defer { withExtendedLifetime(locked) {} }
    var remotes = try read()
    try body(&remotes)
    try write(remotes)
  }

  private func write(_ remotes: [Remote]) throws {
    var lines: [UInt8] = []
    for remote in remotes.sorted(by: { $0.name < $1.name }) {
      var members: [Document.Member] = [
        .init("name", .string(remote.name)), .init("location", .string(remote.location)),
      ]
      if let date = remote.exchangedAt { members.append(.init("exchanged", .string(MomentText.text(date)))) }
      lines += StreamLine.bytes(members)
    }
    let bytes = Array((Self.head + Self.text(crc32c(0, lines)) + "\n").utf8) + lines
    try DurableFile.replace(path, with: bytes)
  }

  private static func text(_ check: UInt32) -> String { String(Hexadecimal.text(of: UInt64(check)).suffix(8)) }

  /// The location of a remote.
  package func remote(_ name: String) throws -> Remote {
    let remotes = try read()
    guard let remote = remotes.first(where: { $0.name == name }) else {
      throw ExchangeError.noSuchRemote(name, known: remotes.map(\.name))
    }
    return remote
  }

  package func add(_ remote: Remote) throws {
    if RemoteLocation.isServer(path) { throw ModelError.refused(reason: Self.refusalOfServer) }
    try Self.check(remote.name)
    _ = try RemoteLocation(parsing: remote.location)
    try change { remotes in
      if remotes.contains(where: { $0.name == remote.name }) { throw ExchangeError.remoteExists(remote.name) }
      remotes.append(remote)
    }
  }

  func recordExchange(with name: String, at moment: Int64) throws {
    guard try read().contains(where: { $0.name == name }) else { return }
    try change { remotes in
      for place in remotes.indices where remotes[place].name == name { remotes[place].exchangedAt = moment }
    }
  }

  package func remove(_ name: String) throws {
    _ = try remote(name)
    try change { $0.removeAll { $0.name == name } }
  }

  /// Names occur in the names of commits and on command lines.
  private static func check(_ name: String) throws(ExchangeError) {
    let isPlain = name.unicodeScalars.allSatisfy {
      ("a"..."z").contains($0) || ("A"..."Z").contains($0) || ("0"..."9").contains($0) || ["-", "_", "."].contains($0)
    }
    guard isPlain, 1...60 ~= name.utf8.count, !name.hasPrefix("-"), !name.hasPrefix(".") else {
      throw .invalidRemote(name, reason: "a remote's name has 1 to 60 letters, digits, “-”, “_” and “.”")
    }
  }
}
