import StrataEngine

/// Keys in ascending order, one behind the other in one array: a search reads two arrays and retains nothing.
///
/// To insert or remove a key moves the bytes of those behind it, so it costs as much as there are.
struct SortedKeys: Sendable {
  private var bytes: [UInt8] = []
  /// The end of each key in the bytes.
  private var ends: [Int] = []

  private func range(_ index: Int) -> Range<Int> { (index == 0 ? 0 : ends[index - 1])..<ends[index] }

  subscript(index: Int) -> [UInt8] { Array(bytes[range(index)]) }

  /// The place of the first key that is not less than `key`, and whether it is that key.
  func search(_ key: UnsafeRawBufferPointer) -> (index: Int, isThere: Bool) {
    bytes.withUnsafeBytes { bytes in
      ends.withUnsafeBufferPointer { ends in
        var (low, high, isThere) = (0, ends.count, false)
        while low < high {
          let middle = (low + high) / 2
          let start = middle == 0 ? 0 : ends[middle - 1]
          let order = compareKeys(UnsafeRawBufferPointer(rebasing: bytes[start..<ends[middle]]), key)
          if order < 0 { low = middle + 1 } else { (high, isThere) = (middle, order == 0) }
        }
        return (low, isThere)
      }
    }
  }

  mutating func insert(_ key: UnsafeRawBufferPointer, at index: Int) {
    let start = index == 0 ? 0 : ends[index - 1]
    bytes.insert(contentsOf: key, at: start)
    ends.insert(start, at: index)
    move(index..., by: key.count)
  }

  mutating func remove(at index: Int) {
    let range = range(index)
    bytes.removeSubrange(range)
    ends.remove(at: index)
    move(index..., by: -range.count)
  }

  private mutating func move(_ indices: PartialRangeFrom<Int>, by count: Int) {
    for index in indices.lowerBound..<ends.count { ends[index] &+= count }
  }

  /// Cuts the keys from `index` on off, and returns them.
  mutating func cut(from index: Int) -> SortedKeys {
    var rest = SortedKeys()
    let start = index == 0 ? 0 : ends[index - 1]
    rest.bytes = Array(bytes[start...])
    rest.ends = ends[index...].map { $0 - start }
    bytes.removeSubrange(start...)
    ends.removeSubrange(index...)
    return rest
  }
}
