import CStrataHash

/// The CRC-32C of bytes, continued from that of what comes before.
@inline(__always)
func checksum(_ seed: UInt32, _ bytes: UnsafeRawBufferPointer) -> UInt32 {
  strata_crc32c(seed, bytes.baseAddress, bytes.count)
}

/// As `checksum`, for modules above that check what they send.
package func crc32c(_ seed: UInt32, _ bytes: [UInt8]) -> UInt32 { bytes.withUnsafeBytes { checksum(seed, $0) } }
