import StorageEngine

extension [UInt8] {
  /// Whether it comes before another key in the order of bytes. Compares words where `lexicographicallyPrecedes` compares bytes.
  func precedes(_ other: [UInt8]) -> Bool {
    withUnsafeBytes { own in other.withUnsafeBytes { compareKeys(own, $0) < 0 } }
  }
}
