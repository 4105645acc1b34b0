/// A place in a JSON text. It skips values by the grammar of `JSONParser` without making documents of them, several times as fast.
///
/// Skipping leaves rare cases to the parser: a byte order mark, surrogate pairs, and text that is not JSON. Then it reports that it cannot
/// decide; it never accepts as JSON what the parser refuses.
struct JSONScanner {
  let bytes: UnsafeBufferPointer<UInt8>
  var at: Int
  /// The number of open lists and objects.
  var depth = 0
  /// Whether the text so far has the compact layout of `JSONWriter`: no space, no unneeded escape.
  private(set) var isCompact = true
  /// Whether `isCompact` must also cover the values that are parsed into documents, so that other texts are given up.
  var isCompactWanted = false

  init(_ bytes: UnsafeBufferPointer<UInt8>, at start: Int = 0) {
    self.bytes = bytes
    at = start
  }

  mutating func isAtEnd() -> Bool {
    skipSpace()
    return at == bytes.count
  }

  // MARK: Values

  /// Skips a value. Returns false if it cannot decide.
  mutating func skipValue() -> Bool {
    skipSpace()
    guard at < bytes.count else { return false }
    switch bytes[at] {
    case UInt8(ascii: "\""): return skipText() != nil
    case UInt8(ascii: "{"): return skipParts(until: UInt8(ascii: "}")) { $0.skipName() != nil && $0.skipValue() }
    case UInt8(ascii: "["): return skipParts(until: UInt8(ascii: "]")) { $0.skipValue() }
    case UInt8(ascii: "t"): return skip("true")
    case UInt8(ascii: "f"): return skip("false")
    case UInt8(ascii: "n"): return skip("null")
    default:
      let length = JSONNumber.length(in: bytes, at: at)
      at &+= length
      return length > 0
    }
  }

  /// Skips a value. Returns false for a text with escapes or characters beyond ASCII, and nil if it cannot decide.
  @inline(__always)
  mutating func skipTelling() -> Bool? {
    guard at < bytes.count, bytes[at] == UInt8(ascii: "\"") else { return skipValue() ? true : nil }
    return skipText()?.isPlain
  }

  /// Skips the list or object that begins here; `part` skips an element or a member. Returns false if it cannot decide.
  @inline(__always)
  mutating func skipParts(until end: UInt8, _ part: (inout Self) -> Bool) -> Bool {
    guard open() else { return false }
    if !consume(end) {
      repeat {
        guard part(&self) else { return false }
        skipSpace()
      } while consume(UInt8(ascii: ","))
      guard consume(end) else { return false }
    }
    depth &-= 1
    return true
  }

  /// Enters a list or an object and skips the space behind its bracket.
  mutating func open() -> Bool {
    guard depth < JSONParser.depthLimit else { return false }
    depth &+= 1
    at &+= 1
    skipSpace()
    return true
  }

  mutating func skip(_ word: StaticString) -> Bool {
    let length = word.utf8CodeUnitCount
    guard bytes.count &- at >= length else { return false }
    for offset in 0..<length where bytes[at &+ offset] != word.utf8Start[offset] { return false }
    at &+= length
    return true
  }

  /// A member's name, between its quotes, with the colon behind it skipped; nil if it cannot decide.
  mutating func skipName() -> (range: Range<Int>, isPlain: Bool)? {
    skipSpace()
    guard at < bytes.count, bytes[at] == UInt8(ascii: "\""), let name = skipText() else { return nil }
    skipSpace()
    return consume(UInt8(ascii: ":")) ? name : nil
  }

  // MARK: Values that are not checked

  /// Skips a value without a check of what it contains. On a text that is not JSON it ends anywhere, or returns false.
  mutating func skipUnchecked() -> Bool {
    skipSpace()
    guard at < bytes.count else { return false }
    switch bytes[at] {
    case UInt8(ascii: "\""): return skipTextUnchecked()
    case UInt8(ascii: "{"), UInt8(ascii: "["): return skipContainerUnchecked()
    default: return skipValue()
    }
  }

  private mutating func skipContainerUnchecked() -> Bool {
    var open = 0
    repeat {
      guard at < bytes.count else { return false }
      switch bytes[at] {
      case UInt8(ascii: "\""):
        guard skipTextUnchecked() else { return false }
        continue
      case UInt8(ascii: "{"), UInt8(ascii: "["): open &+= 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"): open &-= 1
      default: break
      }
      at &+= 1
    } while open > 0
    return true
  }

  private mutating func skipTextUnchecked() -> Bool {
    at = PlainText.mark(in: bytes, from: at &+ 1)
    while at < bytes.count, bytes[at] == UInt8(ascii: "\\") { at = PlainText.mark(in: bytes, from: at &+ 2) }
    guard at < bytes.count else { return false }
    at &+= 1
    return true
  }

  // MARK: Texts

  /// The content between the quotes of the text that begins here, and whether it is ASCII without escapes; nil if it cannot decide.
  private mutating func skipText() -> (range: Range<Int>, isPlain: Bool)? {
    at &+= 1
    let start = at
    var isPlain = true
    while true {
      let (end, isASCII) = PlainText.end(in: bytes, from: at)
      if !isASCII { isPlain = false }
      at = end
      guard at < bytes.count else { return nil }
      if bytes[at] == UInt8(ascii: "\"") {
        at &+= 1
        return (start..<end, isPlain)
      }
      guard bytes[at] == UInt8(ascii: "\\"), skipEscape() else { return nil }
      isPlain = false
    }
  }

  private mutating func skipEscape() -> Bool {
    let length = PlainText.lengthOfEscape(in: bytes, at: at)
    guard length > 0 else { return false }
    let kind = bytes[at &+ 1]
    if kind == UInt8(ascii: "u") || kind == UInt8(ascii: "/") { isCompact = false }
    // The parser handles halves of surrogate pairs.
    let isSurrogate =
      length == 6 && bytes[at &+ 2] | 0x20 == UInt8(ascii: "d") && (bytes[at &+ 3].hexDigitValue ?? 8) >= 8
    at &+= length
    return !isSurrogate
  }

  // MARK: Bytes

  mutating func skipSpace() {
    while at < bytes.count {
      switch bytes[at] {
      case 0x20, 0x0A, 0x0D, 0x09:
        isCompact = false
        at &+= 1
      default: return
      }
    }
  }

  mutating func consume(_ byte: UInt8) -> Bool {
    guard at < bytes.count, bytes[at] == byte else { return false }
    at &+= 1
    return true
  }

  /// The document of the value that begins here, as the parser makes it; nil if the parser refuses it.
  mutating func document() -> Document? {
    skipSpace()
    if isCompactWanted {
      var ahead = self
      guard ahead.skipValue(), ahead.isCompact else { return nil }
    }
    return try? value()
  }
}
