package import StrataModel

/// Opens the other copy that a location leads to.
package struct RemotePeers {
  private let client: ServerRemotes.Client
  private let mayAsk: Bool

  /// - Parameters:
  ///   - mayAsk: Whether the terminal is free for ssh's questions.
  ///   - notice: Called on any thread with a sentence when a server is waited for.
  package init(
    program: String, author: String, now: Int64, mayAsk: Bool = true,
    notice: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    client = ServerRemotes.Client(program: program, author: author, now: now, notice: notice)
    self.mayAsk = mayAsk
  }

  /// Opens a remote of a store; relative paths begin in the folder of the store.
  ///
  /// - Throws: `ExchangeError`, or `ModelError` if a path leads to no store. An error of ssh comes with the first call.
  package func open(_ remote: Remote, of store: EngineStore) throws -> any Peer {
    let folder = store.path.lastIndex(of: "/").map { String(store.path[..<$0]) } ?? "."
    return try open(remote.location, name: remote.name, from: folder.isEmpty ? "/" : folder)
  }

  /// - Parameter folder: The folder in which relative paths begin: that of the store.
  package func open(_ location: String, name: String, from folder: String) throws -> any Peer {
    switch try RemoteLocation(parsing: location) {
    case .path(let path):
      let full = path.hasPrefix("/") ? path : folder + "/" + path
      let store = try EngineStore.open(path: full, program: client.program, author: client.author)
      return StorePeer(store, name: name, now: client.now)
    case .ssh(let user, let host, let port, let path):
      return try PipePeer(
        PipePeer.words(user: user, host: host, port: port, path: path, mayAsk: mayAsk), name: name,
        mayAsk: mayAsk)
    case .folder(let path): return try FolderPeer(path.hasPrefix("/") ? path : folder + "/" + path, name: name)
    case .server(let url): return try openServer(url, name: name)
    }
  }

  /// Opens the store on a server from a URL, which is not kept anywhere and may have a password.
  package func openServer(_ url: String, name: String) throws -> any Peer {
    guard let servers = ServerRemotes.installed else {
      throw ExchangeError.peer(name: name, reason: ServerRemotes.missing)
    }
    return try servers.open(url, name, client)
  }
}
