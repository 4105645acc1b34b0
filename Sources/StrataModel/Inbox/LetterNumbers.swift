import StrataEngine

/// Which letters of each sender are done, whether applied or refused.
///
/// They lie in a tree of the store's, so that a number is noted by the commit that applies the letter: eight bytes of the sender, with the
/// number of the last letter and its date, eight bytes each. All numbers are big-endian. A letter that was done while one before it waits
/// for its datastores has an entry of its own, eight bytes of the sender and eight of its number, until the last letter is beyond it.
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

  func isDone(_ letter: LetterName) throws(ModelError) -> Bool {
    if try letter.number <= last(of: letter.sender) { return true }
    return try onStorage { try tree?.payload(.bytes(Self.key(letter.sender, UInt64(letter.number)))) } != nil
  }

  /// How many of a sender's letters between two numbers were done ahead of others.
  func countAhead(of sender: UInt64, after first: UInt32, before last: UInt32) throws(ModelError) -> UInt64 {
    guard let tree else { return 0 }
    func rank(_ number: UInt64) throws(StorageError) -> UInt64 { try tree.rank(of: .bytes(Self.key(sender, number))) }
    return try onStorage { try rank(UInt64(last)) - rank(UInt64(first) + 1) }
  }

  /// Notes a letter that is done. Returns false if it was noted before.
  ///
  /// - Parameter isAhead: Whether a letter of its sender before it waits.
  @discardableResult
  static func record(
    _ letter: LetterName, isAhead: Bool = false, in transaction: any WriteTransaction
  ) throws -> Bool {
    let numbers = try Self(in: transaction)
    if try numbers.isDone(letter) { return false }
    if try transaction.tree(.letters) == nil { try transaction.createTree(.letters, kind: .entries) }
    if isAhead {
      try transaction.insert(key(letter.sender, UInt64(letter.number)), .none, in: .letters)
      return true
    }
    let before = try numbers.last(of: letter.sender)
    if try numbers.countAhead(of: letter.sender, after: before, before: letter.number) > 0 {
      for number in before..<letter.number { try transaction.remove(key(letter.sender, UInt64(number)), in: .letters) }
    }
    // Those that went ahead of it are done in the order of their numbers now.
    var last = UInt64(letter.number)
    while try transaction.remove(key(letter.sender, last + 1), in: .letters) { last += 1 }
    let payload = bytes(last) + bytes(UInt64(bitPattern: letter.date))
    try transaction.insert(bytes(letter.sender), .bytes(Bytes(payload)), in: .letters)
    return true
  }

  private static func key(_ sender: UInt64, _ number: UInt64) -> [UInt8] { bytes(sender) + bytes(number) }

  private static func bytes(_ number: UInt64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
}
