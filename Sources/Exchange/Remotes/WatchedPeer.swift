package import StorageEngine

/// Another copy of a store, with the lines counted that pass to it and from it. Who watches may throw, and so cut the transfer off; what
/// came whole before stays.
package final class WatchedPeer: Peer {
  private let peer: any Peer
  private let passed: (_ lines: Int) throws -> Void
  private var lines = 0

  private init(_ peer: any Peer, _ passed: @escaping (_ lines: Int) throws -> Void) {
    self.peer = peer
    self.passed = passed
  }

  /// - Parameter passed: hears how many lines have passed so far, before each that is taken and before the peer is asked for anything.
  package static func watching(_ peer: any Peer, _ passed: @escaping (_ lines: Int) throws -> Void) -> any Peer {
    // A folder is read and written file by file, by functions of its own.
    peer is FolderPeer ? peer : WatchedPeer(peer, passed)
  }

  package var name: String { peer.name }

  package func heads() throws -> [CommitIdentity] {
    try passed(lines)
    return try peer.heads()
  }

  package func haves() throws -> [Have] {
    try passed(lines)
    return try peer.haves()
  }

  package func pins() throws -> [PeerPin] {
    try passed(lines)
    return try peer.pins()
  }

  package func fetch(
    haves: [Have], wants: [CommitIdentity], of tips: [CommitIdentity], take: ([UInt8]) throws -> Void
  ) throws {
    try peer.fetch(haves: haves, wants: wants, of: tips) { line in
      lines += 1
      try passed(lines)
      try take(line)
    }
  }

  package func push(
    _ head: CommitIdentity, _ write: (_ sink: @escaping ([UInt8]) throws -> Void) throws -> Void
  ) throws -> Bool {
    try peer.push(head) { sink in
      try write { bytes in
        self.lines += bytes.count { $0 == UInt8(ascii: "\n") }
        try self.passed(self.lines)
        try sink(bytes)
      }
    }
  }
}
