import StrataSystem

/// The order of keys for the modules above, which do not inline it: negative if `left` comes first, zero if both are equal.
package func compareKeys(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
  compareBytes(left, right)
}

/// Byte order: negative if `left` comes first, zero if both are equal. A prefix comes before longer keys that begin with it.
@inline(__always)
func compareBytes(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
  guard let leftStart = left.baseAddress, let rightStart = right.baseAddress else { return left.count - right.count }
  return compareBytes(leftStart, left.count, rightStart, right.count)
}

/// As above. Most keys differ in their first eight bytes, so those are compared as one number.
@inline(__always)
func compareBytes(
  _ left: UnsafeRawPointer, _ leftCount: Int, _ right: UnsafeRawPointer, _ rightCount: Int
) -> Int {
  let count = min(leftCount, rightCount)
  if count >= 8 {
    let leftWord = UInt64(bigEndian: left.loadUnaligned(as: UInt64.self))
    let rightWord = UInt64(bigEndian: right.loadUnaligned(as: UInt64.self))
    if leftWord != rightWord { return leftWord < rightWord ? -1 : 1 }
    if count > 8 {
      let order = memcmp(left + 8, right + 8, count - 8)
      if order != 0 { return Int(order) }
    }
    return leftCount - rightCount
  }
  // Fewer than eight as two words that overlap: if the first ones are equal, the bytes that both share do not decide the second.
  if count >= 4 {
    let leftWord = UInt64(word(left, at: 0)) << 32 | UInt64(word(left, at: count - 4))
    let rightWord = UInt64(word(right, at: 0)) << 32 | UInt64(word(right, at: count - 4))
    if leftWord != rightWord { return leftWord < rightWord ? -1 : 1 }
  } else if count > 0 {
    let leftWord = bytes(left, count)
    let rightWord = bytes(right, count)
    if leftWord != rightWord { return leftWord < rightWord ? -1 : 1 }
  }
  return leftCount - rightCount
}

@inline(__always)
private func word(_ bytes: UnsafeRawPointer, at offset: Int) -> UInt32 {
  UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
}

/// One to three bytes as a number that orders them: the first, the middle one, the last, which may be the same.
@inline(__always)
private func bytes(_ bytes: UnsafeRawPointer, _ count: Int) -> UInt32 {
  UInt32(bytes.load(as: UInt8.self)) << 16
    | UInt32(bytes.load(fromByteOffset: count >> 1, as: UInt8.self)) << 8
    | UInt32(bytes.load(fromByteOffset: count - 1, as: UInt8.self))
}
