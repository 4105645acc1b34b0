import StrataEngine

/// Writes bytes to a file of any disk.
func write(_ bytes: [UInt8], at offset: UInt64, to file: any DiskFile) throws {
  try bytes.withUnsafeBytes { try file.write($0, at: offset) }
}

/// The bytes of a file from an offset on, at most so many.
func read(_ count: Int, at offset: UInt64, from file: any DiskFile) throws -> [UInt8] {
  var bytes = [UInt8](repeating: 0xEE, count: count)
  let found = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: offset) }
  return Array(bytes[..<found])
}
