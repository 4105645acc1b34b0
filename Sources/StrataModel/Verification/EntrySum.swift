/// A fingerprint of an index's entries, whatever their order: the sum of their hashes, and their number.
///
/// So two sources of the same entries are compared by one walk over each, without a look-up per entry and without memory. Two different
/// ones compare equal once in 2⁶⁴ times, and no file can be crafted for it: each process seeds the hashes differently.
struct EntrySum: Hashable, Sendable {
  private(set) var count = 0
  private var sum: UInt64 = 0

  /// Adds an entry; `key` is made by `EntryKey`.
  mutating func add(_ key: [UInt8]) {
    var hasher = Hasher()
    key.withUnsafeBytes { hasher.combine(bytes: $0) }
    sum &+= UInt64(bitPattern: Int64(hasher.finalize()))
    count += 1
  }

  mutating func add(_ other: EntrySum) {
    sum &+= other.sum
    count += other.count
  }
}
