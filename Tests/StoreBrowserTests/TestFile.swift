import FoundationEssentials
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Files that tests write and read.
enum TestFile {
  static func text(_ path: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
  }

  static func write(_ text: String, to path: String) throws { try Data(text.utf8).write(to: URL(filePath: path)) }

  static func write(_ bytes: [UInt8], to path: String) throws { try Data(bytes).write(to: URL(filePath: path)) }

  /// Flips a bit behind the last occurrence of a text.
  static func flip(after text: String, in path: String) throws {
    var data = try Data(contentsOf: URL(filePath: path))
    let found = try #require(data.indices.last { data[$0...].starts(with: text.utf8) })
    data[found + text.utf8.count + 2] ^= 1
    try data.write(to: URL(filePath: path))
  }

  static func lines(_ path: String) throws -> [Substring] { try text(path).split(separator: "\n") }

  static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  static func makeFolder(_ path: String) {
    try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  static func move(_ path: String, to target: String) throws {
    try FileManager.default.moveItem(atPath: path, toPath: target)
  }

  static func remove(_ path: String) { try? FileManager.default.removeItem(atPath: path) }
}

extension TestFile {
  static func permissions(_ path: String) throws -> Int? {
    var information = stat()
    guard stat(path, &information) == 0 else { return nil }
    return Int(information.st_mode & 0o777)
  }
}
