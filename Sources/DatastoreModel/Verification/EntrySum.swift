/// What stands for entries of an index, however they are ordered: the sum of their hashes, and how many they are.
///
/// So two ways to the same entries are compared by walking each once, without a look-up an entry and in no memory. Two that differ
/// are taken for the same once in 2⁶⁴ times, and no file can be made for it: the hashes are seeded anew in each process.
struct EntrySum: Hashable, Sendable {
  private(set) var count = 0
  private var sum: UInt64 = 0

  /// `key`: as `EntryKey` makes it.
  mutating func add(_ key: [UInt8]) {
    var hasher = Hasher()
    key.withUnsafeBytes { hasher.combine(bytes: $0) }
    sum &+= UInt64(bitPattern: Int64(hasher.finalize()))
    count += 1
  }

  /// Adds the entries of another sum.
  mutating func add(_ other: EntrySum) {
    sum &+= other.sum
    count += other.count
  }
}
