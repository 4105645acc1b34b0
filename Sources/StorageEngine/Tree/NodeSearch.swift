/// A key probe with its bytes in place, as the search wants it.
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
  /// The first cell of a leaf whose key is not less than the probe, and whether it is equal.
  func lowerBound(_ probe: Probe) throws(StorageError) -> (index: Int, isEqual: Bool) {
    switch probe {
    case .bytes(let key): return try lowerBound(key, from: 0)
    case .compare(let compare):
      var low = 0
      var high = count
      while low < high {
        let middle = (low + high) / 2
        let order = try self.compare(middle, compare)
        if order == 0 { return (middle, true) }
        if order < 0 { low = middle + 1 } else { high = middle }
      }
      return (low, false)
    }
  }

  /// The cell of an inner node below which the probe belongs.
  func childIndex(_ probe: Probe) throws(StorageError) -> Int {
    switch probe {
    case .bytes(let key):
      // Separators that equal the key lie at the beginning of what they separate.
      let bound = try lowerBound(key, from: 1)
      return bound.isEqual ? bound.index : bound.index - 1
    case .compare(let compare):
      var low = 1
      var high = count
      while low < high {
        let middle = (low + high) / 2
        if try self.compare(middle, compare) <= 0 { low = middle + 1 } else { high = middle }
      }
      return low - 1
    }
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
    // What is checked here is what `cell` and `fixedSize` check, without asking for the form with each cell. Nothing can
    // overflow: ends are 16-bit numbers, and so is the count.
    guard let fixedSize = form.fixedSize else { return try lowerBound(amongMixed: rest) }
    let room = length - heap
    let keys = base + (heap + fixedSize)
    var low = first
    var high = count
    while low < high {
      let middle = (low &+ high) &>> 1
      let start = middle == 0 ? 0 : end(middle &- 1)
      let size = end(middle) &- start &- fixedSize
      guard size >= 0, end(middle) <= room else { throw damage }
      let order = compareBytes(UnsafeRawBufferPointer(start: keys + start, count: size), rest)
      if order == 0 { return (middle, true) }
      if order < 0 { low = middle &+ 1 } else { high = middle }
    }
    return (low, false)
  }

  private func lowerBound(amongMixed rest: UnsafeRawBufferPointer) throws(StorageError) -> (index: Int, isEqual: Bool) {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      let order = compareBytes(try suffix(middle), rest)
      if order == 0 { return (middle, true) }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return (low, false)
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
