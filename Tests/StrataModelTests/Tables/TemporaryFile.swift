import Foundation

enum TemporaryFile {
  static func path() -> String {
    FileManager.default.temporaryDirectory.appendingPathComponent("table-\(UUID().uuidString)").path
  }

  static func write(_ bytes: [UInt8], to path: String) throws { try Data(bytes).write(to: URL(fileURLWithPath: path)) }

  static func remove(_ path: String) { try? FileManager.default.removeItem(atPath: path) }
}
