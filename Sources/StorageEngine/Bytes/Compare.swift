#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Byte order: negative where `left` comes first, zero where both are equal. A prefix comes before what it begins.
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
  var position = 0
  while position < count {
    let leftByte = left.load(fromByteOffset: position, as: UInt8.self)
    let rightByte = right.load(fromByteOffset: position, as: UInt8.self)
    if leftByte != rightByte { return leftByte < rightByte ? -1 : 1 }
    position += 1
  }
  return leftCount - rightCount
}
