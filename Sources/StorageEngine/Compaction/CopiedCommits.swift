/// Which commits were copied, and where their frames lie in the copy.
struct CopiedCommits: Sendable {
  /// In ascending order.
  private(set) var numbers: [UInt64] = []
  private var offsets: [FileOffset] = []

  var count: Int { numbers.count }

  /// Adds one that is newer than all others.
  mutating func append(_ number: UInt64, at offset: FileOffset) {
    numbers.append(number)
    offsets.append(offset)
  }

  /// Where the frame of a commit begins in the copy; nil for one that was not copied.
  func offset(of number: UInt64) -> FileOffset? {
    let index = numbers.partitionIndex { $0 >= number }
    return index < count && numbers[index] == number ? offsets[index] : nil
  }

  func contains(_ number: UInt64) -> Bool { offset(of: number) != nil }

  /// The newest one before a commit.
  func newest(before number: UInt64) -> UInt64? {
    let index = numbers.partitionIndex { $0 >= number }
    return index > 0 ? numbers[index - 1] : nil
  }
}
