import StrataSystem

extension UnsafeRawBufferPointer {
  /// Whether all bytes are zero, at the speed of a comparison of memory.
  var isZero: Bool {
    guard let baseAddress, count > 0 else { return true }
    // All are zero if the first is and each equals the one before it.
    return self[0] == 0 && memcmp(baseAddress, baseAddress + 1, count - 1) == 0
  }

  /// The position of the last byte that is not zero, or nil.
  var lastNonzero: Int? {
    var rest = self
    guard !rest.isZero else { return nil }
    // The last nonzero byte is in the half that is not all zeros; if neither is, in the latter.
    while rest.count > 1 {
      let middle = rest.count / 2
      let latter = UnsafeRawBufferPointer(rebasing: rest[middle...])
      rest = latter.isZero ? UnsafeRawBufferPointer(rebasing: rest[..<middle]) : latter
    }
    guard let found = rest.baseAddress, let baseAddress else { return nil }
    return found - baseAddress
  }
}
