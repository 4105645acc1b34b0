import StrataEngine

@testable import StrataExchange

/// Bytes of which the first number from a place on is another one, or the byte where none follows.
func forged(_ bytes: [UInt8], at place: Int, number: String) -> [UInt8] {
  func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
  let first = bytes[place...].firstIndex(where: isDigit) ?? place
  let end = bytes[first...].firstIndex { !isDigit($0) } ?? bytes.endIndex
  return bytes[..<first] + Array(number.utf8) + bytes[max(end, first + 1)...]
}

/// A peer whose line is cut after so many bytes, in either direction; or of which one number is another one.
final class CutPeer: Peer {
  struct Cut: Error {}

  private let peer: any Peer
  private let forgedNumber: String?
  private var left: Int
  var name: String { peer.name }

  init(_ peer: any Peer, after bytes: Int, forging number: String? = nil) {
    self.peer = peer
    left = bytes
    forgedNumber = number
  }

  func heads() throws -> [CommitIdentity] { try peer.heads() }
  func haves() throws -> [Have] { try peer.haves() }

  func fetch(
    haves: [Have], wants: [CommitIdentity], of tips: [CommitIdentity], take: ([UInt8]) throws -> Void
  ) throws {
    try peer.fetch(haves: haves, wants: wants, of: tips) { line in try take(cut(line)) }
    if left == 0, forgedNumber == nil { throw Cut() }
  }

  func push(_ commits: OutgoingCommits) throws -> Bool {
    var cut = commits
    cut.write = { sink in try commits.write { try sink(self.cut($0)) } }
    return try peer.push(cut)
  }

  private func cut(_ bytes: [UInt8]) throws -> [UInt8] {
    if let forgedNumber {
      defer { left -= bytes.count }
      return bytes.indices.contains(left) ? forged(bytes, at: left, number: forgedNumber) : bytes
    }
    guard left > 0 else { throw Cut() }
    let part = Array(bytes.prefix(left))
    left = max(0, left - bytes.count)
    return part
  }
}
