/// One value of a JSON text, or the name of a member, as `JSONTape` lists them.
package struct JSONToken {
  /// The start of the content: behind the quote of a text or name, at the first byte of everything else.
  package var start: UInt32
  /// The end of the content: before the closing quote of a text or name.
  package var end: UInt32
  /// The index of the token behind this value, which for a list or an object is behind all that it contains. While a container is
  /// open, the index of the container around it.
  package var next: UInt32
  /// The number of elements or members of a list or an object.
  package var count: UInt32
  /// The place where a reader of an object looks for the next member first. While an object is open, its last name.
  package var cursor: UInt32
  package var kind: Kind
  /// Whether a text or name is ASCII without escapes; for an object, whether all names are plain and in strictly ascending order.
  package var isPlain: Bool

  package init(
    start: UInt32, end: UInt32, next: UInt32 = 0, count: UInt32 = 0, cursor: UInt32 = 0, kind: Kind,
    isPlain: Bool = true
  ) {
    self.start = start
    self.end = end
    self.next = next
    self.count = count
    self.cursor = cursor
    self.kind = kind
    self.isPlain = isPlain
  }

  package enum Kind: UInt8 {
    case object, list, name, text, number, yes, no, null
  }
}

/// The tokens of a JSON text in the order of the text: each container before its elements, each name before its value.
///
/// ```
/// {"a":[1,true],"b":"x"}
///
///  0 object  next 7  count 2
///  1 name    a
///  2 list    next 5  count 2
///  3 number  1
///  4 yes
///  5 name    b
///  6 text    x
/// ```
///
/// One pass makes the tape, and no token copies bytes. The next text reuses the memory of a tape, so a tape belongs to one reader at a
/// time. The tape does not decide unusual texts (spaces are usual): a byte order mark, a trailing comma, half a surrogate pair, nesting
/// beyond 200 levels, a text of 2 GiB. Then `read` returns false, and the caller asks a complete parser.
package struct JSONTape: ~Copyable {
  /// The text that was read last. The caller guarantees that it lives while the tape is used.
  package private(set) var bytes = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
  package private(set) var tokens: UnsafeMutablePointer<JSONToken>
  package private(set) var count = 0
  private var capacity: Int

  package init() {
    capacity = 64
    tokens = .allocate(capacity: capacity)
  }

  deinit { tokens.deallocate() }

  /// Forgets the text, so that its memory can be released.
  package mutating func clear() {
    bytes = UnsafeBufferPointer(start: nil, count: 0)
    count = 0
    if capacity > 1 << 16 { self = JSONTape() }
  }

  /// Lists the tokens of a text. Returns false if the text is not JSON, or is JSON of an unusual kind.
  package mutating func read(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    bytes = text
    count = 0
    guard text.count > 0, text.count < Int(Int32.max) else { return false }
    var at = 0
    var depth = 0
    // The innermost open container.
    var open = UInt32.max
    var openIsObject = false
    while true {
      // A value is expected.
      skipSpace(&at)
      guard at < text.count else { return false }
      let first = text[at]
      switch first {
      case UInt8(ascii: "\""):
        guard readText(&at, .text) != nil else { return false }
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        let isObject = first == UInt8(ascii: "{")
        let index = UInt32(count)
        append(JSONToken(start: UInt32(at), end: 0, next: open, cursor: index, kind: isObject ? .object : .list))
        at &+= 1
        depth &+= 1
        guard depth <= 200 else { return false }
        open = index
        openIsObject = isObject
        skipSpace(&at)
        guard at < text.count else { return false }
        if text[at] != (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
          if isObject { guard readName(&at, of: open) else { return false } }
          continue
        }
      // An empty container is closed below.
      case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
        let start = at
        repeat { at &+= 1 } while at < text.count && Self.isOfNumber(text[at])
        append(JSONToken(start: UInt32(start), end: UInt32(at), next: UInt32(count &+ 1), kind: .number))
      case UInt8(ascii: "t"): guard readWord("true", .yes, &at) else { return false }
      case UInt8(ascii: "f"): guard readWord("false", .no, &at) else { return false }
      case UInt8(ascii: "n"): guard readWord("null", .null, &at) else { return false }
      default: return false
      }
      // A value has ended, or an empty container is about to.
      var isEmpty = (first == UInt8(ascii: "{") || first == UInt8(ascii: "["))
      while true {
        if open == .max {
          skipSpace(&at)
          return at == text.count
        }
        if !isEmpty {
          tokens[Int(open)].count &+= 1
          skipSpace(&at)
          guard at < text.count else { return false }
          if text[at] == UInt8(ascii: ",") {
            at &+= 1
            if openIsObject { guard readName(&at, of: open) else { return false } }
            break
          }
        }
        isEmpty = false
        guard text[at] == (openIsObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else { return false }
        at &+= 1
        depth &-= 1
        let outer = tokens[Int(open)].next
        tokens[Int(open)].end = UInt32(at)
        tokens[Int(open)].next = UInt32(count)
        tokens[Int(open)].cursor = open &+ 1
        open = outer
        openIsObject = open != .max && tokens[Int(open)].kind == .object
      }
    }
  }

  // MARK: Tokens

  /// Adds a token: for a writer of JSON, which knows the tokens of what it writes.
  @inline(__always)
  package mutating func append(_ token: JSONToken) {
    if count == capacity { grow() }
    tokens[count] = token
    count &+= 1
  }

  @inline(never)
  private mutating func grow() {
    let larger = UnsafeMutablePointer<JSONToken>.allocate(capacity: capacity * 2)
    larger.moveInitialize(from: tokens, count: count)
    tokens.deallocate()
    tokens = larger
    capacity *= 2
  }

  /// Reads a name with the colon behind it, and notes in its object whether the names are still ascending.
  private mutating func readName(_ at: inout Int, of object: UInt32) -> Bool {
    skipSpace(&at)
    guard at < bytes.count, bytes[at] == UInt8(ascii: "\"") else { return false }
    let index = UInt32(count)
    guard let isPlain = readText(&at, .name) else { return false }
    let last = tokens[Int(object)].cursor
    tokens[Int(object)].cursor = index
    if !isPlain || last != object && !isAscending(tokens[Int(last)], tokens[Int(index)]) {
      tokens[Int(object)].isPlain = false
    }
    skipSpace(&at)
    guard at < bytes.count, bytes[at] == UInt8(ascii: ":") else { return false }
    at &+= 1
    return true
  }

  private func isAscending(_ first: JSONToken, _ second: JSONToken) -> Bool {
    var (left, right) = (Int(first.start), Int(second.start))
    while left < Int(first.end), right < Int(second.end) {
      if bytes[left] != bytes[right] { return bytes[left] < bytes[right] }
      left &+= 1
      right &+= 1
    }
    return left == Int(first.end) && right < Int(second.end)
  }

  /// Reads a text or a name. Returns whether it is ASCII without escapes, or nil if it does not end or has a control character.
  @inline(__always)
  private mutating func readText(_ at: inout Int, _ kind: JSONToken.Kind) -> Bool? {
    at &+= 1
    let start = at
    var isPlain = true
    while true {
      let (end, isASCII) = PlainText.end(in: bytes, from: at)
      if !isASCII { isPlain = false }
      at = end
      guard at < bytes.count else { return nil }
      if bytes[at] == UInt8(ascii: "\"") { break }
      guard bytes[at] == UInt8(ascii: "\\"), case let length = PlainText.lengthOfEscape(in: bytes, at: at), length > 0
      else { return nil }
      at &+= length
      isPlain = false
    }
    let next = UInt32(count &+ 1)
    append(JSONToken(start: UInt32(start), end: UInt32(at), next: next, kind: kind, isPlain: isPlain))
    at &+= 1
    return isPlain
  }

  private mutating func readWord(_ word: StaticString, _ kind: JSONToken.Kind, _ at: inout Int) -> Bool {
    let length = word.utf8CodeUnitCount
    guard bytes.count &- at >= length else { return false }
    for offset in 1..<length where bytes[at &+ offset] != word.utf8Start[offset] { return false }
    append(JSONToken(start: UInt32(at), end: UInt32(at &+ length), next: UInt32(count &+ 1), kind: kind))
    at &+= length
    return true
  }

  // MARK: Bytes

  @inline(__always)
  private func skipSpace(_ at: inout Int) {
    while at < bytes.count, bytes[at] <= 0x20 {
      switch bytes[at] {
      case 0x20, 0x0A, 0x0D, 0x09: at &+= 1
      default: return
      }
    }
  }

  @inline(__always)
  private static func isOfNumber(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"),
      UInt8(ascii: "+"), UInt8(ascii: "-"):
      true
    default: false
    }
  }
}
