import StrataEngine

/// Which letters of each sender are done, whether applied or refused.
///
/// They lie in a tree of the store's, so that a number is noted by the commit that applies the letter: eight bytes of the sender, with the
/// number of the last letter and its date, eight bytes each. All numbers are big-endian. A sender's letters are done in the order of
/// their numbers.
struct LetterNumbers {
  let tree: Tree?

  init(_ tree: Tree?) { self.tree = tree }

  init(in transaction: any WriteTransaction) throws(ModelError) {
    self.init(try onStorage { try transaction.tree(.letters) })
  }

  /// The number of the sender's last letter that is done; 0 if none is.
  func last(of sender: UInt64) throws(ModelError) -> UInt32 {
    guard let tree else { return 0 }
    let payload = try onStorage { try tree.payload(.bytes(Self.bytes(sender))) }
    guard case .bytes(let bytes)? = payload, bytes.count == 16 else { return 0 }
    return UInt32(clamping: bytes.array.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
  }

  /// Notes a letter that is done. Returns false if it was noted before.
  @discardableResult
  static func record(_ letter: LetterName, in transaction: any WriteTransaction) throws -> Bool {
    guard try Self(in: transaction).last(of: letter.sender) < letter.number else { return false }
    if try transaction.tree(.letters) == nil { try transaction.createTree(.letters, kind: .entries) }
    let payload = bytes(UInt64(letter.number)) + bytes(UInt64(bitPattern: letter.date))
    try transaction.insert(bytes(letter.sender), .bytes(Bytes(payload)), in: .letters)
    return true
  }

  private static func bytes(_ number: UInt64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
}
