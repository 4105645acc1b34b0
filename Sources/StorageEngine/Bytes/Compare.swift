#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Byte order: negative where `left` comes first, zero where both are equal. A prefix comes before what it begins.
@inline(__always)
func compareBytes(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
  let count = min(left.count, right.count)
  if count > 0, let leftStart = left.baseAddress, let rightStart = right.baseAddress {
    let order = memcmp(leftStart, rightStart, count)
    if order != 0 { return Int(order) }
  }
  return left.count - right.count
}
