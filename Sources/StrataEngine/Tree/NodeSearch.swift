/// A key probe with its bytes in place, as the search needs it.
enum Probe {
  case bytes(UnsafeRawBufferPointer)
  case compare((UnsafeRawBufferPointer) -> Int)
}

extension KeyProbe {
  func withProbe<R, E: Error>(_ body: (Probe) throws(E) -> R) throws(E) -> R {
    switch self {
    case .compare(let compare): return try body(.compare(compare))
    case .bytes(let key): return try key.withBytes { bytes throws(E) in try body(.bytes(bytes)) }
    }
  }
}

extension NodeView {
  /// The first cell, from one on, whose key is not less than the probe, and whether it is equal.
  @inline(__always)
  func lowerBound(_ probe: Probe, from first: Int = 0) throws(StorageError) -> (index: Int, isEqual: Bool) {
    switch probe {
    case .bytes(let key): try lowerBound(key, from: first)
    case .compare(let compare):
      try search(from: first) { index throws(StorageError) in try self.compare(index, compare) }
    }
  }

  /// The cell of an inner node below which the probe belongs.
  func childIndex(_ probe: Probe) throws(StorageError) -> Int {
    // Separators that equal the key lie at the beginning of the keys that they separate.
    let bound = try lowerBound(probe, from: 1)
    return bound.isEqual ? bound.index : bound.index - 1
  }

  /// As `lowerBound`, by the order of each cell's key relative to the probe: negative, zero or positive.
  @inline(__always)
  private func search(
    from first: Int, order: (Int) throws(StorageError) -> Int
  ) throws(StorageError) -> (index: Int, isEqual: Bool) {
    var low = first
    var high = count
    while low < high {
      let middle = (low &+ high) &>> 1
      let order = try order(middle)
      if order == 0 { return (middle, true) }
      if order < 0 { low = middle &+ 1 } else { high = middle }
    }
    return (low, false)
  }

  @inline(__always)
  private func lowerBound(_ key: UnsafeRawBufferPointer, from first: Int) throws(StorageError) -> (
    index: Int, isEqual: Bool
  ) {
    // The prefix begins every key of the node, so it is compared once.
    var rest = key
    if prefixLength > 0 {
      let start = UnsafeRawBufferPointer(rebasing: key[..<min(prefixLength, key.count)])
      let order = compareBytes(prefix, start)
      if order > 0 { return (first, false) }
      if order < 0 { return (count, false) }
      rest = UnsafeRawBufferPointer(rebasing: key[prefixLength...])
    }
    // The checks here are those of `cell` and `fixedSize`, without reading the form with each cell. Nothing can overflow: ends are 16-bit
    // numbers, and so is the count.
    guard let fixedSize = form.fixedSize else {
      return try search(from: first) { index throws(StorageError) in compareBytes(try suffix(index), rest) }
    }
    let room = length - heap
    let keys = base + (heap + fixedSize)
    return try search(from: first) { middle throws(StorageError) in
      let start = middle == 0 ? 0 : end(middle &- 1)
      let size = end(middle) &- start &- fixedSize
      guard size >= 0, end(middle) <= room else { throw damage }
      return compareBytes(UnsafeRawBufferPointer(start: keys + start, count: size), rest)
    }
  }

  /// The caller's comparison of a cell's whole key.
  private func compare(_ index: Int, _ compare: (UnsafeRawBufferPointer) -> Int) throws(StorageError) -> Int {
    let suffix = try suffix(index)
    if prefixLength == 0 { return compare(suffix) }
    return withUnsafeTemporaryAllocation(byteCount: prefixLength + suffix.count, alignment: 1) { key in
      key.copyMemory(from: prefix)
      UnsafeMutableRawBufferPointer(rebasing: key[prefixLength...]).copyMemory(from: suffix)
      return compare(UnsafeRawBufferPointer(key))
    }
  }
}
