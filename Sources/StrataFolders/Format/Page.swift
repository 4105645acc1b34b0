/// One page of an index (`.datastorepage`): a run of blocks, each an entry or a part of one.
///
/// ```
/// PAGE⏎            5 bytes; nothing else in an empty page
/// =52⏎…52 bytes…⏎  a whole entry
/// >1289⏎…⏎         the head of an entry; what follows, here or on the next pages, is its
/// ~4084⏎…⏎         middle and
/// <64⏎…⏎           tail
/// ```
///
/// Page boundaries mean nothing: a page may begin in the middle of an entry, head and tail may lie on one page, a page
/// may be empty. Lengths are decimal, at most ten digits, and count the payload only; payloads are raw bytes.
///
/// A damaged page keeps the blocks before the damage, so that they stay readable.
package struct Page: Sendable {
  package let bytes: [UInt8]
  package let blocks: [Block]
  /// The damage that ends the readable part of the page, if there is any; `blocks` are those before it.
  package let damage: FormatError?
  /// The places in `blocks` where entries begin.
  package let starts: [Int]

  package struct Block: Hashable, Sendable {
    package var kind: Kind
    /// The payload's place in the page.
    package var payload: Range<Int>
    /// The place of the block's own header.
    package var offset: Int
  }

  package enum Kind: UInt8, Sendable {
    case whole = 0x3D  // =
    case head = 0x3E  // >
    case middle = 0x7E  // ~
    case tail = 0x3C  // <

    /// Whether an entry begins here.
    package var isStart: Bool { self == .whole || self == .head }
    /// Whether the entry goes on in the next block.
    package var isOpen: Bool { self == .head || self == .middle }
  }

  package static let header = Array("PAGE\n".utf8)
  /// The largest page that the original library writes; it crashes on writing near a larger one.
  package static let writtenLimit = 4096

  /// Reads any bytes; an error in them is in `damage`.
  package init(parsing bytes: [UInt8]) {
    var reader = BlockReader(bytes: bytes)
    var blocks: [Block] = []
    var damage: FormatError?
    do throws(FormatError) {
      guard bytes.starts(with: Self.header) else {
        throw FormatError("the file does not begin with the line PAGE", at: 0)
      }
      while let block = try reader.next(after: blocks.last?.kind) { blocks.append(block) }
    } catch {
      damage = error
    }
    self.bytes = bytes
    self.blocks = blocks
    self.damage = damage
    self.starts = blocks.indices.filter { blocks[$0].kind.isStart }
  }

  /// A page whose file cannot be read at all.
  package init(unreadable reason: String) {
    bytes = []
    blocks = []
    starts = []
    damage = FormatError(reason)
  }

  /// The number of rows that a list of entries shows for this page: its entries, and one for damage.
  package var rowCount: Int { starts.count + (damage == nil ? 0 : 1) }

  /// Whether the page begins inside an entry that began before; nil if it has no blocks.
  package var beginsOpen: Bool? { blocks.first.map { !$0.kind.isStart } }
  /// Whether its last entry goes on after it; nil if it has no blocks.
  package var endsOpen: Bool? { blocks.last.map(\.kind.isOpen) }
}

/// Walks the blocks of a page; every number is checked against the page before it is used.
private struct BlockReader {
  let bytes: [UInt8]
  var offset = Page.header.count

  mutating func next(after last: Page.Kind?) throws(FormatError) -> Page.Block? {
    guard offset < bytes.count else { return nil }
    let start = offset
    guard let kind = Page.Kind(rawValue: bytes[start]) else {
      throw FormatError("a block begins with none of = > ~ <", at: start)
    }
    if let last, last.isOpen == kind.isStart {
      throw FormatError(last.isOpen ? "an entry has no end" : "a part of an entry has no beginning", at: start)
    }
    let length = try bytes.number(at: start + 1, endingIn: "\n", "the block's length")
    guard length.value > 0, bytes[start + 1] != UInt8(ascii: "0") else {
      throw FormatError("the block's length is zero or begins with a zero", at: start + 1)
    }
    guard length.value <= bytes.count - length.end - 1 else {
      throw FormatError("a block of \(length.value) bytes is cut short by the end of the page", at: start)
    }
    let end = length.end + length.value
    guard bytes[end] == UInt8(ascii: "\n") else { throw FormatError("a block does not end in a line feed", at: end) }
    offset = end + 1
    return Page.Block(kind: kind, payload: length.end..<end, offset: start)
  }
}

extension [UInt8] {
  /// The number of at most ten digits at a place, and the place behind the byte that ends it. `name` names it in an error.
  func number(
    at start: Int, endingIn last: Unicode.Scalar, _ name: String
  ) throws(FormatError) -> (value: Int, end: Int) {
    var value = 0
    var at = start
    while at < count, self[at] >= UInt8(ascii: "0"), self[at] <= UInt8(ascii: "9") {
      guard at - start < 10 else { throw FormatError("\(name) has too many digits", at: start) }
      value = value * 10 + Int(self[at] - UInt8(ascii: "0"))
      at += 1
    }
    guard at > start, at < count, self[at] == UInt8(ascii: last) else {
      throw FormatError("\(name) is not a number", at: start)
    }
    return (value, at + 1)
  }
}
